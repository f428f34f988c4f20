// Convolutions in which each lane is a channel of its own: nothing is broadcast, both operands are vectors.

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

// Whether runs come K at a time, one pixel apart from each other: taps next to each other, without a stride.
template <int K>
inline bool slides(const Run* runs, int64_t count, int64_t x_step) {
    if (count == 0 || count % K) return false;
    for (int64_t i = 0; i < count; ++i)
        if (i % K && runs[i].a - runs[i - 1].a != x_step) return false;
    return true;
}

// Then each cell is read once for K taps.
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
            const V cell = load<V>(a);
#pragma GCC unroll 8
            for (int k = 0; k < K; ++k)
                if (column - k >= 0 && column - k < P) sum[column - k] += cell * right[k];
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

template <class T>
void lanes(const LanesCall& c) {
    int64_t pixel = 0;
    if (slides<3>(c.runs, c.run_count, c.x_step))
        pixel = sliding_pixels<T, 3>(c);
    else if (slides<5>(c.runs, c.run_count, c.x_step))
        pixel = sliding_pixels<T, 5>(c);
    for (; pixel + 8 <= c.pixels; pixel += 8) lanes_pixels<T, 8>(c, pixel);
    for (; pixel + 2 <= c.pixels; pixel += 2) lanes_pixels<T, 2>(c, pixel);
    if (pixel < c.pixels) lanes_pixels<T, 1>(c, pixel);
}

template <class T, class V, int R>
inline void lanes_filter_block(const LanesFilterCall& c, int64_t run, int64_t lane, int64_t from, int64_t to) {
    V sum[R];
    const T* x[R];
    T* const w = static_cast<T*>(c.w) + lane;
    for (int r = 0; r < R; ++r) {
        sum[r] = load<V>(w + c.runs[run + r].b);
        x[r] = static_cast<const T*>(c.x) + c.runs[run + r].a + lane;
    }
    const T* y = static_cast<const T*>(c.y) + lane + from * c.y_step;
    int64_t at = from * c.x_step;
    for (int64_t p = from; p < to; ++p, y += c.y_step, at += c.x_step) {
        const V right = load<V>(y);
        for (int r = 0; r < R; ++r) sum[r] += load<V>(x[r] + at) * right;
    }
    for (int r = 0; r < R; ++r) store(w + c.runs[run + r].b, sum[r]);
}

// R rows of K taps next to each other: each cell of x is read once for K taps, with the last K values of y at hand.
template <class T, class V, int R, int K>
inline void sliding_filter_block(const LanesFilterCall& c, int64_t run, int64_t lane, int64_t from, int64_t to) {
    V sum[R][K];
    const T* x[R];
    T* const w = static_cast<T*>(c.w) + lane;
    for (int r = 0; r < R; ++r) {
        for (int k = 0; k < K; ++k) sum[r][k] = load<V>(w + c.runs[run + r * K + k].b);
        x[r] = static_cast<const T*>(c.x) + c.runs[run + r * K].a + lane + from * c.x_step;
    }
    const T* y = static_cast<const T*>(c.y) + lane + from * c.y_step;
    V past[K];  // past[k] is y of k pixels ago
    int64_t at = 0;
    const auto column = [&](int low, int high) {
        for (int r = 0; r < R; ++r) {
            const V cell = load<V>(x[r] + at);
            for (int k = 0; k < K; ++k)
                if (k >= low && k < high) sum[r][k] += cell * past[k];
        }
        at += c.x_step;
    };
    const auto shift = [&] {
        for (int k = K - 1; k > 0; --k) past[k] = past[k - 1];
    };
    const int64_t count = to - from;
#pragma GCC unroll 8
    for (int first = 0; first < K - 1; ++first) {
        shift();
        past[0] = load<V>(y + first * c.y_step);
        column(0, first + 1);
    }
    for (int64_t p = K - 1; p < count; ++p) {
        shift();
        past[0] = load<V>(y + p * c.y_step);
        column(0, K);
    }
#pragma GCC unroll 8
    for (int last = 1; last < K; ++last) {
        shift();
        column(last, K);
    }
    for (int r = 0; r < R; ++r)
        for (int k = 0; k < K; ++k) store(w + c.runs[run + r * K + k].b, sum[r][k]);
}

// A few pixels with all their lanes at a time: one lane of all pixels would be a walk with large steps.
template <class T>
void lanes_filter(const LanesFilterCall& c) {
    constexpr int64_t P = 14;
    const bool three = slides<3>(c.runs, c.run_count, c.x_step);
    const int64_t pieces = (c.pixels + P - 1) / P;
    for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t from = c.pixels * piece / pieces, to = c.pixels * (piece + 1) / pieces;
        for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
            using V = typename decltype(l)::V;
            int64_t run = 0;
            if (three && to - from >= 2) {
                for (; run + 9 <= c.run_count; run += 9) sliding_filter_block<T, V, 3, 3>(c, run, i, from, to);
                for (; run + 3 <= c.run_count; run += 3) sliding_filter_block<T, V, 1, 3>(c, run, i, from, to);
            }
            for (; run + 9 <= c.run_count; run += 9) lanes_filter_block<T, V, 9>(c, run, i, from, to);
            for (; run + 3 <= c.run_count; run += 3) lanes_filter_block<T, V, 3>(c, run, i, from, to);
            for (; run < c.run_count; ++run) lanes_filter_block<T, V, 1>(c, run, i, from, to);
        });
    }
}
