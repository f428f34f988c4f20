// Tiles of small windows: max and min, with or without argmax.

// Writes a value read from the same dtype: nothing is rounded, but NaN is made quiet as elsewhere.
template <class R, class L>
CENOTE_INLINE inline void write(char* p, typename L::V v, bool streaming = false) {
    if constexpr (__is_same(R, BFloat16)) {
        using W = BitsOf<typename L::V>;
        const W bits = to_bits(v) >> 16 | (v == v ? splat<W>(0u) : splat<W>(0x40u));
        if constexpr (L::count == 1)
            store(p, static_cast<uint16_t>(bits));
        else
            store(p, __builtin_convertvector(bits, typename VecOf<uint16_t, 2 * L::count>::type));
    } else if constexpr (__is_same(R, Half)) {
        write_half<R, L>(p, v);
    } else {
        store_or_stream(reinterpret_cast<R*>(p), v, streaming);
    }
}

inline bool is_empty(const Axis& a, int64_t j) {
    const Span taps = real_taps(a, j);
    return taps.begin == taps.end;
}

template <class C, class S>
void max_direct(const PoolSchedule& job, int64_t task, Arena*) {
    constexpr int64_t size = sizeof(S);
    const PoolTile b = locate(job, task);
    dispatch_row_layout<C>(job, [&]<class A>(A) {
        const DirectRow line = with_replicated_edges<C, S, A>(direct_row_of(job, b, TapWeights{}));
        const bool streaming = results_stream(job, b, line, Lane<typename C::T, kVectorBytes>::count, size);
        for_window_rows(
            job, b, TapWeights{}, rows_together(line),
            [&](const int64_t*, const char* first, const DirectWindow& window, int64_t y) {
                char* out = job.y + y * size;
                direct_row<C, S, A>(line, first, window,
                                    [&](auto lane, int64_t i, auto reduced, int64_t r) CENOTE_INLINE {
                                        const int64_t at = i + r * window.y_step;
                                        write<S, decltype(lane)>(
                                            out + at * size, C::result(flipped<C>(reduced.v, window.key)), streaming);
                                    });
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < line.n; ++i)
                    write<S, Lane<typename C::T, 0>>(job.y + (y + i) * size,
                                                     C::result(flipped<C>(C::absent(), order_key(job))));
            });
    });
    if (job.streaming) fence_stores();
}

// O is uint8_t for window offsets, int64_t for flat indices.
template <class C, class S, class O>
void argmax_direct(const PoolSchedule& job, int64_t task, Arena* arena) {
    using U = typename C::U;
    using One = Lane<typename C::T, 0>;
    constexpr int64_t size = sizeof(S);
    constexpr bool flat = sizeof(O) == 8;
    const O no_argmax = static_cast<O>(~O{0});
    const PoolTile b = locate(job, task);
    const int depth = row_depth(job), last = job.rank - 1;
    TapWeights weights{};
    for (int q = 0; q < job.rank; ++q) weights.of[q] = flat ? job.axis[q].d * job.plane[q] : job.weight[q];
    const int64_t n = direct_row_of(job, b, weights).n,
                  step = rows_are_lanes(job) ? 0 : job.axis[last].s * job.plane[last];
    const int64_t row_step = depth ? job.axis[depth - 1].s * job.plane[depth - 1] : 0;
    ArgmaxStore<U> pending_argmax{flat ? take<U>(arena, max(kArgmaxRows, n)) : nullptr, flat && indices_stream(job),
                                  nullptr, 0, 0};
    dispatch_row_layout<C>(job, [&]<class A>(A) {
        const DirectRow line = with_replicated_edges<C, S, A>(direct_row_of(job, b, weights));
        const bool clipped = line.interior.begin > 0 || line.interior.end < n;
        // Streamed indices are twice as many bytes already: streaming the values too takes 4 ms instead of 3.5.
        const bool streaming = !flat && results_stream(job, b, line, Lane<typename C::T, kVectorBytes>::count, size);
        for_window_rows(
            job, b, weights, flat ? max(kArgmaxRows / n, 1) : rows_together(line),
            [&](const int64_t* j, const char* first, const DirectWindow& window, int64_t y) {
                char* out = job.y + y * size;
                O* argmax = static_cast<O*>(job.argmax) + y;
                const int64_t apart = window.rows > 1 ? window.y_step : n;
                int64_t base = A::k ? window_start(*line.axis, line.j0) * job.plane[last] : 0;
                for (int q = 0; q < depth; ++q) base += window_start(job.axis[q], j[q]) * job.plane[q];
                // Clipped windows of a row are reduced after the others, so its indices cannot be streamed early.
                if (flat) pending_argmax.begin_rows(job, y, n, clipped ? 0 : apart);
                direct_row<C, S, A>(
                    line, first, window, [&](auto lane, int64_t i, auto reduced, int64_t r) CENOTE_INLINE {
                        using L = decltype(lane);
                        using W = decltype(reduced.w);
                        const int64_t at = i + r * apart;
                        write<S, L>(out + at * size, flipped<C>(reduced.v, window.key), streaming);
                        const bool none = L::count == 1 && A::k != 0 && is_empty(*line.axis, line.j0 + i);
                        if constexpr (!flat) {
                            write_bytes<L>(argmax + at, reduced.w);
                            if (none) argmax[at] = no_argmax;
                        } else {
                            const U own = static_cast<U>(base + i * step + r * row_step);
                            U* here = pending_argmax.rows + r * n + i;
                            if constexpr (L::count == 1) {
                                *here = none ? static_cast<U>(~U{0}) : static_cast<U>(reduced.w + own);
                            } else {
                                store(here, W(reduced.w + (iota<W>() * static_cast<U>(step) + own)));
                                if (pending_argmax.lines) pending_argmax.flush_some(r * n);
                            }
                        }
                    });
                if (flat) pending_argmax.flush(job, y, n, window.rows, apart);
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < n; ++i) {
                    write<S, One>(job.y + (y + i) * size, flipped<C>(C::absent(), order_key(job)));
                    static_cast<O*>(job.argmax)[y + i] = no_argmax;
                }
            });
    });
    if (pending_argmax.streaming || job.streaming) fence_stores();
    static_assert(sizeof(U) >= 4, "distances in the flat index need room");
}
