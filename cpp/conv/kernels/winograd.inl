// Winograd's F(2×2, 3×3) and F(3×3, 2×2): 16 products for 4 results of 9 taps, or for 9 of 4; along one axis F(2, 3)
// and F(3, 2), 4 products for 2 results of 3 taps or for 3 of 2. All lanes are channels.

// The points of one row of elements, after the rows of its tile have been joined.
template <class V, class T>
CENOTE_INLINE inline void row_points(const V* d, T* points, int64_t point) {
    store(points, d[0] - d[2]);
    store(points + point, d[1] + d[2]);
    store(points + 2 * point, d[2] - d[1]);
    store(points + 3 * point, d[1] - d[3]);
}

// One tile of 4 × 4 elements to 16 points: Bᵀ d B. Row by row of points: all of a tile are more than there are
// registers. Of one row of 4 elements: d B.
template <class V, bool Line, class T>
CENOTE_INLINE inline void tile_points(const T* x0, int64_t down, int64_t right, T* points, int64_t point) {
    V a[4];
    if constexpr (Line) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) a[k] = load<V>(x0 + k * right);
        row_points(a, points, point);
        return;
    }
    const T *const x1 = x0 + down, *const x2 = x1 + down, *const x3 = x2 + down;
    V b[4];
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

template <bool Line, class T>
inline void all_elements(const WinogradElements& all) {
    const WinogradElements c = all;
    const T* x = static_cast<const T*>(c.x);
    T* points = static_cast<T*>(c.points);
    for (int64_t tile = 0; tile < c.tiles; ++tile, x += c.next, points += c.next_points) {
        int64_t i = 0;
        for (; i + kLanes<T> <= c.lanes; i += kLanes<T>)
            tile_points<Wide<T>, Line>(x + i, c.row, c.column, points + i, c.point);
        for (; i < c.lanes; ++i) tile_points<T, Line>(x + i, c.row, c.column, points + i, c.point);
    }
}
template <class T>
void winograd_elements(const WinogradElements& c) {
    c.line ? all_elements<true, T>(c) : all_elements<false, T>(c);
}

// Taps along one axis to 4 points.
template <int R, class V>
CENOTE_INLINE inline void tap_points(const V* tap, V half, V* point) {
    const V last = tap[R - 1], around = R == 3 ? tap[0] + last : tap[0];
    point[0] = tap[0];
    point[1] = half * (around + tap[1]);
    point[2] = half * (around - tap[1]);
    point[3] = last;
}

// A filter of R × R taps to 16 points, or of R taps to 4: G g Gᵀ.
template <bool Line, int R, class T>
inline void filter_points(const WinogradFilter& c) {
    constexpr int rows = Line ? 1 : R, points = Line ? 1 : 4;
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        const V half = splat<V>(T(1) / 2);
        V g[4][R];
        for (int column = 0; column < R; ++column) {
            V tap[3], point[4];
            for (int row = 0; row < rows; ++row)
                tap[row] = load<V>(static_cast<const T*>(c.taps[row * R + column]) + i);
            if constexpr (Line)
                point[0] = tap[0];
            else
                tap_points<R>(tap, half, point);
            for (int row = 0; row < points; ++row) g[row][column] = point[row];
        }
        for (int row = 0; row < points; ++row) {
            V point[4];
            tap_points<R>(g[row], half, point);
            T* const to = static_cast<T*>(c.points) + 4 * row * c.point + i;
            for (int column = 0; column < 4; ++column) store(to + column * c.point, point[column]);
        }
    });
}
template <class T>
void winograd_filter(const WinogradFilter& c) {
    if (c.m == 2) return c.line ? filter_points<true, 3, T>(c) : filter_points<false, 3, T>(c);
    c.line ? filter_points<true, 2, T>(c) : filter_points<false, 2, T>(c);
}

// 4 points along one axis to M results.
template <int M, class V>
CENOTE_INLINE inline void join_points(V a, V b, V c, V d, V* y) {
    y[0] = a + b + c;
    if constexpr (M == 2) {
        y[1] = b - c - d;
    } else {
        y[1] = b - c;
        y[2] = b + c - d;
    }
}

// 16 points of a vector of lanes to M × M results, or 4 to M: Aᵀ m A. Zeros, or NaN for lanes that are not all finite.
template <class V, bool Line, int M, bool Whole, class T>
CENOTE_INLINE inline V results_of(const T* points, V first, const WinogradResults& c, T* out) {
    constexpr int rows = Line ? 1 : M;
    V m[4][rows], strange{};
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k, points += c.point) {
        if constexpr (Line)
            m[k][0] = load<V>(points);
        else
            join_points<M>(load<V>(points), load<V>(points + 4 * c.point), load<V>(points + 8 * c.point),
                           load<V>(points + 12 * c.point), m[k]);
    }
#pragma GCC unroll 3
    for (int row = 0; row < rows; ++row) {
        V y[M];
        join_points<M>(m[0][row], m[1][row], m[2][row], m[3][row], y);
#pragma GCC unroll 3
        for (int column = 0; column < M; ++column) {
            const V result = y[column] + first;
            if (Whole ||
                (row >= c.rows.begin && row < c.rows.end && column >= c.columns.begin && column < c.columns.end))
                store(out + row * c.row + column * c.column, result);
            strange += result - result;
        }
    }
    return strange;
}

template <bool Line, int M, bool Whole, class T>
inline bool all_results(const WinogradResults& all) {
    using V = Wide<T>;
    const WinogradResults c = all;
    const T *points = static_cast<const T*>(c.points), *const init = static_cast<const T*>(c.init);
    T* out = static_cast<T*>(c.out);
    V strange{};
    T odd{};
    for (int64_t tile = 0; tile < c.tiles; ++tile, points += c.next_points, out += c.next) {
        int64_t i = 0;
        for (; i + kLanes<T> <= c.lanes; i += kLanes<T>)
            strange += results_of<V, Line, M, Whole>(points + i, load<V>(init + i), c, out + i);
        for (; i < c.lanes; ++i) odd += results_of<T, Line, M, Whole>(points + i, init[i], c, out + i);
    }
    bool finite = odd == 0;
    for (int k = 0; k < kLanes<T>; ++k) finite &= strange[k] == 0;
    return finite;
}
template <bool Line, int M, class T>
inline bool some_results(const WinogradResults& c) {
    const bool whole = c.rows.end - c.rows.begin == (Line ? 1 : M) && c.columns.end - c.columns.begin == M;
    return whole ? all_results<Line, M, true, T>(c) : all_results<Line, M, false, T>(c);
}

// Of each tile, those in rows × columns are wanted. False if one of its results is not finite.
template <class T>
bool winograd_results(const WinogradResults& c) {
    if (c.m == 2) return c.line ? some_results<true, 2, T>(c) : some_results<false, 2, T>(c);
    return c.line ? some_results<true, 3, T>(c) : some_results<false, 3, T>(c);
}
