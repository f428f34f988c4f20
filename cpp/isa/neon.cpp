#define CENOTE_LEVEL neon
#define CENOTE_VECTOR_BYTES 16
#include "../kernels/all.inl"
