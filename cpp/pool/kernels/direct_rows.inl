// Iteration over the rows of a tile of small windows.

// How many rows are processed together: few if windows are clipped along the row, so that their elements are still in
// the L1 cache when the clipped ones are reduced one by one (max 3×3 s2 p1 of 32×64×112×112, one thread: 8.35 vs. 7.8
// ms with eight rows).
inline int64_t rows_together(const DirectRow& line) {
    return line.interior.begin > 0 || line.interior.end < line.n ? 8 : INT64_MAX;
}

// Processes a row of results: its window indices on the outer axes, its start in x, the window's elements off the row
// (possibly none), and the index of its first result. A function pointer, so that the iteration is compiled once.
using RowFn = void (*)(const void* context, const int64_t* j, const char* first, const DirectWindow& window, int64_t y);

// Consecutive rows of unclipped windows are passed together, up to `most_rows`: advancing from row to row takes longer
// than a row of a few vectors. `depth`: the number of axes before those that a row runs along.
CENOTE_ONCE void visit_window_rows(const PoolSchedule& job, const PoolTile& b, const TapWeights& weights, int depth,
                                   int64_t most_rows, RowFn row, const void* context) {
    const int inner = depth - 1;
    Span taps[kMaxDims] = {};
    int64_t j[kMaxDims] = {};
    for (int q = 0; q < depth; ++q) taps[q] = {0, job.axis[q].k};
    DirectWindow unclipped = direct_window_of(job, depth, taps, weights);
    if (depth == 0) return row(context, j, b.x, unclipped, b.y);
    const Axis& a = job.axis[inner];
    const int64_t x_step = a.s * job.x_stride[inner], y_step = job.y_stride[inner];
    const Span interior = interior_windows(a, b.j0[inner], b.count[inner]);
    for_rows(inner, b.count, [&](const int64_t* at) {
        const char* x = b.x + window_start(a, b.j0[inner]) * job.x_stride[inner];
        int64_t y = b.y;
        bool clipped = false;
        for (int q = 0; q < inner; ++q) {
            j[q] = b.j0[q] + at[q];
            taps[q] = real_taps(job.axis[q], j[q]);
            clipped |= taps[q].end - taps[q].begin < job.axis[q].k;
            x += window_start(job.axis[q], j[q]) * job.x_stride[q];
            y += at[q] * job.y_stride[q];
        }
        for (int64_t i = 0; i < b.count[inner]; ++i) {
            j[inner] = b.j0[inner] + i;
            int64_t rows = 1;
            if (!clipped && i >= interior.begin && i < interior.end) {
                unclipped.rows = rows = min(most_rows, interior.end - i);
                unclipped.x_step = x_step;
                unclipped.y_step = y_step;
                row(context, j, x, unclipped, y);
            } else {
                taps[inner] = real_taps(a, j[inner]);
                row(context, j, x, direct_window_of(job, depth, taps, weights), y);
            }
            i += rows - 1;
            x += rows * x_step;
            y += rows * y_step;
        }
    });
}

// f(j, first, window, y) for every row of windows that is not empty, empty(j, y) for the others.
template <class F, class E>
inline void for_window_rows(const PoolSchedule& job, const PoolTile& b, const TapWeights& weights, int depth,
                            int64_t most_rows, F f, E empty) {
    struct Both {
        F& f;
        E& empty;
    };
    const Both both{f, empty};
    visit_window_rows(
        job, b, weights, depth, most_rows,
        [](const void* context, const int64_t* j, const char* first, const DirectWindow& window, int64_t y) {
            const Both& both = *static_cast<const Both*>(context);
            if (window.count)
                both.f(j, first, window, y);
            else
                both.empty(j, y);
        },
        &both);
}
template <class F, class E>
inline void for_window_rows(const PoolSchedule& job, const PoolTile& b, const TapWeights& weights, int64_t most_rows,
                            F f, E empty) {
    for_window_rows(job, b, weights, row_depth(job), most_rows, f, empty);
}
