// Streaming (non-temporal) stores, which write a cache line without reading it first. They pay if the result is so
// large that its beginning has left the cache when its end is written, and if each line is written completely and in
// order: aligned whole vectors, each once. Staging results in the cache and streaming them some rows at a time took 0.9
// to 1.2 times as long as ordinary stores.

// `p` is aligned to a vector.
template <class T, class V>
CENOTE_INLINE inline void store_streaming(T* p, V v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
    if constexpr (sizeof(V) == 16) return _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)v);
#endif
    store(p, v);
}

template <class T, class V>
CENOTE_INLINE inline void store_or_stream(T* p, V v, bool streaming) {
    if constexpr (IsVector<V>::value)
        if (streaming) return store_streaming(p, v);
    store(p, v);
}

// Makes streaming stores visible to other threads.
inline void fence_stores() {
#if defined(__AVX2__)
    _mm_sfence();
#endif
}

// Whether `p` and all addresses a multiple of `step` bytes from it are vector-aligned.
inline bool vector_aligned(const void* p, int64_t step) {
    return reinterpret_cast<uintptr_t>(p) % kVectorBytes == 0 && step % kVectorBytes == 0;
}
