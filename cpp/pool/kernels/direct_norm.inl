// Smooth max and Lp norms of small windows, in single precision. A tile with an element out of range is computed again
// by separable_norm, which gives the same bits for all windows without such an element.

// A sum of squares or cubes; w is set if an element is out of range.
template <int Power>
struct PowerSum : TapIndependent {
    using T = float;
    using U = uint32_t;
    static constexpr bool two_planes = true, summed = true, flagged = true;

    template <class V>
    struct Reg {
        V v;
        typename Rebind<V, U>::type w;
    };
    template <class V>
    static Reg<V> from_value(V element) {
        return {powered(to_float<V>(to_bits(element) & 0x7fffffffu), Power), power_out_of_range(element)};
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {a.v + b.v, a.w | b.w};
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(0.0f), splat<typename Rebind<V, U>::type>(0u)};
    }
};

// The same with the largest element: for smooth max with β = 1 (Power = 0), and for cubes, whose root could be rounded
// to below it.
template <int Power>
struct SumWithMax : TapIndependent {
    using T = float;
    using U = uint32_t;
    static constexpr bool two_planes = true, summed = true, flagged = true, exponential = Power == 0;

    template <class V>
    struct Reg {
        V v, extreme;
        typename Rebind<V, U>::type w;
    };

    template <class V>
    static Reg<V> from_value(V element) {
        if constexpr (Power == 0) {
            constexpr float most = static_cast<float>(kFp32Exponent);
            return {exp2_fp32(element, static_cast<float>(kLog2E)), element,
                    exponent_out_of_range(element, __builtin_bit_cast(int32_t, most))};
        } else {
            const auto power = PowerSum<Power>::from_value(element);
            return {power.v, to_float<V>(to_bits(element) & 0x7fffffffu), power.w};
        }
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {a.v + b.v, b.extreme > a.extreme ? b.extreme : a.extreme, a.w | b.w};
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(0.0f), splat<V>(-__builtin_inff()), splat<typename Rebind<V, U>::type>(0u)};
    }
};

// f(lane, i) for 0 … n-1 in whole vectors, the last one overlapping; element by element if n is less than a vector.
template <class F>
CENOTE_INLINE inline void for_whole_vectors(int64_t n, F f) {
    using L = Lane<float, kVectorBytes>;
    if (n < L::count) {
        for (int64_t i = 0; i < n; ++i) f(Lane<float, 0>{}, i);
        return;
    }
    for (int64_t i = 0; i < n; i += L::count) f(L{}, min(i, n - L::count));
}

// The epilogue of rows of totals.
template <class C>
CENOTE_ONCE void norm_epilogue(const Norm& given, const float* totals, const float* extremes, float* y, int64_t n) {
    const Norm norm = given;  // a copy: stores to `y` cannot alias it
    for_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        if constexpr (C::exponential)
            store(y + i, log_epilogue<false>(norm, load<V>(totals + i), load<V>(extremes + i)));
        else
            store(y + i, root_epilogue(norm, load<V>(totals + i), load<V>(extremes + i)));
    });
}

constexpr int64_t kEpilogueTotals = 1024;  // totals that wait for the epilogue, or one row if that is more

template <class C>
void norm_direct(const PoolSchedule& job, int64_t task, Arena* arena) {
    const PoolTile b = locate(job, task);
    const DirectRow line = direct_row_of(job, b, TapWeights{});
    const Norm norm = norm_of(job);
    using Wide = typename Lane<uint32_t, kVectorBytes>::V;
    Wide out_of_range{};
    // A logarithm or a cube root is a long dependency chain: in a loop of its own, over several rows, more of them run
    // in parallel.
    const int64_t n = line.n, most_rows = has_extreme<C> ? max(kEpilogueTotals / n, 1) : rows_together(line);
    float* totals = has_extreme<C> ? take<float>(arena, most_rows * n) : nullptr;
    float* extremes = has_extreme<C> ? take<float>(arena, most_rows * n) : nullptr;
    uint32_t tail_out_of_range = 0;
    dispatch_row_layout<C>(job, [&]<class A>(A) {
        for_window_rows(
            job, b, TapWeights{}, most_rows,
            [&](const int64_t*, const char* first, const DirectWindow& window, int64_t y) {
                float* out = reinterpret_cast<float*>(job.y) + y;
                direct_row<C, float, A>(line, first, window,
                                        [&](auto lane, int64_t i, auto reduced, int64_t r) CENOTE_INLINE {
                                            using L = decltype(lane);
                                            if constexpr (has_extreme<C>) {
                                                store(totals + r * n + i, reduced.v);
                                                store(extremes + r * n + i, reduced.extreme);
                                            } else {
                                                store(out + i + r * window.y_step, sqrt_fp32(reduced.v));
                                            }
                                            if constexpr (L::count > 1)
                                                out_of_range |= reduced.w;
                                            else
                                                tail_out_of_range |= reduced.w;
                                        });
                if constexpr (has_extreme<C>) {
                    const bool is_contiguous = window.y_step == n;
                    for (int64_t r = 0; r < (is_contiguous ? 1 : window.rows); ++r)
                        norm_epilogue<C>(norm, totals + r * n, extremes + r * n, out + r * window.y_step,
                                         is_contiguous ? window.rows * n : n);
                }
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < line.n; ++i)
                    reinterpret_cast<float*>(job.y)[y + i] = fp32_result(norm, 0.0f, -__builtin_inff());
            });
    });
    for (int k = 0; k < Lane<uint32_t, kVectorBytes>::count; ++k) tail_out_of_range |= out_of_range[k];
    if (tail_out_of_range) separable_norm_tile(job, task, arena);
}
