// The adjoint of convolution with respect to the filter: a reduction over pixels.
//
// Pixels are summed in a fixed number of parts, which are added in order at the end. The number of parts depends on the
// geometry only, not on threads.

#include <cstring>

#include "conv/filter_gradient.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kMostParts = 8, kPartsBytes = 1024 * 1024;
constexpr int64_t kLargeBoxes = 3;          // boxes this many times as large as usual
constexpr int64_t kPlaneBytes = 16 * 1024;  // of one channel: half of the L1 cache

// From products of parts to complex numbers: (re, re) - (im, im) and (re, im) + (im, re), stored in place of (re, re)
// and (re, im).
template <class T>
void combine_complex_parts(T* at, int64_t rows, int64_t columns, int64_t d0, int64_t d1) {
    for (int64_t r = 0; r < rows; r += 2) {
        for (int64_t n = 0; n < columns; n += 2) {
            T *re = at + r * d0 + n * d1, *im = re + d1;
            *re -= re[d0 + d1];
            *im += re[d0];
        }
    }
}

template <class T>
void add_slices(T* sums, int64_t count, int64_t slices, Span range) {
    for (int64_t s = 1; s < slices; ++s)
        for (int64_t i = range.begin; i < range.end; ++i) sums[i] += sums[s * count + i];
}

constexpr int64_t kSumRange = 16 * 1024;

void add_range(const void* context, int64_t task, Arena*) {
    const auto& f = *static_cast<const FilterGradient*>(context);
    char* sums = f.memory.get();
    const Span range{task * kSumRange, min((task + 1) * kSumRange, f.sums)};
    const DType part = f.plan.part;
    if (part == DType::f64)
        add_slices(reinterpret_cast<double*>(sums), f.sums, f.slices, range);
    else if (f.plan.width == 8)
        add_slices(reinterpret_cast<uint64_t*>(sums), f.sums, f.slices, range);
    else if (part == DType::f32 || part == DType::f16 || part == DType::bf16)
        add_slices(reinterpret_cast<float*>(sums), f.sums, f.slices, range);
    else
        add_slices(reinterpret_cast<uint32_t*>(sums), f.sums, f.slices, range);
}

// Stores one channel of x for all taps of a block.
void store_channel(const FilterGradient& f, const Block& b, int64_t channel) {
    const ConvPlan& p = f.plan;
    const ConvKernels& k = *p.kernels;
    const bool wide = f.lanes == SumLanes::channels;
    const int64_t d0 = wide ? f.padded_out : 1, d1 = wide ? 1 : f.steps;
    const int64_t reduce = p.reduce / p.bundle, channels = p.out / p.bundle, member = channel / reduce;
    const int64_t r = channel - b.first;
    const bool contiguous = p.parts == 1 && taps_contiguous(p, b);
    for (int64_t g = 0; g < p.groups; ++g) {
        char* const sums =
            f.memory.get() + (g * f.steps * f.padded_out + (b.start + r) * d0 + member * channels * d1) * p.width;
        char* const to = const_cast<char*>(p.w) + (g * p.bundle + member) * p.w_group +
                         (channel - member * reduce) / p.parts * p.w_reduce;
        if (contiguous) {
            k.store({p.part, to, p.part_bytes, p.w_out, sums, b.count * d0, d1, p.taps, channels});
            continue;
        }
        for_taps(p, b, [&](int64_t tap, int64_t offset) {
            char* at = sums + tap * b.count * d0 * p.width;
            if (p.parts == 1) return k.store({p.part, to + offset, 0, p.w_out, at, 0, d1, 1, channels});
            if (p.width == 4)
                combine_complex_parts(reinterpret_cast<float*>(at), 2, channels, d0, d1);
            else
                combine_complex_parts(reinterpret_cast<double*>(at), 2, channels, d0, d1);
            for (int part = 0; part < 2; ++part)
                k.store({p.part, to + offset + part * p.part_bytes, 0, p.w_out, at + part * d1 * p.width, 0, 2 * d1, 1,
                         channels / 2});
        });
    }
}

void store_channel_task(const void* context, int64_t task, Arena*) {
    const auto& f = *static_cast<const FilterGradient*>(context);
    const ConvPlan& p = f.plan;
    for (const Block& b : f.blocks) {
        if (f.lanes == SumLanes::groups || f.lanes == SumLanes::pixels) {
            for_taps(p, b, [&](int64_t tap, int64_t offset) {
                const int64_t row = b.start + tap * b.count + task - b.first;
                if (task >= b.first && task < b.first + b.count)
                    p.kernels->store({p.part, const_cast<char*>(p.w) + offset + task * p.w_reduce, p.w_group, p.w_out,
                                      f.memory.get() + row * p.groups * p.out * p.width, p.out, 1, p.groups, p.out});
            });
        } else if (task * p.parts >= b.first && task * p.parts < b.first + b.count) {
            store_channel(f, b, task * p.parts);
        }
    }
}

