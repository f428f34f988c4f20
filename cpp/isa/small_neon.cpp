#define CENOTE_LEVEL small_neon
#define CENOTE_WHOLE neon
#define CENOTE_VECTOR_BYTES 16
#include "../kernels/small.inl"
