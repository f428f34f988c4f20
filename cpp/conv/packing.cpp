#include <cstring>

#include "conv/direct.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

int64_t panel_at(const Forward& f, int64_t first, int64_t end) {
    const ConvKernels& k = *f.plan.kernels;
    if (f.lanes == Lanes::channels) return min(k.panel, end - first);
    const int64_t unit = f.plan.parts, most_m = k.most_m / unit * unit, calls = ceil_div(end - first, most_m);
    return ceil_div(end - first, calls * unit) * unit;
}

namespace {

constexpr int64_t kTransposeBytes = 32 * 1024;  // bytes of a panel transposed at a time

// Multiplication of [re, im] by a + bi as a matrix: [a, b; -b, a].
template <class T>
void negate_imaginary(T* panel, int64_t rows, int64_t width, int64_t lanes) {
    for (int64_t r = 1; r < rows; r += 2)
        for (int64_t n = 0; n < lanes; n += 2) panel[r * width + n] = -panel[r * width + n];
}

void pack_plane(const ConvPlan& p, const char* w, char* to, int64_t rows, int64_t width, int64_t lanes) {
    char* from = const_cast<char*>(w);
    if (p.parts == 1) return p.kernels->load({p.part, from, p.w_reduce, p.w_out, to, width, 1, rows, lanes});
    for (int row = 0; row < 2; ++row)
        for (int lane = 0; lane < 2; ++lane)
            p.kernels->load({p.part, from + (row ^ lane) * p.part_bytes, p.w_reduce, p.w_out,
                             to + (row * width + lane) * p.width, 2 * width, 2, rows / 2, lanes / 2});
    if (p.width == 4)
        negate_imaginary(reinterpret_cast<float*>(to), rows, width, lanes);
    else
        negate_imaginary(reinterpret_cast<double*>(to), rows, width, lanes);
}

// One tap of a panel. For a bundle of groups the filter is block-diagonal.
void pack_tap(const ConvPlan& p, const char* w, int64_t group, Span in, Span out, char* to, int64_t width) {
    const int64_t lanes = out.end - out.begin, rows = in.end - in.begin;
    if (rows == 0) return;
    if (width > lanes || p.bundle > 1) std::memset(to, 0, static_cast<size_t>(rows * width * p.width));
    const int64_t reduce = p.reduce / p.bundle, channels = p.out / p.bundle;
    for (int64_t i = in.begin / reduce; i * reduce < in.end; ++i) {
        const Span r{max(in.begin, i * reduce), min(in.end, (i + 1) * reduce)};
        const Span n{max(out.begin, i * channels), min(out.end, (i + 1) * channels)};
        if (n.begin >= n.end) continue;
        const char* from = w + (group * p.bundle + i) * p.w_group + (r.begin - i * reduce) / p.parts * p.w_reduce +
                           (n.begin - i * channels) / p.parts * p.w_out;
        pack_plane(p, from, to + ((r.begin - in.begin) * width + n.begin - out.begin) * p.width, r.end - r.begin, width,
                   n.end - n.begin);
    }
}

// For weights with contiguous channels of the result: each row of w is copied to all panels at once, because rows are
// far apart.
void pack_rows(const Forward& f, const Block& b, int64_t group, int64_t begin, int64_t end, char* to) {
    const ConvPlan& p = f.plan;
    const int64_t panel = p.kernels->panel, vector = p.kernels->vector, bytes = panel * p.width;
    for_taps(p, b, [&](int64_t tap, int64_t w_offset) {
        const char* w = p.w + w_offset + group * p.w_group + b.first * p.w_reduce + begin * p.w_out;
        for (int64_t r = 0; r < b.count; ++r, w += p.w_reduce) {
            int64_t n = begin;
            char* row = to + (tap * b.count + r) * bytes;
            const char* from = w;
            for (; n + panel <= end; n += panel, row += b.steps * bytes, from += bytes) std::memcpy(row, from, bytes);
            if (n == end) continue;
            const int64_t width = ceil_div(end - n, vector) * vector * p.width, used = (end - n) * p.width;
            row = to + (n - begin) * b.steps * p.width + (tap * b.count + r) * width;
            std::memcpy(row, from, used);
            std::memset(row + used, 0, width - used);
        }
    });
}

// For weights where all taps of all channels of a block are contiguous: transposed a few channels at a time, along the
// contiguous rows of w, then reordered by tap.
void pack_contiguous(const Forward& f, const Block& b, const char* w, int64_t lanes, int64_t width, char* panel) {
    const ConvPlan& p = f.plan;
    alignas(64) char buffer[kTransposeBytes];
    const int64_t row = width * p.width, some = kTransposeBytes / (row * p.taps);
    for (int64_t r = 0; r < b.count; r += some) {
        const int64_t count = min(some, b.count - r);
        p.kernels->load({p.part, const_cast<char*>(w) + r * p.w_reduce, p.part_bytes, p.w_out, buffer, width, 1,
                         count * p.taps, lanes});
        for (int64_t tap = 0; tap < p.taps; ++tap)
            for (int64_t c = 0; c < count; ++c)
                std::memcpy(panel + (tap * b.count + r + c) * row, buffer + (c * p.taps + tap) * row,
                            static_cast<size_t>(lanes * p.width));
    }
}

// For weights where all taps of a channel are contiguous: a plane of taps and lanes, transposed.
void pack_channels(const Forward& f, const Block& b, int64_t group, int64_t begin, int64_t end, char* to) {
    const ConvPlan& p = f.plan;
    bool back = false;
    for (const ConvPlanAxis& a : p.axes)
        back |= a.k > 1 && a.w_stride < 0;  // the stride of a single tap is meaningless
    const char* const first = p.w + group * p.w_group - (back ? (p.taps - 1) * p.part_bytes : 0);
    for (int64_t n = begin; n < end;) {
        const int64_t lanes = panel_at(f, n, end);
        const int64_t width = ceil_div(lanes, p.kernels->vector) * p.kernels->vector;
        char* const panel = to + (n - begin) * b.steps * p.width;
        if (width > lanes) std::memset(panel, 0, static_cast<size_t>(b.steps * width * p.width));
        if (p.same && !back && p.w_reduce == p.taps * p.part_bytes && p.taps * width * p.width <= kTransposeBytes) {
            pack_contiguous(f, b, first + b.first * p.w_reduce + n * p.w_out, lanes, width, panel);
            n += lanes;
            continue;
        }
        for (int64_t r = 0; r < b.count; ++r) {
            const int64_t last = (back ? (p.taps - 1) * b.count : 0) + r, step = (back ? -width : width) * b.count;
            p.kernels->load({p.part, const_cast<char*>(first) + (b.first + r) * p.w_reduce + n * p.w_out, p.part_bytes,
                             p.w_out, panel + last * width * p.width, step, 1, p.taps, lanes});
        }
        n += lanes;
    }
}

// Repeats the first lanes after the last one.
void repeat_first_lanes(const Forward& f, char* row) {
    const int64_t all = f.plan.groups * f.plan.out, width = f.plan.width;
    for (int64_t lane = all; lane < all + f.plan.kernels->panel; ++lane)
        std::memcpy(row + lane * width, row + (lane - all) * width, static_cast<size_t>(width));
}

}  // namespace

