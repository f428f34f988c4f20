#include "pool/registry.hpp"

#include <stdexcept>

#include "pool/order_rows.hpp"
#include "pool/tiling.hpp"
#include "runtime/cpu.hpp"

namespace cenote {

namespace {

// The classes of reductions that have kernels of their own.
enum class Kind { max, argmax, sum, norm, backward, order };

Kind kind_of(const PoolSchedule& job) {
    if (job.scatters) return Kind::backward;
    if (is_order(job.reduce)) return Kind::order;
    if (job.reduce != Reduce::sum) return job.argmax ? Kind::argmax : Kind::max;
    return is_norm(job) ? Kind::norm : Kind::sum;
}

bool has_lanes(const PoolSchedule& job) { return job.lanes > 1; }

// ------------------------------------------------------------------------------------------------ backward passes

// Each element gathers from the windows that contain it.
bool accepts_backward_gather(const PoolSchedule& job, const PoolKernels&) {
    if (!job.scatters || !job.direct || job.argmax_format != ArgmaxFormat::offset8 || job.rank > 3) return false;
    const Axis& last = job.axis[job.rank - 1];
    int64_t windows = 1;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (a.starts || a.d != 1) return false;
        if (q < (has_lanes(job) ? job.rank : job.rank - 1)) windows *= ceil_div(a.k, a.s);
        if (windows > kGatheredRows) return false;
    }
    if (has_lanes(job)) return job.lanes * size_of(job.work) >= 64;
    return last.s == 2 && (last.k == 2 || last.k == 3);
}

bool accepts_backward_scatter(const PoolSchedule& job, const PoolKernels&) { return job.scatters; }

// Transposes of sums over windows that do not overlap.
bool accepts_backward_avg(const PoolSchedule& job, const PoolKernels&) {
    if (kind_of(job) != Kind::sum || job.prologue != Prologue::none || job.omit || job.swap || job.physical_padding ||
        job.in != job.out)
        return false;
    if (job.epilogue == Epilogue::average && (!job.by_divisor || (job.work == DType::f32 && !is_float(job.divisor))))
        return false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (!a.spread_stride || a.spread_taps > a.spread_stride) return false;
    }
    const Axis& last = job.axis[job.rank - 1];
    const int64_t size = size_of(job.in);
    if (has_lanes(job)) return job.lane_stride == size && job.lanes * size >= 64;
    return job.x_stride[job.rank - 1] == size && last.spread_stride == 2 && last.spread_taps == 2;
}

// --------------------------------------------------------------------------------- small windows that overlap

constexpr int64_t kBufferDilation = 8;  // across rows: the buffer stays in the L1 cache
constexpr int64_t kSumDilation = 32;    // along rows

bool accepts_line_buffer_norm(const PoolSchedule& job, const PoolKernels& level) {
    const int last = job.rank - 1;
    if (job.in != DType::f32 || job.out != DType::f32 || job.swap || job.rank > 2 || !fp32_suffices(job)) return false;
    if ((has_lanes(job) ? job.lane_stride : job.x_stride[last]) != size_of(job.in)) return false;
    bool overlap = false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (job.physical_padding && job.real_n[q] != a.n) return false;
        if (a.starts || job.pass[q] != q || a.k > kBufferTaps) return false;
        overlap |= a.k > a.s;
    }
    if (job.axis[last].d > kNormBufferReach / 2 || !overlap ||
        (last && (job.axis[0].k - 1) * job.axis[0].d >= kNormBufferRows))
        return false;
    // A stride of 2 along rows would need a deinterleave, and rows shorter than a vector would be reduced one by one.
    if (has_lanes(job)) return job.lanes * size_of(job.out) >= 64;
    return job.axis[last].s == 1 && job.axis[last].o * size_of(job.out) >= level.norm_vector_bytes;
}

