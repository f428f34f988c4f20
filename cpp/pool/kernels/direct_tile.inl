// Tiles of small windows: how their rows lie.

// Only these have kernels for windows two apart with a dilation (accepts_direct in registry.cpp).
template <class C>
constexpr bool dilates = __is_same(C, Sum<float>) || __is_same(C, MaxReducer<float, true, false>) ||
                         __is_same(C, MaxReducer<float, false, false>);

// rows(Along) for the way in which the windows of a job lie: what accepts_direct() (registry.cpp) lets through, and no
// more than that is compiled.
template <class C, class F>
inline void as_they_lie(const PoolSchedule& job, F rows) {
    const Axis& a = job.axis[job.rank - 1];
    if (rows_are_lanes(job)) return rows(Along<0>{});
    if constexpr (C::two_planes) {
        if (a.s == 1) return a.k == 2 ? rows(Along<2, 1>{}) : rows(Along<3, 1>{});
    } else if constexpr (dilates<C>) {
        if (a.d > 1) return a.k == 2 ? rows(Along<2, 2, true>{}) : rows(Along<3, 2, true>{});
    }
    a.k == 2 ? rows(Along<2, 2>{}) : rows(Along<3, 2>{});
}

// Whether results of `size` bytes, `lanes` of which are made at a time, may be written with streaming stores.
inline bool results_stream(const PoolSchedule& job, const PoolTile& b, const Line& line, int64_t lanes, int64_t size) {
    if (!job.streaming || line.whole.begin > 0 || line.whole.end < line.n || line.n % lanes) return false;
    const int depth = row_depth(job);
    return vector_aligned(job.y + b.y * size, (depth ? job.y_stride[depth - 1] : 0) * size);
}
