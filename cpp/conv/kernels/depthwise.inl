// Depthwise kernels: each lane is a channel of its own, so nothing is broadcast and both operands are vectors.

constexpr int kLaneRows = 4;            // rows of results at a time
constexpr int64_t kFilterRows = 6;      // rows of y at a time
constexpr int64_t kFilterElements = 6;  // pixels in all of these rows

// 8 cache lines, in elements.
template <class T>
constexpr int64_t kAhead = 512 / sizeof(T);

template <class T, class V, int P>
inline void lanes_block(const LanesCall& c, int64_t pixel, int64_t lane) {
    V sum[P];
    const T* const x = static_cast<const T*>(c.x) + pixel * c.x_step + lane;
    const T* const w = static_cast<const T*>(c.w) + lane;
    T* const out = static_cast<T*>(c.out) + pixel * c.out_step + lane;
    const V first = c.init && !c.add ? load<V>(static_cast<const T*>(c.init) + lane) : V{};
    for (int p = 0; p < P; ++p) sum[p] = c.add ? load<V>(out + p * c.out_step) : first;
    for (int64_t i = 0; i < c.run_count; ++i) {
        const V right = load<V>(w + c.runs[i].b);
        const T* a = x + c.runs[i].a;
        for (int p = 0; p < P; ++p) sum[p] += load<V>(a + p * c.x_step) * right;
    }
    for (int p = 0; p < P; ++p) store(out + p * c.out_step, sum[p]);
}

template <class T, int P>
CENOTE_ONCE void lanes_pixels(const LanesCall& c, int64_t pixel) {
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) { lanes_block<T, typename decltype(l)::V, P>(c, pixel, i); });
}

// Whether runs come in groups of K that are one pixel apart: adjacent taps at stride 1.
template <int K>
inline bool taps_adjacent(const Run* runs, int64_t count, int64_t x_step) {
    if (count == 0 || count % K) return false;
    for (int64_t i = 0; i < count; ++i)
        if (i % K && runs[i].a - runs[i - 1].a != x_step) return false;
    return true;
}

// Each element is then loaded once for K taps.
template <class T, class V, int K, int P>
inline void sliding_block(const LanesCall& c, int64_t pixel, int64_t lane) {
    V sum[P];
    const T* const x = static_cast<const T*>(c.x) + pixel * c.x_step + lane;
    const T* const w = static_cast<const T*>(c.w) + lane;
    T* out = static_cast<T*>(c.out) + pixel * c.out_step + lane;
    const int64_t x_step = c.x_step;
    const V first = c.init && !c.add ? load<V>(static_cast<const T*>(c.init) + lane) : V{};
    for (int p = 0; p < P; ++p) sum[p] = c.add ? load<V>(out + p * c.out_step) : first;
    for (int64_t i = 0; i < c.run_count; i += K) {
        V right[K];
        for (int k = 0; k < K; ++k) right[k] = load<V>(w + c.runs[i + k].b);
        const T* a = x + c.runs[i].a;
#pragma GCC unroll 16
        for (int column = 0; column < P + K - 1; ++column, a += x_step) {
            const V element = load<V>(a);
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k)
                if (column - k >= 0 && column - k < P) sum[column - k] += element * right[k];
        }
    }
    for (int p = 0; p < P; ++p, out += c.out_step) store(out, sum[p]);
}

template <class T, int K>
CENOTE_ONCE int64_t sliding_pixels(const LanesCall& c) {
    constexpr int P = 8;
    int64_t pixel = 0;
    for (; pixel + P <= c.pixels; pixel += P)
        for_lanes<T>(c.lanes, [&](auto l, int64_t i) { sliding_block<T, typename decltype(l)::V, K, P>(c, pixel, i); });
    for (; pixel + 3 <= c.pixels; pixel += 3)
        for_lanes<T>(c.lanes, [&](auto l, int64_t i) { sliding_block<T, typename decltype(l)::V, K, 3>(c, pixel, i); });
    return pixel;
}