// Whether rows are contiguous in x and in y.
bool has_contiguous_rows(const PoolSchedule& job) {
    const int last = job.rank - 1;
    const int64_t unit = job.lanes, width = size_of(job.in);
    return job.rank <= 2 && !job.swap && job.prologue == Prologue::none && !job.physical_padding &&
           (unit == 1 || job.lane_stride == width) && job.x_stride[last] == unit * width && job.y_stride[last] == unit;
}

bool accepts_line_buffer_sum(const PoolSchedule& job, const PoolKernels& level) {
    if (!has_contiguous_rows(job)) return false;
    const Axis& a = job.axis[job.rank - 1];
    bool overlap = false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& axis = job.axis[q];
        if (axis.starts || axis.k > kBufferTaps || job.pass[q] != q) return false;
        overlap |= axis.k > axis.s;
    }
    // A stride of 2 along rows would need a deinterleave.
    return overlap && a.s == 1 && a.d <= kSumDilation && a.o * job.lanes * size_of(job.work) >= level.vector_bytes;
}

bool accepts_line_buffer_max(const PoolSchedule& job, const PoolKernels& level) {
    if (!has_contiguous_rows(job)) return false;
    const int last = job.rank - 1;
    const Axis &a = job.axis[last], &up = job.axis[0];
    const int64_t unit = job.lanes, width = size_of(job.in);
    if (a.starts || a.s > 1 || a.k < 2 || a.k > kBufferTaps || a.o * unit * width < level.vector_bytes) return false;
    if (last && (up.starts || up.s > 1 || up.k > kBufferTaps || up.d > kBufferDilation)) return false;
    if (job.argmax) {
        int64_t elements = 1;  // indices must fit into lanes as wide as the values
        for (int q = 0; q < job.rank; ++q) elements *= job.axis[q].n + job.axis[q].k * job.axis[q].d;
        const bool flat = job.argmax_format == ArgmaxFormat::index;
        if (!(flat ? width == 8 || elements <= INT32_MAX : job.argmax_format == ArgmaxFormat::offset8 && up.d == 1))
            return false;
    }
    // Of equal floats the first wins, so the passes must run in the order of the window.
    return is_integer(job.in) || job.pass[0] == last;
}

bool accepts_line_buffer(const PoolSchedule& job, const PoolKernels& level) {
    switch (kind_of(job)) {
        case Kind::max:
        case Kind::argmax: return accepts_line_buffer_max(job, level);
        case Kind::sum: return accepts_line_buffer_sum(job, level);
        case Kind::norm: return accepts_line_buffer_norm(job, level);
        default: return false;
    }
}

// ------------------------------------------------------------------------------------------------- small windows

bool accepts_direct(const PoolSchedule& job, const PoolKernels& level) {
    const Kind kind = kind_of(job);
    if (kind == Kind::backward || (kind != Kind::norm && job.prologue != Prologue::none)) return false;
    const bool lanes = has_lanes(job), summed = job.reduce == Reduce::sum;
    const bool two_planes = job.argmax || job.prologue == Prologue::power || (summed && job.omit);
    const int last = job.rank - 1;
    if (job.swap || (lanes ? job.lane_stride : job.x_stride[last]) != size_of(job.in)) return false;
    const int64_t vector_bytes = kind == Kind::norm ? level.norm_vector_bytes : level.vector_bytes;
    int64_t elements = 1, axes = 0;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (job.physical_padding && job.real_n[q] != a.n) return false;
        // Another order of the axes is another order of the elements.
        if (a.starts || job.pass[summed ? q : last - q] != q) return false;
        // Where windows overlap much, two passes combine fewer elements (max 3×3 s1 over 64 lanes: 100 µs vs. 180 µs
        // here). With two planes it is the reverse (indices: 15 ms vs. 10 ms here).
        if (!two_planes && a.k > a.s + 1) return false;
        if (!lanes && q == last) {
            if (a.s > 2 || (!two_planes && a.s == 1) || a.k < 2 || a.k > 3) return false;
            const bool dilates = job.in == DType::f32 && !job.omit && !two_planes && job.prologue == Prologue::none;
            if (a.s == 2 && a.d > 1 && !dilates) return false;
            // Rows shorter than a vector would be reduced window by window.
            const int64_t least_row = job.argmax && a.s == 2 && job.work == DType::f32 ? 16 : vector_bytes;
            if (a.o * size_of(job.work) < least_row + size_of(job.work)) return false;
            continue;
        }
        axes += a.k > 1;
        if (axes > 3 || (summed && a.k > 3)) return false;
        elements *= a.k;
        if (elements > kDirectTaps) return false;
    }
    if (lanes && (job.lanes * size_of(job.work) < 64 || elements == 1)) return false;
    if (kind != Kind::norm) return true;
    if (job.in != DType::f32 || job.out != DType::f32 || !fp32_suffices(job)) return false;
    // Overlapping windows would compute the exponential of an element more than once.
    for (int q = 0; q < job.rank && job.prologue == Prologue::exponential; ++q)
        if (job.axis[q].k > job.axis[q].s || job.axis[q].d > 1) return false;
    return true;
}

