// Direct convolution, and its adjoint with respect to the input: the choice of kernels, and the division into tasks.

#include "conv/direct.hpp"

#include <atomic>

#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kFewPixels = 512;  // up to this many, weights are reused so little that tasks pack them
constexpr int64_t kLatePanels = 4;
constexpr int64_t kFewChannels = 4;
constexpr int64_t kLongTiles = 4;
constexpr int64_t kCheckedResults = 256;  // results of a row that are checked at a time

// Whether kernels may write directly to the result.
bool writes_results(const Forward& f) {
    const ConvPlan& p = f.plan;
    if (!p.same || reinterpret_cast<uintptr_t>(p.result) % p.part_bytes) return false;
    for (const ConvPlanAxis& a : p.axes)
        if (a.out_stride % p.width) return false;
    if (f.lanes == Lanes::pixels)
        return p.parts == 1 && p.result_channel % p.width == 0 && p.axes.back().out_stride == p.width &&
               p.axes.back().out_step == 1;
    return p.result_channel == p.part_bytes * p.parts;
}

// Whether tasks stream through the source in place: they reuse only a few rows and the weights.
bool streams_source(const Forward& f) {
    const ConvPlan& p = f.plan;
    if (f.lanes != Lanes::channels || f.blocks.size() > 1 || p.taps != 1 || !f.to_result) return false;
    if (p.source_channel != p.part_bytes * p.parts || reinterpret_cast<uintptr_t>(p.source) % p.part_bytes)
        return false;
    for (const ConvPlanAxis& a : p.axes) {
        if (a.stride % p.width || a.phases.size() != 1) return false;
        const Span interior = interior_windows(a, 0, a.u);
        if (interior.begin != a.u.begin || interior.end != a.u.end) return false;
    }
    return true;
}

Lanes choose_lanes(const ConvPlan& p) {
    const bool planar = p.source_channel != p.part_bytes * p.parts && p.axes.back().stride == p.part_bytes * p.parts;
    const int64_t vector = p.kernels->vector;
    if (p.groups > 1 && p.parts == 1 && !planar && p.out < vector && (p.out == 1 || p.reduce == 1))
        return Lanes::groups;
    if (p.groups > 1 && !planar && p.reduce > p.parts) return Lanes::channels;
    // Planes in, planes out, and each input is used for many outputs: nothing is transposed, unless planes are so small
    // that many lanes would be empty.
    const bool small = p.pixels <= kFewPixels && p.axes.back().u.end - p.axes.back().u.begin < 4 * vector;
    if (planar && !small && p.taps == 1 && p.groups == 1 && p.parts == 1 && p.out >= p.reduce &&
        p.axes.back().out_stride == p.part_bytes && p.axes.back().out_step == 1)
        return Lanes::pixels;
    // The same with few input channels and many taps, if rows are long enough for interior blocks of vectors.
    const int64_t columns = p.axes.back().u.end - p.axes.back().u.begin;
    if (planar && p.groups == 1 && p.parts == 1 && p.same && p.reduce <= kFewChannels && columns >= 8 * vector &&
        p.axes.back().out_stride == p.part_bytes && p.axes.back().out_step == 1)
        return Lanes::pixels;
    if (p.out <= (planar ? vector / 2 : p.kernels->most_m / 2)) return Lanes::pixels;
    return Lanes::channels;
}

void run_task(const void* context, int64_t index, Arena* arena) {
    const auto& f = *static_cast<const Forward*>(context);
    const int64_t range = index % f.ranges, groups = index / f.ranges % f.group_ranges;
    const int64_t tile = index / f.ranges / f.group_ranges;
    ForwardTask task{f,
                     f.plan,
                     arena,
                     tile_at(f.plan, tile),
                     {groups * f.group_range, min((groups + 1) * f.group_range, f.plan.groups)},
                     {range * f.range, min((range + 1) * f.range, f.plan.out)}};
    task.run();
}

// A bundle of groups multiplies elements of one group by the zeros of another, so NaN and infinities would spread. Only
// the results show whether there are any: padding and gaps may hide elements.
struct FiniteCheck {
    const ConvPlan& plan;
    std::atomic<bool> finite;
};

template <class T>
bool all_finite(const void* numbers, int64_t count) {
    T differences{};
    for (int64_t i = 0; i < count; ++i)
        differences += static_cast<const T*>(numbers)[i] - static_cast<const T*>(numbers)[i];
    return differences == T{};
}

void check_some(const void* context, int64_t index, Arena* arena) {
    auto& check = *static_cast<FiniteCheck*>(const_cast<void*>(context));
    const ConvPlan& p = check.plan;
    const ConvPlanAxis& row = p.axes.back();
    const int64_t parts = ceil_div(row.out_n, kCheckedResults), first = index % parts * kCheckedResults;
    const int64_t some = min(kCheckedResults, row.out_n - first), channels = p.groups * p.out;
    const char* from = p.result + first * row.out_stride;
    index /= parts;
    for (size_t q = p.axes.size() - 1; q-- > 0; index /= p.axes[q].out_n)
        from += index % p.axes[q].out_n * p.axes[q].out_stride;
    void* copy = arena_take(arena, some * channels * p.width);
    load_channels(p, from, row.out_stride, p.result_channel, copy, channels, 1, some, channels);
    if (!(p.width == 8 ? all_finite<double>(copy, some * channels) : all_finite<float>(copy, some * channels)))
        check.finite.store(false, std::memory_order_relaxed);
}

