// Matrix products with pixels as lanes, and single-channel kernels whose rows share their elements.

// The first `n` lanes of a vector.
template <class T>
inline Wide<T> load_some(const T* p, int n) {
    T all[kLanes<T>] = {};
    for (int i = 0; i < n; ++i) all[i] = p[i];
    return load<Wide<T>>(all);
}
template <class T>
inline void store_some(T* p, Wide<T> v, int n) {
    T all[kLanes<T>];
    store(all, v);
    for (int i = 0; i < n; ++i) p[i] = all[i];
}

// Keeps a vector that is used for several products in a register: GCC would load it again for each of them.
template <class V>
CENOTE_INLINE inline V in_register(V v) {
#if defined(__AVX512F__)
    asm("" : "+v"(v));
#elif defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#endif
    return v;
}

// Adds the sums of a chain (see gemm.inl) of M channels × N vectors to the results; the last vector has `last` lanes.
template <class T, int M, int N>
CENOTE_INLINE inline void flush_pixels(const PixelsCall& c, const Wide<T> (&sum)[M][N], T* out, int last, bool add) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>;
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
        T* const row = out + m * c.out_stride;
        const V first = c.init && !add ? splat<V>(static_cast<const T*>(c.init)[m]) : V{};
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) {
            T* const p = row + n * L;
            if (n < N - 1 || last == L)
                store(p, (add ? load<V>(p) : first) + sum[m][n]);
            else
                store_some(p, (add ? load_some(p, last) : first) + sum[m][n], last);
        }
    }
}

// M channels × N vectors of pixels.
template <class T, int M, int N>
CENOTE_ONCE void pixels_block(const PixelsCall& c, int64_t row, int64_t lane) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>;
    V sum[M][N];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n) sum[m][n] = V{};
    T* const out = static_cast<T*>(c.out) + c.out_at[row] + lane;
    const int64_t left_over = c.lanes - lane - (N - 1) * L;
    const int last = left_over < L ? static_cast<int>(left_over) : L;
    const T* const base = static_cast<const T*>(c.x) + c.x_at[row] + lane;
    const int64_t step = c.step;
    bool add = c.add;
    int64_t left = kChain;  // products left in the current chain
    for (int64_t r = 0; r < c.run_count; ++r) {
        const Run run = c.runs[r];
        const T* a = static_cast<const T*>(c.a) + run.a * M;
        const T* x = base + run.b;
        for (int64_t i = 0; i < run.length;) {
            if (left == 0) {
                left = kChain;
                flush_pixels<T, M, N>(c, sum, out, last, add);
                add = true;
#pragma GCC unroll 8
                for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
                    for (int n = 0; n < N; ++n) sum[m][n] = V{};
            }
            const int64_t count = run.length - i < left ? run.length - i : left;
            left -= count;
            i += count;
#pragma GCC unroll 2
            for (int64_t k = 0; k < count; ++k) {
                V right[N];
                for (int n = 0; n < N; ++n) right[n] = in_register(load<V>(x + n * L));
                for (int m = 0; m < M; ++m) {
                    const V left = splat<V>(a[m]);
                    for (int n = 0; n < N; ++n) sum[m][n] += left * right[n];
                }
                a += M;
                x += step;
            }
        }
    }
    flush_pixels<T, M, N>(c, sum, out, last, add);
}

// The same for runs of one product each: the overhead of short inner loops would exceed the products.
template <class T, int M, int N>
CENOTE_ONCE void single_steps_block(const PixelsCall& c, int64_t row, int64_t lane) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>;
    T* const out = static_cast<T*>(c.out) + c.out_at[row] + lane;
    const int64_t left_over = c.lanes - lane - (N - 1) * L;
    const int last = left_over < L ? static_cast<int>(left_over) : L;
    const T* const base = static_cast<const T*>(c.x) + c.x_at[row] + lane;
    bool add = c.add;
    const Run *run = c.runs, *const end = run + c.run_count;
    do {
        V sum[M][N];
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (int n = 0; n < N; ++n) sum[m][n] = V{};
        for (const Run* const stop = end - run < kChain ? end : run + kChain; run != stop; ++run) {
            const T* const a = static_cast<const T*>(c.a) + run->a * M;
            const T* const x = base + run->b;
            V right[N];
#pragma GCC unroll 8
            for (int n = 0; n < N; ++n) right[n] = in_register(load<V>(x + n * L));
#pragma GCC unroll 8
            for (int m = 0; m < M; ++m) {
                const V left = splat<V>(a[m]);
#pragma GCC unroll 8
                for (int n = 0; n < N; ++n) sum[m][n] += left * right[n];
            }
        }
        flush_pixels<T, M, N>(c, sum, out, last, add);
        add = true;
    } while (run != end);
}