// Averages of 8-bit and 16-bit integers over windows that do not overlap, to the same dtype or to float32.
bool accepts_direct_uint(const PoolSchedule& job, const PoolKernels& level) {
    if (job.convert != Conversion::exact || job.by_divisor || job.swap) return false;
    const int last = job.rank - 1;
    const int64_t size = size_of(job.in), lanes = job.lanes;
    const bool is_signed = job.in == DType::i8 || job.in == DType::i16;
    int64_t elements = 1;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (a.starts || a.k > a.s) return false;
        // Signed integers are averaged as unsigned ones with an offset, for which padding is not 0.
        if (is_signed && job.include_pad && (a.low > 0 || a.high > 0)) return false;
        elements *= a.k;
        if (elements > kUintElements / size) return false;
    }
    const Axis& a = job.axis[last];
    const int64_t off_the_row = elements / a.k;
    if (lanes > 1 && lanes * size >= level.vector_bytes)  // each window has at least a vector of lanes
        return job.lane_stride == size && elements > 1 && elements <= kDirectTaps;
    if (a.d > 1 || a.k != a.s || (a.k & (a.k - 1)) || a.k > 8 || off_the_row > kDirectTaps) return false;
    if (a.o * lanes * size < level.vector_bytes || job.x_stride[last] != lanes * size) return false;
    if (lanes == 1) return elements > 1;
    return job.lane_stride == size && (lanes == 3 || lanes == 4) && a.k == 2 && off_the_row == 2 &&
           job.y_stride[last] == lanes && job.out == job.in;
}

bool accepts_wide(const PoolSchedule& job, const PoolKernels&) { return needs_wide_totals(job, job.window_elements); }

// -------------------------------------------------------------------------------- large windows that overlap on planes

constexpr int64_t kStripPixel = 64;  // bytes

bool accepts_column_strips(const PoolSchedule& job, const PoolKernels&) {
    const bool sums = job.reduce == Reduce::sum;
    if (job.rank != 2 || job.argmax || job.omit || job.pass[0] != (sums ? 0 : 1) || has_small_planes(job)) return false;
    for (int q = 0; q < 2; ++q) {
        const Axis& a = job.axis[q];
        if (job.physical_padding && job.real_n[q] != a.n) return false;
        if (a.starts || a.s > 1 || a.d > 1 || a.k < kLargeWindow || a.k > 2 * a.n + 64) return false;
    }
    // Many lanes are long runs for the separable passes: 13×13 over 256 lanes takes 0.23 ms, and 0.36 in strips.
    if (job.lanes * size_of(job.in) > kStripPixel) return false;
    return is_norm(job) ? fp32_suffices(job) : sums || job.out == job.work;
}

// ------------------------------------------------------------------------------------------------------- any window

bool accepts_separable(const PoolSchedule& job, const PoolKernels&) { return !job.scatters; }

// ------------------------------------------------------------------------------------------------ medians and modes

