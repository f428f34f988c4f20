// Elementwise operations on rows, before and after the passes.

template <class T>
inline void absolute(T* row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (__is_same(T, float)) row[i] = __builtin_fabsf(row[i]);
        if constexpr (__is_same(T, double)) row[i] = __builtin_fabs(row[i]);
    }
}

// ------------------------------------------------------------------------------ sums with a wide exponent
//
// Smooth max adds exp(βx), and an Lp norm adds |x|^p. Both terms are f·2^e with f near 1 and an integer e. If all
// exponents of a tile are in range, the terms are added as plain doubles, otherwise as WideSum. Scaling by a power of
// two is exact, so both give the same bits, and a result does not depend on what else is in its tile.

constexpr double kExponentRange = 600.0;  // |βx|: exp(600)·2^63 is still far below the largest double

// f·2^e as v·16^w.
inline void to_base_16(double f, double e, double& v, double& w) {
    w = __builtin_floor(e * 0.25);
    v = scale(f, e - 4.0 * w);
}

// exp(t) for any t as v·16^w.
inline void exp_any(double t, double& v, double& w) {
    constexpr double bits_per_nat = 1.4426950408889634074;
    const double size = t < 0 ? -t : t;
    if (t != t) {
        v = t;
        w = 0;
    } else if (size > 1.7976931348623157e308) {
        v = t > 0 ? 1 : 0;
        w = t > 0 ? WideSum::infinite : WideSum::nowhere;
    } else if (size <= 1048576.0) {
        double f, e;
        exp_parts(t, f, e);
        to_base_16(f, e, v, w);
    } else if (size <= 2251799813685248.0) {
        const double e = __builtin_rint(t * bits_per_nat);
        double r = __builtin_fma(-e, 6.931471805599453094e-01, t), f, more;
        r = __builtin_fma(-e, 2.3190468138462995584e-17, r);
        exp_parts(r, f, more);
        to_base_16(f, e + more, v, w);
    } else {  // doubles are more than 1/4 apart here: there is no fraction
        v = 1;
        w = __builtin_rint(t * (0.25 * bits_per_nat));
    }
}

// |x|^p for a finite x other than 0, as v·16^w.
inline void power_any(double x, double p, double& v, double& w) {
    if (x < 0) x = -x;
    double m, q, extra = 0;
    if (x < 0x1p-1000) {  // subnormal numbers have no exponent to extract
        x *= 0x1p200;
        extra = -200;
    }
    split(x, m, q);
    q += extra;
    if (p == 1.0 || p == 2.0 || p == 3.0 || p == 4.0) {
        to_base_16(p == 1.0 ? m : p == 2.0 ? m * m : p == 3.0 ? m * m * m : (m * m) * (m * m), q * p, v, w);
    } else {
        exp_any(p * log_parts(m, q), v, w);
    }
}

// Whether in_range(v), a mask, holds for a whole row.
template <class F>
inline bool all_in_range(const double* row, int64_t n, F in_range) {
    using Wide = typename Lane<double, kVectorBytes>::V;
    Wide found{};
    double alone = 0;
    for_lanes<double>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V out = in_range(load<V>(row + i)) ? V{} : splat<V>(1.0);
        if constexpr (sizeof(V) == sizeof(Wide))
            found += out;
        else if constexpr (IsVector<V>::value)
            alone += out[0] + out[1];
        else
            alone += out;
    });
    for (int k = 0; k < Lane<double, kVectorBytes>::count; ++k) alone += found[k];
    return alone == 0;
}

// Whether every term of a smooth max, or of a norm, is within the range of plain doubles.
inline bool exponents_in_range(const double* row, int64_t n, double beta) {
    return all_in_range(row, n, [&](auto x) CENOTE_INLINE {
        const auto t = x * beta;
        return (t >= -kExponentRange) & (t <= kExponentRange);
    });
}

inline bool powers_in_range(const double* row, int64_t n, double p) {
    const double bound = kExponentRange / p;  // |log x| allowed
    double m = bound < 600.0 ? bound : 600.0, f, e;
    exp_parts(m, f, e);
    const double most_allowed = scale(f, e), least_allowed = 1.0 / most_allowed;
    return all_in_range(row, n, [&](auto x) CENOTE_INLINE {
        return (x == 0.0) | ((x >= least_allowed) & (x <= most_allowed)) |
               ((x >= -most_allowed) & (x <= -least_allowed));
    });
}

