// Weighted sums over windows and their transpose (weighted.hpp), tile by tile.

// An array of a tile's elements, which lies in memory as the job's x does.
struct TileSource {
    DType type;
    const char* data;

    const char* beside(const PoolSchedule& job, const char* x) const {
        return data + (x - job.x) / size_of(job.in) * size_of(type);
    }
};

// A tile of windows: the sums of its terms and, of a sum, of weight times t; and how many elements of each window need
// the shifted form.
struct WindowTile {
    PoolTile b;
    int64_t stride[kMaxDims];  // of the elements
    int64_t size;
    View totals, sums, shifted;
    bool some_shifted;
};

inline View sum_over(const PoolSchedule& job, const PoolTile& b, double* v, const int64_t* stride, Arena* arena) {
    View in;
    in.base = {bytes(v), nullptr};
    for (int q = 0; q < job.rank; ++q) in.stride[q] = stride[q];
    return run_passes(*CENOTE_ROWS::sum_rows(DType::f64), job, b, in, nullptr, arena);
}

CENOTE_ONCE double* load_tile(const PoolSchedule& job, const PoolTile& b, TileSource source, int64_t size,
                              Arena* arena) {
    double *out = take_vectors(arena, size), *to = out;
    const CellRows rows = cell_rows(job, b);
    for_cell_rows(job, b, rows, [&](const char* x) {
        load_row(source.type, to, source.beside(job, x), size_of(source.type), rows.n, false);
        to += rows.n;
    });
    store(to, Doubles{});
    return out;
}

template <bool Sum>
inline void sum_windows(const Factors& f, const WeightedJob& job, int64_t task, WindowTile& tile, Arena* arena) {
    const PoolSchedule& windows = job.windows;
    const PoolTile& b = tile.b = locate(windows, task);
    tile.size = contiguous(windows.rank, b.cells, b.lanes, tile.stride);
    double *terms = take_vectors(arena, tile.size), *sums = Sum ? take_vectors(arena, tile.size) : nullptr;
    const TileSource x{windows.in, windows.x}, t{job.t_type, job.t};
    const CellRows rows = cell_rows(windows, b);
    tile.some_shifted = false;
    int64_t done = 0;
    for_cell_rows(windows, b, rows, [&](const char* from) {
        const char* operand = Sum ? t.beside(windows, from) : nullptr;
        double* to = Sum ? sums + done : nullptr;
        const auto run = f.of.exponential ? &row_factors<true, Sum> : &row_factors<false, Sum>;
        tile.some_shifted |= !run(f, x.type, from, t.type, operand, terms + done, to, rows.n);
        done += rows.n;
    });
    tile.totals = sum_over(windows, b, terms, tile.stride, arena);
    if (Sum) tile.sums = sum_over(windows, b, sums, tile.stride, arena);
    if (!tile.some_shifted) return;
    double* marks = load_tile(windows, b, x, tile.size, arena);
    mark_shifted(f, marks, Sum ? load_tile(windows, b, t, tile.size, arena) : nullptr, tile.size);
    tile.shifted = sum_over(windows, b, marks, tile.stride, arena);
}

// The number of padded elements in the windows of a tile, as those of the padded input less the real ones.
struct PadCounts {
    const double *padded[kMaxDims], *real[kMaxDims];  // along each axis

    PadCounts(const PoolSchedule& job, const PoolTile& b, Arena* arena) {
        for (int q = 0; q < job.rank; ++q) {
            double *all = take<double>(arena, b.count[q]), *taps = take<double>(arena, b.count[q]);
            for (int64_t j = 0; j < b.count[q]; ++j) {
                const Span inside = padded_taps(job.axis[q], b.j0[q] + j), seen = real_taps(job.axis[q], b.j0[q] + j);
                all[j] = static_cast<double>(inside.end - inside.begin);
                taps[j] = static_cast<double>(seen.end - seen.begin);
            }
            padded[q] = all;
            real[q] = taps;
        }
    }

    // f(window along the row, number) for those of a row that have any.
    template <class F>
    void for_row(const PoolTile& b, const ResultRows& rows, const int64_t* row, int rank, F f) const {
        double all = 1, taps = 1;
        for (int q = 0; q < rows.depth; ++q) {
            all *= padded[q][row[q]];
            taps *= real[q][row[q]];
        }
        if (rows.depth == rank) return f(int64_t{0}, all - taps);
        for (int64_t j = 0; j < b.count[rank - 1]; ++j) {
            const double pads = all * padded[rank - 1][j] - taps * real[rank - 1][j];
            if (pads > 0) f(j, pads);
        }
    }
};

inline bool has_padding(const PoolSchedule& job) {
    for (int q = 0; q < job.rank; ++q)
        if (job.axis[q].low || job.axis[q].high) return true;
    return false;
}