void pack_block(const Forward& f, const Block& b, int64_t group, int64_t begin, int64_t end, char* to) {
    const ConvPlan& p = f.plan;
    const Span in{b.first, b.first + b.count};
    if (f.lanes == Lanes::channels && p.parts == 1 && p.bundle == 1 && p.taps > 0) {
        if (p.same && p.w_out == p.width) return pack_rows(f, b, group, begin, end, to);
        if (taps_contiguous(p, b)) return pack_channels(f, b, group, begin, end, to);
    }
    for_taps(p, b, [&](int64_t tap, int64_t w_offset) {
        const char* w = p.w + w_offset;
        if (f.lanes == Lanes::groups) {
            for (int64_t r = 0; r < b.count; ++r) {
                char* const row = to + (tap * b.count + r) * f.lane_pitch * p.width;
                p.kernels->load({p.part, const_cast<char*>(w) + (b.first + r) * p.w_reduce, p.w_group, p.w_out, row,
                                 p.out, 1, p.groups, p.out});
                repeat_first_lanes(f, row);
            }
            return;
        }
        for (int64_t n = begin; n < end;) {
            const int64_t lanes = panel_at(f, n, end);
            const int64_t vector = f.lanes == Lanes::channels ? p.kernels->vector : 1;
            const int64_t width = ceil_div(lanes, vector) * vector;
            pack_tap(p, w, group, in, {n, n + lanes}, to + ((n - begin) * b.steps + tap * b.count * width) * p.width,
                     width);
            n += lanes;
        }
    });
}

void pack_weights(Forward& f) {
    const ConvPlan& p = f.plan;
    const int64_t bytes = p.groups * f.padded_out * p.width;
    f.init = Memory(bytes + p.kernels->panel * p.width);
    std::memset(f.init.get(), 0, static_cast<size_t>(bytes + p.kernels->panel * p.width));
    if (p.bias)
        for (int64_t g = 0; g < p.groups; ++g)
            load_channels(p, p.bias + g * (p.out / p.parts) * p.bias_stride, 0, p.bias_stride,
                          f.init.get() + g * f.padded_out * p.width, 0, 1, 1, p.out);
    if (f.pack_late) return;
    const bool depthwise = f.lanes == Lanes::groups;
    if (depthwise) repeat_first_lanes(f, f.init.get());
    f.weights = Memory(depthwise ? f.lane_pitch * f.steps * p.width : bytes * f.steps + p.kernels->panel * p.width);
    const int64_t packs = depthwise ? 1 : p.groups;  // a task is a block of a group
    const double cost = static_cast<double>(f.steps) * static_cast<double>(p.groups * p.out) * 8;
    parallel_for(
        packs * static_cast<int64_t>(f.blocks.size()), conv_threads(cost),
        [](const void* context, int64_t task, Arena*) {
            const auto& g = *static_cast<const Forward*>(context);
            const auto count = static_cast<int64_t>(g.blocks.size());
            const Block& b = g.blocks[task % count];
            pack_block(g, b, task / count, 0, g.plan.out, g.weights.get() + packed_at(g, b, task / count, 0));
        },
        &f);
}

}  // namespace cenote
