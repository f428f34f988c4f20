// Source boxes: which source pixels a tile needs, and how they are copied to working memory.

#include <cstring>
#include <numeric>
#include <utility>

#include "conv/plan.hpp"

namespace cenote {

namespace {

constexpr int64_t kLine = 64, kSameSets = 256;  // bytes

// The range of source offsets of the taps of a chunk.
Span offsets_of(const ConvPlanAxis& a, Span chunk) {
    Span all{0, 0};
    bool any = false;
    for (const Phase& phase : a.phases) {
        for (const Tap& tap : phase.taps) {
            if (tap.index < chunk.begin || tap.index >= chunk.end) continue;
            all = any ? Span{min(all.begin, tap.offset), max(all.end, tap.offset)} : Span{tap.offset, tap.offset};
            any = true;
        }
    }
    return all;
}

}  // namespace

SourceBox::Side make_side(const ConvPlanAxis& a, Span u, Span chunk) {
    SourceBox::Side side{};
    const Span offsets = offsets_of(a, chunk);
    const int64_t taps = max(1, chunk.end - chunk.begin), count = u.end - u.begin;
    side.least = offsets.begin;
    side.base = u.begin * a.step + offsets.begin;
    // A stride and a dilation with a common divisor skip pixels; so does a stride larger than the window.
    side.gap = taps == 1 ? a.step : a.out_step > 1 || a.step == 1 ? 1 : std::gcd(a.step, a.d);
    side.windows = a.step / side.gap;
    side.elements = (count - 1) * side.windows + (offsets.end - offsets.begin) / side.gap + 1;
    if (side.windows > (offsets.end - offsets.begin) / side.gap + 1) {
        side.separate = true;
        side.gap = a.d;
        side.windows = taps;
        side.elements = count * taps;
    }
    return side;
}

SourceBox make_box(const ConvPlan& plan, const Tile& tile, int64_t channels, int64_t lanes, Layout layout,
                   bool may_be_direct) {
    SourceBox box{};
    const int axes = static_cast<int>(plan.axes.size());
    box.direct = may_be_direct && plan.same && plan.source_channel == plan.part_bytes * plan.parts &&
                 reinterpret_cast<uintptr_t>(plan.source) % plan.part_bytes == 0;
    for (int q = 0; q < axes; ++q) {
        const ConvPlanAxis& a = plan.axes[q];
        SourceBox::Side side = make_side(a, tile.u[q], tile.chunk[q]);
        const Span offsets = offsets_of(a, tile.chunk[q]);
        const int64_t last = (tile.u[q].end - 1) * a.step + offsets.end;
        box.direct &= side.base >= 0 && last < a.n && a.stride % plan.width == 0;
        box.sides.push_back(side);
    }
    if (box.direct) {
        box.channel_step = 1;
        for (int q = 0; q < axes; ++q) {
            SourceBox::Side& side = box.sides[q];
            side.separate = false;
            side.gap = 1;
            side.stride = side.tap_unit = plan.axes[q].stride / plan.width;
            side.u_step = plan.axes[q].step * side.stride;
        }
        return box;
    }
    int64_t size = 1;
    box.channel_step = layout == Layout::expanded ? lanes : 1;
    if (layout != Layout::planar) size = channels * (layout == Layout::expanded ? lanes : 1);
    // Planes are transposed to pixels column by column: pixels a power of two apart would map to the same cache sets.
    if (layout == Layout::pixel_major && plan.source_channel != plan.part_bytes * plan.parts &&
        size * plan.width % kSameSets == 0)
        size += kLine / plan.width;
    box.fold = layout == Layout::planar ? box.sides[axes - 1].windows : 1;
    for (int q = axes - 1; q >= 0; --q) {
        SourceBox::Side& side = box.sides[q];
        side.stride = side.tap_unit = size;
        side.u_step = side.windows * size;
        if (q == axes - 1 && layout == Layout::planar) {
            box.pitch = ceil_div(side.elements, box.fold);
            side.u_step = 1;
            size = box.pitch * box.fold;
        } else {
            size *= side.elements;
        }
    }
    if (layout == Layout::planar) {
        box.channel_step = size;
        size *= channels;
    }
    box.elements = size;
    return box;
}

int64_t tap_at(const SourceBox& box, int axis, int64_t offset) {
    const SourceBox::Side& side = box.sides[axis];
    const int64_t element = (offset - side.least) / side.gap;
    if (box.fold > 1 && axis == static_cast<int>(box.sides.size()) - 1)
        return element % box.fold * box.pitch + element / box.fold;
    return element * side.tap_unit;
}

namespace {

// The source pixel of a pixel of the box.
int64_t source_pixel(const SourceBox::Side& side, int64_t step, int64_t i) {
    if (!side.separate) return side.base + i * side.gap;
    return side.base + i / side.windows * step + i % side.windows * side.gap;
}

// n0 × n1 zeros.
void clear_plane(const ConvPlan& plan, char* to, int64_t d0, int64_t d1, int64_t n0, int64_t n1) {
    if (d0 == 1) {  // contiguous rows innermost
        std::swap(d0, d1);
        std::swap(n0, n1);
    }
    if (d0 == n1) {
        n1 *= n0;
        n0 = 1;
    }
    for (int64_t i = 0; i < n0; ++i) std::memset(to + i * d0 * plan.width, 0, static_cast<size_t>(n1 * plan.width));
}

// One row of the box along the last axis, from `from` (pixel 0, first channel) to `to`. `from` is null for a row of
// padding.
void fill_row(const ConvPlan& plan, const SourceBox& box, const char* from, int64_t first, int64_t count, Layout layout,
              char* to) {
    const ConvPlanAxis& a = plan.axes.back();
    const SourceBox::Side& side = box.sides.back();
    const bool planar = layout == Layout::planar;
    const int64_t fold = planar ? box.fold : side.separate ? side.windows : 1;
    const int64_t d0 = planar ? 1 : fold * side.stride, d1 = planar ? box.channel_step : 1;
    const int64_t all = planar ? count : side.stride;
    for (int64_t f = 0; f < fold; ++f) {
        const int64_t start = source_pixel(side, a.step, f);
        const int64_t step = side.separate ? a.step : side.gap * fold;
        const int64_t elements = planar ? box.pitch : ceil_div(side.elements - f, fold);
        const int64_t begin = from ? min(elements, max(0, ceil_div(-start, step))) : elements;
        const int64_t end = from ? max(begin, min(elements, floor_div(a.n - 1 - start, step) + 1)) : elements;
        char* const row = to + f * (planar ? box.pitch : side.stride) * plan.width;
        if (begin > 0) clear_plane(plan, row, d0, d1, begin, all);
        if (end < elements) clear_plane(plan, row + end * d0 * plan.width, d0, d1, elements - end, all);
        if (begin >= end) continue;
        const char* source = from + (start + begin * step) * a.stride;
        char* const at = row + begin * d0 * plan.width;
        const int64_t s0 = step * a.stride, n0 = end - begin;
        if (layout != Layout::expanded) {
            load_channels(plan, source, s0, plan.source_channel, at, d0, d1, n0, count);
            continue;
        }
        const int64_t copies = box.channel_step / plan.groups;
        for (int64_t c = 0; c < count; ++c)
            for (int64_t copy = 0; copy < copies; ++copy)
                plan.kernels->load({plan.part, const_cast<char*>(source) + (first + c) * plan.source_channel, s0,
                                    plan.reduce * plan.source_channel, at + (c * box.channel_step + copy) * plan.width,
                                    d0, copies, n0, plan.groups});
    }
}

// The pixels of a side that are not padding; for sides without gaps.
Span real_pixels(const ConvPlanAxis& a, const SourceBox::Side& side) {
    const int64_t begin = min(side.elements, max(0, ceil_div(-side.base, side.gap)));
    return {begin, max(begin, min(side.elements, floor_div(a.n - 1 - side.base, side.gap) + 1))};
}

// Copies planes with borders of zeros; false if the layout does not allow it.
bool fill_planes(const ConvPlan& plan, const SourceBox& box, const char* source, int64_t count, Layout layout,
                 void* memory) {
    const int axes = static_cast<int>(plan.axes.size());
    const SourceBox::Side& inner = box.sides[axes - 1];
    if (layout != Layout::planar || box.fold > 1 || inner.gap > 1 || inner.separate || !plan.same || plan.parts > 1 ||
        plan.axes[axes - 1].stride != plan.width)
        return false;
    for (const SourceBox::Side& side : box.sides)
        if (side.separate) return false;
    BorderCall call{};
    call.s_channel = plan.source_channel;
    call.d_channel = box.channel_step;
    call.channels = count;
    call.columns = inner.elements;
    call.real_columns = real_pixels(plan.axes[axes - 1], inner);
    const char* first = source + (inner.base + call.real_columns.begin) * plan.width;
    call.rows = 1;
    Span rows{0, 1};
    if (axes > 1) {
        const SourceBox::Side& outer = box.sides[axes - 2];
        const ConvPlanAxis& a = plan.axes[axes - 2];
        rows = real_pixels(a, outer);
        first += (outer.base + rows.begin * outer.gap) * a.stride;
        call.rows = outer.elements;
        call.s_row = outer.gap * a.stride;
        call.d_row = outer.stride;
    }
    std::vector<int64_t> at(axes, 0);
    for (;;) {
        call.array = first;
        int64_t to = 0;
        bool real = call.real_columns.begin < call.real_columns.end;
        for (int q = 0; q < axes - 2; ++q) {
            const int64_t element = source_pixel(box.sides[q], plan.axes[q].step, at[q]);
            real &= element >= 0 && element < plan.axes[q].n;
            call.array += element * plan.axes[q].stride;
            to += at[q] * box.sides[q].stride;
        }
        call.work = static_cast<char*>(memory) + to * plan.width;
        call.real_rows = real ? rows : Span{0, 0};
        plan.kernels->border(call);
        int q = axes - 3;
        while (q >= 0 && ++at[q] == box.sides[q].elements) at[q--] = 0;
        if (q < 0) return true;
    }
}

}  // namespace

void fill_box(const ConvPlan& plan, SourceBox& box, int64_t group, int64_t first, int64_t count, Layout layout,
              void* memory) {
    const char* source = plan.source;
    if (layout != Layout::expanded) source += (group * plan.reduce + first) / plan.parts * plan.source_channel;
    const int axes = static_cast<int>(plan.axes.size());
    if (box.direct) {
        for (int q = 0; q < axes; ++q) source += box.sides[q].base * plan.axes[q].stride;
        box.data = source;
        return;
    }
    box.data = static_cast<const char*>(memory);
    std::memset(static_cast<char*>(memory) + box.elements * plan.width, 0,
                static_cast<size_t>(plan.kernels->slack * plan.width));
    if (fill_planes(plan, box, source, count, layout, memory)) return;
    std::vector<int64_t> at(axes, 0);
    for (;;) {
        const char* from = source;
        int64_t to = 0;
        bool real = true;
        for (int q = 0; q < axes - 1; ++q) {
            const int64_t element = source_pixel(box.sides[q], plan.axes[q].step, at[q]);
            real &= element >= 0 && element < plan.axes[q].n;
            from += element * plan.axes[q].stride;
            to += at[q] * box.sides[q].stride;
        }
        fill_row(plan, box, real ? from : nullptr, first, count, layout, static_cast<char*>(memory) + to * plan.width);
        int q = axes - 2;
        while (q >= 0 && ++at[q] == box.sides[q].elements) at[q--] = 0;
        if (q < 0) return;
    }
}

void load_channels(const ConvPlan& plan, const char* array, int64_t s0, int64_t channel_stride, void* work, int64_t d0,
                   int64_t d1, int64_t n0, int64_t channels) {
    char* from = const_cast<char*>(array);
    if (plan.parts == 1 || channel_stride == 2 * plan.part_bytes) {
        const int64_t s1 = plan.parts == 1 ? channel_stride : plan.part_bytes;
        return plan.kernels->load({plan.part, from, s0, s1, work, d0, d1, n0, channels});
    }
    for (int part = 0; part < 2; ++part)
        plan.kernels->load({plan.part, from + part * plan.part_bytes, s0, channel_stride,
                            static_cast<char*>(work) + part * d1 * plan.width, d0, 2 * d1, n0, channels / 2});
}

void store_channels(const ConvPlan& plan, char* array, int64_t s0, int64_t channel_stride, const void* work, int64_t d0,
                    int64_t d1, int64_t n0, int64_t channels) {
    char* from = static_cast<char*>(const_cast<void*>(work));
    if (plan.parts == 1 || channel_stride == 2 * plan.part_bytes) {
        const int64_t s1 = plan.parts == 1 ? channel_stride : plan.part_bytes;
        return plan.kernels->store({plan.part, array, s0, s1, from, d0, d1, n0, channels});
    }
    for (int part = 0; part < 2; ++part)
        plan.kernels->store({plan.part, array + part * plan.part_bytes, s0, channel_stride,
                             from + part * d1 * plan.width, d0, 2 * d1, n0, channels / 2});
}

}  // namespace cenote
