#define CENOTE_LEVEL avx512
#define CENOTE_VECTOR_BYTES 64
#include "../kernels/all.inl"
