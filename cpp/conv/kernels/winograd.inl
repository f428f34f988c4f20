// Winograd's F(2×2, 3×3) and F(3×3, 2×2): 16 products for 4 results of 9 taps, or for 9 results of 4 taps; along one
// axis F(2, 3) and F(3, 2), 4 products for 2 results of 3 taps or for 3 results of 2 taps. Lanes are channels.

// Transforms one row of a tile, after the rows have been combined.
template <class V, class T>
CENOTE_INLINE inline void row_points(const V* d, T* points, int64_t point) {
    store(points, d[0] - d[2]);
    store(points + point, d[1] + d[2]);
    store(points + 2 * point, d[2] - d[1]);
    store(points + 3 * point, d[1] - d[3]);
}

// The input transform Bᵀ d B of one 4×4 tile to 16 points, one row of points at a time, because a whole tile does not
// fit into registers. For one row of 4 elements: d B.
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
inline void transform_tiles(const WinogradInput& all) {
    const WinogradInput c = all;
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
void winograd_input(const WinogradInput& c) {
    c.line ? transform_tiles<true, T>(c) : transform_tiles<false, T>(c);
}

// Transforms taps along one axis to 4 points.
template <int R, class V>
CENOTE_INLINE inline void tap_points(const V* tap, V half, V* point) {
    const V last = tap[R - 1], around = R == 3 ? tap[0] + last : tap[0];
    point[0] = tap[0];
    point[1] = half * (around + tap[1]);
    point[2] = half * (around - tap[1]);
    point[3] = last;
}

// The filter transform G g Gᵀ: R × R taps to 16 points, or R taps to 4.
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

// Transforms 4 points along one axis to M results.
template <int M, class V>
CENOTE_INLINE inline void combine_points(V a, V b, V c, V d, V* y) {
    y[0] = a + b + c;
    if constexpr (M == 2) {
        y[1] = b - c - d;
    } else {
        y[1] = b - c;
        y[2] = b + c - d;
    }
}

// The output transform Aᵀ m A of a vector of lanes: 16 points to M × M results, or 4 to M. Returns zeros, or NaN in
// lanes with results that are not finite.
template <class V, bool Line, int M, bool Whole, class T>
CENOTE_INLINE inline V tile_results(const T* points, V first, const WinogradOutput& c, T* out) {
    constexpr int rows = Line ? 1 : M;
    V m[4][rows], nonfinite{};
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k, points += c.point) {
        if constexpr (Line)
            m[k][0] = load<V>(points);
        else
            combine_points<M>(load<V>(points), load<V>(points + 4 * c.point), load<V>(points + 8 * c.point),
                              load<V>(points + 12 * c.point), m[k]);
    }
#pragma GCC unroll 3
    for (int row = 0; row < rows; ++row) {
        V y[M];
        combine_points<M>(m[0][row], m[1][row], m[2][row], m[3][row], y);
#pragma GCC unroll 3
        for (int column = 0; column < M; ++column) {
            const V result = y[column] + first;
            if (Whole ||
                (row >= c.rows.begin && row < c.rows.end && column >= c.columns.begin && column < c.columns.end))
                store(out + row * c.row + column * c.column, result);
            nonfinite += result - result;
        }
    }
    return nonfinite;
}

template <bool Line, int M, bool Whole, class T>
inline bool all_results(const WinogradOutput& all) {
    using V = Wide<T>;
    const WinogradOutput c = all;
    const T *points = static_cast<const T*>(c.points), *const init = static_cast<const T*>(c.init);
    T* out = static_cast<T*>(c.out);
    V nonfinite{};
    T nonfinite_tail{};
    for (int64_t tile = 0; tile < c.tiles; ++tile, points += c.next_points, out += c.next) {
        int64_t i = 0;
        for (; i + kLanes<T> <= c.lanes; i += kLanes<T>)
            nonfinite += tile_results<V, Line, M, Whole>(points + i, load<V>(init + i), c, out + i);
        for (; i < c.lanes; ++i) nonfinite_tail += tile_results<T, Line, M, Whole>(points + i, init[i], c, out + i);
    }
    bool finite = nonfinite_tail == 0;
    for (int k = 0; k < kLanes<T>; ++k) finite &= nonfinite[k] == 0;
    return finite;
}
template <bool Line, int M, class T>
inline bool some_results(const WinogradOutput& c) {
    const bool whole = c.rows.end - c.rows.begin == (Line ? 1 : M) && c.columns.end - c.columns.begin == M;
    return whole ? all_results<Line, M, true, T>(c) : all_results<Line, M, false, T>(c);
}

// Only the results in rows × columns of each tile are stored. Returns whether all results are finite.
template <class T>
bool winograd_output(const WinogradOutput& c) {
    if (c.m == 2) return c.line ? some_results<true, 2, T>(c) : some_results<false, 2, T>(c);
    return c.line ? some_results<true, 3, T>(c) : some_results<false, 3, T>(c);
}
