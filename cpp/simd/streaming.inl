// Streaming (non-temporal) stores: a line that is not in the cache need not be read before it is written. It pays where
// results are so many that the first of them are gone from the cache when the last are written, and where all that is
// written of a line of the cache follows each other: whole vectors, at their place, each once. Results that were made
// in the cache first and then written so, some rows at a time, took 0.9 to 1.2 times as long as without.

// `p` is a place of whole vectors.
template <class T, class V>
CENOTE_INLINE inline void store_streaming(T* p, V v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
#endif
    store(p, v);
}

template <class T, class V>
CENOTE_INLINE inline void store_or_stream(T* p, V v, bool streaming) {
    if constexpr (IsVector<V>::value)
        if (streaming) return store_streaming(p, v);
    store(p, v);
}

// What was stored so is seen by other threads after this.
inline void fence_stores() {
#if defined(__AVX2__)
    _mm_sfence();
#endif
}

// Whether `p` and what lies a multiple of `step` bytes further on are places of whole vectors.
inline bool at_vectors(const void* p, int64_t step) {
    return reinterpret_cast<uintptr_t>(p) % kVectorBytes == 0 && step % kVectorBytes == 0;
}
