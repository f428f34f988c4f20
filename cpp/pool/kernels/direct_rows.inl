// The way from row to row of a tile of small windows.

// How many rows go together: where windows are cut along the row, few, so that their elements are still in the nearest
// cache when they are joined one by one (max 3×3 s2 p1 of 32×64×112×112, one thread: 8.35 ms, and 7.8 by eights).
inline int64_t rows_together(const Line& line) {
    return line.whole.begin > 0 || line.whole.end < line.n ? 8 : INT64_MAX;
}

// What is done with a row of results: its windows on the axes before it, where it starts in x, its elements off the
// row, none or some of them, and its first element in y. Called through a pointer, so that the walk is compiled once.
using RowFn = void (*)(const void* context, const int64_t* j, const char* first, const DirectWindow& window, int64_t y);

// Rows that lack no element are handed over together, up to `most_rows`: the way from one to the next takes longer than
// a row of a few vectors. `depth`: the axes before those that a row runs along.
CENOTE_ONCE void visit_window_rows(const PoolSchedule& job, const PoolTile& b, const Weights& weights, int depth,
                                   int64_t most_rows, RowFn row, const void* context) {
    const int inner = depth - 1;
    Span taps[kMaxDims] = {};
    int64_t j[kMaxDims] = {};
    for (int q = 0; q < depth; ++q) taps[q] = {0, job.axis[q].k};
    DirectWindow whole = direct_window_of(job, depth, taps, weights);
    if (depth == 0) return row(context, j, b.x, whole, b.y);
    const Axis& a = job.axis[inner];
    const int64_t x_step = a.s * job.x_stride[inner], y_step = job.y_stride[inner];
    const Span sound = interior_windows(a, b.j0[inner], b.count[inner]);
    for_rows(inner, b.count, [&](const int64_t* at) {
        const char* x = b.x + window_start(a, b.j0[inner]) * job.x_stride[inner];
        int64_t y = b.y;
        bool cut = false;
        for (int q = 0; q < inner; ++q) {
            j[q] = b.j0[q] + at[q];
            taps[q] = real_taps(job.axis[q], j[q]);
            cut |= taps[q].end - taps[q].begin < job.axis[q].k;
            x += window_start(job.axis[q], j[q]) * job.x_stride[q];
            y += at[q] * job.y_stride[q];
        }
        for (int64_t i = 0; i < b.count[inner]; ++i) {
            j[inner] = b.j0[inner] + i;
            int64_t rows = 1;
            if (!cut && i >= sound.begin && i < sound.end) {
                whole.rows = rows = min(most_rows, sound.end - i);
                whole.x_step = x_step;
                whole.y_step = y_step;
                row(context, j, x, whole, y);
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

// f(j, first, window, y) for every row of results that has an element, empty(j, y) for the others.
template <class F, class E>
inline void for_window_rows(const PoolSchedule& job, const PoolTile& b, const Weights& weights, int depth,
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
inline void for_window_rows(const PoolSchedule& job, const PoolTile& b, const Weights& weights, int64_t most_rows, F f,
                            E empty) {
    for_window_rows(job, b, weights, row_depth(job), most_rows, f, empty);
}
