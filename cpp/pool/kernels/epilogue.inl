// Totals in registers to results in memory.

// Applies `finish` to lanes of totals and writes results of type R, or of type S if that is float16 or bfloat16.
template <class R, class S, class L, class F>
CENOTE_INLINE inline void write_total(char* p, typename L::V v, F finish, bool streaming = false) {
    using T = typename L::Element;
    if constexpr (__is_same(S, Half) || __is_same(S, BFloat16)) {
        write_half<S, L>(p, finish(v));
    } else if constexpr (__is_same(T, R)) {
        store_or_stream(reinterpret_cast<R*>(p), finish(v), streaming);
    } else if constexpr (L::count == 1) {
        store(reinterpret_cast<R*>(p), finish(static_cast<R>(v)));
    } else {
        // At most as many as there are: a narrow vector of totals may be less than a full vector of results.
        constexpr int whole = kVectorBytes / static_cast<int>(sizeof(R)), some = L::count < whole ? L::count : whole;
        using V = typename VecOf<R, some* static_cast<int>(sizeof(R))>::type;
        T totals[L::count];
        store(totals, v);
        for (int k = 0; k < L::count; k += some)
            store_or_stream(reinterpret_cast<R*>(p) + k, finish(widened<V>(totals + k)), streaming);
    }
}
