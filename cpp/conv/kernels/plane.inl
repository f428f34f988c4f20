// Copies planes between arrays of any strides and dtype and working memory: converted and transposed.

// Storage type S and work type T: float16 and bfloat16 in float, small integers modulo 2³².
template <class S, class T>
inline T to_work(S value) {
    if constexpr (__is_same(S, Half) || __is_same(S, BFloat16))
        return widen(value);
    else
        return static_cast<T>(value);
}
template <class S, class T>
inline S to_storage(T value) {
    if constexpr (__is_same(S, Half))
        return to_half(value);
    else if constexpr (__is_same(S, BFloat16))
        return to_bfloat16(value);
    else
        return static_cast<S>(value);
}

template <class S, class T>
inline void load_elements(T* out, const char* in, int64_t n) {
    if constexpr (__is_same(S, T)) {
        __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
    } else if constexpr (__is_same(S, Half) || __is_same(S, BFloat16)) {
        load_row_of<S>(out, in, sizeof(S), n, false);
    } else {
        for (int64_t i = 0; i < n; ++i) out[i] = to_work<S, T>(load<S>(reinterpret_cast<const S*>(in) + i));
    }
}
template <class S, class T>
inline void store_elements(char* out, const T* in, int64_t n) {
    if constexpr (__is_same(S, T)) {
        __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
    } else if constexpr (__is_same(S, Half) || __is_same(S, BFloat16)) {
        store_row_of<S>(out, in, n);
    } else {
        for (int64_t i = 0; i < n; ++i) store(reinterpret_cast<S*>(out) + i, to_storage<S, T>(in[i]));
    }
}

// a and b are rows i and i + H of a square: swap the off-diagonal H × H blocks of each 2H × 2H square.
template <int H, int N, class V, int... I>
inline void swap_blocks(V& a, V& b, Seq<I...>) {
    const V low = __builtin_shufflevector(a, b, ((I & H) ? N + I - H : I)...);
    const V high = __builtin_shufflevector(a, b, ((I & H) ? N + I : I + H)...);
    a = low;
    b = high;
}
template <int H, int N, class V>
inline void transpose_steps(V* row) {
    if constexpr (H > 0) {
        for (int i = 0; i < N; ++i)
            if (!(i & H)) swap_blocks<H, N>(row[i], row[i + H], typename MakeSeq<N>::type{});
        transpose_steps<H / 2, N>(row);
    }
}

// Transposes a square of N × N elements, with strides in bytes.
template <class T, int N>
CENOTE_INLINE inline void transpose_square(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
    using V = typename VecOf<T, N* static_cast<int>(sizeof(T))>::type;
    V square[N];
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) square[k] = load<V>(in + k * in_stride);
    transpose_steps<N / 2, N>(square);
#pragma GCC unroll 16
    for (int k = 0; k < N; ++k) store(out + k * out_stride, square[k]);
}

