// x86-64 with AVX2, FMA and F16C.
#define CENOTE_LEVEL avx2
#define CENOTE_ROWS avx2
#define CENOTE_VECTOR_BYTES 32
