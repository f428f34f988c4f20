// Iteration over the rows of a tile. Included into an unnamed namespace, because templates elsewhere have external
// linkage: see core/geometry.hpp.

// f(from, n) for parts of a row, in order, with checkpoints between those of a long one. `done` counts the elements
// since the last checkpoint. Parts but the last are whole vectors.
template <class F>
inline void in_parts(int64_t all, int64_t& done, F f) {
    for (int64_t from = 0; from < all; from += kCheckpointElements) {
        const int64_t n = min(kCheckpointElements, all - from);
        f(from, n);
        count_done(done, n);
    }
}
template <class F>
inline void in_parts(int64_t all, F f) {
    int64_t done = 0;
    in_parts(all, done, f);
}

// f(at) for every position on the axes before `depth`.
template <class F>
inline void for_rows(int depth, const int64_t* extent, F f) {
    int64_t at[kMaxDims] = {};
    for (int q = 0; q < depth; ++q)
        if (extent[q] == 0) return;
    for (;;) {
        f(static_cast<const int64_t*>(at));
        int q = depth - 1;
        for (; q >= 0; --q) {
            if (++at[q] < extent[q]) break;
            at[q] = 0;
        }
        if (q < 0) return;
    }
}

// f(from) with the address of each input row, padding excluded.
template <class F>
inline void for_input_rows(const PoolSchedule& job, const PoolTile& b, const InputRows& rows, F f) {
    const char* first = b.x;
    for (int q = 0; q < job.rank; ++q) first += b.c0[q] * job.x_stride[q];
    for_rows(rows.depth, b.elements, [&](const int64_t* at) {
        const char* from = first;
        for (int q = 0; q < rows.depth; ++q) from += at[q] * job.x_stride[q];
        f(from);
    });
}

// f(at, offset in the view, index in y, n) for each row of results.
template <class F>
inline void for_result_rows(const PoolSchedule& job, const PoolTile& b, const int64_t* stride, F f) {
    const ResultRows rows = result_rows(job, b, stride);
    for_rows(rows.depth, b.count, [&](const int64_t* at) {
        int64_t offset = 0, y = b.y;
        for (int q = 0; q < rows.depth; ++q) {
            offset += at[q] * stride[q];
            y += at[q] * job.y_stride[q];
        }
        f(at, offset, y, rows.n);
    });
}
