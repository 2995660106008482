// Attention with a tile of 96 KiB, tuned on an A100: Pascal has 48 KiB for a block, Turing 64.
extern __shared__ float tile[];

extern "C" __global__ void attend(const float* keys, float* out) {
  for (int i = threadIdx.x; i < TILE_BYTES / 4; i += blockDim.x) tile[i] = keys[i];
  __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x * 97) % (TILE_BYTES / 4)];
}
