#define CENOTE_LEVEL small_avx2
#define CENOTE_WHOLE avx2
#define CENOTE_VECTOR_BYTES 32
#include "../kernels/small.inl"
