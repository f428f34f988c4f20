// Smooth maxima and norms of large windows that overlap, on planes, in single precision: strips that are walked down as
// walk.inl and walk_sums.inl do. Every cell is raised to its power once.

// Rows of windows that see a cell which is not moderate.
struct WildRows {
    static constexpr int kMost = 16;
    Span rows[kMost];
    int count = 0;

    // The window that ends at row r of the walk and those that begin until there.
    void add(int64_t r, int64_t k, int64_t windows) {
        const Span seen{most(0, r - k + 1), least(windows, r + 1)};
        if (count > 0 && (seen.begin <= rows[count - 1].end || count == kMost))
            rows[count - 1].end = seen.end;
        else
            rows[count++] = seen;
    }
};

// Some rows of a strip as a job of their own, in tiles that are reduced pass by pass.
inline Job rows_of(const Job& job, const Box& b, Span rows) {
    constexpr int64_t tall = 32, wide = 128;
    Job part = job;
    part.walks = false;
    part.outer = 0;
    part.x = b.x;
    part.y = job.y + (b.y + rows.begin * job.y_stride[0]) * size_of(job.out);
    part.lane_tile = b.lanes;
    part.lane_tiles = part.tasks = 1;
    const int64_t first[2] = {b.j0[0] + rows.begin, b.j0[1]}, count[2] = {rows.end - rows.begin, b.count[1]};
    for (int q = 0; q < 2; ++q) {
        part.axis[q].low -= first[q];
        part.axis[q].o = count[q];
        part.tile[q] = least(count[q], q == 0 ? tall : most(1, wide / b.lanes));
        part.tasks *= part.tiles[q] = ceil_div(count[q], part.tile[q]);
    }
    return part;
}

template <class C>
void walk_norms(const Job& job, int64_t task, Arena* arena) {
    using S = Sum<float>;
    const Box b = locate(job, task);
    const Norm norm = norm_of(job);
    const bool topped = norm.logarithm || norm.power > 2;  // results are held to the largest cell
    const StripRows<float> rows(job, b, arena);
    const StripResults<float> results(job, b, job.out == DType::f32, arena);
    const int64_t k = job.axis[0].k, all = b.count[0] + k - 1, n = b.count[1] * b.lanes;
    SumWalk<S> sums(k, rows.n, arena);
    const SumAlong<S> along(job.axis[1].k, b.lanes, n, arena);
    PickWalk<C> tops(topped ? k : 1, topped ? job.axis[1].k : 1, topped ? n : 1, b.lanes, arena);
    const int64_t held = kStepRows * sums.pitch + SumAlong<S>::behind();
    float* terms = take<float>(arena, held);
    float* bounds = take<float>(arena, topped ? kStepRows * n : 0);
    fill_empty<S>({terms, nullptr}, held);
    const float* given[kStepRows];
    for (int64_t r = 0; r < kStepRows; ++r) given[r] = terms + r * sums.pitch;
    WildRows wild;
    const auto raise = [&](int64_t r) {
        float* to = terms + r % kStepRows * sums.pitch;
        fill_empty<S>({to, nullptr}, sums.pitch);
        if (rows.real(r)) {
            rows.lay(r, rows.line, C::absent());
            if (!single_terms(norm, rows.line + rows.before, to + rows.before, nullptr, rows.inside))
                wild.add(r, k, b.count[0]);
        }
        if (topped)
            tops.next(rows.real(r) ? rows.line : nullptr, bounds + r % kStepRows * n, rows.at(r + 1), rows.at(r + 1));
    };
    for (int64_t r = 0; r < least(kStepRows, all); ++r) raise(r);
    for (int64_t from = 0; from < all; from += kStepRows) {
        const int64_t count = least(kStepRows, all - from);
        sums.next(given, terms, count);
        for (int64_t r = 0; r < count; ++r) {
            if (const int64_t j = from + r - k + 1; j >= 0) {
                float* to = results.row(j);
                const Later later{rows.at(from + kStepRows + r + 1), results.at(j + 1)};
                along.row(terms + r * sums.pitch, to, later, [](auto v) CENOTE_INLINE { return v; });
                finish_single(norm, to, topped ? bounds + r * n : nullptr, n);
                results.wrote(j);
            }
            if (from + kStepRows + r < all) raise(from + kStepRows + r);
        }
    }
    for (int i = 0; i < wild.count; ++i) {
        const Job part = rows_of(job, b, wild.rows[i]);
        for (int64_t t = 0; t < part.tasks; ++t) {
            arena_rewind(arena);
            wide_sum_tile(part, t, arena);
        }
    }
}

inline void norm_strip(const Job& job, int64_t task, Arena* arena) {
    if (job.prepare == Prepare::exponential && job.beta < 0)
        return walk_norms<PickNumbers<float, false>>(job, task, arena);
    walk_norms<PickNumbers<float, true>>(job, task, arena);
}
