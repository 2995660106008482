// Below sm_70 the argument is copied to local memory when its address is taken: slower, and right.
#if __CUDA_ARCH__ >= 700
#define GRID_CONSTANT __grid_constant__
#else
#define GRID_CONSTANT
#endif

struct Rope {
  float frequencies[32];
};

extern "C" __global__ void rotate(const GRID_CONSTANT Rope rope, float* row) {
  row[threadIdx.x] *= rope.frequencies[threadIdx.x & 31];
}