bool results_are_finite(const ConvPlan& p, int threads) {
    if (p.part < DType::f16) return true;
    FiniteCheck check{p, true};
    int64_t rows = ceil_div(p.axes.back().out_n, kCheckedResults);
    for (size_t q = 0; q + 1 < p.axes.size(); ++q) rows *= p.axes[q].out_n;
    parallel_for(rows, threads, &check_some, &check);
    return check.finite.load(std::memory_order_relaxed);
}

}  // namespace

void choose_method(Forward& f, bool bundles) {
    ConvPlan& p = f.plan;
    const ConvKernels& k = *p.kernels;
    f.lanes = choose_lanes(p);
    if (f.lanes == Lanes::channels && p.groups > 1 && bundles) bundle_groups(p, k.vector);
    f.layout = f.lanes == Lanes::channels ? Layout::pixel_major
               : f.lanes == Lanes::pixels ? Layout::planar
                                          : Layout::expanded;
    f.to_result = writes_results(f);
    const int64_t copies = f.lanes == Lanes::groups ? p.groups * p.out : 1;
    f.pack_late =
        f.lanes == Lanes::channels && p.pixels <= kFewPixels && p.taps * p.reduce * p.out * p.width > conv_tile_bytes();
    f.by_taps = taps_pay(f);
    if (!f.by_taps) {
        const int64_t late = f.pack_late ? min(p.out, kLatePanels * k.panel) : k.panel;
        f.blocks = choose_blocks(p, copies, f.lanes == Lanes::channels ? late : 0, f.steps);
    }
    f.padded_out = f.lanes == Lanes::channels ? ceil_div(p.out, k.vector) * k.vector : p.out;
    f.lane_pitch = f.lanes == Lanes::groups ? ceil_div(copies, k.panel) * k.panel + k.panel : 0;
}

namespace {

// Returns false if the results have to be recomputed without bundles.
bool run_directly(const ConvPlan& plan, bool bundles) {
    Forward f{};
    f.plan = plan;
    choose_method(f, bundles);
    ConvPlan& p = f.plan;
    const ConvKernels& k = *p.kernels;
    const bool depthwise = f.lanes == Lanes::groups;
    const int64_t copies = depthwise ? p.groups * p.out : 1;
    const double products =
        static_cast<double>(p.pixels) * static_cast<double>(p.taps) * static_cast<double>(p.groups * p.out * p.reduce);
    const int threads = conv_threads(products);
    const int64_t wanted = threads > 1 ? 4 * threads : 1;
    // Groups of few channels are computed together, which shares the setup.
    const int64_t together = max(16, min(64, conv_tile_bytes() / p.width / all_elements(p))) / max(1, p.reduce);
    f.group_range = depthwise ? p.groups : f.blocks.size() > 1 ? 1 : max(1, min(p.groups, together));
    f.group_ranges = ceil_div(p.groups, f.group_range);
    const int64_t channels = f.blocks[0].count * copies * (depthwise ? 1 : f.group_range);
    const int64_t results = f.to_result ? 0 : p.out * copies * (depthwise ? 1 : f.group_range);
    if (depthwise && f.blocks.size() == 1 && reads_in_place(p))
        choose_row_tiles(p, copies, conv_tile_bytes(), wanted);
    else if (f.by_taps)
        choose_conv_tiles(p, 0, 0, conv_tile_bytes(), 1);
    else
        choose_conv_tiles(p, channels, results, conv_tile_bytes() * (streams_source(f) ? kLongTiles : 1),
                          f.pack_late ? 1 : ceil_div(wanted, f.group_ranges));
    const int64_t tiles = tile_count(p);
    f.ranges = 1;
    f.range = p.out;
    if (f.lanes == Lanes::channels && (f.pack_late || tiles * f.group_ranges < wanted)) {
        const int64_t panels = ceil_div(p.out, k.panel);
        f.range = ceil_div(panels, ceil_div(wanted, max(1, tiles * f.group_ranges))) * k.panel;
        if (f.pack_late) f.range = min(f.range, (f.by_taps ? kTapPanels : kLatePanels) * k.panel);
        f.ranges = ceil_div(p.out, f.range);
    }
    pack_weights(f);
    if (f.by_taps) copy_source(f, threads);
    parallel_for(tiles * f.group_ranges * f.ranges, threads, &run_task, &f);
    return p.bundle == 1 || results_are_finite(p, threads);
}

}  // namespace

void run_directly(const ConvPlan& plan) {
    if (!run_directly(plan, true)) run_directly(plan, false);
}

}  // namespace cenote
