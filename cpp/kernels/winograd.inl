// Winograd's F(2×2, 3×3): 16 products for 4 results instead of 36. All lanes are channels.

// The points of one row of cells, after the rows of its tile have been joined.
template <class V, class T>
CENOTE_INLINE inline void row_points(const V* d, T* points, int64_t point) {
    store(points, d[0] - d[2]);
    store(points + point, d[1] + d[2]);
    store(points + 2 * point, d[2] - d[1]);
    store(points + 3 * point, d[1] - d[3]);
}

// One tile of 4 × 4 cells to 16 points: Bᵀ d B. Row by row of points: all of a tile are more than there are registers.
template <class V, class T>
CENOTE_INLINE inline void tile_points(const T* x0, int64_t down, int64_t right, T* points, int64_t point) {
    const T *const x1 = x0 + down, *const x2 = x1 + down, *const x3 = x2 + down;
    V a[4], b[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) a[k] = load<V>(x0 + k * right) - load<V>(x2 + k * right);
    row_points(a, points, point);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
        const V one = load<V>(x1 + k * right), two = load<V>(x2 + k * right);
        a[k] = one + two;
        b[k] = two - one;
    }
    row_points(a, points + 4 * point, point);
    row_points(b, points + 8 * point, point);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) a[k] = load<V>(x1 + k * right) - load<V>(x3 + k * right);
    row_points(a, points + 12 * point, point);
}

template <class T>
void winograd_cells(const WinogradCells& all) {
    const WinogradCells c = all;
    const T* x = static_cast<const T*>(c.x);
    T* points = static_cast<T*>(c.points);
    for (int64_t tile = 0; tile < c.tiles; ++tile, x += c.next, points += c.next_points) {
        int64_t i = 0;
        for (; i + kLanes<T> <= c.lanes; i += kLanes<T>)
            tile_points<Wide<T>>(x + i, c.row, c.column, points + i, c.point);
        for (; i < c.lanes; ++i) tile_points<T>(x + i, c.row, c.column, points + i, c.point);
    }
}

// A filter of 3 × 3 taps to 16 points: G g Gᵀ.
template <class T>
void winograd_filter(const WinogradFilter& c) {
    const T* const w = static_cast<const T*>(c.w);
    T* const points = static_cast<T*>(c.points);
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        const V half = splat<V>(T(1) / 2);
        V g[4][3];
        for (int column = 0; column < 3; ++column) {
            const V a = load<V>(w + column * c.tap + i), b = load<V>(w + (3 + column) * c.tap + i),
                    e = load<V>(w + (6 + column) * c.tap + i);
            g[0][column] = a;
            g[1][column] = half * (a + e + b);
            g[2][column] = half * (a + e - b);
            g[3][column] = e;
        }
        for (int row = 0; row < 4; ++row) {
            const V a = g[row][0], b = g[row][1], e = g[row][2];
            T* to = points + 4 * row * c.point + i;
            store(to, a);
            store(to + c.point, half * (a + e + b));
            store(to + 2 * c.point, half * (a + e - b));
            store(to + 3 * c.point, e);
        }
    });
}

// 16 points of a vector of lanes to 2 × 2 results: Aᵀ m A. Zeros, or NaN for lanes that are not all finite.
template <class V, class T>
CENOTE_INLINE inline V results_of(const T* points, int64_t point, V first, const WinogradResults& c, T* out) {
    V m[2][4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k, points += point) {
        const V a = load<V>(points), b = load<V>(points + 4 * point), d = load<V>(points + 8 * point),
                e = load<V>(points + 12 * point);
        m[0][k] = a + b + d;
        m[1][k] = b - d - e;
    }
    V y[2][2];
#pragma GCC unroll 2
    for (int row = 0; row < 2; ++row) {
        y[row][0] = m[row][0] + m[row][1] + m[row][2] + first;
        y[row][1] = m[row][1] - m[row][2] - m[row][3] + first;
    }
    store(out, y[0][0]);
    if (c.columns > 1) store(out + c.column, y[0][1]);
    if (c.rows > 1) store(out + c.row, y[1][0]);
    if (c.rows > 1 && c.columns > 1) store(out + c.row + c.column, y[1][1]);
    return (y[0][0] - y[0][0]) + (y[0][1] - y[0][1]) + ((y[1][0] - y[1][0]) + (y[1][1] - y[1][1]));
}

// Of each tile, rows × columns results are wanted. False if one of its results is not finite.
template <class T>
bool winograd_results(const WinogradResults& all) {
    using V = Wide<T>;
    const WinogradResults c = all;
    const T *points = static_cast<const T*>(c.points), *const init = static_cast<const T*>(c.init);
    T* out = static_cast<T*>(c.out);
    V strange{};
    T odd{};
    for (int64_t tile = 0; tile < c.tiles; ++tile, points += c.next_points, out += c.next) {
        int64_t i = 0;
        for (; i + kLanes<T> <= c.lanes; i += kLanes<T>)
            strange += results_of<V>(points + i, c.point, load<V>(init + i), c, out + i);
        for (; i < c.lanes; ++i) odd += results_of<T>(points + i, c.point, init[i], c, out + i);
    }
    bool finite = odd == 0;
    for (int k = 0; k < kLanes<T>; ++k) finite &= strange[k] == 0;
    return finite;
}
