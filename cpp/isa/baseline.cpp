#define CENOTE_LEVEL baseline
#define CENOTE_VECTOR_BYTES 16
#include "../kernels/all.inl"
