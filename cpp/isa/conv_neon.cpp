#define CENOTE_LEVEL conv_neon
#define CENOTE_VECTOR_BYTES 16
#include "../kernels/conv.inl"