// A row of windows: their normalisers, and marks on those that take the shifted form, null for none.
struct WindowRow {
    const ResultRows& rows;
    const int64_t* row;
    int64_t offset, y, n;
    const double *totals, *marks;
};

template <class F>
inline void for_window_rows(const Factors& f, const PoolSchedule& job, const WindowTile& tile, Arena* arena, F with) {
    const ResultRows rows = result_rows(job, tile.b, tile.totals.stride);
    const auto of = [](const View& view, int64_t offset) {
        return reinterpret_cast<const double*>(view.base.v) + offset;
    };
    if (!f.of.pads || !has_padding(job)) {
        for_result_rows(job, tile.b, tile.totals.stride, [&](const int64_t* row, int64_t offset, int64_t y, int64_t n) {
            const double* marks = tile.some_shifted ? of(tile.shifted, offset) : nullptr;
            with(WindowRow{rows, row, offset, y, n, of(tile.totals, offset), marks});
        });
        return;
    }
    const PadCounts counts(job, tile.b, arena);
    double *totals = take<double>(arena, rows.n), *marks = take<double>(arena, rows.n);
    for_result_rows(job, tile.b, tile.totals.stride, [&](const int64_t* row, int64_t offset, int64_t y, int64_t n) {
        copy_row(totals, of(tile.totals, offset), n);
        if (tile.some_shifted)
            copy_row(marks, of(tile.shifted, offset), n);
        else if (!f.plain_pad)
            for (int64_t i = 0; i < n; ++i) marks[i] = 0.0;
        counts.for_row(tile.b, rows, row, job.rank, [&](int64_t j, double pads) {
            for (int64_t k = j * rows.unit; k < (j + 1) * rows.unit; ++k) {
                totals[k] += pads * f.pad;
                if (!f.plain_pad && pads > 0) marks[k] = 1.0;
            }
        });
        with(WindowRow{rows, row, offset, y, n, totals, tile.some_shifted || !f.plain_pad ? marks : nullptr});
    });
}

CENOTE_INLINE inline DoubleMask marked(const WindowRow& r, int64_t i) {
    return r.marks ? read_doubles(DType::f64, reinterpret_cast<const char*>(r.marks), i, r.n) != 0.0 : DoubleMask{};
}

void weighted_sum_tile(const WeightedJob& job, int64_t task, Arena* arena) {
    const Factors f = factors_of(job);
    const PoolSchedule& windows = job.windows;
    WindowTile tile;
    sum_windows<true>(f, job, task, tile, arena);
    const double *x = nullptr, *t = nullptr;
    ShiftRow shifts;
    for_window_rows(f, windows, tile, arena, [&](const WindowRow& r) {
        const char* sums = tile.sums.base.v + r.offset * 8;
        const char* totals = reinterpret_cast<const char*>(r.totals);
        char* y = windows.y + r.y * size_of(windows.out);
        DoubleMask any{};
        for_vectors(r.n, [&](int64_t i) CENOTE_INLINE {
            const Doubles v = read_doubles(DType::f64, sums, i, r.n), total = read_doubles(DType::f64, totals, i, r.n);
            any |= marked(r, i);
            write_doubles(windows.out, y, i, r.n, normalized(f, v, total));
        });
        if (!any_lane(any)) return;
        checkpoint();
        if (!x) x = load_tile(windows, tile.b, {windows.in, windows.x}, tile.size, arena);
        if (!t) t = load_tile(windows, tile.b, {job.t_type, job.t}, tile.size, arena);
        shifts.take_once(arena, r.n);
        sum_row(f, RowTaps(windows, tile.b, tile.stride, r.rows, r.row), x, t, r.marks, shifts);
        for (int64_t i = 0; i < r.n; ++i)
            if (r.marks[i] != 0.0)
                write_doubles(windows.out, y + i * size_of(windows.out), 0, 1, of_all(shifts.totals[i]));
    });
}

