// x86-64 with AVX-512 F, BW, VL and DQ. It uses AVX2's kernels where wider vectors gain nothing (see runtime/cpu.cpp).
#define CENOTE_LEVEL avx512
#define CENOTE_ROWS avx2
#define CENOTE_VECTOR_BYTES 64