// Whether x and y are planes of single channels, with stride 1 along rows.
bool reads_planes(const ConvPlan& p) {
    const ConvPlanAxis& inner = p.axes.back();
    bool planes = p.out == 1 && p.reduce == 1 && p.same && inner.step == 1 && p.source_channel != p.width &&
                  inner.stride == p.width && inner.out_stride == p.width && p.result_channel % p.width == 0 &&
                  reinterpret_cast<uintptr_t>(p.result) % p.width == 0;
    for (const ConvPlanAxis& a : p.axes) planes &= a.out_stride % p.width == 0;
    return planes;
}

}  // namespace

void run_filter_directly(ConvPlan& plan) {
    FilterGradient f{};
    f.plan = std::move(plan);
    ConvPlan& p = f.plan;
    const ConvKernels& k = *p.kernels;
    const bool depthwise = p.groups > 1 && p.parts == 1 && p.out < k.vector && (p.out == 1 || p.reduce == 1);
    const bool planes = depthwise && reads_planes(p);
    f.lanes = planes                                                            ? SumLanes::pixels
              : depthwise                                                       ? SumLanes::groups
              : p.out <= k.most_m / 2 && (p.groups == 1 || p.reduce == p.parts) ? SumLanes::taps
                                                                                : SumLanes::channels;
    if (f.lanes == SumLanes::channels && p.groups > 1) bundle_groups(p, k.vector);
    const int64_t copies = depthwise && !planes ? p.groups * p.out : 1;
    // With few pixels, the sums are what is large: all pixels at a time, for fewer channels, so each sum is written
    // once.
    const bool few = f.lanes == SumLanes::channels && p.groups == 1 && p.pixels <= kFewPixels;
    const int64_t bytes = conv_tile_bytes() * (few ? kLargeBoxes : 1);
    f.blocks = few ? choose_blocks(p, copies, 0, f.steps, max(kLeastRows, bytes / p.width / all_elements(p)))
                   : choose_blocks(p, copies, 0, f.steps);
    f.padded_out = f.lanes == SumLanes::channels ? ceil_div(p.out, k.vector) * k.vector : p.out;
    f.sums = p.groups * f.steps * f.padded_out;
    f.slices = max(1, min(kMostParts, kPartsBytes / max(1, f.sums * p.width)));
    f.in_place = depthwise && f.blocks.size() == 1 && reads_in_place(p) && reads_results(p);
    if (f.in_place)
        choose_row_tiles(p, copies, conv_tile_bytes(), f.slices);
    else if (planes)
        choose_conv_tiles(p, 1, 0, min(kPlaneBytes, conv_tile_bytes()), f.slices);
    else
        choose_conv_tiles(p, f.blocks[0].count * copies, depthwise ? copies : k.panel, bytes, f.slices);
    f.tiles = tile_count(p);
    f.slices = max(1, min(f.slices, f.tiles));
    f.to_result = f.lanes == SumLanes::channels && f.slices == 1 && f.tiles > 0 && p.same && p.parts == 1 &&
                  p.bundle == 1 && p.w_out == p.width && p.w_reduce % p.width == 0 &&
                  reinterpret_cast<uintptr_t>(p.w) % p.width == 0;
    for (const ConvPlanAxis& a : p.axes) f.to_result &= a.w_stride % p.width == 0;
    if (!f.to_result) {
        f.memory = Memory(f.sums * f.slices * p.width);
        if (depthwise || f.tiles == 0) std::memset(f.memory.get(), 0, static_cast<size_t>(f.sums * f.slices * p.width));
    }

    const double products =
        static_cast<double>(p.pixels) * static_cast<double>(f.steps) * static_cast<double>(p.groups * p.out);
    const int threads = conv_threads(products);
    const int64_t others = f.slices * (depthwise ? 1 : p.groups) * static_cast<int64_t>(f.blocks.size());
    const int64_t wanted = threads > 1 ? 4 * threads : 1;
    f.range = p.out;
    f.ranges = 1;
    if (others < wanted && f.lanes == SumLanes::channels) {
        f.range = ceil_div(ceil_div(p.out, k.panel), ceil_div(wanted, others)) * k.panel;
        f.ranges = ceil_div(p.out, f.range);
    }
    if (f.tiles > 0) parallel_for(others * f.ranges, threads, &run_filter_task, &f);
    if (f.to_result) return;
    const int last_threads = conv_threads(static_cast<double>(f.sums * f.slices) * 4);
    if (f.slices > 1) parallel_for(ceil_div(f.sums, kSumRange), last_threads, &add_range, &f);
    parallel_for(p.reduce / p.parts, last_threads, &store_channel_task, &f);
}

}  // namespace cenote
