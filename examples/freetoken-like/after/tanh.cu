// Below sm_75 the exact hyperbolic tangent has to do.
__device__ __forceinline__ float quick_tanh(float t) {
#if __CUDA_ARCH__ >= 750
  asm("tanh.approx.f32 %0, %0;" : "+f"(t));
  return t;
#else
  return tanhf(t);
#endif
}

extern "C" __global__ void gelu(float* row) {
  float x = row[threadIdx.x];
  row[threadIdx.x] = 0.5f * x * (1.0f + quick_tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}
