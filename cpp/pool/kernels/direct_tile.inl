// Tiles of small windows: dispatch on the layout of their rows.

// The only reducers with kernels for dilated windows of stride 2 (accepts_direct in registry.cpp).
template <class C>
constexpr bool dilates = __is_same(C, Sum<float>) || __is_same(C, MaxReducer<float, true, false>) ||
                         __is_same(C, MaxReducer<float, false, false>);

// rows(RowWindows) for the windows of a schedule: exactly the cases that accepts_direct() lets through are compiled.
template <class C, class F>
inline void dispatch_row_layout(const PoolSchedule& job, F rows) {
    const Axis& a = job.axis[job.rank - 1];
    if (rows_are_lanes(job)) return rows(RowWindows<0>{});
    if constexpr (C::two_planes) {
        if (a.s == 1) return a.k == 2 ? rows(RowWindows<2, 1>{}) : rows(RowWindows<3, 1>{});
    } else if constexpr (dilates<C>) {
        if (a.d > 1) return a.k == 2 ? rows(RowWindows<2, 2, true>{}) : rows(RowWindows<3, 2, true>{});
    }
    a.k == 2 ? rows(RowWindows<2, 2>{}) : rows(RowWindows<3, 2>{});
}

// Whether results of `size` bytes, computed `lanes` at a time, can be written with streaming stores.
inline bool results_stream(const PoolSchedule& job, const PoolTile& b, const DirectRow& line, int64_t lanes,
                           int64_t size) {
    if (!job.streaming || line.interior.begin > 0 || line.interior.end < line.n || line.n % lanes) return false;
    const int depth = row_depth(job);
    return vector_aligned(job.y + b.y * size, (depth ? job.y_stride[depth - 1] : 0) * size);
}