// Modes of 2, 4 or 8 integers, in windows that tile: rows are contiguous, or each window has a vector of lanes.
bool accepts_direct_mode(const PoolSchedule& job, const PoolKernels& level) {
    if (job.reduce != Reduce::mode || !level.order || job.swap || job.in == DType::boolean) return false;
    const int last = job.rank - 1;
    const int64_t size = size_of(job.in), n = job.window_elements;
    for (int q = 0; q < job.rank; ++q)
        if (job.axis[q].starts) return false;
    if (n != 2 && n != 4 && n != kVoteElements) return false;
    const Axis& a = job.axis[last];
    if (has_lanes(job)) return job.lane_stride == size && job.lanes * size >= level.order->vector_bytes;
    if (job.x_stride[last] != size || job.y_stride[last] != 1) return false;
    return a.o * size >= level.order->vector_bytes && ((a.k == 2 && a.s == 2 && a.d == 1) || (a.k == 1 && a.s == 1));
}

// Windows of which a row of vectors can be made.
bool accepts_sorting_network(const PoolSchedule& job, const PoolKernels& level) {
    if (!level.order || job.argmax || job.window_elements > kNetworkTaps) return false;
    for (int q = 0; q < job.rank; ++q)
        if (job.axis[q].starts) return false;
    return true;
}

// Large windows that share most of their elements with the next one along the row.
bool has_sliding_windows(const PoolSchedule& job) {
    const Axis& a = job.axis[job.rank - 1];
    if (job.reduce != Reduce::median || job.argmax || a.d != 1 || 2 * a.s > a.k) return false;
    int64_t elements = job.lanes;  // of a tile, at most
    for (int q = 0; q < job.rank; ++q) {
        if (job.axis[q].starts) return false;
        elements *= max(job.axis[q].n, 1);
        if (elements > INT32_MAX) return false;
    }
    return true;
}

// Of bytes, in planes: every window has an element, and a vector of windows is next to each other.
bool accepts_threshold_counts(const PoolSchedule& job, const PoolKernels& level) {
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    if (!level.order || size_of(job.in) != 1 || !has_sliding_windows(job) || job.window_elements > INT16_MAX ||
        a.s != 1)
        return false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& axis = job.axis[q];
        if (q < last - 1 ? axis.k != 1 : axis.k > kCountedSide || axis.d != 1) return false;
        const Span first = real_taps(axis, 0), end = real_taps(axis, axis.o - 1);
        if (first.begin >= first.end || end.begin >= end.end) return false;
    }
    return true;
}

bool accepts_sliding_ranks(const PoolSchedule& job, const PoolKernels&) { return has_sliding_windows(job); }

bool accepts_window_sort(const PoolSchedule&, const PoolKernels&) { return true; }

// ------------------------------------------------------------------------------------------------------ the list

// Whether the tiling left rows of pixels whole, and even the last tile of a row has a full vector of results. Rows
// where it has not are tiny, or gigabytes long.
bool has_long_tiles(const PoolSchedule& job, const PoolKernels& level) {
    const int last = job.rank - 1;
    const int64_t fewest = job.axis[last].o - (job.tiles[last] - 1) * job.tile[last];
    return is_norm(job) || (job.lane_tile == job.lanes &&
                            (job.reduce == Reduce::sum || fewest * job.lanes * size_of(job.in) >= level.vector_bytes));
}

// Whether a few large windows, none of them clipped, leave threads without a task. One axis can then be pooled first,
// by all threads. Clipped windows have different divisors, which need all axes.
bool accepts_two_steps(const PoolProblem& r, const PoolSchedule& job, int threads) {
    if (job.tasks >= threads || r.rank < 2 || is_order(r.reduce) || r.argmax || r.omit || r.physical_padding ||
        r.prologue != Prologue::none)
        return false;
    for (int w = 0; w < r.rank; ++w) {
        const Axis& a = r.axis[w];
        if (a.starts || a.low > 0 || (a.o - 1) * a.s + (a.k - 1) * a.d >= a.n) return false;
    }
    return !needs_wide_totals(r, job.window_elements);
}

