#define CENOTE_LEVEL avx2
#define CENOTE_VECTOR_BYTES 32
#include "../kernels/all.inl"
