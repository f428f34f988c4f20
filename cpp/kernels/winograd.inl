// Winograd's F(2×2, 3×3): 16 products for 4 results instead of 36. All lanes are channels.

// One tile of 4 × 4 cells to 16 points: Bᵀ d B.
template <class V>
inline void to_points(V d[4][4]) {
    for (int i = 0; i < 4; ++i) {
        const V a = d[0][i] - d[2][i], b = d[1][i] + d[2][i], c = d[2][i] - d[1][i], e = d[1][i] - d[3][i];
        d[0][i] = a, d[1][i] = b, d[2][i] = c, d[3][i] = e;
    }
    for (int i = 0; i < 4; ++i) {
        const V a = d[i][0] - d[i][2], b = d[i][1] + d[i][2], c = d[i][2] - d[i][1], e = d[i][1] - d[i][3];
        d[i][0] = a, d[i][1] = b, d[i][2] = c, d[i][3] = e;
    }
}

template <class T>
void winograd_cells(const WinogradCells& c) {
    const T* const x = static_cast<const T*>(c.x);
    T* const points = static_cast<T*>(c.points);
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        V d[4][4];
        for (int row = 0; row < 4; ++row)
            for (int column = 0; column < 4; ++column)
                d[row][column] = load<V>(x + row * c.row + column * c.column + i);
        to_points(d);
        for (int p = 0; p < 16; ++p) store(points + p * c.point + i, d[p / 4][p % 4]);
    });
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

// 16 points to 2 × 2 results, of which rows × columns are wanted: Aᵀ m A. False if one of them is not finite.
template <class T>
bool winograd_results(const WinogradResults& c) {
    const T* const points = static_cast<const T*>(c.points);
    const T* const init = static_cast<const T*>(c.init);
    T* const out = static_cast<T*>(c.out);
    bool finite = true;
    for_lanes<T>(c.lanes, [&](auto l, int64_t i) {
        using V = typename decltype(l)::V;
        V m[2][4];
        for (int k = 0; k < 4; ++k) {
            const V a = load<V>(points + k * c.point + i), b = load<V>(points + (4 + k) * c.point + i),
                    d = load<V>(points + (8 + k) * c.point + i), e = load<V>(points + (12 + k) * c.point + i);
            m[0][k] = a + b + d;
            m[1][k] = b - d - e;
        }
        const V first = load<V>(init + i);
        V strange{};
        for (int row = 0; row < 2; ++row) {
            const V y[2] = {m[row][0] + m[row][1] + m[row][2] + first, m[row][1] - m[row][2] - m[row][3] + first};
            for (int column = 0; column < 2; ++column) {
                strange += y[column] - y[column];  // zero, or NaN
                if (row < c.rows && column < c.columns) store(out + row * c.row + column * c.column + i, y[column]);
            }
        }
        if constexpr (IsVector<V>::value) {
            for (int k = 0; k < static_cast<int>(sizeof(V) / sizeof(T)); ++k) finite &= strange[k] == 0;
        } else {
            finite &= strange == 0;
        }
    });
    return finite;
}
