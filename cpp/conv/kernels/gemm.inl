// Matrix products with channels as lanes: a block of sums stays in registers during the reduction.

constexpr bool kManyRegisters = kVectorBytes == 64 || CENOTE_REGISTERS == 32;
constexpr int kRows = kManyRegisters ? 12 : 6;        // × 2 vectors of sums
constexpr int kNarrowRows = kManyRegisters ? 16 : 8;  // × 1 vector

template <class T>
using Wide = typename Lane<T, kVectorBytes>::V;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// The longest chain of additions. Longer reductions are done in blocks of this size, each of which starts from zero in
// registers and is then added to the results: the rounding error of a chain grows with its length. Where blocks end
// depends on the runs alone, not on rows, lanes or threads.
constexpr int64_t kChain = 128;

// Adds the sums of a chain to the results, or stores the first ones with `init`.
template <class T, int M, int N>
CENOTE_INLINE inline void flush_channels(const ChannelsCall& c, const Wide<T> (&sum)[M][N], T* out,
                                         const int64_t* out_at, bool add) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>;
    if (add) {
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
            for (int n = 0; n < N; ++n) {
                T* const p = out + out_at[m] + n * L;
                store(p, load<V>(p) + sum[m][n]);
            }
        return;
    }
    V first[N];
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) first[n] = c.init ? load<V>(static_cast<const T*>(c.init) + n * L) : V{};
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)  // row by row, because the cache lines of a row are adjacent
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) store(out + out_at[m] + n * L, first[n] + sum[m][n]);
}

// M rows × N vectors of channels. All loops over the sums are unrolled, or GCC would keep them in memory.
template <class T, int M, int N, bool Unit, bool Ahead>
CENOTE_ONCE void channels_block(const ChannelsCall& c, int64_t row, T* out, const int64_t* out_at) {
    using V = Wide<T>;
    constexpr int L = kLanes<T>;
    V sum[M][N];
    const T* base[M];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
        base[m] = static_cast<const T*>(c.a) + c.a_at[row + m];
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) sum[m][n] = V{};
    }
    const int64_t step = Unit ? 1 : c.step;
    [[maybe_unused]] constexpr int64_t line = 64 / sizeof(T);
    // Prefetches later rows, a few with each call for the same rows: the hardware cannot predict them.
    [[maybe_unused]] const int64_t *fetch = c.a_at + row, *fetch_end = fetch;
    if constexpr (Ahead) {
        fetch_end += M * (c.share + 1) / c.shares;
        fetch += M * c.share / c.shares;
    }
    bool add = c.add;
    const int64_t chain = c.chain ? c.chain : kChain;
    int64_t left = chain;  // products left in the current chain
    for (const Run *run = c.runs, *const runs_end = run + c.run_count; run != runs_end; ++run) {
        const T* b = static_cast<const T*>(c.b) + run->b * (N * L);
        int64_t at = run->a;
        const int64_t length = run->length;
        for (int64_t i = 0; i < length;) {
            if (left == 0) {
                left = chain;
                flush_channels<T, M, N>(c, sum, out, out_at, add);
                add = true;
#pragma GCC unroll 16
                for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
                    for (int n = 0; n < N; ++n) sum[m][n] = V{};
            }
            int64_t end = length - i < left ? length : i + left;
            if constexpr (Ahead) {
                for (const int64_t* each = fetch; each != fetch_end; ++each)
                    __builtin_prefetch(static_cast<const T*>(c.a) + *each + at + c.ahead, 0, 2);
                end = i + line < end ? i + line : end;
            }
            left -= end - i;
            for (; i < end; ++i) {
                V right[N];
#pragma GCC unroll 2
                for (int n = 0; n < N; ++n) right[n] = load<V>(b + n * L);
#pragma GCC unroll 16
                for (int m = 0; m < M; ++m) {
                    const V factor = splat<V>(base[m][at]);
#pragma GCC unroll 2
                    for (int n = 0; n < N; ++n) sum[m][n] += factor * right[n];
                }
                b += N * L;
                at += step;
            }
        }
    }
    flush_channels<T, M, N>(c, sum, out, out_at, add);
}

template <class T, int N, bool Unit, int M>
inline void channels_rows(const ChannelsCall& c, int64_t row, int64_t rows, T* out, const int64_t* out_at) {
    if constexpr (M > 0) {
        if (rows == M && c.ahead && Unit && N == 2 && M == kRows)
            channels_block<T, M, N, Unit, Unit && N == 2 && M == kRows>(c, row, out, out_at);
        else if (rows == M)
            channels_block<T, M, N, Unit, false>(c, row, out, out_at);
        else
            channels_rows<T, N, Unit, M - 1>(c, row, rows, out, out_at);
    }
}

// Blocks as even as possible: a last block of one row would run at a fraction of the speed. If the last vector is not
// full, results go through a buffer.
template <class T, int N, bool Unit>
inline void channels_all(const ChannelsCall& c) {
    constexpr int most_rows = N == 1 ? kNarrowRows : kRows;
    constexpr int64_t width = N * kLanes<T>;
    const int64_t blocks = (c.rows + most_rows - 1) / most_rows;
    T* const out = static_cast<T*>(c.out);
    for (int64_t k = 0, row = 0; k < blocks; ++k) {
        const int64_t end = c.rows * (k + 1) / blocks, rows = end - row;
        if (c.lanes == width) {
            channels_rows<T, N, Unit, most_rows>(c, row, rows, out, c.out_at + row);
        } else {
            T buffer[most_rows * width] = {};
            int64_t at[most_rows];
            for (int64_t m = 0; m < rows; ++m) {
                at[m] = m * width;
                for (int i = 0; c.add && i < c.lanes; ++i) buffer[at[m] + i] = out[c.out_at[row + m] + i];
            }
            channels_rows<T, N, Unit, most_rows>(c, row, rows, buffer, at);
            for (int64_t m = 0; m < rows; ++m)
                for (int i = 0; i < c.lanes; ++i) out[c.out_at[row + m] + i] = buffer[at[m] + i];
        }
        row = end;
    }
}

template <class T>
void channels(const ChannelsCall& c) {
    const bool narrow = c.lanes <= kLanes<T>;
    if (c.step == 1) return narrow ? channels_all<T, 1, true>(c) : channels_all<T, 2, true>(c);
    narrow ? channels_all<T, 1, false>(c) : channels_all<T, 2, false>(c);
}