constexpr int kMostM = 6;
// Vectors of pixels per M channels: enough sums to hide the latency of an addition, in 16 registers.
constexpr int pixel_vectors(int m) { return m == 1 ? 8 : m == 2 ? 5 : m == 3 ? 4 : m == 4 ? 3 : 2; }

// Special cases are compiled for float32 only: for all dtypes they would be a third of convolution's code.
template <class T>
constexpr bool has_special_cases = __is_same(T, float);

template <class T, int M, int N>
inline void pixels_wide(const PixelsCall& c, int64_t row, int64_t lane, int64_t vectors) {
    if constexpr (N > 0) {
        if (vectors < N) return pixels_wide<T, M, N - 1>(c, row, lane, vectors);
        if constexpr (has_special_cases<T>)
            if (c.single) return single_steps_block<T, M, N>(c, row, lane);
        pixels_block<T, M, N>(c, row, lane);
    }
}

constexpr int kPixelRows = 4;

// One channel, K × K adjacent taps: kPixelRows rows of results × N vectors share the rows of x.
template <class T, int K, int N>
CENOTE_ONCE void pixel_rows_block(const PixelsCall& c, int64_t row, int64_t lane, int64_t x_row) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>, R = kPixelRows;
    V sum[R][N];
    const V first = c.init && !c.add ? splat<V>(static_cast<const T*>(c.init)[0]) : V{};
    const int64_t left_over = c.lanes - lane - (N - 1) * L;
    const int last = left_over < L ? static_cast<int>(left_over) : L;
    T* const out = static_cast<T*>(c.out) + lane;
    for (int r = 0; r < R; ++r)
        for (int n = 0; n < N; ++n) {
            const T* p = out + c.out_at[row + r] + n * L;
            sum[r][n] = !c.add ? first : n < N - 1 || last == L ? load<V>(p) : load_some(p, last);
        }
    const T* x = static_cast<const T*>(c.x) + c.x_at[row] + c.runs[0].b + lane;
    const T* w[K];
    for (int k = 0; k < K; ++k) w[k] = static_cast<const T*>(c.a) + c.runs[k].a;
#pragma GCC unroll 16
    for (int i = 0; i < R + K - 1; ++i, x += x_row) {
#pragma GCC unroll 8
        for (int t = 0; t < K; ++t) {
            V element[N];
            for (int n = 0; n < N; ++n) element[n] = load<V>(x + t + n * L);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                if (i - r < 0 || i - r >= K) continue;
                const V left = splat<V>(w[i - r][t]);
                for (int n = 0; n < N; ++n) sum[r][n] += left * element[n];
            }
        }
    }
    for (int r = 0; r < R; ++r)
        for (int n = 0; n < N; ++n) {
            T* p = out + c.out_at[row + r] + n * L;
            if (n < N - 1 || last == L)
                store(p, sum[r][n]);
            else
                store_some(p, sum[r][n], last);
        }
}

// 3 × 3 taps, which stay in registers, for R rows of results: each element is loaded once for all of them.
template <class T, int R>
CENOTE_ONCE void three_rows_block(const PixelsCall& c, int64_t row, int64_t x_row) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>;
    V w[9];
#pragma GCC unroll 9
    for (int i = 0; i < 9; ++i) w[i] = splat<V>(static_cast<const T*>(c.a)[c.runs[i / 3].a + i % 3]);
    const V first = c.init && !c.add ? splat<V>(static_cast<const T*>(c.init)[0]) : V{};
    const T* const base = static_cast<const T*>(c.x) + c.x_at[row] + c.runs[0].b;
    for (int64_t lane = 0; lane < c.lanes; lane += L) {
        T* const out = static_cast<T*>(c.out) + lane;
        const int count = c.lanes - lane < L ? static_cast<int>(c.lanes - lane) : L;
        V sum[R];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) sum[r] = first;
        if (c.add)
            for (int r = 0; r < R; ++r) {
                const T* p = out + c.out_at[row + r];
                sum[r] = count == L ? load<V>(p) : load_some(p, count);
            }
        const T* x = base + lane;
