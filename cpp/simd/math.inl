// exp and log, for vectors and scalars alike. Smooth max and Lp pooling need not have the same bits on every level, so
// multiplications and additions are fused wherever the level supports it.

template <class V>
CENOTE_INLINE inline V fused(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#endif
#if defined(__FMA__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
    if constexpr (sizeof(V) == 16) return (V)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
    if constexpr (!IsVector<V>::value) return __builtin_fma(a, b, c);
#endif
    return a * b + c;
}
template <class V>
CENOTE_INLINE inline V linear(V x, double slope, double start) {
    return fused(x, splat<V>(slope), splat<V>(start));
}

// 2^w for integers w <= 0; flushed to 0 below the normal range.
template <class V>
inline V power_of_two(V w) {
    if constexpr (IsVector<V>::value) {
        using W = typename Rebind<V, uint64_t>::type;
        const V clamped = w < -1022.0 ? splat<V>(-1022.0) : w;
        // 1.5·2^52 + w has w in the low bits of its mantissa.
        const V shifted = clamped + 6755399441055744.0;
        const W bits = ((W)shifted - 0x4338000000000000u + 1023) << 52;
        return w < -1022.0 ? V{} : (V)bits;
    } else {
        if (w < -1022.0) return 0.0;
        const int64_t bits = (static_cast<int64_t>(w) + 1023) << 52;
        return load<double>(&bits);
    }
}

template <class V>
inline V round_to_whole(V v) {  // for |v| < 2^51
    return (v + 6755399441055744.0) - 6755399441055744.0;
}

// exp(r) for |r| <= ln(2)/2: the Taylor series up to r^13/13!.
template <class V>
CENOTE_INLINE inline V exp_near_zero(V r) {
    const V r2 = r * r, r4 = r2 * r2;
    const V a = fused(linear(r, 1.0 / 120, 1.0 / 24), r2, linear(r, 1.0 / 6, 0.5));
    const V b = fused(linear(r, 1.0 / 362880, 1.0 / 40320), r2, linear(r, 1.0 / 5040, 1.0 / 720));
    const V c = fused(linear(r, 1.0 / 6227020800, 1.0 / 479001600), r2, linear(r, 1.0 / 39916800, 1.0 / 3628800));
    return fused(r2, fused(r4, fused(r4, c, b), a), r) + 1.0;
}

// t - e·ln 2, with ln 2 split in two (Cody-Waite): the upper part has 32 significant bits, so e times it is exact.
template <class V>
CENOTE_INLINE inline V reduce_ln2(V t, V e) {
    return fused(e, splat<V>(-1.90821492927058770002e-10), fused(e, splat<V>(-6.93147180369123816490e-01), t));
}

// exp(t) = f·2^e for |t| <= 2^20.
template <class V>
inline void exp_parts(V t, V& f, V& e) {
    e = round_to_whole(V(t * 1.4426950408889634074));
    f = exp_near_zero(reduce_ln2(t, e));
}

// f·2^e for |e| <= 1000.
template <class V>
inline V scale(V f, V e) {
    if constexpr (IsVector<V>::value) {
        using W = typename Rebind<V, uint64_t>::type;
        const V shifted = e + 6755399441055744.0;
        return f * (V)(((W)shifted - 0x4338000000000000u + 1023) << 52);
    } else {
        const int64_t bits = (static_cast<int64_t>(e) + 1023) << 52;
        return f * load<double>(&bits);
    }
}

// v = m·2^e for a positive normal v, with m in [sqrt(1/2), sqrt(2)).
template <class V>
inline void split(V v, V& m, V& e) {
    using I = typename Rebind<V, int64_t>::type;
    using W = typename Rebind<V, uint64_t>::type;
    W bits;
    __builtin_memcpy(&bits, &v, sizeof(V));
    // Subtracting the bits of sqrt(1/2) makes the borrow from the exponent happen at sqrt(1/2).
    const I whole = (I)(bits - 0x3fe6a09e667f3bcdu) >> 52;
    const W mantissa = bits - ((W)whole << 52);
    __builtin_memcpy(&m, &mantissa, sizeof(V));
    if constexpr (IsVector<V>::value) {
        const W small = (W)whole + 0x4338000000000000u;
        V shifted;
        __builtin_memcpy(&shifted, &small, sizeof(V));
        e = shifted - 6755399441055744.0;
    } else {
        e = static_cast<double>(whole);
    }
}

// log(m) for m in [sqrt(1/2), sqrt(2)).
template <class V>
inline V log_mantissa(V m) {
    const V s = (m - 1.0) / (m + 1.0), z = s * s, z2 = z * z, z4 = z2 * z2;
    const V a = fused(linear(z, 1.0 / 9, 1.0 / 7), z2, linear(z, 1.0 / 5, 1.0 / 3));
    const V b = fused(linear(z, 1.0 / 17, 1.0 / 15), z2, linear(z, 1.0 / 13, 1.0 / 11));
    const V c = fused(z2, splat<V>(1.0 / 23), linear(z, 1.0 / 21, 1.0 / 19));
    const V p = fused(z4, fused(z4, c, b), a);
    // s·(2 + 2/3 z + …), smallest terms first
    return fused(s, V(z * (p * 2.0)), V(s * 2.0));
}

// log(f·2^e) for a positive normal f.
template <class V>
inline V log_parts(V f, V e) {
    V m, q;
    split(f, m, q);
    const V whole = q + e;
    return whole * 6.93147180369123816490e-01 + fused(whole, splat<V>(1.90821492927058770002e-10), log_mantissa(m));
}

