#define CENOTE_LEVEL conv_avx512
#define CENOTE_VECTOR_BYTES 64
#include "../kernels/conv.inl"
