// Rows of a few hundred bytes are few vectors of 64 bytes and mostly their ends, and where they lie across lines of the
// cache every load does: small windows have the kernels of AVX2, but for norms and smooth maxima, which compute more
// than they move. Measured on a CPU with both (float32, two threads, 32×64×112×112): value and VJP of max 2×2 14.4 and
// 9.2 ms, of 3×3 s2 28 and 12 ms; max 2×2×2 3.1 and 2.4 ms; smooth max 3×3 s1 the other way round, 2.0 and 2.3 ms.
#define CENOTE_LEVEL small_avx512
#define CENOTE_WHOLE avx512
#define CENOTE_OTHERS small_avx2
#define CENOTE_VECTOR_BYTES 64
#include "../kernels/small.inl"
