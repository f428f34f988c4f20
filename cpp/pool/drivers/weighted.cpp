#include "pool/drivers/weighted.hpp"

#include <algorithm>
#include <limits>

#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

// An array with the memory layout of the schedule's x.
struct TileSource {
    DType type;
    const char* data;

    const char* counterpart(const PoolSchedule& job, const char* x) const {
        return data + (x - job.x) / size_of(job.in) * size_of(type);
    }
};

double* load_tile(const WeightedJob& job, const PoolTile& b, TileSource source, int64_t size, Arena* arena) {
    double *out = take_row(arena, size), *to = out;
    const int64_t width = size_of(source.type);
    const InputRows rows = input_rows(job.windows, b);
    int64_t done = 0;
    for_input_rows(job.windows, b, rows, [&](const char* x) {
        const char* row = source.counterpart(job.windows, x);
        in_parts(rows.n, done, [&](int64_t from, int64_t n) {
            job.rows->load(source.type, to + from, row + from * width, width, n, false);
        });
        to += rows.n;
    });
    std::fill_n(to, kVectorRoom, 0.0);
    return out;
}

// A tile of windows: the sums of its terms; for a weighted sum also those of weight times t; and how many elements of
// each window need the shifted form.
struct WindowTile {
    PoolTile b;
    int64_t stride[kMaxDims];  // of the elements
    int64_t size;
    View totals, sums, shifted;
    bool some_shifted;
    TileSource x, t;
};

View sum_over(const WeightedJob& job, const WindowTile& tile, double* v, Arena* arena) {
    View in;
    in.base = {reinterpret_cast<char*>(v), nullptr};
    for (int q = 0; q < job.windows.rank; ++q) in.stride[q] = tile.stride[q];
    return run_passes(*job.rows->sum_rows(DType::f64), job.windows, tile.b, in, nullptr, arena);
}

void sum_windows(const WeightedJob& job, int64_t task, bool with_t, WindowTile& tile, Arena* arena) {
    const PoolSchedule& windows = job.windows;
    const PoolTile& b = tile.b = locate(windows, task);
    tile.size = contiguous_strides(windows.rank, b.elements, b.lanes, tile.stride);
    tile.x = {windows.in, windows.x};
    tile.t = {job.t_type, job.t};
    double *terms = take_row(arena, tile.size), *sums = with_t ? take_row(arena, tile.size) : nullptr;
    const InputRows rows = input_rows(windows, b);
    tile.some_shifted = false;
    const int64_t x_width = size_of(windows.in), t_width = size_of(job.t_type);
    double *to = terms, *sums_to = sums;
    int64_t done = 0;
    for_input_rows(windows, b, rows, [&](const char* x) {
        const char* t = with_t ? tile.t.counterpart(windows, x) : nullptr;
        in_parts(rows.n, done, [&](int64_t from, int64_t n) {
            tile.some_shifted |= !job.rows->terms(job.factors, windows.in, x + from * x_width, job.t_type,
                                                  with_t ? t + from * t_width : nullptr, to, sums_to, n);
            to += n;
            if (with_t) sums_to += n;
        });
    });
    tile.totals = sum_over(job, tile, terms, arena);
    if (with_t) tile.sums = sum_over(job, tile, sums, arena);
    if (!tile.some_shifted) return;
    double *marks = load_tile(job, b, tile.x, tile.size, arena), *t = nullptr;
    if (with_t) t = load_tile(job, b, tile.t, tile.size, arena);
    in_parts(tile.size, [&](int64_t from, int64_t n) {
        job.rows->mark(job.factors, marks + from, with_t ? t + from : nullptr, n);
    });
    tile.shifted = sum_over(job, tile, marks, arena);
}

bool has_padding(const PoolSchedule& job) {
    return std::any_of(job.axis, job.axis + job.rank, [](const Axis& a) { return a.low || a.high; });
}

// A row of windows: their normalisers, and marks for those in shifted form (null if there are none).
struct WindowRow {
    RowOfWindows at;
    int64_t offset, y, n;
    const double *totals, *marks;
};

