// Convolution, and its adjoint with respect to the input: tiles of results, each summed up in blocks of the reduction.

#include <cstring>

#include "conv_blocks.hpp"
#include "conv_plan.hpp"
#include "parallel.hpp"

namespace cenote {

namespace {

enum class Lanes : uint8_t { channels, pixels, groups };

struct Forward {
    Plan plan;
    Lanes lanes;
    Layout layout;
    std::vector<Block> blocks;
    int64_t steps;          // of the whole reduction
    int64_t padded_out;     // of a group, in packed weights
    int64_t range, ranges;  // channels of the result per task
    bool to_result;         // kernels write where the results belong
    Memory weights, init;
    int64_t tasks;
};

// Channels of the result that one call of a kernel makes, from `first` on.
int64_t panel_at(const Forward& f, int64_t first, int64_t end) {
    const ConvKernels& k = *f.plan.kernels;
    if (f.lanes == Lanes::channels) return least(k.panel, end - first);
    const int64_t unit = f.plan.parts, most_m = k.most_m / unit * unit, calls = ceil_div(end - first, most_m);
    return ceil_div(end - first, calls * unit) * unit;
}

// A panel as it is packed: channels are filled up to whole vectors.
int64_t packed_panel(const Forward& f, int64_t lanes) {
    if (f.lanes != Lanes::channels) return lanes;
    return ceil_div(lanes, f.plan.kernels->vector) * f.plan.kernels->vector;
}

// Where a panel is, in elements.
int64_t panel_offset(const Forward& f, const Block& b, int64_t group, int64_t first) {
    return group * f.steps * f.padded_out + b.start * f.padded_out + first * b.steps;
}

// (r, n) of a complex product: [re, im; -im, re].
template <class T>
void negate_imaginary(T* panel, int64_t rows, int64_t width, int64_t lanes) {
    for (int64_t r = 1; r < rows; r += 2)
        for (int64_t n = 0; n < lanes; n += 2) panel[r * width + n] = -panel[r * width + n];
}

void pack_tap(const Forward& f, const char* w, char* to, int64_t rows, int64_t width, int64_t lanes) {
    const Plan& p = f.plan;
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

// One block of one group; for lanes that are groups, all groups.
void pack_block(const Forward& f, int64_t group, const Block& b) {
    const Plan& p = f.plan;
    char* const to = f.weights.get();
    for_taps(p, b, [&](int64_t packed, int64_t w_offset) {
        const char* w = p.w + w_offset + b.first / p.parts * p.w_reduce;
        if (f.lanes == Lanes::groups) {  // [tap][r][group, n]
            const int64_t all = p.groups * p.out;
            for (int64_t r = 0; r < b.count; ++r)
                p.kernels->load({p.part, const_cast<char*>(w) + r * p.w_reduce, p.w_group, p.w_out,
                                 to + (b.start + packed * b.count + r) * all * p.width, p.out, 1, p.groups, p.out});
            return;
        }
        for (int64_t n = 0; n < p.out;) {
            const int64_t lanes = panel_at(f, n, p.out), width = packed_panel(f, lanes);
            pack_tap(f, w + group * p.w_group + n / p.parts * p.w_out,
                     to + (panel_offset(f, b, group, n) + packed * b.count * width) * p.width, b.count, width, lanes);
            n += lanes;
        }
    });
}

void pack_weights(Forward& f) {
    const Plan& p = f.plan;
    const bool all = f.lanes == Lanes::groups;
    const int64_t packs = all ? 1 : p.groups, blocks = static_cast<int64_t>(f.blocks.size());
    f.weights = take_memory((p.groups * f.padded_out * f.steps + p.kernels->panel) * p.width);
    const double cost = static_cast<double>(f.steps) * static_cast<double>(p.groups * p.out) * 8;
    parallel_for(
        packs * blocks, conv_threads(cost),
        [](const void* context, int64_t task, Arena*) {
            const auto& g = *static_cast<const Forward*>(context);
            const auto count = static_cast<int64_t>(g.blocks.size());
            pack_block(g, task / count, g.blocks[task % count]);
        },
        &f);
    f.init = take_memory((p.groups * f.padded_out + p.kernels->panel) * p.width);
    if (p.bias)
        for (int64_t g = 0; g < p.groups; ++g)
            load_channels(p, p.bias + g * (p.out / p.parts) * p.bias_stride, 0, p.bias_stride,
                          f.init.get() + g * f.padded_out * p.width, 0, 1, 1, p.out);
}

// ------------------------------------------------------------------------------------------------------ tasks

struct Task {
    const Forward& f;
    const Plan& p;
    Tile tile;
    int64_t group, begin, end;  // channels of the result
    int64_t rows;               // pixels of the tile, of all phases
    char* scratch;              // results, unless they go to memory at once
    Box box;
    std::vector<Run> runs;
    std::vector<int64_t> from, to;
    std::vector<size_t> phase;
    std::vector<Span> u;

    int64_t element(int64_t q, int64_t at) const {  // of the result on axis q, in bytes
        const PlanAxis& a = p.axes[q];
        return (at * a.out_step + a.phases[phase[q]].out_base) * a.out_stride;
    }

    // The windows of the current phase in this tile; false when there are none.
    bool lay_phase(int64_t& pixels) {
        pixels = 1;
        for (size_t q = 0; q < p.axes.size(); ++q) {
            const Span all = p.axes[q].phases[phase[q]].u;
            u[q] = {most(all.begin, tile.u[q].begin), least(all.end, tile.u[q].end)};
            pixels *= most(0, u[q].end - u[q].begin);
        }
        return pixels > 0;
    }

    template <class Body>
    void for_phases(Body body) {
        const size_t axes = p.axes.size();
        phase.assign(axes, 0);
        u.resize(axes);
        int64_t before = 0;
        for (;;) {
            int64_t pixels;
            if (lay_phase(pixels)) body(before, pixels);
            before += pixels;
            int q = static_cast<int>(axes) - 1;
            while (q >= 0 && ++phase[q] == p.axes[q].phases.size()) phase[q--] = 0;
            if (q < 0) return;
        }
    }

    // body(offset in the box, bytes in the result) for the first pixel of each row along the last axis.
    template <class Body>
    void for_rows(Body body) {
        const int axes = static_cast<int>(p.axes.size());
        std::vector<int64_t> at(axes);
        for (int q = 0; q < axes; ++q) at[q] = u[q].begin;
        for (;;) {
            int64_t in = 0, out = 0;
            for (int q = 0; q < axes; ++q) {
                if (!box.sides.empty()) in += (at[q] - tile.u[q].begin) * box.sides[q].u_step;
                out += element(q, at[q]);
            }
            body(in, out);
            int q = axes - 2;
            while (q >= 0 && ++at[q] == u[q].end) {
                at[q] = u[q].begin;
                --q;
            }
            if (q < 0) return;
        }
    }

    int64_t columns() const { return u.back().end - u.back().begin; }
    int64_t column_bytes() const { return p.axes.back().out_step * p.axes.back().out_stride; }
    char* result() const { return p.result + (group * p.out + begin) / p.parts * p.result_channel; }

    void run_block(const Block& b, bool first);
    void channels_phase(const Block& b, bool first, int64_t before);
    void pixels_phase(const Block& b, bool first, int64_t before);
    void groups_phase(const Block& b, bool first, int64_t before);
    void store_phase(int64_t before);
};

void Task::channels_phase(const Block& b, bool first, int64_t before) {
    from.clear();
    to.clear();
    const int64_t columns = this->columns(), range = end - begin;
    for_rows([&](int64_t in, int64_t out) {
        for (int64_t i = 0; i < columns; ++i) {
            from.push_back(in + i * box.sides.back().u_step);
            if (f.to_result)
                to.push_back((out + i * column_bytes()) / p.width);
            else
                to.push_back((before + static_cast<int64_t>(to.size())) * range);
        }
    });
    ChannelsCall call{};
    call.a = box.data;
    call.a_at = from.data();
    call.out_at = to.data();
    call.rows = static_cast<int64_t>(from.size());
    call.runs = runs.data();
    call.run_count = static_cast<int64_t>(runs.size());
    call.step = 1;
    call.add = !first;
    char* const out = f.to_result ? result() : scratch;
    for (int64_t n = begin; n < end;) {
        const int64_t lanes = panel_at(f, n, end);
        call.b = f.weights.get() + panel_offset(f, b, group, n) * p.width;
        call.init = f.init.get() + (group * f.padded_out + n) * p.width;
        call.out = out + (n - begin) * p.width;
        call.lanes = static_cast<int>(lanes);
        p.kernels->channels(call);
        n += lanes;
    }
}

void Task::pixels_phase(const Block& b, bool first, int64_t before) {
    from.clear();
    to.clear();
    for_rows([&](int64_t in, int64_t out) {
        from.push_back(in);
        to.push_back(f.to_result ? out / p.width : before + static_cast<int64_t>(to.size()) * columns());
    });
    PixelsCall call{};
    call.x = box.data;
    call.x_at = from.data();
    call.out_at = to.data();
    call.rows = static_cast<int64_t>(from.size());
    call.lanes = columns();
    call.out_stride = f.to_result ? p.result_channel / p.width : rows;
    call.runs = runs.data();
    call.run_count = static_cast<int64_t>(runs.size());
    call.step = b.count > 1 || runs.empty() ? box.channel_step : tap_step(p, b, box, phase);
    call.add = !first;
    char* const out = f.to_result ? result() : scratch;
    for (int64_t n = begin; n < end;) {
        const int64_t lanes = panel_at(f, n, p.out);
        call.a = f.weights.get() + panel_offset(f, b, group, n) * p.width;
        call.init = f.init.get() + (group * f.padded_out + n) * p.width;
        call.out = out + (n - begin) * call.out_stride * p.width;
        call.m = static_cast<int>(lanes);
        p.kernels->pixels(call);
        n += lanes;
    }
}

void Task::groups_phase(const Block& b, bool first, int64_t before) {
    const int64_t all = p.groups * p.out;
    LanesCall call{};
    call.w = f.weights.get() + b.start * all * p.width;
    call.init = f.init.get();
    call.pixels = columns();
    call.lanes = all;
    call.x_step = box.sides.back().u_step;
    call.out_step = f.to_result ? column_bytes() / p.width : all;
    call.runs = runs.data();
    call.run_count = static_cast<int64_t>(runs.size());
    call.add = !first;
    int64_t row = before;
    for_rows([&](int64_t in, int64_t out) {
        call.x = box.data + in * p.width;
        call.out = f.to_result ? p.result + out : scratch + row * all * p.width;
        p.kernels->lanes(call);
        row += columns();
    });
}

void Task::store_phase(int64_t before) {
    const int64_t columns = this->columns();
    int64_t row = before;
    for_rows([&](int64_t, int64_t out) {
        if (f.lanes == Lanes::pixels) {
            store_channels(p, result() + out, column_bytes(), p.result_channel, scratch + row * p.width, 1, rows,
                           columns, end - begin);
        } else {
            const int64_t range = f.lanes == Lanes::groups ? p.groups * p.out : end - begin;
            store_channels(p, result() + out, column_bytes(), p.result_channel, scratch + row * range * p.width, range,
                           1, columns, range);
        }
        row += columns;
    });
}

void run_task(const void* context, int64_t index, Arena* arena) {
    const auto& f = *static_cast<const Forward*>(context);
    const Plan& p = f.plan;
    const int64_t range = index % f.ranges, group = index / f.ranges % (f.lanes == Lanes::groups ? 1 : p.groups);
    const int64_t tile = index / f.ranges / (f.lanes == Lanes::groups ? 1 : p.groups);
    Task task{f,
              p,
              tile_at(p, tile),
              group,
              range * f.range,
              least((range + 1) * f.range, p.out),
              0,
              nullptr,
              {},
              {},
              {},
              {},
              {},
              {}};
    task.for_phases([&](int64_t, int64_t pixels) { task.rows += pixels; });
    if (task.rows == 0) return;
    const int64_t lanes = f.lanes == Lanes::groups ? p.groups * p.out : task.end - task.begin;
    if (!f.to_result) task.scratch = static_cast<char*>(arena_take(arena, task.rows * lanes * p.width));

    // Boxes of blocks with fewer channels or taps than the first one are no larger.
    char* memory = nullptr;
    int64_t space = -1;
    bool first = true;
    for (const Block& b : f.blocks) {
        task.tile.chunk = b.chunk;
        const bool may_be_direct =
            f.layout == Layout::pixel_major || (f.layout == Layout::expanded && p.out == 1 && p.reduce == 1);
        task.box = lay_box(p, task.tile, b.count, lanes, f.layout, may_be_direct);
        if (!task.box.direct && task.box.elements > space) {
            space = task.box.elements;
            memory = static_cast<char*>(arena_take(arena, (space + p.kernels->slack) * p.width));
        }
        fill_box(p, task.box, group, b.first, b.count, f.layout, memory);
        task.for_phases([&](int64_t before, int64_t) {
            const RunShape shape = f.lanes == Lanes::channels ? RunShape::channels
                                   : f.lanes == Lanes::pixels ? RunShape::pixels
                                                              : RunShape::lanes;
            build_runs(p, b, task.box, task.phase, shape, lanes, task.runs);
            if (task.runs.empty() && !first) return;
            if (f.lanes == Lanes::channels)
                task.channels_phase(b, first, before);
            else if (f.lanes == Lanes::pixels)
                task.pixels_phase(b, first, before);
            else
                task.groups_phase(b, first, before);
        });
        first = false;
    }
    if (!f.to_result) task.for_phases([&](int64_t before, int64_t) { task.store_phase(before); });
}

// Whether kernels may write results where they belong.
bool writes_results(const Forward& f) {
    const Plan& p = f.plan;
    if (!p.same || reinterpret_cast<uintptr_t>(p.result) % p.part_bytes) return false;
    for (const PlanAxis& a : p.axes)
        if (a.out_stride % p.width) return false;
    if (f.lanes == Lanes::pixels)
        return p.parts == 1 && p.result_channel % p.width == 0 &&
               (p.axes.back().out_stride == p.width && p.axes.back().out_step == 1);
    return p.result_channel == p.part_bytes * p.parts;
}

Lanes choose_lanes(const Plan& p) {
    const bool planar = p.source_channel != p.part_bytes * p.parts && p.axes.back().stride == p.part_bytes * p.parts;
    if (p.groups > 1 && p.parts == 1 && p.out < p.kernels->vector && !planar) return Lanes::groups;
    if (p.out <= (planar ? p.kernels->vector / 2 : p.kernels->most_m / 2)) return Lanes::pixels;
    return Lanes::channels;
}

}  // namespace

void run_forward(const ConvRequest&, Plan& plan) {
    Forward f{};
    f.plan = std::move(plan);
    Plan& p = f.plan;
    f.lanes = choose_lanes(p);
    f.layout = f.lanes == Lanes::channels ? Layout::pixel_major
               : f.lanes == Lanes::pixels ? Layout::planar
                                          : Layout::expanded;
    f.to_result = writes_results(f);
    const ConvKernels& k = *p.kernels;
    const int64_t copies = f.lanes == Lanes::groups ? p.groups * p.out : 1;
    f.blocks = choose_blocks(p, copies, f.lanes == Lanes::channels ? k.panel : 0, f.steps);
    f.padded_out = f.lanes == Lanes::channels ? ceil_div(p.out, k.vector) * k.vector : p.out;
    pack_weights(f);

    const double products =
        static_cast<double>(p.pixels) * static_cast<double>(f.steps) * static_cast<double>(p.groups * p.out);
    const int threads = conv_threads(products);
    const int64_t groups = f.lanes == Lanes::groups ? 1 : p.groups;
    const int64_t wanted = threads > 1 ? 4 * threads : 1;
    const int64_t channels = f.blocks.empty() ? 1 : f.blocks[0].count * copies;
    choose_conv_tiles(p, channels, f.to_result ? 0 : p.out * copies, conv_tile_bytes(), ceil_div(wanted, groups));
    const int64_t tiles = tile_count(p);
    f.ranges = 1;
    f.range = p.out;
    if (tiles * groups < wanted && f.lanes == Lanes::channels) {
        const int64_t panels = ceil_div(p.out, k.panel);
        f.range = ceil_div(panels, ceil_div(wanted, most(1, tiles * groups))) * k.panel;
        f.ranges = ceil_div(p.out, f.range);
    }
    f.tasks = tiles * groups * f.ranges;
    parallel_for(f.tasks, threads, &run_task, &f);
}

}  // namespace cenote
