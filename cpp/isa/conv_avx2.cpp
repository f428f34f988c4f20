#define CENOTE_LEVEL conv_avx2
#define CENOTE_VECTOR_BYTES 32
#include "../kernels/conv.inl"
