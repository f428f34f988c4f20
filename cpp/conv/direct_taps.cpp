// Small planes with many channels, tap by tap: each tap is a matrix product over the windows in which it is not on
// padding.
//
// On planes of 7×7, 18 % of the products of a padded 3×3 filter are with padding, on planes of 4×4 31 %: they are
// skipped. All planes of the batch are rows of one product, because the weights are what is large: each is packed once
// and used for all planes. The source is read in pixel_index, or from a copy with channels innermost.

#include "conv/direct.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kLeastChain = 32;   // channels of a block: shorter chains are accumulated to the results too often
constexpr int64_t kMostElements = 4;  // source pixels per result: what a copy may cost
constexpr int64_t kSameSets = 256;    // bytes: rows a multiple of this apart map to few cache sets
constexpr int64_t kLine = 64;

// The windows along an axis for which a tap is not on padding.
Span real_windows(const ConvPlanAxis& a, const Tap& tap) {
    const Span u = a.phases[0].u;
    const int64_t begin = max(u.begin, ceil_div(-tap.offset, a.step));
    return {begin, max(begin, min(u.end, floor_div(a.n - 1 - tap.offset, a.step) + 1))};
}

bool covers_all_windows(const ConvPlanAxis& a, const Tap& tap) {
    const Span real = real_windows(a, tap), u = a.phases[0].u;
    return real.begin == u.begin && real.end == u.end;
}

// Rows of the source along its last axis, or planes if they are contiguous: body(byte offset in the source, first pixel
// in the copy, pixels).
template <class Body>
void for_source_rows(const ConvPlan& p, int64_t first, int64_t end, Body body) {
    const size_t axes = p.axes.size();
    size_t looped = axes - 1;
    int64_t elements = axes == 1 ? end - first : p.axes.back().n;
    while (looped > 1 && p.axes[looped - 1].stride == elements * p.axes.back().stride) elements *= p.axes[--looped].n;
    if (axes == 1) return body(first * p.axes[0].stride, first, elements);
    std::vector<int64_t> at(looped, 0);
    at[0] = first;
    for (;;) {
        int64_t from = 0, pixel_index = 0;
        for (size_t q = 0; q < axes; ++q) {
            const int64_t i = q < looped ? at[q] : 0;
            from += i * p.axes[q].stride;
            pixel_index = pixel_index * p.axes[q].n + i;
        }
        body(from, pixel_index, elements);
        size_t q = looped;
        while (q-- > 0 && ++at[q] == (q == 0 ? end : p.axes[q].n))
            if (q > 0) at[q] = 0;
        if (at[0] == end) return;
    }
}

int64_t copied_pixel(const ConvPlan& p) {
    return p.reduce + (p.reduce * p.width % kSameSets == 0 ? kLine / p.width : 0);
}

}  // namespace

bool taps_pay(Forward& f) {
    ConvPlan& p = f.plan;
    if (!f.pack_late || p.groups != 1 || p.parts != 1 || !p.same) return false;
    int64_t elements = 1;
    for (const ConvPlanAxis& a : p.axes) {
        if (a.phases.size() != 1 || a.out_step != 1 || a.n == 0) return false;
        bool covers_all = false;  // a tap that covers all windows comes first: it initialises the results
        for (const Tap& tap : a.phases[0].taps) covers_all |= covers_all_windows(a, tap);
        if (!covers_all) return false;
        elements *= a.n;
    }
    if (elements > kMostElements * p.pixels) return false;
    // Twice as many channels at a time as would otherwise fit a panel's share of the cache: there are no boxes.
    f.blocks = choose_blocks(p, 0, min(p.out, kTapPanels * p.kernels->panel) / 2, f.steps);
    bool covers_all = f.blocks[0].count >= min(p.reduce, kLeastChain);
    for (const ConvPlanAxis& a : p.axes) covers_all &= a.chunk >= a.k;
    for (ConvPlanAxis& a : p.axes) a.chunk = max(a.k, 1);
    return covers_all;
}