#pragma GCC unroll 8
        for (int i = 0; i < R + 2; ++i, x += x_row) {
#pragma GCC unroll 3
            for (int t = 0; t < 3; ++t) {
                const V element = load<V>(x + t);
#pragma GCC unroll 8
                for (int r = 0; r < R; ++r)
                    if (i - r >= 0 && i - r < 3) sum[r] += w[3 * (i - r) + t] * element;
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            T* p = out + c.out_at[row + r];
            if (count == L)
                store(p, sum[r]);
            else
                store_some(p, sum[r], count);
        }
    }
}

template <class T, int R>
inline void three_rows(const PixelsCall& c, int64_t row, int64_t rows, int64_t x_row) {
    if constexpr (R > 0) {
        if (rows == R)
            three_rows_block<T, R>(c, row, x_row);
        else
            three_rows<T, R - 1>(c, row, rows, x_row);
    }
}

// How many rows from `row` on are as far apart as the K rows of taps.
template <int K>
inline int64_t rows_of_taps(const PixelsCall& c, int64_t row) {
    if (c.run_count != K || c.runs[0].length != K || c.step != 1) return 0;
    const int64_t x_row = c.runs[1].b - c.runs[0].b;
    for (int k = 1; k < K; ++k)
        if (c.runs[k].b - c.runs[k - 1].b != x_row || c.runs[k].length != K) return 0;
    int64_t end = row + 1;
    while (end < c.rows && c.x_at[end] - c.x_at[end - 1] == x_row) ++end;
    return end - row;
}

// Rows that share their elements, for all lanes; returns how many were computed.
template <class T>
inline int64_t pixel_rows(const PixelsCall& c, int64_t row) {
    constexpr int L = kLanes<T>, N = 3;
    if (const int64_t rows = rows_of_taps<3>(c, row)) {
        constexpr int most_rows = 6;
        const int64_t blocks = (rows + most_rows - 1) / most_rows, x_row = c.runs[1].b - c.runs[0].b;
        for (int64_t k = 0, at = 0; k < blocks; ++k) {
            const int64_t end = rows * (k + 1) / blocks;
            // Prefetch the results of the next block: a store would have to wait for its cache line.
            for (int64_t r = end; r < rows && r < end + most_rows; ++r)
                for (int64_t i = 0; i < c.lanes; i += 64 / static_cast<int64_t>(sizeof(T)))
                    __builtin_prefetch(static_cast<T*>(c.out) + c.out_at[row + r] + i, 1);
            three_rows<T, most_rows>(c, row + at, end - at, x_row);
            at = end;
        }
        return rows;
    }
    if (rows_of_taps<5>(c, row) < kPixelRows) return 0;
    const int64_t vectors = (c.lanes + L - 1) / L, blocks = (vectors + N - 1) / N, x_row = c.runs[1].b - c.runs[0].b;
    for (int64_t k = 0, v = 0; k < blocks; ++k) {
        const int64_t end = vectors * (k + 1) / blocks;
        if (end - v == 3)
            pixel_rows_block<T, 5, 3>(c, row, v * L, x_row);
        else if (end - v == 2)
            pixel_rows_block<T, 5, 2>(c, row, v * L, x_row);
        else
            pixel_rows_block<T, 5, 1>(c, row, v * L, x_row);
        v = end;
    }
    return kPixelRows;
}

template <class T, int M>
inline void pixels_all(const PixelsCall& c) {
    constexpr int N = pixel_vectors(M), L = kLanes<T>;
    const int64_t vectors = (c.lanes + L - 1) / L, blocks = (vectors + N - 1) / N;
    for (int64_t row = 0; row < c.rows;) {
        if constexpr (M == 1 && has_special_cases<T>) {
            if (const int64_t done = pixel_rows<T>(c, row)) {
                row += done;
                continue;
            }
        }
        for (int64_t k = 0, v = 0; k < blocks; ++k) {
            const int64_t end = vectors * (k + 1) / blocks;
            pixels_wide<T, M, N>(c, row, v * L, end - v);
            v = end;
        }
        ++row;
    }
}

template <class T>
void pixels(const PixelsCall& c) {
    switch (c.m) {
        case 1: return pixels_all<T, 1>(c);
        case 2: return pixels_all<T, 2>(c);
        case 3: return pixels_all<T, 3>(c);
        case 4: return pixels_all<T, 4>(c);
        case 5: return pixels_all<T, 5>(c);
        default: return pixels_all<T, 6>(c);
    }
}
