// Transposes of sums over windows that do not overlap: each element is in at most one window and gets its value, or
// zero. The values are the user's array, which need not be aligned.

// Elements 2m - low and 2m - low + 1 of a row belong to value m; n elements from element j0 on.
template <class T>
inline void spread_row(T* out, const T* value, const Axis& a, int64_t j0, int64_t n, const Division<T>& by,
                       bool streaming) {
    using V = typename Lane<T, kVectorBytes>::V;
    constexpr int wide = Lane<T, kVectorBytes>::count;
    const auto one = [&](int64_t i) { out[i] = by(a.lengths[j0 + i] ? load<T>(value + a.starts[j0 + i]) : T{0}); };
    const int64_t shift = a.spread_low + j0, begin = (shift + 1) / 2, end = min(a.n, (shift + n) / 2);
    if (end - begin < wide) {
        for (int64_t i = 0; i < n; ++i) one(i);
        return;
    }
    for (int64_t i = 0; i < 2 * begin - shift; ++i) one(i);
    streaming = streaming && (end - begin) % wide == 0 && vector_aligned(out + 2 * begin - shift, 0);
    for (int64_t i = begin; i < end; i += wide) {
        const int64_t m = min(i, end - wide);
        const V v = by(load<V>(value + m));
        V low, high;
        interleave(v, v, low, high, typename MakeSeq<wide>::type{});
        store_or_stream(out + 2 * m - shift, low, streaming);
        store_or_stream(out + 2 * m - shift + wide, high, streaming);
    }
    for (int64_t i = 2 * end - shift; i < n; ++i) one(i);
}

template <class T>
void spread_average(const PoolSchedule& job, int64_t task, Arena*) {
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const Division<T> by = division<T>(job.epilogue == Epilogue::average ? job.divisor : 1.0);
    const T none = by(T{0});
    const int64_t y_step = job.y_stride[last];
    constexpr int64_t size = sizeof(T);
    const bool streaming =
        job.streaming && b.lanes * size % kVectorBytes == 0 && vector_aligned(job.y + b.y * size, y_step * size);
    const auto fill = [&](T* out, int64_t n) {
        for (int64_t i = 0; i < n; ++i) out[i] = none;
    };
    for_rows(last, b.count, [&](const int64_t* at) {
        const char* from = b.x;
        T* out = reinterpret_cast<T*>(job.y) + b.y;
        bool seen = true;
        for (int q = 0; q < last; ++q) {
            const int64_t j = b.j0[q] + at[q];
            out += at[q] * job.y_stride[q];
            seen &= job.axis[q].lengths[j] > 0;
            from += job.axis[q].starts[j] * job.x_stride[q];
        }
        if (!rows_are_lanes(job)) {
            if (!seen) return fill(out, b.count[last]);
            return spread_row(out, reinterpret_cast<const T*>(from), a, b.j0[last], b.count[last], by, job.streaming);
        }
        for (int64_t c = 0; c < b.count[last]; ++c, out += y_step) {
            const int64_t j = b.j0[last] + c;
            if (!seen || a.lengths[j] == 0) {
                fill(out, b.lanes);
                continue;
            }
            const T* lanes = reinterpret_cast<const T*>(from + a.starts[j] * job.x_stride[last]);
            for_lanes<T>(b.lanes, [&](auto lane, int64_t i) CENOTE_INLINE {
                store_or_stream(out + i, by(load<typename decltype(lane)::V>(lanes + i)), streaming);
            });
        }
    });
    if (job.streaming) fence_stores();
}