// The kernels of an algorithm by Kind: max, argmax, sum, norm, backward, order.
using Kernels = FindKernel PoolKernels::*;
using K = PoolKernels;
using Accepts = bool (*)(const PoolSchedule&, const PoolKernels&);

struct Algorithm {
    const char* name;
    // Decides by geometry and options; whether the level has a kernel for the dtypes is checked afterwards.
    Accepts accepts;
    Tiling tiling;
    Kernels kernels[6];
    bool converts = false;            // can write results of another dtype (Conversion)
    Accepts accepts_tiles = nullptr;  // decides by what the tiling made, if that matters
};

constexpr Kernels kNone = nullptr;

const Algorithm kAlgorithms[] = {
    {"wide", &accepts_wide, &divide_into_tiles, {kNone, kNone, &K::wide}, true},
    {"backward_gather",
     &accepts_backward_gather,
     &divide_into_slabs,
     {kNone, kNone, kNone, kNone, &K::backward_gather}},
    {"backward_scatter",
     &accepts_backward_scatter,
     &divide_into_slabs,
     {kNone, kNone, kNone, kNone, &K::backward_scatter}},
    {"column_strips",
     &accepts_column_strips,
     &divide_into_strips,
     {&K::column_strips_max, kNone, &K::column_strips_sum, &K::column_strips_norm}},
    {"backward_avg", &accepts_backward_avg, &divide_into_tiles, {kNone, kNone, &K::backward_avg}},
    {"line_buffer",
     &accepts_line_buffer,
     &divide_into_tiles,
     {&K::line_buffer_max, &K::line_buffer_max, &K::line_buffer_sum, &K::line_buffer_norm},
     false,
     &has_long_tiles},
    {"direct_uint", &accepts_direct_uint, &divide_into_tiles, {kNone, kNone, &K::direct_uint}, true},
    {"direct", &accepts_direct, &divide_into_tiles, {&K::direct_max, &K::direct_max, &K::direct_sum, &K::direct_norm}},
    {"separable",
     &accepts_separable,
     &divide_into_planes,
     {&K::separable_max, &K::separable_argmax, &K::separable_sum, &K::separable_norm},
     true},
    {"direct_mode", &accepts_direct_mode, &divide_into_planes, {kNone, kNone, kNone, kNone, kNone, &K::direct_mode}},
    {"sorting_network",
     &accepts_sorting_network,
     &divide_into_planes,
     {kNone, kNone, kNone, kNone, kNone, &K::sorting_network}},
    {"threshold_counts",
     &accepts_threshold_counts,
     &divide_into_planes,
     {kNone, kNone, kNone, kNone, kNone, &K::threshold_counts}},
    {"sliding_ranks",
     &accepts_sliding_ranks,
     &divide_into_planes,
     {kNone, kNone, kNone, kNone, kNone, &K::sliding_ranks}},
    {"window_sort", &accepts_window_sort, &divide_into_planes, {kNone, kNone, kNone, kNone, kNone, &K::window_sort}},
};

}  // namespace

Choice choose_algorithm(const PoolProblem& problem, PoolSchedule& job, Workload& work) {
    const PoolKernels& level = level_in_use().pool;
    const int kind = static_cast<int>(kind_of(job));
    Tiling divided = nullptr;
    for (const Algorithm& a : kAlgorithms) {
        const Kernels kernels = a.kernels[kind];
        if (!kernels || !(level.*kernels) || (job.convert != Conversion::none && !a.converts)) continue;
        if (!a.accepts(job, level)) continue;
        const TaskFn kernel = (level.*kernels)(job);
        if (!kernel) continue;
        if (divided != a.tiling) divided = a.tiling(job, work) ? a.tiling : nullptr;
        if (!divided || (a.accepts_tiles && !a.accepts_tiles(job, level))) continue;
        if (accepts_two_steps(problem, job, work.threads)) return {"two_steps", nullptr};
        return {a.name, kernel};
    }
    throw std::runtime_error("there is no kernel for this reduction and these dtypes");
}

}  // namespace cenote
