// Fourier transforms of many columns at once: the lanes are columns, all steps of a few columns run in the first-level
// cache. Forward gives the frequencies in bit-reversed order and inverse takes them so: nothing is ever sorted.

template <class T, class V>
inline void fft_forward(T* re, T* im, int64_t pitch, int64_t n, const T* cosine, const T* sine) {
    for (int64_t half = n / 2, turn = 1; half > 0; half /= 2, turn *= 2) {
        for (int64_t j = 0; j < half; ++j) {
            const V c = splat<V>(cosine[j * turn]), s = splat<V>(sine[j * turn]);
            for (int64_t at = j; at < n; at += 2 * half) {
                T *r0 = re + at * pitch, *i0 = im + at * pitch, *r1 = r0 + half * pitch, *i1 = i0 + half * pitch;
                const V a = load<V>(r0), b = load<V>(i0), x = load<V>(r1), y = load<V>(i1);
                store(r0, a + x);
                store(i0, b + y);
                const V p = a - x, q = b - y;  // times exp(-i·angle)
                store(r1, p * c + q * s);
                store(i1, q * c - p * s);
            }
        }
    }
}

template <class T, class V>
inline void fft_inverse(T* re, T* im, int64_t pitch, int64_t n, const T* cosine, const T* sine) {
    for (int64_t half = 1, turn = n / 2; half < n; half *= 2, turn /= 2) {
        for (int64_t j = 0; j < half; ++j) {
            const V c = splat<V>(cosine[j * turn]), s = splat<V>(sine[j * turn]);
            for (int64_t at = j; at < n; at += 2 * half) {
                T *r0 = re + at * pitch, *i0 = im + at * pitch, *r1 = r0 + half * pitch, *i1 = i0 + half * pitch;
                const V a = load<V>(r0), b = load<V>(i0), x = load<V>(r1), y = load<V>(i1);
                const V p = x * c - y * s, q = y * c + x * s;  // times exp(+i·angle)
                store(r0, a + p);
                store(i0, b + q);
                store(r1, a - p);
                store(i1, b - q);
            }
        }
    }
}

template <class T>
void fft(const FftCall& c) {
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        T *re = static_cast<T*>(c.re) + i, *im = static_cast<T*>(c.im) + i;
        const T *cosine = static_cast<const T*>(c.turns), *sine = cosine + c.n / 2;
        if (c.inverse)
            fft_inverse<T, V>(re, im, c.pitch, c.n, cosine, sine);
        else
            fft_forward<T, V>(re, im, c.pitch, c.n, cosine, sine);
    });
}

// a *= conj(b)
template <class T>
void fft_product(const FftProduct& c) {
    T *re = static_cast<T*>(c.re), *im = static_cast<T*>(c.im);
    const T *re_b = static_cast<const T*>(c.re_b), *im_b = static_cast<const T*>(c.im_b);
    for_lanes<T>(c.count, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        const V a = load<V>(re + i), b = load<V>(im + i), x = load<V>(re_b + i), y = load<V>(im_b + i);
        store(re + i, a * x + b * y);
        store(im + i, b * x - a * y);
    });
}