// --------------------------------------------------------------------------------------- in single precision

template <class V>
inline V multiply_add(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#endif
#if defined(__FMA__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    if constexpr (sizeof(V) == 16) return (V)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
    if constexpr (!IsVector<V>::value) return __builtin_fmaf(a, b, c);
#endif
    return a * b + c;
}

// Square roots of non-negative doubles.
template <class V>
CENOTE_INLINE inline V sqrt_fp64(V v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_sqrt_pd((__m512d)v);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_sqrt_pd((__m256d)v);
#endif
    if constexpr (IsVector<V>::value) {
        for (int k = 0; k < static_cast<int>(sizeof(V) / 8); ++k) v[k] = __builtin_sqrt(v[k]);
        return v;
    } else {
        return __builtin_sqrt(v);
    }
}

// Square roots of non-negative floats.
template <class V>
inline V sqrt_fp32(V v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_sqrt_ps((__m512)v);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_sqrt_ps((__m256)v);
#endif
#if defined(__SSE__)
    if constexpr (sizeof(V) == 16) return (V)__builtin_ia32_sqrtps(v);
#endif
    if constexpr (IsVector<V>::value) {
        for (int k = 0; k < static_cast<int>(sizeof(V) / 4); ++k) v[k] = __builtin_sqrtf(v[k]);
        return v;
    } else {
        return __builtin_sqrtf(v);
    }
}

// Cube roots of non-negative floats (0 or normal), through the inverse y: an initial guess from the bits (5 % off at
// most), one step with a minimax polynomial (4e-5), and one on the root v·y². No division and a short dependency chain:
// such loops are bound by latency.
template <class V>
CENOTE_INLINE inline V cbrt_fp32(V v) {
    using I = typename Rebind<V, int32_t>::type;
    I bits;
    __builtin_memcpy(&bits, &v, sizeof(V));
    if constexpr (IsVector<V>::value)  // minus a third of the bits; float precision is enough for a guess
        bits = __builtin_convertvector(V(1419600000.0f - __builtin_convertvector(bits, V) * (1.0f / 3)), I);
    else
        bits = static_cast<int32_t>(1419600000.0f - static_cast<float>(bits) * (1.0f / 3));
    V y;
    __builtin_memcpy(&y, &bits, sizeof(V));
    const V h = multiply_add(V(-v * y), V(y * y), splat<V>(1.0f));
    y = y * multiply_add(h, multiply_add(h, splat<V>(0.2626159f), splat<V>(0.3317432f)), splat<V>(0.99997896f));
    const V root = (v * y) * y;
    return multiply_add(V(root * (2.0f / 3)), multiply_add(V(-root), y, splat<V>(1.0f)), root);
}

// 2^(x·base) for exponents of magnitude up to 60. The fused product has no rounding error of its own; the polynomial
// has a relative error of 2e-9 and is exact at 0.
template <class V>
CENOTE_INLINE inline V exp2_fp32(V x, float base) {
    using W = typename Rebind<V, uint32_t>::type;
    const V high = splat<V>(base);
    const V shifted = multiply_add(x, high, splat<V>(12582912.0f));  // 1.5·2^23: the integer part is in the low bits
    const V r = multiply_add(x, high, V(12582912.0f - shifted));
    // Estrin's scheme: half the latency of Horner's for two more multiplications.
    const V square = r * r;
    const V low = multiply_add(r, splat<V>(0.6931472f), splat<V>(1.0f));
    const V middle = multiply_add(r, splat<V>(0.055503324f), splat<V>(0.24022648f));
    const V high_part = multiply_add(r, splat<V>(0.0013398875f), splat<V>(0.009618437f));
    const V upper = multiply_add(square, splat<V>(0.00015353363f), high_part);
    const V p = multiply_add(V(square * square), upper, multiply_add(square, middle, low));
    W bits, whole;
    __builtin_memcpy(&bits, &p, sizeof(V));
    __builtin_memcpy(&whole, &shifted, sizeof(V));
    bits += whole << 23;  // the shift drops the rest of `shifted`
    V out;
    __builtin_memcpy(&out, &bits, sizeof(V));
    return out;
}

// scale·log2(v) for a positive normal v; LogScale holds (scale + rest)·(1, 2.8853912, 0.96147066, 0.59897858). The
// error is 3e-8·scale plus the rounding of the result: many ulps near v = 1, where smooth max does not need them.
struct LogScale {
    float scale, rest, first, third, fifth;
};
template <class V>
CENOTE_INLINE inline V log2_fp32(V v, const LogScale& by) {
    using I = typename Rebind<V, int32_t>::type;
    using W = typename Rebind<V, uint32_t>::type;
    W bits;  // arbitrary for totals that are not positive: their results are not used
    __builtin_memcpy(&bits, &v, sizeof(V));
    bits -= 0x3f3504f3u;  // sqrt(1/2)
    const W mantissa = (bits & 0x7fffffu) + 0x3f3504f3u;
    const I whole = (I)bits >> 23;
    V m;
    __builtin_memcpy(&m, &mantissa, sizeof(V));
    V e;
    if constexpr (IsVector<V>::value)
        e = __builtin_convertvector(whole, V);
    else
        e = static_cast<float>(whole);
    const V s = (m - 1.0f) / (m + 1.0f), z = s * s;
    const V start = multiply_add(s, splat<V>(by.first), multiply_add(e, splat<V>(by.scale), V(e * by.rest)));
    return multiply_add(V(s * z), multiply_add(z, splat<V>(by.fifth), splat<V>(by.third)), start);
}
