// Winograd's F(2×2, 3×3): 3 × 3 filters without stride and dilation on many channels, as 16 matrix products.
//
// Its sums run over channels only, where the direct ones run over channels and taps: measured against float64 its
// error is about half of theirs. F(4×4, 3×3) would need 4 times fewer products instead of 2¼, but its error is 1.7
// times the direct one at the best points there are (0, ±2/3, ±3/2), and 4 times at the usual ones.
//
// A cell that is infinite or NaN would spread over its tile, where a direct sum keeps it to the windows that see it.
// Therefore a block with results that are not finite is made anew by direct sums.

#include <cstring>

#include "conv_forward.hpp"
#include "parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kPoints = 16;
constexpr int64_t kBlockBytes = 384 * 1024;  // points of cells and of results
constexpr int64_t kLeastChannels = 32, kLeastPixels = 96, kMostChannels = 128;

struct Winograd {
    Forward direct;
    const Plan& p = direct.plan;
    int64_t channels, blocks;  // of the source, at a time
    int64_t range, ranges;     // channels of the result per task
    int64_t padded_out;
    int64_t outer;                      // positions of all axes but the last two
    int64_t rows, columns;              // tiles of a plane
    int64_t row_blocks, column_blocks;  // a task has rows/row_blocks × columns/column_blocks of them
    Memory weights;
};

// Where the points of a block of channels begin.
int64_t points_at(const Winograd& f, int64_t block, int64_t point, int64_t first) {
    const int64_t count = least(f.channels, f.p.reduce - block * f.channels);
    return (block * f.channels * kPoints + point * count) * f.padded_out + first * count;
}

constexpr int64_t kFilterChannels = 16;

// The points of the filters of some channels of the source.
void transform_filter(const void* context, int64_t task, Arena* arena) {
    const auto& f = *static_cast<const Winograd*>(context);
    const Plan& p = f.p;
    const int64_t wide = f.padded_out, panel = p.kernels->panel, first = task * kFilterChannels;
    const int64_t count = least(kFilterChannels, p.reduce - first);
    char* const taps = static_cast<char*>(arena_take(arena, 9 * count * wide * p.width));
    if (wide > p.out) std::memset(taps, 0, static_cast<size_t>(9 * count * wide * p.width));
    const PlanAxis &outer = p.axes[p.axes.size() - 2], &inner = p.axes.back();
    char* const w = const_cast<char*>(p.w) + first * p.w_reduce;
    const int64_t part = p.part_bytes, step = count * wide;
    for (int64_t i = 0; i < 9; ++i) {
        if (inner.w_stride == part && outer.w_stride == 3 * part) {  // taps next to each other: by channel
            for (int64_t c = 0; c < (i ? 0 : count); ++c)
                p.kernels->load(
                    {p.part, w + c * p.w_reduce, part, p.w_out, taps + c * wide * p.width, step, 1, 9, p.out});
        } else if (inner.w_stride == -part && outer.w_stride == -3 * part) {
            for (int64_t c = 0; c < (i ? 0 : count); ++c)
                p.kernels->load({p.part, w + c * p.w_reduce - 8 * part, part, p.w_out,
                                 taps + (8 * step + c * wide) * p.width, -step, 1, 9, p.out});
        } else {
            p.kernels->load({p.part, w + i / 3 * outer.w_stride + i % 3 * inner.w_stride, p.w_reduce, p.w_out,
                             taps + i * step * p.width, wide, 1, count, p.out});
        }
    }
    for (int64_t c = 0; c < count; ++c) {
        const int64_t block = (first + c) / f.channels, at = (first + c) % f.channels;
        const int64_t channels = least(f.channels, p.reduce - block * f.channels);
        for (int64_t n = 0; n < wide; n += panel) {
            const int64_t lanes = least(panel, wide - n);
            p.kernels->winograd_filter({taps + (c * wide + n) * p.width,
                                        f.weights.get() + (points_at(f, block, 0, n) + at * lanes) * p.width, step,
                                        channels * wide, lanes});
        }
    }
}

struct Task {
    const Winograd& f;
    const Plan& p;
    Arena* arena;
    Tile tile;
    Span out;
    int64_t rows, columns;  // tiles
    char *cells = nullptr, *results = nullptr;