void copy_source(Forward& f, int threads) {
    ConvPlan& p = f.plan;
    const bool inner = p.source_channel == p.width && reinterpret_cast<uintptr_t>(p.source) % p.width == 0;
    bool direct = inner && (p.axes.back().n == 1 || p.axes.back().stride % kSameSets != 0);
    int64_t elements = 1;
    for (const ConvPlanAxis& a : p.axes) {
        direct &= a.stride % p.width == 0;
        elements *= a.n;
    }
    if (direct) return;
    const int64_t pixel = copied_pixel(p);
    f.copy = Memory(elements * pixel * p.width);
    parallel_for(
        p.axes[0].n, min(threads, p.axes[0].n),
        [](const void* context, int64_t task, Arena*) {
            const auto& g = *static_cast<const Forward*>(context);
            const ConvPlan& q = g.plan;
            const int64_t wide = copied_pixel(q);
            for_source_rows(q, task, task + 1, [&](int64_t from, int64_t pixel_index, int64_t count) {
                load_channels(q, q.source + from, q.axes.back().stride, q.source_channel,
                              g.copy.get() + pixel_index * wide * q.width, wide, 1, count, q.reduce);
            });
        },
        &f);
    p.source = f.copy.get();
    p.source_channel = p.width;
    int64_t stride = pixel * p.width;
    for (size_t q = p.axes.size(); q-- > 0; stride *= p.axes[q].n) p.axes[q].stride = stride;
}

// The rows of each tap: source pixels and results. A tap that covers all windows comes first.
void ForwardTask::list_tap_rows() {
    const size_t axes = p.axes.size();
    const int64_t range = out.end - out.begin;
    phase.assign(axes, 0);
    u.resize(axes);
    box.sides.assign(axes, {});
    box.data = p.source;
    for (size_t q = 0; q < axes; ++q) {
        box.sides[q].u_step = p.axes[q].step * p.axes[q].stride / p.width;
        box.data += tile.u[q].begin * p.axes[q].step * p.axes[q].stride;
    }
    std::vector<size_t> at(axes, 0);
    for (;;) {
        TapRows rows_of{};
        int64_t offset = 0, pixels = 1;
        bool covers_all = true;
        for (size_t q = 0; q < axes; ++q) {
            const ConvPlanAxis& a = p.axes[q];
            const Tap& tap = a.phases[0].taps[at[q]];
            const Span real = real_windows(a, tap);
            u[q] = {max(real.begin, tile.u[q].begin), min(real.end, tile.u[q].end)};
            pixels *= max(0, u[q].end - u[q].begin);
            covers_all &= covers_all_windows(a, tap);
            rows_of.index = rows_of.index * a.k + tap.index;
            offset += tap.offset * a.stride / p.width;
        }
        if (pixels > 0) {
            for_rows([&](int64_t in, int64_t to_bytes, const auto& windows) {
                const int64_t step = f.to_result ? column_bytes() / p.width : range;
                const int64_t begin = f.to_result ? to_bytes / p.width : index_in_tile(windows) * range;
                for (int64_t i = 0; i < columns(); ++i) {
                    rows_of.from.push_back(in + offset + i * box.sides.back().u_step);
                    rows_of.to.push_back(begin + i * step);
                }
            });
            tap_rows.push_back(std::move(rows_of));
            if (covers_all && static_cast<int64_t>(tap_rows.front().from.size()) < rows)
                std::swap(tap_rows.front(), tap_rows.back());
        }
        size_t q = axes;
        while (q-- > 0 && ++at[q] == p.axes[q].phases[0].taps.size()) at[q] = 0;
        if (q == static_cast<size_t>(-1)) return;
    }
}

void ForwardTask::taps_block(const Block& b, bool first) {
    ChannelsCall call{};
    call.a = box.data + b.first * p.width;
    call.run_count = 1;
    call.step = 1;
    for (int64_t n = out.begin; n < out.end; n += call.lanes) {
        call.lanes = static_cast<int>(panel_at(f, n, out.end));
        call.b = panels_of(b, 0) + (n - out.begin) * b.steps * p.width;
        call.init = f.init.get() + n * p.width;
        call.out = f.to_result ? p.result + n * p.result_channel : scratch + (n - out.begin) * p.width;
        call.add = !first;
        for (const TapRows& tap : tap_rows) {
            const Run run{0, tap.index * b.count, b.count};
            call.runs = &run;
            call.a_at = tap.from.data();
            call.out_at = tap.to.data();
            call.rows = static_cast<int64_t>(tap.from.size());
            p.kernels->channels(call);
            call.add = true;
        }
    }
}

}  // namespace cenote