// R rows × N vectors. Results are written in whole cache lines, and rows are read in memory order: pixels a power of
// two apart would map to the same few cache sets.
template <class T, class V, int R, int N>
CENOTE_ONCE void lanes_rows_block(const LanesCall& c, int64_t row, int64_t x_at, int64_t out_at, int64_t lane) {
    constexpr int L = static_cast<int>(sizeof(V) / sizeof(T));
    V sum[R][N];
    const T* const x = static_cast<const T*>(c.x) + row * c.x_row + x_at;
    const T* const w = static_cast<const T*>(c.w) + lane;
    const Run *run = c.runs, *const end = run + c.run_count;
    const int64_t x_row = c.x_row, out_row = c.out_row;
    T* const out = static_cast<T*>(c.out) + row * out_row + out_at;
#pragma GCC unroll 2
    for (int n = 0; n < N; ++n) {
        const V first = load<V>(static_cast<const T*>(c.init) + lane + n * L);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) sum[r][n] = first;
    }
    if (N == 2 && run != end) {
        // The elements under the last taps are not in the cache yet, nor are the results.
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            __builtin_prefetch(x + end[-1].a + r * x_row + kAhead<T>);
            __builtin_prefetch(out + r * out_row + kAhead<T>, 1);
        }
    }
    for (; run != end; ++run) {
        V right[N];
        const T* const b = w + run->b;
        for (int n = 0; n < N; ++n) right[n] = load<V>(b + n * L);
        const T* a = x + run->a;
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r, a += x_row) {
#pragma GCC unroll 2
            for (int n = 0; n < N; ++n) sum[r][n] += load<V>(a + n * L) * right[n];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) store(out + r * out_row + n * L, sum[r][n]);
}

// The number of elements from p to the next cache line.
template <class T>
inline int64_t to_line(const T* p) {
    return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(p) % 64 / sizeof(T));
}

template <class T, int R>
CENOTE_ONCE void lanes_rows(const LanesCall& c, int64_t row) {
    constexpr int64_t pair = 2 * kLanes<T>;
    const auto some = [&](int64_t x_at, int64_t out_at, int64_t lane, int64_t count) {
        for_lanes<T>(count, [&](auto l, int64_t i) {
            lanes_rows_block<T, typename decltype(l)::V, R, 1>(c, row, x_at + i, out_at + i, lane + i);
        });
    };
    if (c.run_count > 0 && c.x_step == c.lanes && c.out_step == c.lanes) {
        // Contiguous pixels are one long row: it is read in whole cache lines, which matters with so many loads.
        const int64_t all = c.pixels * c.lanes;
        const int64_t head = to_line(static_cast<const T*>(c.x) + c.runs[0].a) % pair;
        int64_t at = head < c.lanes ? head : 0;
        some(0, 0, 0, at);
        for (int64_t lane = at; at + pair <= all; at += pair) {
            lanes_rows_block<T, Wide<T>, R, 2>(c, row, at, at, lane);
            lane += pair;
            while (lane >= c.lanes) lane -= c.lanes;
        }
        some(at, at, at % c.lanes, all - at);
        return;
    }
    for (int64_t pixel = 0; pixel < c.pixels; ++pixel) {
        const int64_t x_at = pixel * c.x_step, out_at = pixel * c.out_step;
        int64_t lane = 0;
        for (; lane + pair <= c.lanes; lane += pair)
            lanes_rows_block<T, Wide<T>, R, 2>(c, row, x_at + lane, out_at + lane, lane);
        some(x_at + lane, out_at + lane, lane, c.lanes - lane);
    }
}

template <class T>
void lanes(const LanesCall& c) {
    if (c.rows > 1) {  // only in the first block of a reduction: nothing to accumulate to
        const int64_t blocks = (c.rows + kLaneRows - 1) / kLaneRows;
        for (int64_t k = 0, row = 0; k < blocks; ++k) {
            const int64_t end = c.rows * (k + 1) / blocks;
            if (end - row == 4)
                lanes_rows<T, 4>(c, row);
            else if (end - row == 3)
                lanes_rows<T, 3>(c, row);
            else
                lanes_rows<T, 2>(c, row);
            row = end;
        }
        return;
    }
    int64_t pixel = 0;
    if (taps_adjacent<3>(c.runs, c.run_count, c.x_step))
        pixel = sliding_pixels<T, 3>(c);
    else if (taps_adjacent<5>(c.runs, c.run_count, c.x_step))
        pixel = sliding_pixels<T, 5>(c);
    for (; pixel + 8 <= c.pixels; pixel += 8) lanes_pixels<T, 8>(c, pixel);
    for (; pixel + 2 <= c.pixels; pixel += 2) lanes_pixels<T, 2>(c, pixel);
    if (pixel < c.pixels) lanes_pixels<T, 1>(c, pixel);
}

// Runs at a time in a filter gradient: many sums hide the latency of an addition. Integers have no derivatives, so
// theirs is called by other linear maps only, and need not be fast.
template <class T>
constexpr int filter_runs(int many) {
    return Limits<T>::has_nan ? many : 2;
}

