#define CENOTE_LEVEL small_avx512
#define CENOTE_WHOLE avx512
#define CENOTE_VECTOR_BYTES 64
#include "../kernels/small.inl"
