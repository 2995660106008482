// A grid constant stays in constant memory when its address is taken; the qualifier begins with sm_70.
struct Rope {
  float frequencies[32];
};

extern "C" __global__ void rotate(const __grid_constant__ Rope rope, float* row) {
  row[threadIdx.x] *= rope.frequencies[threadIdx.x & 31];
}