// R runs × N vectors of sums, over some pixels of all rows: a short chain from zero, which is then added to w.
template <class T, class V, int R, int N>
CENOTE_ONCE void lanes_filter_block(const LanesFilterCall& c, int64_t run, int64_t lane, int64_t from, int64_t to) {
    constexpr int L = static_cast<int>(sizeof(V) / sizeof(T));
    V sum[R][N];
    const T* x[R];
    T* const w = static_cast<T*>(c.w) + lane;
    const int64_t x_row = c.x_row, x_step = c.x_step, y_row = c.y_row, y_step = c.y_step;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) sum[r][n] = V{};
        x[r] = static_cast<const T*>(c.x) + c.runs[run + r].a + lane;
    }
    const T* y = static_cast<const T*>(c.y) + lane + from * y_step;
    int64_t above = from * x_step;
    for (int64_t row = 0; row < c.rows; ++row, above += x_row, y += y_row) {
        const T* at_y = y;
        int64_t at = above;
        if (N == 2) {
            __builtin_prefetch(at_y + kAhead<T>);
            __builtin_prefetch(x[R - 1] + at + kAhead<T>);
        }
        for (int64_t p = from; p < to; ++p, at_y += y_step, at += x_step) {
            V right[N];
#pragma GCC unroll 2
            for (int n = 0; n < N; ++n) right[n] = load<V>(at_y + n * L);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
                for (int n = 0; n < N; ++n) sum[r][n] += load<V>(x[r] + at + n * L) * right[n];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int n = 0; n < N; ++n) {
            T* const p = w + c.runs[run + r].b + n * L;
            store(p, load<V>(p) + sum[r][n]);
        }
}

template <class T, class V, int R, int N>
inline void lanes_filter_some(const LanesFilterCall& c, int64_t run, int64_t runs, int64_t lane, int64_t from,
                              int64_t to) {
    if constexpr (R > 0) {
        if (runs == R)
            lanes_filter_block<T, V, R, N>(c, run, lane, from, to);
        else
            lanes_filter_some<T, V, R - 1, N>(c, run, runs, lane, from, to);
    }
}

// R rows of K adjacent taps: each element of x is loaded once for K taps, with the last K values of y in registers.
template <class T, class V, int R, int K>
inline void sliding_filter_block(const LanesFilterCall& c, int64_t run, int64_t lane, int64_t from, int64_t to) {
    V sum[R][K];
    const T* x[R];
    T* const w = static_cast<T*>(c.w) + lane;
    for (int r = 0; r < R; ++r) {
        for (int k = 0; k < K; ++k) sum[r][k] = V{};
        x[r] = static_cast<const T*>(c.x) + c.runs[run + r * K].a + lane + from * c.x_step;
    }
    const T* y = static_cast<const T*>(c.y) + lane + from * c.y_step;
    V recent[K];  // recent[k] is y of k pixels ago
    int64_t at = 0;
    const auto column = [&](int low, int high) {
        for (int r = 0; r < R; ++r) {
            const V element = load<V>(x[r] + at);
            for (int k = 0; k < K; ++k)
                if (k >= low && k < high) sum[r][k] += element * recent[k];
        }
        at += c.x_step;
    };
    const auto shift = [&] {
        for (int k = K - 1; k > 0; --k) recent[k] = recent[k - 1];
    };
    const int64_t count = to - from;
#pragma GCC unroll 8
    for (int first = 0; first < K - 1; ++first) {
        shift();
        recent[0] = load<V>(y + first * c.y_step);
        column(0, first + 1);
    }
    for (int64_t p = K - 1; p < count; ++p) {
        shift();
        recent[0] = load<V>(y + p * c.y_step);
        column(0, K);
    }
#pragma GCC unroll 8
    for (int last = 1; last < K; ++last) {
        shift();
        column(last, K);
    }
    for (int r = 0; r < R; ++r)
        for (int k = 0; k < K; ++k) {
            T* const p = w + c.runs[run + r * K + k].b;
            store(p, load<V>(p) + sum[r][k]);
        }
}

// Some runs of one or a few vectors of lanes.
template <class T, class V, int N>
inline void lanes_filter_runs(const LanesFilterCall& c, int64_t lane, int64_t from, int64_t to) {
    constexpr int most_runs = filter_runs<T>(N == 1 ? 9 : 5);
    const int64_t blocks = (c.run_count + most_runs - 1) / most_runs;
    for (int64_t k = 0, run = 0; k < blocks; ++k) {
        const int64_t end = c.run_count * (k + 1) / blocks;
        lanes_filter_some<T, V, most_runs, N>(c, run, end - run, lane, from, to);
        run = end;
    }
}