// Adds the contribution of padding to the normalisers of a row.
void add_pads(const Factors& f, const RowOfWindows& r, double* totals, double* marks) {
    const int last = r.job.rank - 1;
    const bool along = r.rows.depth <= last;
    int64_t j[kMaxDims];
    for (int q = 0; q < r.rows.depth; ++q) j[q] = r.b.j0[q] + r.row[q];
    double padded = 1, real = 1;  // over the other axes
    for (int q = 0; q < r.rows.depth; ++q) {
        const Span all = padded_taps(r.job.axis[q], j[q]), taps = real_taps(r.job.axis[q], j[q]);
        padded *= static_cast<double>(all.end - all.begin);
        real *= static_cast<double>(taps.end - taps.begin);
    }
    // Interior windows have no padding.
    const Span interior =
        along && padded == real ? interior_windows(r.job.axis[last], r.b.j0[last], r.b.count[last]) : Span{};
    for (int64_t i = 0; i < (along ? r.b.count[last] : 1); ++i) {
        if (i >= interior.begin && i < interior.end) {
            i = interior.end - 1;
            continue;
        }
        double pads = padded - real;
        if (along) {
            const int64_t window = r.b.j0[last] + i;
            const Span all = padded_taps(r.job.axis[last], window), taps = real_taps(r.job.axis[last], window);
            pads =
                padded * static_cast<double>(all.end - all.begin) - real * static_cast<double>(taps.end - taps.begin);
        }
        if (pads <= 0) continue;
        for (int64_t k = i * r.rows.unit; k < (i + 1) * r.rows.unit; ++k) {
            totals[k] += pads * f.pad;
            if (!f.plain_pad) marks[k] = 1.0;
        }
    }
}

template <class F>
void for_window_rows(const WeightedJob& job, const WindowTile& tile, Arena* arena, F f) {
    const PoolSchedule& windows = job.windows;
    const ResultRows rows = result_rows(windows, tile.b, tile.totals.stride);
    const bool pads = job.factors.of.pads && has_padding(windows);
    double *totals = pads ? take_row(arena, rows.n) : nullptr, *marks = pads ? take_row(arena, rows.n) : nullptr;
    for_result_rows(windows, tile.b, tile.totals.stride, [&](const int64_t* row, int64_t offset, int64_t y, int64_t n) {
        const RowOfWindows at{windows, tile.b, tile.stride, rows, row};
        const auto* total = reinterpret_cast<const double*>(tile.totals.base.v) + offset;
        const double* mark = nullptr;
        if (tile.some_shifted) mark = reinterpret_cast<const double*>(tile.shifted.base.v) + offset;
        if (pads) {
            std::copy_n(total, n, totals);
            if (mark)
                std::copy_n(mark, n, marks);
            else
                std::fill_n(marks, n, 0.0);
            add_pads(job.factors, at, totals, marks);
            total = totals;
            if (mark || !job.factors.plain_pad) mark = marks;
        }
        f(WindowRow{at, offset, y, n, total, mark});
    });
}

// Whether any window that contains an element of the tile is in shifted form.
bool has_shifted_windows(const WeightedJob& job, const PoolTile& b) {
    const PoolSchedule& elements = job.elements;
    const InputRows rows = input_rows(elements, b);
    bool any = false;
    for_input_rows(elements, b, rows, [&](const char* from) {
        const double* pivot = job.pivot + (from - elements.x) / 8;
        for (int64_t i = 0; i < rows.n; ++i) any |= pivot[i] == pivot[i];
    });
    return any;
}

}  // namespace

void weighted_sum_tile(const WeightedJob& job, int64_t task, Arena* arena) {
    const DType type = job.windows.out;
    WindowTile tile;
    sum_windows(job, task, true, tile, arena);
    const double *x = nullptr, *t = nullptr;
    ShiftRow shifts;
    for_window_rows(job, tile, arena, [&](const WindowRow& r) {
        char* y = job.windows.y + r.y * size_of(type);
        const char* sums = tile.sums.base.v + r.offset * 8;
        if (!job.rows->normalize(job.factors, r.totals, r.marks, DType::f64, sums, true, type, y, r.n)) return;
        checkpoint();
        if (!x) x = load_tile(job, tile.b, tile.x, tile.size, arena);
        if (!t) t = load_tile(job, tile.b, tile.t, tile.size, arena);
        shifts.take_once(arena, r.n);
        sum_shifted(job, r.at, x, t, r.marks, shifts);
        for (int64_t i = 0; i < r.n; ++i)
            if (r.marks[i] != 0.0) job.rows->store(type, y + i * size_of(type), shifts.totals + i, 1);
    });
}