    // Points of cells from channels first … first+count-1.
    void bring_in(int64_t first, int64_t count, char* memory, Box& box) {
        box = lay_box(p, tile, count, 1, Layout::pixel_major, true);
        fill_box(p, box, 0, first, count, Layout::pixel_major, memory);
        const int64_t axes = static_cast<int64_t>(box.sides.size());
        const int64_t row = box.sides[axes - 2].u_step, column = box.sides[axes - 1].u_step;
        WinogradCells call{nullptr, nullptr, row, column, rows * columns * count, count};
        for (int64_t t = 0; t < rows * columns; ++t) {
            call.x = box.data + (t / columns * 2 * row + t % columns * 2 * column) * p.width;
            call.points = cells + t * count * p.width;
            p.kernels->winograd_cells(call);
        }
    }

    void multiply(int64_t block, int64_t count) {
        const int64_t tiles = rows * columns, wide = out.end - out.begin;
        std::vector<int64_t> from(tiles), to(tiles);
        for (int64_t t = 0; t < tiles; ++t) {
            from[t] = t * count;
            to[t] = t * wide;
        }
        const Run run{0, 0, count};
        ChannelsCall call{};
        call.a_at = from.data();
        call.out_at = to.data();
        call.rows = tiles;
        call.runs = &run;
        call.run_count = 1;
        call.step = 1;
        call.add = block > 0;
        for (int64_t point = 0; point < kPoints; ++point) {
            call.a = cells + point * tiles * count * p.width;
            for (int64_t n = out.begin; n < out.end; n += p.kernels->panel) {
                call.lanes = static_cast<int>(least(p.kernels->panel, out.end - n));
                call.b = f.weights.get() + points_at(f, block, point, n) * p.width;
                call.out = results + (point * tiles * wide + n - out.begin) * p.width;
                p.kernels->channels(call);
            }
        }
    }

    bool give_out(char* scratch) {
        const int64_t tiles = rows * columns, wide = out.end - out.begin, axes = static_cast<int64_t>(p.axes.size());
        const PlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
        const Span u = tile.u[axes - 2], v = tile.u[axes - 1];
        const bool direct = f.direct.to_result;
        char* base = p.result + out.begin * p.result_channel;
        for (int64_t q = 0; q < axes; ++q)
            base += (tile.u[q].begin + p.axes[q].phases[0].out_base) * p.axes[q].out_stride;
        WinogradResults call{};
        call.point = tiles * wide;
        call.row = direct ? outer.out_stride / p.width : 2 * columns * wide;
        call.column = direct ? inner.out_stride / p.width : wide;
        call.lanes = wide;
        call.init = f.direct.init.get() + out.begin * p.width;
        char* const to = direct ? base : scratch;
        bool finite = true;
        for (int64_t t = 0; t < tiles; ++t) {
            const int64_t row = t / columns * 2, column = t % columns * 2;
            call.points = results + t * wide * p.width;
            call.out = to + (row * call.row + column * call.column) * p.width;
            call.rows = static_cast<int>(least(2, outer.u.end - u.begin - row));
            call.columns = static_cast<int>(least(2, inner.u.end - v.begin - column));
            finite &= p.kernels->winograd_results(call);
        }
        if (!direct)
            for (int64_t row = 0; row < least(2 * rows, outer.u.end - u.begin); ++row)
                store_channels(p, base + row * outer.out_stride, inner.out_stride, p.result_channel,
                               scratch + row * call.row * p.width, wide, 1, least(2 * columns, inner.u.end - v.begin),
                               wide);
        return finite;
    }
};