// A few pixels with all their lanes at a time: one lane of all pixels would be accessed with large strides. With many
// rows it is one pixel, so that each row is read in memory order.
template <class T>
void lanes_filter(const LanesFilterCall& all) {
    if (all.run_count == 0) return;
    LanesFilterCall c = all;
    const bool three = Limits<T>::has_nan && c.rows == 1 && taps_adjacent<3>(c.runs, c.run_count, c.x_step);
    const int64_t row_blocks = (all.rows + kFilterRows - 1) / kFilterRows;
    for (int64_t block = 0, row = 0; block < row_blocks; ++block) {
        const int64_t row_end = all.rows * (block + 1) / row_blocks;
        c.rows = row_end - row;
        c.x = static_cast<const T*>(all.x) + row * c.x_row;
        c.y = static_cast<const T*>(all.y) + row * c.y_row;
        row = row_end;
        const int64_t piece = c.rows == 1 ? 14 : (kFilterElements + c.rows - 1) / c.rows,
                      pieces = (c.pixels + piece - 1) / piece;
        for (int64_t k = 0; k < pieces; ++k) {
            const int64_t from = c.pixels * k / pieces, to = c.pixels * (k + 1) / pieces;
            int64_t lane = 0;
            if (!three || to - from < 2) {
                // Aligned to the cache lines of x, which is read most.
                const int64_t head = to_line(static_cast<const T*>(c.x) + c.runs[0].a) % (2 * kLanes<T>);
                if (head < c.lanes) {
                    for_lanes<T>(head, [&](auto l, int64_t i) {
                        lanes_filter_runs<T, typename decltype(l)::V, 1>(c, i, from, to);
                    });
                    lane = head;
                }
                for (; lane + 2 * kLanes<T> <= c.lanes; lane += 2 * kLanes<T>)
                    lanes_filter_runs<T, Wide<T>, 2>(c, lane, from, to);
            }
            for_lanes<T>(c.lanes - lane, [&](auto l, int64_t i) {
                using V = typename decltype(l)::V;
                if (!three || to - from < 2) return lanes_filter_runs<T, V, 1>(c, lane + i, from, to);
                int64_t run = 0;
                if constexpr (Limits<T>::has_nan) {
                    for (; run + 9 <= c.run_count; run += 9)
                        sliding_filter_block<T, V, 3, 3>(c, run, lane + i, from, to);
                    for (; run < c.run_count; run += 3) sliding_filter_block<T, V, 1, 3>(c, run, lane + i, from, to);
                }
            });
        }
    }
}

// R taps of one channel: sums over rows of pixels, whose lanes are added at the end.
template <class T, int R>
CENOTE_ONCE void planes_filter_block(const PlanesFilterCall& c, const Run* runs) {
    using V = Wide<T>;
    using Mask = typename Rebind<V, Unsigned<T>>::type;
    constexpr int L = kLanes<T>;
    V sum[R];
    for (int r = 0; r < R; ++r) sum[r] = V{};
    const int64_t whole = c.columns / L * L;
    const int rest = static_cast<int>(c.columns - whole);
    Mask mask{};  // what is beyond the row must be masked: it may be infinite
    for (int i = 0; i < rest; ++i) mask[i] = static_cast<Unsigned<T>>(-1);
    const T *x = static_cast<const T*>(c.x), *y = static_cast<const T*>(c.y);
    for (int64_t row = 0; row < c.rows; ++row, x += c.x_row, y += c.y_row) {
        for (int64_t i = 0; i < whole; i += L) {
            const V right = load<V>(y + i);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) sum[r] += load<V>(x + runs[r].a + i) * right;
        }
        if (rest) {
            const V right = load_some(y + whole, rest);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) sum[r] += (V)(load<Mask>(x + runs[r].a + whole) & mask) * right;
        }
    }
    T* const w = static_cast<T*>(c.w);
    for (int r = 0; r < R; ++r) {
        T total{};
        for (int i = 0; i < L; ++i) total += sum[r][i];
        w[runs[r].b] += total;
    }
}

template <class T, int R>
inline void planes_filter_some(const PlanesFilterCall& c, const Run* runs, int64_t count) {
    if constexpr (R > 0) {
        if (count == R)
            planes_filter_block<T, R>(c, runs);
        else
            planes_filter_some<T, R - 1>(c, runs, count);
    }
}

template <class T>
void planes_filter(const PlanesFilterCall& c) {
    constexpr int most_runs = filter_runs<T>(9);
    const int64_t blocks = (c.run_count + most_runs - 1) / most_runs;
    for (int64_t k = 0, run = 0; k < blocks; ++k) {
        const int64_t end = c.run_count * (k + 1) / blocks;
        planes_filter_some<T, most_runs>(c, c.runs + run, end - run);
        run = end;
    }
}
