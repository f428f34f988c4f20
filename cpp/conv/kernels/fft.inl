// Fourier transforms of many columns at once: lanes are columns, and all steps of a few columns run in the L1 cache.
// The forward transform gives frequencies in bit-reversed order, and the inverse takes them so: no reordering is
// needed.

template <class V>
struct Complex {
    V re, im;
};
template <class V>
inline Complex<V> operator+(Complex<V> a, Complex<V> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class V>
inline Complex<V> operator-(Complex<V> a, Complex<V> b) {
    return {a.re - b.re, a.im - b.im};
}
// Multiplication by cos - i·sin, or cos + i·sin if Inverse.
template <bool Inverse, class V>
inline Complex<V> rotated(Complex<V> a, V c, V s) {
    if constexpr (Inverse)
        return {a.re * c - a.im * s, a.im * c + a.re * s};
    else
        return {a.re * c + a.im * s, a.im * c - a.re * s};
}

// One radix-2 step over pairs of rows `half` apart.
template <bool Inverse, class T, class V>
inline void fft_step(T* re, T* im, int64_t pitch, int64_t n, int64_t half, const T* cosine, const T* sine) {
    const int64_t step = n / 2 / half;
    for (int64_t j = 0; j < half; ++j) {
        const V c = splat<V>(cosine[j * step]), s = splat<V>(sine[j * step]);
        for (int64_t at = j * pitch; at < n * pitch; at += 2 * half * pitch) {
            const int64_t to = at + half * pitch;
            Complex<V> a{load<V>(re + at), load<V>(im + at)}, b{load<V>(re + to), load<V>(im + to)};
            if constexpr (Inverse) b = rotated<true>(b, c, s);
            const Complex<V> sum = a + b;
            Complex<V> rest = a - b;
            if constexpr (!Inverse) rest = rotated<false>(rest, c, s);
            store(re + at, sum.re), store(im + at, sum.im);
            store(re + to, rest.re), store(im + to, rest.im);
        }
    }
}

// Two steps at once (radix 4) over rows `quarter` apart, which halves the cache traffic.
template <bool Inverse, class T, class V>
inline void fft_two_steps(T* re, T* im, int64_t pitch, int64_t n, int64_t quarter, const T* cosine, const T* sine) {
    const int64_t step = n / 4 / quarter, q = quarter * pitch;
    for (int64_t j = 0; j < quarter; ++j) {
        const V c = splat<V>(cosine[j * step]), s = splat<V>(sine[j * step]);
        const V c_far = splat<V>(cosine[(j + quarter) * step]), s_far = splat<V>(sine[(j + quarter) * step]);
        const V c_inner = splat<V>(cosine[2 * j * step]), s_inner = splat<V>(sine[2 * j * step]);
        for (int64_t at = j * pitch; at < n * pitch; at += 4 * q) {
            Complex<V> x[4];
            for (int k = 0; k < 4; ++k) x[k] = {load<V>(re + at + k * q), load<V>(im + at + k * q)};
            if constexpr (Inverse) {
                const Complex<V> b = rotated<true>(x[1], c_inner, s_inner), d = rotated<true>(x[3], c_inner, s_inner);
                const Complex<V> u = x[0] + b, v = x[0] - b;
                const Complex<V> e = rotated<true>(x[2] + d, c, s), g = rotated<true>(x[2] - d, c_far, s_far);
                x[0] = u + e, x[1] = v + g, x[2] = u - e, x[3] = v - g;
            } else {
                const Complex<V> u = x[0] + x[2], v = x[1] + x[3];
                const Complex<V> d = rotated<false>(x[0] - x[2], c, s), e = rotated<false>(x[1] - x[3], c_far, s_far);
                x[0] = u + v, x[1] = rotated<false>(u - v, c_inner, s_inner);
                x[2] = d + e, x[3] = rotated<false>(d - e, c_inner, s_inner);
            }
            for (int k = 0; k < 4; ++k) store(re + at + k * q, x[k].re), store(im + at + k * q, x[k].im);
        }
    }
}

template <class T, class V>
inline void fft_forward(T* re, T* im, int64_t pitch, int64_t n, const T* cosine, const T* sine) {
    int64_t half = n / 2;
    for (; half >= 2; half /= 4) fft_two_steps<false, T, V>(re, im, pitch, n, half / 2, cosine, sine);
    if (half == 1) fft_step<false, T, V>(re, im, pitch, n, 1, cosine, sine);
}

template <class T, class V>
inline void fft_inverse(T* re, T* im, int64_t pitch, int64_t n, const T* cosine, const T* sine) {
    int64_t half = 1;
    for (int64_t all = n; all > 1; all /= 4) {
        if (all != 2) continue;
        fft_step<true, T, V>(re, im, pitch, n, 1, cosine, sine);  // an odd number of steps
        half = 2;
    }
    for (; half < n; half *= 4) fft_two_steps<true, T, V>(re, im, pitch, n, half, cosine, sine);
}

// Multiplies the rows of a column by their twiddle factors, which have the layout of the numbers.
template <bool Inverse, class T, class V>
inline void fft_twiddle(T* re, T* im, int64_t pitch, int64_t n, const T* cosine, const T* sine) {
    for (int64_t at = 0; at < n * pitch; at += pitch) {
        const Complex<V> a =
            rotated<Inverse>(Complex<V>{load<V>(re + at), load<V>(im + at)}, load<V>(cosine + at), load<V>(sine + at));
        store(re + at, a.re), store(im + at, a.im);
    }
}

// Whole vectors only: the number of lanes and the size of spectra are multiples of 8.
inline void fft_columns(const FftColumns& c) {
    using V = Lane<double, kVectorBytes>::V;
    const double *cosine = c.roots, *sine = cosine + c.n / 2;
    for (int64_t i = 0; i < c.lanes; i += Lane<double, kVectorBytes>::count) {
        double *re = c.re + i, *im = c.im + i;
        const int64_t more = c.n * c.pitch + i;
        if (c.inverse) {
            if (c.twiddles) fft_twiddle<true, double, V>(re, im, c.pitch, c.n, c.twiddles + i, c.twiddles + more);
            fft_inverse<double, V>(re, im, c.pitch, c.n, cosine, sine);
        } else {
            fft_forward<double, V>(re, im, c.pitch, c.n, cosine, sine);
            if (c.twiddles) fft_twiddle<false, double, V>(re, im, c.pitch, c.n, c.twiddles + i, c.twiddles + more);
        }
    }
}

inline void fft_product(const SpectrumProduct& c) {
    using V = Lane<double, kVectorBytes>::V;
    const auto run = [&](auto combine) CENOTE_INLINE {
        for (int64_t i = 0; i < c.count; i += Lane<double, kVectorBytes>::count) {
            const V a = load<V>(c.re_a + i), b = load<V>(c.im_a + i), x = load<V>(c.re_b + i), y = load<V>(c.im_b + i);
            store(c.re + i, combine(c.re + i, V(a * x + b * y)));
            store(c.im + i, combine(c.im + i, V(b * x - a * y)));
        }
    };
    if (c.sum == 0)
        run([](const double*, V v) { return v; });
    else if (c.sum > 0)
        run([](const double* to, V v) { return V(load<V>(to) + v); });
    else
        run([](const double* to, V v) { return V(load<V>(to) - v); });
}

inline bool fft_results(const FftResults& c) {
    bool finite = true;
    for_lanes<double>(c.count, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        const V v = load<V>(c.row + i) * c.scale + c.bias;
        store(c.row + i, v);
        const auto within = (v < c.limit) & (v > -c.limit);
        if constexpr (IsVector<V>::value) {
            int64_t all = -1;
            for (int k = 0; k < decltype(l)::count; ++k) all &= within[k];
            finite &= all != 0;
        } else {
            finite &= within;
        }
    });
    return finite;
}

const FftKernels fft_kernels{&fft_columns, &fft_product, &fft_results};
