// Convolutions in which each lane is a channel of its own: nothing is broadcast, both operands are vectors.

template <class T, class V, int P>
inline void lanes_block(const LanesCall& c, int64_t pixel, int64_t lane) {
    V sum[P];
    const T* const x = static_cast<const T*>(c.x) + pixel * c.x_step + lane;
    const T* const w = static_cast<const T*>(c.w) + lane;
    T* const out = static_cast<T*>(c.out) + pixel * c.out_step + lane;
    const V first = c.init && !c.add ? load<V>(static_cast<const T*>(c.init) + lane) : V{};
    for (int p = 0; p < P; ++p) sum[p] = c.add ? load<V>(out + p * c.out_step) : first;
    for (int64_t r = 0; r < c.run_count; ++r) {
        const V right = load<V>(w + c.runs[r].b);
        const T* a = x + c.runs[r].a;
        for (int p = 0; p < P; ++p) sum[p] += load<V>(a + p * c.x_step) * right;
    }
    for (int p = 0; p < P; ++p) store(out + p * c.out_step, sum[p]);
}

template <class T>
void lanes(const LanesCall& c) {
    constexpr int P = 8;
    int64_t pixel = 0;
    for (; pixel + P <= c.pixels; pixel += P)
        for_lanes<T>(c.lanes, [&](auto l, int64_t i) { lanes_block<T, typename decltype(l)::V, P>(c, pixel, i); });
    for (; pixel + 2 <= c.pixels; pixel += 2)
        for_lanes<T>(c.lanes, [&](auto l, int64_t i) { lanes_block<T, typename decltype(l)::V, 2>(c, pixel, i); });
    if (pixel < c.pixels)
        for_lanes<T>(c.lanes, [&](auto l, int64_t i) { lanes_block<T, typename decltype(l)::V, 1>(c, pixel, i); });
}

template <class T, class V, int R>
inline void lanes_filter_block(const LanesFilterCall& c, int64_t run, int64_t lane) {
    V sum[R];
    const T* x[R];
    T* const w = static_cast<T*>(c.w) + lane;
    for (int r = 0; r < R; ++r) {
        sum[r] = load<V>(w + c.runs[run + r].b);
        x[r] = static_cast<const T*>(c.x) + c.runs[run + r].a + lane;
    }
    const T* y = static_cast<const T*>(c.y) + lane;
    int64_t at = 0;
    for (int64_t p = 0; p < c.pixels; ++p, y += c.y_step, at += c.x_step) {
        const V right = load<V>(y);
        for (int r = 0; r < R; ++r) sum[r] += load<V>(x[r] + at) * right;
    }
    for (int r = 0; r < R; ++r) store(w + c.runs[run + r].b, sum[r]);
}

template <class T>
void lanes_filter(const LanesFilterCall& c) {
    constexpr int R = 9;
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        int64_t run = 0;
        for (; run + R <= c.run_count; run += R) lanes_filter_block<T, V, R>(c, run, i);
        for (; run + 3 <= c.run_count; run += 3) lanes_filter_block<T, V, 3>(c, run, i);
        for (; run < c.run_count; ++run) lanes_filter_block<T, V, 1>(c, run, i);
    });
}