void run_task(const void* context, int64_t index, Arena* arena) {
    const auto& f = *static_cast<const Winograd*>(context);
    const Plan& p = f.p;
    const int axes = static_cast<int>(p.axes.size());
    const int64_t range = index % f.ranges, column = index / f.ranges % f.column_blocks;
    const int64_t row = index / f.ranges / f.column_blocks % f.row_blocks;
    int64_t outer = index / f.ranges / f.column_blocks / f.row_blocks;
    const Span rows{f.rows * row / f.row_blocks, f.rows * (row + 1) / f.row_blocks};
    const Span columns{f.columns * column / f.column_blocks, f.columns * (column + 1) / f.column_blocks};
    Task task{f,
              p,
              arena,
              {},
              {range * f.range, least((range + 1) * f.range, p.out)},
              rows.end - rows.begin,
              columns.end - columns.begin};
    task.tile.u.resize(axes);
    for (int q = axes - 1; q >= 0; --q) task.tile.chunk.insert(task.tile.chunk.begin(), {0, p.axes[q].k});
    for (int q = axes - 3; q >= 0; --q) {
        const int64_t size = p.axes[q].u.end - p.axes[q].u.begin, at = p.axes[q].u.begin + outer % size;
        task.tile.u[q] = {at, at + 1};
        outer /= size;
    }
    const int64_t top = p.axes[axes - 2].u.begin, left = p.axes[axes - 1].u.begin;
    task.tile.u[axes - 2] = {top + 2 * rows.begin, top + 2 * rows.end};
    task.tile.u[axes - 1] = {left + 2 * columns.begin, left + 2 * columns.end};

    const int64_t tiles = task.rows * task.columns, wide = task.out.end - task.out.begin;
    const int64_t most_channels = least(f.channels, p.reduce);
    const Box largest = lay_box(p, task.tile, most_channels, 1, Layout::pixel_major, false);
    char* const memory = static_cast<char*>(arena_take(arena, (largest.elements + p.kernels->slack) * p.width));
    task.cells = static_cast<char*>(arena_take(arena, kPoints * tiles * most_channels * p.width));
    task.results = static_cast<char*>(arena_take(arena, kPoints * tiles * wide * p.width));
    for (int64_t block = 0; block < f.blocks; ++block) {
        const int64_t first = block * f.channels, count = least(f.channels, p.reduce - first);
        Box box;
        task.bring_in(first, count, memory, box);
        task.multiply(block, count);
    }
    char* scratch = nullptr;
    if (!f.direct.to_result) scratch = static_cast<char*>(arena_take(arena, 4 * tiles * wide * p.width));
    if (task.give_out(scratch)) return;
    task.tile.u[axes - 2].end = least(task.tile.u[axes - 2].end, p.axes[axes - 2].u.end);
    task.tile.u[axes - 1].end = least(task.tile.u[axes - 1].end, p.axes[axes - 1].u.end);
    ForwardTask{f.direct, p, arena, task.tile, {0, 1}, task.out}.run();
}

}  // namespace

bool winograd_pays(const Plan& p) {
    const size_t axes = p.axes.size();
    if (axes < 2 || !p.kernels->winograd_cells || p.parts != 1 || p.groups != 1) return false;
    if (p.reduce < kLeastChannels || p.out < kLeastChannels || p.pixels < kLeastPixels) return false;
    for (size_t q = 0; q < axes; ++q) {
        const PlanAxis& a = p.axes[q];
        if (a.step != 1 || a.out_step != 1 || a.phases.size() != 1 || a.k != (q + 2 < axes ? 1 : 3)) return false;
        if (a.k == 3 && (a.d != 1 || a.u.end - a.u.begin < 4)) return false;
    }
    return true;
}

void run_winograd(Plan& plan) {
    Winograd f{};
    f.direct.plan = std::move(plan);
    choose_method(f.direct);
    f.direct.pack_late = true;
    const Plan& p = f.p;
    const ConvKernels& k = *p.kernels;
    const PlanAxis &outer = p.axes[p.axes.size() - 2], &inner = p.axes.back();
    f.padded_out = ceil_div(p.out, k.vector) * k.vector;
    f.blocks = ceil_div(p.reduce, kMostChannels);
    f.channels = ceil_div(p.reduce, f.blocks);
    f.ranges = ceil_div(p.out, kMostChannels);
    f.range = ceil_div(ceil_div(p.out, f.ranges), k.panel) * k.panel;
    f.rows = ceil_div(outer.u.end - outer.u.begin, 2);
    f.columns = ceil_div(inner.u.end - inner.u.begin, 2);
    f.outer = 1;
    for (size_t q = 0; q + 2 < p.axes.size(); ++q) f.outer *= p.axes[q].u.end - p.axes[q].u.begin;

    const double products = static_cast<double>(p.pixels) * 4 * static_cast<double>(p.out * p.reduce);
    const int threads = conv_threads(products);
    int64_t tiles = most(8, kBlockBytes / (kPoints * p.width * (f.channels + f.range)));
    f.column_blocks = ceil_div(f.columns, tiles);
    f.row_blocks = ceil_div(f.rows, most(1, tiles / ceil_div(f.columns, f.column_blocks)));
    const int64_t wanted = threads > 1 ? 4 * threads : 1;
    while (f.range > k.panel && f.outer * f.row_blocks * f.column_blocks * ceil_div(p.out, f.range) < wanted)
        f.range = ceil_div(f.range, 2 * k.panel) * k.panel;
    f.ranges = ceil_div(p.out, f.range);

    pack_weights(f.direct);
    f.weights = Memory(kPoints * p.reduce * f.padded_out * p.width + k.panel * p.width);
    parallel_for(ceil_div(p.reduce, kFilterChannels), threads, &transform_filter, &f);
    parallel_for(f.outer * f.row_blocks * f.column_blocks * f.ranges, threads, &run_task, &f);
}

}  // namespace cenote
