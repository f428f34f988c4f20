#define CENOTE_LEVEL small_baseline
#define CENOTE_WHOLE baseline
#define CENOTE_VECTOR_BYTES 16
#include "../kernels/small.inl"
