// exp and pow in double precision for vectors, accurate to a few ulps for any exponent.

// The rounding error of ab = a·b.
template <class V>
CENOTE_INLINE inline V product_error(V a, V b, V ab) {
#if defined(__FMA__)
    if constexpr (sizeof(V) > 16) return fused(a, b, V(-ab));
#endif
    using W = typename Rebind<V, uint64_t>::type;
    constexpr uint64_t upper = ~uint64_t{0} << 27;  // the upper 26 bits, whose products are exact
    const V a1 = (V)((W)a & upper), b1 = (V)((W)b & upper), a2 = a - a1, b2 = b - b1;
    return (((a1 * b1 - ab) + a1 * b2) + a2 * b1) + a2 * b2;
}

// exp(t + less) for |t| <= 1200 and |less| far below 1. Wide: the result may overflow or be subnormal.
template <bool Wide, class V>
CENOTE_INLINE inline V exp_of(V t, V less) {
    const V e = round_to_whole(V((t + less) * 1.4426950408889634074));
    const V f = exp_near_zero(V(reduce_ln2(t, e) + less));
    if constexpr (!Wide) return scale(f, e);
    const V half = round_to_whole(V(e * 0.5));
    return scale(scale(f, half), V(e - half));
}

// The same for any t; exp(-inf) is 0.
template <class V>
CENOTE_INLINE inline V exp_clamped(V t, V less) {
    less = (t > 1200.0) | (t < -1200.0) ? V{} : less;
    t = t > 1200.0 ? splat<V>(1200.0) : t;
    t = t < -1200.0 ? splat<V>(-1200.0) : t;
    return exp_of<true>(t, less);
}

// log x = whole·ln 2 + rest for a positive finite x.
template <class V>
CENOTE_INLINE inline void log_of(V x, V& whole, V& rest) {
    const auto tiny = x < 0x1p-1000;  // scaled up first: subnormal numbers have no exponent to extract
    V m;
    split(tiny ? V(x * 0x1p200) : x, m, whole);
    whole = tiny ? V(whole - 200.0) : whole;
    rest = log_mantissa(m);
}

// exp(q·(whole·ln 2 + rest)), where q is q + q_rest.
template <bool Wide, class V>
CENOTE_INLINE inline V power_of_log(V whole, V rest, double q, double q_rest) {
    const V upper = whole * 6.93147180369123816490e-01;  // exact
    const V lower = fused(whole, splat<V>(1.90821492927058770002e-10), rest);
    const V by = splat<V>(q), t1 = upper * by, t2 = lower * by, t = t1 + t2, part = t - t1;
    const V less = ((t1 - (t - part)) + (t2 - part)) + fused(t, splat<V>(q_rest / q), product_error(upper, by, t1));
    if constexpr (Wide) return exp_clamped(t, less);
    return exp_of<false>(t, less);
}

inline Power power_for(double q, double q_rest) {
    const double size = q < 0 ? -q : q;
    const bool by_products = q_rest == 0.0 && size <= 4.5 && 2 * size == __builtin_floor(2 * size);
    const int whole = by_products ? static_cast<int>(size) : 0;
    return {q, q_rest, by_products, by_products && size != whole, q < 0, whole};
}

template <class V>
CENOTE_INLINE inline V raise(V x, const Power& to) {
    if (!to.by_products) {
        V whole, rest;
        log_of(x, whole, rest);
        return power_of_log<false>(whole, rest, to.q, to.q_rest);
    }
    V y = splat<V>(1.0);
    if (to.whole & 1) y = x;
    if (to.whole & 6) {
        const V x2 = x * x, even = to.whole & 4 ? V(x2 * x2) : x2;
        y = to.whole & 1 ? V(even * x) : even;
    }
    if (to.has_root) y = y * sqrt_fp64(x);
    return to.inverted ? V(1.0 / y) : y;
}