// x → exp(βx), in range.
inline void plain_exponentials(double* row, int64_t n, double beta) {
    for_lanes<double>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        V f, e;
        exp_parts(V(load<V>(row + i) * beta), f, e);
        store(row + i, scale(f, e));
    });
}

// x → |x|^p, in range or 0.
inline void plain_powers(double* row, int64_t n, double p) {
    for_lanes<double>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V x = load<V>(row + i);
        const V size = x < 0.0 ? V(-x) : x;
        if (p == 1.0) return store(row + i, size);
        if (p == 2.0) return store(row + i, V(size * size));
        const V safe = size == 0.0 ? splat<V>(1.0) : size;
        V m, q, f, e;
        split(safe, m, q);
        if (p == 3.0 || p == 4.0) {
            f = p == 3.0 ? V(m * m * m) : V((m * m) * (m * m));
            e = q * p;
        } else {
            exp_parts(V(log_parts(m, q) * p), f, e);
        }
        store(row + i, size == 0.0 ? V{} : scale(f, e));
    });
}

// x → mantissa and exponent of exp(βx) or |x|^p, for any x.
inline void wide_terms(const PoolSchedule& job, double* v, double* w, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const double x = v[i];
        if (job.prologue == Prologue::exponential) {
            exp_any(x * job.beta, v[i], w[i]);
        } else if (x != x) {
            w[i] = 0;
        } else if (x == 0.0) {
            v[i] = 0;
            w[i] = WideSum::nowhere;
        } else if (x - x != 0.0) {
            v[i] = 1;
            w[i] = WideSum::infinite;
        } else {
            power_any(x, job.power, v[i], w[i]);
        }
    }
}

// v·16^w for any integer w, up to infinity and down to subnormal numbers.
inline double from_base_16(double v, double w) {
    if (v == 0.0 || v != v) return v;
    if (w > 600) return __builtin_inf();
    if (w < -600) return 0.0;
    for (; w > 200; w -= 200) v *= 0x1p800;
    for (; w < -200; w += 200) v *= 0x1p-800;
    return scale(v, 4.0 * w);
}

inline bool is_infinite(double v, double w) { return w >= WideSum::infinite || v > 1.7976931348623157e308; }

// The logarithm of a total v·16^w.
inline double log_total(double v, double w) {
    if (v != v) return v;
    if (v == 0.0) return -__builtin_inf();
    if (is_infinite(v, w)) return __builtin_inf();
    if (w > 0x1p50 || w < -0x1p50)
        return w * 2.7725887222397812377;  // log 16 times w: the mantissa is below the last bit
    return log_parts(v, 4.0 * w);
}

inline double root_total(double v, double w, double p) {
    if (v != v || v == 0.0) return v;
    if (is_infinite(v, w)) return __builtin_inf();
    if (p == 1.0) return from_base_16(v, w);
    if (p == 2.0) {
        const double half = __builtin_floor(w * 0.5);
        return from_base_16(__builtin_sqrt(w - 2 * half != 0 ? v * 16.0 : v), half);
    }
    double root, exponent;
    exp_any(log_total(v, w) / p, root, exponent);
    return from_base_16(root, exponent);
}

// Totals to results: log(v·16^w)/β or (v·16^w)^(1/p).
inline void wide_epilogue(const PoolSchedule& job, double* v, const double* w, int64_t n) {
    const bool logarithm = job.epilogue == Epilogue::logarithm;
    for (int64_t i = 0; i < n; ++i)
        v[i] = logarithm ? log_total(v[i], w[i]) / job.beta : root_total(v[i], w[i], job.power);
}

// The same for plain totals, in range or 0.
inline void plain_epilogue(const PoolSchedule& job, double* row, const double* totals, int64_t n) {
    const bool logarithm = job.epilogue == Epilogue::logarithm;
    if (!logarithm && job.power == 1.0) return copy_row(row, totals, n);
    for_lanes<double>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V total = load<V>(totals + i);
        if (!logarithm && job.power == 2.0) return store(row + i, sqrt_fp64(total));
        const V safe = total > 0.0 ? total : splat<V>(1.0), log = log_parts(safe, V{});
        if (logarithm) return store(row + i, total > 0.0 ? log / job.beta : splat<V>(-__builtin_inf() / job.beta));
        V f, e;
        exp_parts(V(log / job.power), f, e);
        store(row + i, total > 0.0 ? scale(f, e) : total);
    });
}
