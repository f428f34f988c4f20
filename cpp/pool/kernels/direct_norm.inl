// Norms and smooth maxima of small windows, in single precision. A tile with an element that is not moderate is
// computed again the long way, which gives the same bits for all windows without such an element.

// A sum of squares or cubes; w: some element is not moderate.
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
        return {powered(to_float<V>(to_bits(element) & 0x7fffffffu), Power), wild_power(element)};
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

// The same with the largest element: of a smooth maximum with β = 1 (Power = 0), or of cubes, whose root need not stay
// above it.
template <int Power>
struct ToppedSum : TapIndependent {
    using T = float;
    using U = uint32_t;
    static constexpr bool two_planes = true, summed = true, flagged = true, exponential = Power == 0;

    template <class V>
    struct Reg {
        V v, top;
        typename Rebind<V, U>::type w;
    };

    template <class V>
    static Reg<V> from_value(V element) {
        if constexpr (Power == 0) {
            constexpr float most = static_cast<float>(kSingleExponent);
            return {exp2_fp32(element, static_cast<float>(kLog2E)), element,
                    wild_exponent(element, __builtin_bit_cast(int32_t, most))};
        } else {
            const auto power = PowerSum<Power>::from_value(element);
            return {power.v, to_float<V>(to_bits(element) & 0x7fffffffu), power.w};
        }
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {a.v + b.v, b.top > a.top ? b.top : a.top, a.w | b.w};
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(0.0f), splat<V>(-__builtin_inff()), splat<typename Rebind<V, U>::type>(0u)};
    }
};

// f(lane, i) for 0 … n-1 in whole vectors, the last of them with some elements a second time; one by one if n is less.
template <class F>
CENOTE_INLINE inline void in_whole_vectors(int64_t n, F f) {
    using L = Lane<float, kVectorBytes>;
    if (n < L::count) {
        for (int64_t i = 0; i < n; ++i) f(Lane<float, 0>{}, i);
        return;
    }
    for (int64_t i = 0; i < n; i += L::count) f(L{}, min(i, n - L::count));
}

// Rows of totals to results.
template <class C>
CENOTE_ONCE void finish_row(const Norm& given, const float* totals, const float* tops, float* y, int64_t n) {
    const Norm norm = given;  // which no store through `y` can change
    in_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        if constexpr (C::exponential)
            store(y + i, finished_log<false>(norm, load<V>(totals + i), load<V>(tops + i)));
        else
            store(y + i, finished_root(norm, load<V>(totals + i), load<V>(tops + i)));
    });
}

constexpr int64_t kFinished = 1024;  // totals that wait for it, if one row has not more

template <class C>
void norm_direct(const PoolSchedule& job, int64_t task, Arena* arena) {
    const PoolTile b = locate(job, task);
    const Line line = line_of(job, b, Weights{});
    const Norm norm = norm_of(job);
    using Wide = typename Lane<uint32_t, kVectorBytes>::V;
    Wide wild{};
    // A logarithm or a cube root is a long chain: in a loop of its own, for some rows at a time, more of them are under
    // way at once.
    const int64_t n = line.n, most_rows = has_top<C> ? max(kFinished / n, 1) : rows_together(line);
    float* totals = has_top<C> ? take<float>(arena, most_rows * n) : nullptr;
    float* tops = has_top<C> ? take<float>(arena, most_rows * n) : nullptr;
    uint32_t wild_elsewhere = 0;
    as_they_lie<C>(job, [&]<class A>(A) {
        for_window_rows(
            job, b, Weights{}, most_rows,
            [&](const int64_t*, const char* first, const DirectWindow& window, int64_t y) {
                float* out = reinterpret_cast<float*>(job.y) + y;
                direct_row<C, float, A>(line, first, window,
                                        [&](auto lane, int64_t i, auto joined, int64_t r) CENOTE_INLINE {
                                            using L = decltype(lane);
                                            if constexpr (has_top<C>) {
                                                store(totals + r * n + i, joined.v);
                                                store(tops + r * n + i, joined.top);
                                            } else {
                                                store(out + i + r * window.y_step, sqrt_fp32(joined.v));
                                            }
                                            if constexpr (L::count > 1)
                                                wild |= joined.w;
                                            else
                                                wild_elsewhere |= joined.w;
                                        });
                if constexpr (has_top<C>) {
                    const bool one_piece = window.y_step == n;
                    for (int64_t r = 0; r < (one_piece ? 1 : window.rows); ++r)
                        finish_row<C>(norm, totals + r * n, tops + r * n, out + r * window.y_step,
                                      one_piece ? window.rows * n : n);
                }
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < line.n; ++i)
                    reinterpret_cast<float*>(job.y)[y + i] = finished_single(norm, 0.0f, -__builtin_inff());
            });
    });
    for (int k = 0; k < Lane<uint32_t, kVectorBytes>::count; ++k) wild_elsewhere |= wild[k];
    if (wild_elsewhere) separable_norm_tile(job, task, arena);
}