// out[j*out_stride + i] = in[i*in_stride + j], strides in bytes, for rows × columns of `in`. Squares are processed
// along the rows of the array, which may not be in the cache: along those of `out` if `to_array`. The last squares of a
// row overlap the previous ones if they are more than a third full.
template <class T>
CENOTE_ONCE void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
                           int64_t columns, bool to_array) {
    constexpr int N = (kVectorBytes > 32 ? 32 : kVectorBytes) / static_cast<int>(sizeof(T));
    constexpr auto W = static_cast<int64_t>(sizeof(T));
    const auto covered = [](int64_t n) { return n < N || n % N <= N / 3 ? n / N * N : n; };
    const int64_t whole_rows = covered(rows), whole_columns = covered(columns);
    const auto square = [&](int64_t i, int64_t j) CENOTE_INLINE {
        i = i + N > whole_rows ? whole_rows - N : i;
        j = j + N > whole_columns ? whole_columns - N : j;
        transpose_square<T, N>(out + j * out_stride + i * W, out_stride, in + i * in_stride + j * W, in_stride);
    };
    constexpr int64_t strip = 8 * N;  // the part of `in` that stays in the cache
    if (to_array) {
        for (int64_t from = 0; from < whole_rows; from += strip)
            for (int64_t j = 0; j < whole_columns; j += N)
                for (int64_t i = from; i < whole_rows && i < from + strip; i += N) square(i, j);
    } else {
        for (int64_t i = 0; i < whole_rows; i += N)
            for (int64_t j = 0; j < whole_columns; j += N) square(i, j);
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
            store(out + j * out_stride + i * W, load<T>(in + i * in_stride + j * W));
}

// The even elements of a and b.
template <class V, int... I>
CENOTE_INLINE inline V even_of(V a, V b, Seq<I...>) {
    return __builtin_shufflevector(a, b, (2 * I)...);
}
template <class T>
inline void load_even(T* out, const char* in, int64_t n) {
    using V = typename Lane<T, kVectorBytes>::V;
    constexpr int L = kVectorBytes / static_cast<int>(sizeof(T));
    const T* const from = reinterpret_cast<const T*>(in);
    int64_t i = 0;
    for (; i + L < n; i += L)  // the element after the last one may not exist
        store(out + i, even_of(load<V>(from + 2 * i), load<V>(from + 2 * i + L), typename MakeSeq<L>::type{}));
    for (; i < n; ++i) out[i] = load<T>(from + 2 * i);
}

template <class S, class T>
inline void load_plane_of(const PlaneCall& c) {
    constexpr auto W = static_cast<int64_t>(sizeof(S));
    T* const work = static_cast<T*>(c.work);
    if (c.s1 == W && c.d1 == 1 && c.s0 == c.n1 * W && c.d0 == c.n1) {  // contiguous
        load_elements<S>(work, c.array, c.n0 * c.n1);
    } else if (c.s1 == W && c.d1 == 1) {
        for (int64_t i = 0; i < c.n0; ++i) load_elements<S>(work + i * c.d0, c.array + i * c.s0, c.n1);
    } else if (c.s0 == W && c.d0 == 1) {
        for (int64_t j = 0; j < c.n1; ++j) load_elements<S>(work + j * c.d1, c.array + j * c.s1, c.n0);
    } else if (__is_same(S, T) && c.s0 == W && c.d1 == 1) {
        transpose<T>(reinterpret_cast<char*>(work), c.d0 * W, c.array, c.s1, c.n1, c.n0, false);
    } else if (__is_same(S, T) && c.s1 == W && c.d0 == 1) {
        transpose<T>(reinterpret_cast<char*>(work), c.d1 * W, c.array, c.s0, c.n0, c.n1, false);
    } else if (__is_same(S, T) && c.s0 == 2 * W && c.d0 == 1) {
        for (int64_t j = 0; j < c.n1; ++j) load_even(work + j * c.d1, c.array + j * c.s1, c.n0);
    } else {
        for (int64_t i = 0; i < c.n0; ++i)
            for (int64_t j = 0; j < c.n1; ++j)
                work[i * c.d0 + j * c.d1] =
                    to_work<S, T>(load<S>(reinterpret_cast<const S*>(c.array + i * c.s0 + j * c.s1)));
    }
}

template <class S, class T>
inline void store_plane_of(const PlaneCall& c) {
    constexpr auto W = static_cast<int64_t>(sizeof(S));
    const T* const work = static_cast<const T*>(c.work);
    if (c.s1 == W && c.d1 == 1 && c.s0 == c.n1 * W && c.d0 == c.n1) {  // contiguous
        store_elements<S>(c.array, work, c.n0 * c.n1);
    } else if (c.s1 == W && c.d1 == 1) {
        for (int64_t i = 0; i < c.n0; ++i) store_elements<S>(c.array + i * c.s0, work + i * c.d0, c.n1);
    } else if (c.s0 == W && c.d0 == 1) {
        for (int64_t j = 0; j < c.n1; ++j) store_elements<S>(c.array + j * c.s1, work + j * c.d1, c.n0);
    } else if (__is_same(S, T) && c.s0 == W && c.d1 == 1) {
        transpose<T>(c.array, c.s1, reinterpret_cast<const char*>(work), c.d0 * W, c.n0, c.n1, true);
    } else if (__is_same(S, T) && c.s1 == W && c.d0 == 1) {
        transpose<T>(c.array, c.s0, reinterpret_cast<const char*>(work), c.d1 * W, c.n1, c.n0, true);
    } else {
        for (int64_t i = 0; i < c.n0; ++i)
            for (int64_t j = 0; j < c.n1; ++j)
                store(reinterpret_cast<S*>(c.array + i * c.s0 + j * c.s1), to_storage<S, T>(work[i * c.d0 + j * c.d1]));
    }
}

// Rows converted to double precision and back, for Fourier transforms.
template <class S, class T>
CENOTE_ONCE void load_rows(const PlaneCall& c) {
    for (int64_t i = 0; i < c.n0; ++i) {
        const char* const from = c.array + i * c.s0;
        T* const to = static_cast<T*>(c.work) + i * c.d0;
        if (c.s1 == static_cast<int64_t>(sizeof(S)) && c.d1 == 1) {
            load_elements<S>(to, from, c.n1);
            continue;
        }
        for (int64_t j = 0; j < c.n1; ++j) {
            __asm__ volatile(""
                             : "+r"(j));  // keeps the compiler from vectorising with gathers, which is only more code
            to[j * c.d1] = to_work<S, T>(load<S>(reinterpret_cast<const S*>(from + j * c.s1)));
        }
    }
}
template <class S, class T>
CENOTE_ONCE void store_rows(const PlaneCall& c) {
    for (int64_t i = 0; i < c.n0; ++i) {
        char* const to = c.array + i * c.s0;
        const T* const from = static_cast<const T*>(c.work) + i * c.d0;
        if (c.s1 == static_cast<int64_t>(sizeof(S)) && c.d1 == 1) {
            store_elements<S>(to, from, c.n1);
            continue;
        }
        for (int64_t j = 0; j < c.n1; ++j) {
            __asm__ volatile("" : "+r"(j));
            store(reinterpret_cast<S*>(to + j * c.s1), to_storage<S, T>(from[j * c.d1]));
        }
    }
}

// Signed integers are handled as unsigned ones: wrapping is the same, and defined.
template <class T>
void load_plane(const PlaneCall& c) {
    if constexpr (__is_same(T, float)) {
        if (c.type == DType::f16) return load_plane_of<Half, T>(c);
        if (c.type == DType::bf16) return load_plane_of<BFloat16, T>(c);
    }
    if constexpr (__is_same(T, uint32_t)) {
        if (size_of(c.type) == 1) return load_plane_of<uint8_t, T>(c);
        if (size_of(c.type) == 2) return load_plane_of<uint16_t, T>(c);
    }
    if constexpr (__is_same(T, double)) {  // for Fourier transforms
        if (c.type == DType::f32) return load_rows<float, T>(c);
        if (c.type == DType::f16) return load_rows<Half, T>(c);
        if (c.type == DType::bf16) return load_rows<BFloat16, T>(c);
    }
    load_plane_of<T, T>(c);
}

template <class T>
void store_plane(const PlaneCall& c) {
    if constexpr (__is_same(T, float)) {
        if (c.type == DType::f16) return store_plane_of<Half, T>(c);
        if (c.type == DType::bf16) return store_plane_of<BFloat16, T>(c);
    }
    if constexpr (__is_same(T, uint32_t)) {
        if (size_of(c.type) == 1) return store_plane_of<uint8_t, T>(c);
        if (size_of(c.type) == 2) return store_plane_of<uint16_t, T>(c);
    }
    if constexpr (__is_same(T, double)) {  // for Fourier transforms
        if (c.type == DType::f32) return store_rows<float, T>(c);
        if (c.type == DType::f16) return store_rows<Half, T>(c);
        if (c.type == DType::bf16) return store_rows<BFloat16, T>(c);
    }
    store_plane_of<T, T>(c);
}

// Vectors that overlap at the end: a function call is not worth it for a few elements.
template <class T>
inline void copy_elements(T* out, const T* in, int64_t n) {
    using V = typename Lane<T, kVectorBytes>::V;
    constexpr int L = kVectorBytes / static_cast<int>(sizeof(T));
    int64_t i = 0;
    for (; i + L <= n; i += L) store(out + i, load<V>(in + i));
    if (i < n && n >= L)
        store(out + n - L, load<V>(in + n - L));
    else
        for (; i < n; ++i) store(out + i, load<T>(in + i));
}

template <class T>
void border(const BorderCall& c) {
    const int64_t left = c.real_columns.begin, right = c.real_columns.end;
    const auto clear = [](T* to, int64_t n) {
        for (int64_t i = 0; i < n; ++i) to[i] = T{};
    };
    for (int64_t channel = 0; channel < c.channels; ++channel) {
        T* row = static_cast<T*>(c.work) + channel * c.d_channel;
        const char* from = c.array + channel * c.s_channel;
        for (int64_t r = 0; r < c.rows; ++r, row += c.d_row) {
            if (r < c.real_rows.begin || r >= c.real_rows.end) {
                clear(row, c.columns);
                continue;
            }
            // The next channel is needed soon and too far away for the hardware prefetcher.
            for (int64_t byte = 0; byte < (right - left) * static_cast<int64_t>(sizeof(T)); byte += 64)
                __builtin_prefetch(from + c.s_channel + byte, 0, 2);
            clear(row, left);
            copy_elements(row + left, reinterpret_cast<const T*>(from), right - left);
            clear(row + right, c.columns - right);
            from += c.s_row;
        }
    }
}