// The first stage of the transpose: g times the factor of its window, or 0 and the shift where the window is in shifted
// form.
void weighted_windows_tile(const WeightedJob& job, int64_t task, Arena* arena) {
    // Some window needs the shifted form: the stage is run again, with memory for pivots.
    if (!job.pivot && __atomic_load_n(job.shifted, __ATOMIC_RELAXED)) return;
    WindowTile tile;
    sum_windows(job, task, false, tile, arena);
    const double* x = nullptr;
    double *g = nullptr, *marks = nullptr;
    ShiftRow shifts;
    for_window_rows(job, tile, arena, [&](const WindowRow& r) {
        const int64_t width = size_of(job.t_type);
        const char* operand = job.t + r.y * width;
        char* scaled = job.windows.y + r.y * 8;
        const bool some =
            job.rows->normalize(job.factors, r.totals, r.marks, job.t_type, operand, false, DType::f64, scaled, r.n);
        if (some) __atomic_store_n(job.shifted, 1, __ATOMIC_RELAXED);
        if (!job.pivot) return;
        std::fill_n(job.pivot + r.y, r.n, std::numeric_limits<double>::quiet_NaN());
        if (!some) return;
        checkpoint();
        if (!x) x = load_tile(job, tile.b, tile.x, tile.size, arena);
        if (!g) g = take_row(arena, r.n);
        if (!marks) marks = take_row(arena, r.n);
        job.rows->load(job.t_type, g, operand, width, r.n, false);
        for (int64_t i = 0; i < r.n; ++i)
            marks[i] = (r.marks && r.marks[i] != 0.0) || !is_plain_operand(g[i]) ? 1.0 : 0.0;
        shifts.take_once(arena, r.n);
        shift_row(job, r.at, x, marks, shifts);
        for (int64_t i = 0; i < r.n; ++i) {
            if (marks[i] == 0.0) continue;
            job.pivot[r.y + i] = shifts.pivot[i];
            job.rest[r.y + i] = shifts.rest[i] * g[i];
        }
    });
}

// The second stage: each element gathers from the windows that contain it.
void weighted_elements_tile(const WeightedJob& job, int64_t task, Arena* arena) {
    const PoolSchedule& elements = job.elements;
    const PoolTile b = locate(elements, task);
    View in;
    const char* base = b.x;
    for (int q = 0; q < elements.rank; ++q) {
        base += b.c0[q] * elements.x_stride[q];
        in.stride[q] = elements.x_stride[q] / 8;
    }
    in.base = {const_cast<char*>(base), nullptr};
    const View totals = run_passes(*job.rows->sum_rows(DType::f64), elements, b, in, nullptr, arena);
    const ResultRows rows = result_rows(elements, b, totals.stride);
    const DType type = job.windows.in;
    const bool shifted = job.pivot && has_shifted_windows(job, b);
    double *sums = nullptr, *x = nullptr;
    if (shifted) {
        sums = take_row(arena, rows.n);
        x = take_row(arena, rows.n);
        std::fill_n(x + rows.n, kVectorRoom, 0.0);
    }
    ShiftRow shifts;
    const int64_t first = (base - elements.x) / 8;
    for_result_rows(elements, b, totals.stride, [&](const int64_t* row, int64_t offset, int64_t y, int64_t n) {
        const char *from = job.windows.x + y * size_of(type), *total = totals.base.v + offset * 8;
        char* out = elements.y + y * size_of(elements.out);
        if (!shifted) return job.rows->spread(job.factors, type, from, total, elements.out, out, n);
        checkpoint();
        job.rows->spread(job.factors, type, from, total, DType::f64, reinterpret_cast<char*>(sums), n);
        job.rows->load(type, x, from, size_of(type), n, false);
        shifts.take_once(arena, n);
        const RowOfWindows at{elements, b, in.stride, rows, row};
        spread_shifted(job, at, x, job.pivot + first, job.rest + first, sums, shifts);
        job.rows->store(elements.out, out, sums, n);
    });
}

}  // namespace cenote
