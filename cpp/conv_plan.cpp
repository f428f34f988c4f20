#include "conv_plan.hpp"

#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "cpu.hpp"
#include "parallel.hpp"

namespace cenote {

namespace {

int64_t tile_bytes = 192 * 1024;          // of the box of a tile: half of a second-level cache
double grain_products = 32 * 1024 * 8.0;  // below this much work a second thread costs more than it brings

// The axis of a convolution: one phase, all taps.
void plan_forward(PlanAxis& p, const ConvAxis& a) {
    p.step = a.s;
    p.out_step = 1;
    p.u = {0, a.o};
    Phase phase{{0, a.o}, 0, {}};
    for (int64_t t = 0; t < a.k; ++t) phase.taps.push_back({t, t * a.d - a.low});
    p.phases.push_back(std::move(phase));
}

// Its adjoint: cell i = u*s + r - low gets tap t of window j = u + (r - t*d)/s. Taps are packed from the last to the
// first, so that their offsets grow here too.
void plan_backward(PlanAxis& p, const ConvAxis& a) {
    p.step = 1;
    p.out_step = a.s;
    p.u = {0, 0};
    for (int64_t i = 0; i < least(a.s, a.n); ++i) {
        const int64_t u = floor_div(i + a.low, a.s), r = i + a.low - u * a.s;
        Phase phase{{u, u + ceil_div(a.n - i, a.s)}, r - a.low, {}};
        for (int64_t t = a.k - 1; t >= 0; --t)
            if ((r - t * a.d) % a.s == 0) phase.taps.push_back({a.k - 1 - t, (r - t * a.d) / a.s});
        p.u = p.phases.empty() ? phase.u : Span{least(p.u.begin, phase.u.begin), most(p.u.end, phase.u.end)};
        p.phases.push_back(std::move(phase));
    }
}

bool is_plain(const ConvAxis& a) { return a.k == 1 && a.s == 1 && a.low == 0 && a.n == a.o; }

DType part_of(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }

DType work_of(DType part) {
    if (part == DType::f16 || part == DType::bf16 || part == DType::f32) return DType::f32;
    if (part == DType::f64) return DType::f64;
    return size_of(part) == 8 ? DType::u64 : DType::u32;
}

// Source offsets of the taps of a chunk.
Span offsets_of(const PlanAxis& a, Span chunk) {
    Span all{0, 0};
    bool any = false;
    for (const Phase& phase : a.phases) {
        for (const Tap& tap : phase.taps) {
            if (tap.index < chunk.begin || tap.index >= chunk.end) continue;
            all = any ? Span{least(all.begin, tap.offset), most(all.end, tap.offset)} : Span{tap.offset, tap.offset};
            any = true;
        }
    }
    return all;
}

Box::Side lay_side(const PlanAxis& a, Span u, Span chunk) {
    Box::Side side{};
    const Span offsets = offsets_of(a, chunk);
    const int64_t taps = most(1, chunk.end - chunk.begin), count = u.end - u.begin;
    side.least = offsets.begin;
    side.base = u.begin * a.step + offsets.begin;
    // A stride and a dilation with a common divisor leave cells out; so does a stride larger than the window.
    side.gap = taps == 1 ? a.step : a.out_step > 1 || a.step == 1 ? 1 : std::gcd(a.step, a.d);
    side.windows = a.step / side.gap;
    side.cells = (count - 1) * side.windows + (offsets.end - offsets.begin) / side.gap + 1;
    if (side.windows > (offsets.end - offsets.begin) / side.gap + 1) {
        side.separate = true;
        side.gap = a.d;
        side.windows = taps;
        side.cells = count * taps;
    }
    return side;
}

int64_t box_cells(const Plan& plan, const std::vector<int64_t>& tile) {
    int64_t cells = 1;
    for (size_t q = 0; q < plan.axes.size(); ++q) {
        const PlanAxis& a = plan.axes[q];
        cells *= lay_side(a, {0, tile[q]}, {0, least(a.k, a.chunk)}).cells;
        if (cells > int64_t{1} << 40) break;
    }
    return cells;
}

}  // namespace

Plan make_plan(const ConvRequest& r) {
    Plan plan{};
    plan.part = part_of(r.type);
    plan.parts = plan.part == r.type ? 1 : 2;
    plan.part_bytes = size_of(plan.part);
    const DType work = work_of(plan.part);
    plan.width = size_of(work);
    plan.same = plan.part_bytes == plan.width;
    plan.kernels = level_in_use().find_conv(work);
    const bool back = r.form == Form::input;
    const ConvArray& from = back ? r.y : r.x;
    const ConvArray& to = back ? r.x : r.y;
    plan.groups = r.groups;
    plan.bundle = 1;
    plan.reduce = (back ? r.out : r.in) * plan.parts;
    plan.out = (back ? r.in : r.out) * plan.parts;
    plan.source = from.data;
    plan.result = to.data;
    plan.source_channel = from.stride[r.rank + 1];
    plan.result_channel = to.stride[r.rank + 1];
    plan.w_reduce = r.w.stride[r.rank + (back ? 1 : 0)];
    plan.w_out = r.w.stride[r.rank + (back ? 0 : 1)];
    plan.w_group = r.w.stride[r.rank + 1] * r.out;
    plan.w = r.w.data;
    plan.bias = r.bias;
    plan.bias_stride = r.bias_stride;
    plan.taps = plan.pixels = 1;

    bool last_plain = false;
    for (int q = -1; q < r.rank; ++q) {
        const ConvAxis batch{r.batch, r.batch, 1, 1, 1, 0};
        const ConvAxis& a = q < 0 ? batch : r.axis[q];
        PlanAxis p{};
        p.n = back ? a.o : a.n;
        p.out_n = back ? a.n : a.o;
        p.stride = from.stride[q + 1];
        p.out_stride = to.stride[q + 1];
        p.k = a.k;
        p.w_stride = q < 0 ? 0 : r.w.stride[q];
        p.d = a.d;
        p.chunk = most(a.k, 1);
        p.chunks = 1;
        plan.taps *= a.k;
        plan.pixels *= p.out_n;
        const bool plain = is_plain(a);
        if (plain && a.n == 1 && (q >= 0 || r.rank > 0) && !(q == r.rank - 1 && plan.axes.empty())) continue;
        // Axes that are only walked through are one, if memory has them in one piece.
        if (plain && last_plain && plan.axes.back().stride == p.stride * p.n &&
            plan.axes.back().out_stride == p.out_stride * p.out_n) {
            PlanAxis& before = plan.axes.back();
            before.n = before.out_n = p.n * before.n;
            before.stride = p.stride;
            before.out_stride = p.out_stride;
            before.u = before.phases[0].u = {0, before.n};
            continue;
        }
        if (back) {
            plan_backward(p, a);
            if (a.k > 0 && q >= 0) plan.w += (a.k - 1) * p.w_stride;
            p.w_stride = -p.w_stride;
        } else {
            plan_forward(p, a);
        }
        plan.axes.push_back(std::move(p));
        last_plain = plain;
    }
    return plan;
}

// ----------------------------------------------------------------------------------------------------- boxes

Box lay_box(const Plan& plan, const Tile& tile, int64_t channels, int64_t lanes, Layout layout, bool may_be_direct) {
    Box box{};
    const int axes = static_cast<int>(plan.axes.size());
    box.direct = may_be_direct && plan.same && plan.source_channel == plan.part_bytes * plan.parts &&
                 reinterpret_cast<uintptr_t>(plan.source) % plan.part_bytes == 0;
    for (int q = 0; q < axes; ++q) {
        const PlanAxis& a = plan.axes[q];
        Box::Side side = lay_side(a, tile.u[q], tile.chunk[q]);
        const Span offsets = offsets_of(a, tile.chunk[q]);
        const int64_t last = (tile.u[q].end - 1) * a.step + offsets.end;
        box.direct &= side.base >= 0 && last < a.n && a.stride % plan.width == 0;
        box.sides.push_back(side);
    }
    if (box.direct) {
        box.channel_step = 1;
        for (int q = 0; q < axes; ++q) {
            Box::Side& side = box.sides[q];
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
    box.fold = layout == Layout::planar ? box.sides[axes - 1].windows : 1;
    for (int q = axes - 1; q >= 0; --q) {
        Box::Side& side = box.sides[q];
        side.stride = side.tap_unit = size;
        side.u_step = side.windows * size;
        if (q == axes - 1 && layout == Layout::planar) {
            box.pitch = ceil_div(side.cells, box.fold);
            side.u_step = 1;
            size = box.pitch * box.fold;
        } else {
            size *= side.cells;
        }
    }
    if (layout == Layout::planar) {
        box.channel_step = size;
        size *= channels;
    }
    box.elements = size;
    return box;
}

int64_t tap_at(const Box& box, int axis, int64_t offset) {
    const Box::Side& side = box.sides[axis];
    const int64_t cell = (offset - side.least) / side.gap;
    if (box.fold > 1 && axis == static_cast<int>(box.sides.size()) - 1)
        return cell % box.fold * box.pitch + cell / box.fold;
    return cell * side.tap_unit;
}

namespace {

// The source cell of a cell of the box.
int64_t source_cell(const Box::Side& side, int64_t step, int64_t i) {
    if (!side.separate) return side.base + i * side.gap;
    return side.base + i / side.windows * step + i % side.windows * side.gap;
}

// n0 × n1 zeros.
void clear_plane(const Plan& plan, char* to, int64_t d0, int64_t d1, int64_t n0, int64_t n1) {
    if (d0 == 1) {  // the longer rows inside
        std::swap(d0, d1);
        std::swap(n0, n1);
    }
    if (d0 == n1) {
        n1 *= n0;
        n0 = 1;
    }
    for (int64_t i = 0; i < n0; ++i) std::memset(to + i * d0 * plan.width, 0, static_cast<size_t>(n1 * plan.width));
}

// One row of the box along the last axis, from `from` (its cell 0, the first channel) to element `to`. A row of
// padding has no `from`.
void fill_row(const Plan& plan, const Box& box, const char* from, int64_t first, int64_t count, Layout layout,
              char* to) {
    const PlanAxis& a = plan.axes.back();
    const Box::Side& side = box.sides.back();
    const bool planar = layout == Layout::planar;
    const int64_t fold = planar ? box.fold : side.separate ? side.windows : 1;
    const int64_t d0 = planar ? 1 : fold * side.stride, d1 = planar ? box.channel_step : 1;
    const int64_t all = planar ? count : side.stride;
    for (int64_t f = 0; f < fold; ++f) {
        const int64_t start = source_cell(side, a.step, f);
        const int64_t step = side.separate ? a.step : side.gap * fold;
        const int64_t cells = planar ? box.pitch : ceil_div(side.cells - f, fold);
        const int64_t begin = from ? least(cells, most(0, ceil_div(-start, step))) : cells;
        const int64_t end = from ? most(begin, least(cells, floor_div(a.n - 1 - start, step) + 1)) : cells;
        char* const row = to + f * (planar ? box.pitch : side.stride) * plan.width;
        if (begin > 0) clear_plane(plan, row, d0, d1, begin, all);
        if (end < cells) clear_plane(plan, row + end * d0 * plan.width, d0, d1, cells - end, all);
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

}  // namespace

void fill_box(const Plan& plan, Box& box, int64_t group, int64_t first, int64_t count, Layout layout, void* memory) {
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
    std::vector<int64_t> at(axes, 0);
    for (;;) {
        const char* from = source;
        int64_t to = 0;
        bool real = true;
        for (int q = 0; q < axes - 1; ++q) {
            const int64_t cell = source_cell(box.sides[q], plan.axes[q].step, at[q]);
            real &= cell >= 0 && cell < plan.axes[q].n;
            from += cell * plan.axes[q].stride;
            to += at[q] * box.sides[q].stride;
        }
        fill_row(plan, box, real ? from : nullptr, first, count, layout, static_cast<char*>(memory) + to * plan.width);
        int q = axes - 2;
        while (q >= 0 && ++at[q] == box.sides[q].cells) at[q--] = 0;
        if (q < 0) return;
    }
}

// ----------------------------------------------------------------------------------------------------- tiles

void choose_conv_tiles(Plan& plan, int64_t channels, int64_t extra_per_pixel, int64_t bytes, int64_t tasks) {
    std::vector<int64_t> tile;
    for (const PlanAxis& a : plan.axes) tile.push_back(most(1, a.u.end - a.u.begin));
    const auto pixels = [&] {
        int64_t count = 1;
        for (size_t q = 0; q < tile.size(); ++q) count *= tile[q] * plan.axes[q].out_step;
        return count;
    };
    const auto size = [&] { return (box_cells(plan, tile) * channels + pixels() * extra_per_pixel) * plan.width; };
    const auto tiles = [&] {
        int64_t count = 1;
        for (size_t q = 0; q < tile.size(); ++q) count *= ceil_div(plan.axes[q].u.end - plan.axes[q].u.begin, tile[q]);
        return count;
    };
    while (size() > bytes || (tiles() < tasks && pixels() > 48) || pixels() > 16384) {
        // Where a cut costs the fewest cells that both sides need; the last axis makes the rows, so it comes last.
        int best = -1;
        double best_cost = 0;
        for (size_t q = 0; q < tile.size(); ++q) {
            if (tile[q] <= 1) continue;
            const PlanAxis& a = plan.axes[q];
            const int64_t half = (tile[q] + 1) / 2;
            const auto cells = [&](int64_t n) {
                return static_cast<double>(lay_side(a, {0, n}, {0, least(a.k, a.chunk)}).cells) /
                       static_cast<double>(n);
            };
            double cost = cells(half) / cells(tile[q]);
            if (q + 1 == tile.size()) cost += half < 64 ? 0.7 : 0.01;
            if (best < 0 || cost < best_cost) best = static_cast<int>(q), best_cost = cost;
        }
        if (best < 0) break;
        tile[best] = (tile[best] + 1) / 2;
    }
    for (size_t q = 0; q < tile.size(); ++q) {
        PlanAxis& a = plan.axes[q];
        a.tile = most(tile[q], 1);
        a.tiles = ceil_div(a.u.end - a.u.begin, a.tile);
        // As equal as they can be.
        if (a.tiles > 0) a.tile = ceil_div(a.u.end - a.u.begin, a.tiles);
    }
}

int64_t all_cells(const Plan& plan) {
    std::vector<int64_t> all;
    for (const PlanAxis& a : plan.axes) all.push_back(most(1, a.u.end - a.u.begin));
    return most(1, box_cells(plan, all));
}

int64_t tile_count(const Plan& plan) {
    int64_t count = 1;
    for (const PlanAxis& a : plan.axes) count *= a.tiles;
    return count;
}

Tile tile_at(const Plan& plan, int64_t index) {
    Tile tile;
    tile.u.resize(plan.axes.size());
    tile.chunk.resize(plan.axes.size());
    for (int q = static_cast<int>(plan.axes.size()) - 1; q >= 0; --q) {
        const PlanAxis& a = plan.axes[q];
        const int64_t begin = a.u.begin + index % a.tiles * a.tile;
        tile.u[q] = {begin, least(begin + a.tile, a.u.end)};
        tile.chunk[q] = {0, a.k};
        index /= a.tiles;
    }
    return tile;
}

// ------------------------------------------------------------------------------------------------------ rest

void load_channels(const Plan& plan, const char* array, int64_t s0, int64_t channel_stride, void* work, int64_t d0,
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

void store_channels(const Plan& plan, char* array, int64_t s0, int64_t channel_stride, const void* work, int64_t d0,
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

namespace {

// The last large block is kept for the next call: fresh pages cost as much as filling them.
constexpr int64_t kLarge = 64 * 1024, kKept = 8 * 1024 * 1024;
std::atomic<Memory::Header*> kept{nullptr};

}  // namespace

Memory::Memory(int64_t bytes) {
    bytes = (bytes + 256) / 128 * 128;
    if (bytes >= kLarge) header_ = kept.exchange(nullptr);
    if (header_ && header_->bytes >= bytes) return;
    std::free(header_);
    header_ = static_cast<Header*>(std::aligned_alloc(128, static_cast<size_t>(bytes + 128)));
    if (!header_) throw std::bad_alloc();
    header_->bytes = bytes;
}

void Memory::give_back() {
    if (header_ && header_->bytes >= kLarge && header_->bytes <= kKept) header_ = kept.exchange(header_);
    std::free(header_);
    header_ = nullptr;
}

void bundle_groups(Plan& plan, int64_t lanes) {
    for (int64_t m = lanes / plan.out; m > 1; --m) {
        if (plan.groups % m) continue;
        plan.bundle = m;
        plan.groups /= m;
        plan.reduce *= m;
        plan.out *= m;
        return;
    }
}

bool reads_in_place(const Plan& plan) {
    if (plan.reduce != 1 || plan.out != 1 || !plan.same || plan.source_channel != plan.width ||
        reinterpret_cast<uintptr_t>(plan.source) % plan.width)
        return false;
    for (const PlanAxis& a : plan.axes)
        if (a.stride % plan.width) return false;
    return true;
}

int conv_threads(double products) {
    const double threads = products / grain_products;
    return threads < 1 ? 1 : threads > num_threads() ? num_threads() : static_cast<int>(threads);
}

int64_t conv_tile_bytes() { return tile_bytes; }

void set_conv_limits(int64_t bytes_per_tile, int64_t cells_per_thread) {
    tile_bytes = bytes_per_tile;
    grain_products = static_cast<double>(cells_per_thread) * 8;
}

}  // namespace cenote