// The first stage of a spread: g times the factor of its window; where the window takes the shifted form 0, and what
// that needs.
void weighted_windows_tile(const WeightedJob& job, int64_t task, Arena* arena) {
    // A window was found that needs the shifted form: all tiles are done again, with room for it.
    if (!job.pivot && __atomic_load_n(job.shifted, __ATOMIC_RELAXED)) return;
    const Factors f = factors_of(job);
    const PoolSchedule& windows = job.windows;
    WindowTile tile;
    sum_windows<false>(f, job, task, tile, arena);
    const double* x = nullptr;
    double *g = nullptr, *marks = nullptr;
    ShiftRow shifts;
    for_window_rows(f, windows, tile, arena, [&](const WindowRow& r) {
        const char *operand = job.t + r.y * size_of(job.t_type), *totals = reinterpret_cast<const char*>(r.totals);
        DoubleMask any{};
        for_vectors(r.n, [&](int64_t i) CENOTE_INLINE {
            const Doubles v = read_doubles(job.t_type, operand, i, r.n);
            const Doubles total = read_doubles(DType::f64, totals, i, r.n);
            const DoubleMask shifted = marked(r, i) | out_of_range(v);
            any |= shifted;
            write_doubles(DType::f64, windows.y + r.y * 8, i, r.n, shifted ? Doubles{} : normalized(f, v, total));
        });
        const bool some = any_lane(any);
        if (some) __atomic_store_n(job.shifted, 1, __ATOMIC_RELAXED);
        if (!job.pivot) return;
        for (int64_t i = 0; i < r.n; ++i) job.pivot[r.y + i] = __builtin_nan("");
        if (!some) return;
        checkpoint();
        if (!x) x = load_tile(windows, tile.b, {windows.in, windows.x}, tile.size, arena);
        if (!g) g = take_vectors(arena, r.n);
        if (!marks) marks = take_vectors(arena, r.n);
        load_row(job.t_type, g, operand, size_of(job.t_type), r.n, false);
        for (int64_t i = 0; i < r.n; ++i)
            marks[i] = (r.marks && r.marks[i] != 0.0) || any_lane(out_of_range(of_all(g[i])));
        shifts.take_once(arena, r.n);
        shift_row(f, RowTaps(windows, tile.b, tile.stride, r.rows, r.row), x, marks, shifts);
        for (int64_t i = 0; i < r.n; ++i) {
            if (marks[i] == 0.0) continue;
            job.pivot[r.y + i] = shifts.pivot[i];
            job.rest[r.y + i] = shifts.rest[i] * g[i];
        }
    });
}

// Whether a tile of elements sees a window that takes the shifted form.
inline bool sees_shifted(const WeightedJob& job, const PoolTile& b) {
    const PoolSchedule& elements = job.elements;
    const CellRows rows = cell_rows(elements, b);
    bool any = false;
    for_cell_rows(elements, b, rows, [&](const char* from) {
        const double* pivot = job.pivot + (from - elements.x) / 8;
        for (int64_t i = 0; i < rows.n; ++i) any |= pivot[i] == pivot[i];
    });
    return any;
}

// A row of elements: their factors times the totals of their windows.
template <bool Exponential>
CENOTE_ONCE void spread_row(const Factors& f, DType x_type, const char* x, const char* totals, DType type, char* out,
                            int64_t n) {
    for_vectors(n, [&](int64_t i) CENOTE_INLINE {
        DoubleMask plain;
        Doubles term, weight;
        plain_factors<Exponential, false, true>(f, read_doubles(x_type, x, i, n), term, weight, plain);
        // Plus 0: an element that no window sees has no sign, in a part of the array as in the whole.
        write_doubles(type, out, i, n, Doubles(weight * read_doubles(DType::f64, totals, i, n) + 0.0));
    });
}

// The second stage: each element gathers from the windows that see it.
void weighted_elements_tile(const WeightedJob& job, int64_t task, Arena* arena) {
    const Factors f = factors_of(job);
    const PoolSchedule& elements = job.elements;
    const PoolTile b = locate(elements, task);
    const View in = where_it_lies<double>(elements, b);
    const View totals = run_passes(*CENOTE_ROWS::sum_rows(DType::f64), elements, b, in, nullptr, arena);
    const ResultRows rows = result_rows(elements, b, totals.stride);
    const DType type = job.windows.in;
    const auto run = f.of.exponential ? &spread_row<true> : &spread_row<false>;
    const bool shifted = job.pivot && sees_shifted(job, b);
    double *sums = shifted ? take_vectors(arena, rows.n) : nullptr,
           *x = shifted ? take_vectors(arena, rows.n) : nullptr;
    ShiftRow shifts;
    const int64_t first = (in.base.v - elements.x) / 8;
    for_result_rows(elements, b, totals.stride, [&](const int64_t* row, int64_t offset, int64_t y, int64_t n) {
        const char *from = job.windows.x + y * size_of(type), *total = totals.base.v + offset * 8;
        char* out = elements.y + y * size_of(elements.out);
        if (!shifted) return run(f, type, from, total, elements.out, out, n);
        checkpoint();
        run(f, type, from, total, DType::f64, bytes(sums), n);
        load_row(type, x, from, size_of(type), n, false);
        shifts.take_once(arena, n);
        spread_to_row(f, RowTaps(elements, b, in.stride, rows, row), x, job.pivot + first, job.rest + first, sums,
                      shifts);
        for_vectors(n, [&](int64_t i) CENOTE_INLINE {
            write_doubles(elements.out, out, i, n, read_doubles(DType::f64, bytes(sums), i, n));
        });
    });
}
