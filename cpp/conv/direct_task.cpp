// One tile of results of a direct convolution: for each block of the reduction, fill the box, then sum.

#include "conv/direct.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kShortRun = 16;
constexpr int64_t kRowsAtATime = 96;

}  // namespace

// The windows of the current phase in this tile; false if there are none.
bool ForwardTask::set_phase(int64_t& pixels) {
    pixels = 1;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        const Span all = p.axes[q].phases[phase[q]].u;
        u[q] = {max(all.begin, tile.u[q].begin), min(all.end, tile.u[q].end)};
        pixels *= max(0, u[q].end - u[q].begin);
    }
    return pixels > 0;
}

// body(pixels of the previous phases, pixels) for each phase.
template <class Body>
void ForwardTask::for_phases(Body body) {
    const size_t axes = p.axes.size();
    phase.assign(axes, 0);
    u.resize(axes);
    int64_t before = 0;
    for (;;) {
        int64_t pixels;
        if (set_phase(pixels)) body(before, pixels);
        before += pixels;
        int q = static_cast<int>(axes) - 1;
        while (q >= 0 && ++phase[q] == p.axes[q].phases.size()) phase[q--] = 0;
        if (q < 0) return;
    }
}

Span results_of(const ConvPlan& p, const Tile& tile, size_t axis) {
    const ConvPlanAxis& a = p.axes[axis];
    Span bases{a.phases[0].out_base, a.phases[0].out_base};
    for (const Phase& each : a.phases) bases = {min(bases.begin, each.out_base), max(bases.end, each.out_base)};
    return {max(0, tile.u[axis].begin * a.out_step + bases.begin),
            min(a.out_n, (tile.u[axis].end - 1) * a.out_step + bases.end + 1)};
}

// The index of window `at` of the current phase among the results of the tile, in memory order.
int64_t ForwardTask::index_in_tile(const std::vector<int64_t>& at) const {
    int64_t index = 0;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        const Span all = results_of(p, tile, q);
        index = index * (all.end - all.begin) + at[q] * p.axes[q].out_step + p.axes[q].phases[phase[q]].out_base -
                all.begin;
    }
    return index;
}

const char* ForwardTask::panels_of(const Block& b, int64_t group) const {
    if (f.pack_late)
        return panels + (group - groups.begin) * (out.end - out.begin + p.kernels->panel) * b.steps * p.width;
    return f.weights.get() + packed_at(f, b, group, out.begin);
}

void ForwardTask::channels_phase(const Block& b, bool first) {
    from.clear();
    to.clear();
    const int64_t columns = this->columns(), range = out.end - out.begin, all = range * (groups.end - groups.begin);
    for_rows([&](int64_t in, int64_t to_bytes, const auto& at) {
        const int64_t step = f.to_result ? column_bytes() / p.width : p.axes.back().out_step * all;
        const int64_t begin = f.to_result ? to_bytes / p.width : index_in_tile(at) * all;
        for (int64_t i = 0; i < columns; ++i) {
            from.push_back(in + i * box.sides.back().u_step);
            to.push_back(begin + i * step);
        }
    });
    ChannelsCall call{};
    call.runs = runs.data();
    call.run_count = static_cast<int64_t>(runs.size());
    call.step = 1;
    call.add = !first;
    const auto rows_here = static_cast<int64_t>(from.size());
    // Contiguous rows come from memory: some rows at a time for all panels, which prefetch the next ones.
    const bool ahead = box.direct && runs.size() == 1 && rows_here > 1;
    const int64_t some = ahead ? kRowsAtATime : rows_here;
    call.shares = static_cast<int>(ceil_div(range, p.kernels->panel));
    for (int64_t row = 0; row < rows_here; row += some) {
        call.a_at = from.data() + row;
        call.out_at = to.data() + row;
        call.rows = min(some, rows_here - row);
        call.ahead = ahead ? (from[1] - from[0]) * some : 0;
        for (int64_t g = groups.begin; g < groups.end; ++g) {
            const int64_t group = g - groups.begin;
            call.share = 0;
            call.a = box.data + group * b.count * p.width;
            const char* packed = panels_of(b, g);
            char* const to_group = f.to_result ? p.result + result_at(g) : scratch + group * range * p.width;
            for (int64_t n = out.begin; n < out.end; ++call.share) {
                const int64_t lanes = panel_at(f, n, out.end);
                call.b = packed + (n - out.begin) * b.steps * p.width;
                call.init = f.init.get() + (g * f.padded_out + n) * p.width;
                call.out = to_group + (n - out.begin) * p.width;
                call.lanes = static_cast<int>(lanes);
                p.kernels->channels(call);
                n += lanes;
            }
        }
    }
}

void ForwardTask::pixels_phase(const Block& b, bool first, int64_t before) {
    from.clear();
    to.clear();
    const int64_t range = out.end - out.begin;
    for_rows([&](int64_t in, int64_t to_bytes, const auto&) {
        from.push_back(in);
        to.push_back(f.to_result ? to_bytes / p.width : before + static_cast<int64_t>(to.size()) * columns());
    });
    PixelsCall call{};
    call.x_at = from.data();
    call.out_at = to.data();
    call.rows = static_cast<int64_t>(from.size());
    call.lanes = columns();
    call.out_stride = f.to_result ? p.result_channel / p.width : rows;
    call.runs = runs.data();
    call.run_count = static_cast<int64_t>(runs.size());
    call.step = b.count > 1 || runs.empty() ? box.channel_step : tap_step(p, b, box, phase);
    call.add = !first;
    call.single = b.count > 1 && b.count < kShortRun;
    if (call.single) {
        std::vector<Run> steps;
        for (const Run& run : runs)
            for (int64_t i = 0; i < run.length; ++i) steps.push_back({run.a + i, run.b + i * call.step, 1});
        runs.swap(steps);
        call.runs = runs.data();
        call.run_count = static_cast<int64_t>(runs.size());
    }
    for (int64_t g = groups.begin; g < groups.end; ++g) {
        const int64_t group = g - groups.begin;
        call.x = box.data + group * b.count * box.channel_step * p.width;
        if (refill) {
            fill_box(p, box, g, b.first, b.count, f.layout, refill);
            call.x = box.data;
        }
        const char* packed = panels_of(b, g);
        char* const to_group = f.to_result ? p.result + result_at(g) : scratch + group * range * rows * p.width;
        for (int64_t n = out.begin; n < out.end;) {
            const int64_t lanes = panel_at(f, n, out.end);
            call.a = packed + (n - out.begin) * b.steps * p.width;
            call.init = f.init.get() + (g * f.padded_out + n) * p.width;
            call.out = to_group + (n - out.begin) * call.out_stride * p.width;
            call.m = static_cast<int>(lanes);
            p.kernels->pixels(call);
            n += lanes;
        }
    }
}

void ForwardTask::groups_phase(const Block& b, bool first, int64_t before) {
    const int64_t all = p.groups * p.out;
    LanesCall call{};
    call.w = f.weights.get() + packed_at(f, b, 0, 0);
    call.init = f.init.get();
    call.pixels = columns();
    call.lanes = all;
    call.x_step = box.sides.back().u_step;
    call.out_step = f.to_result ? column_bytes() / p.width : all;
    call.rows = 1;
    call.runs = runs.data();
    call.run_count = static_cast<int64_t>(runs.size());
    call.add = !first;
    int64_t row = before;
    for_rows([&](int64_t in, int64_t to_bytes, const auto&) {
        call.x = box.data + in * p.width;
        call.out = f.to_result ? p.result + to_bytes : scratch + row * all * p.width;
        p.kernels->lanes(call);
        row += columns();
    });
}

// The same without a box: the source is read in index, and taps on padding are skipped.
void ForwardTask::groups_in_place(int64_t before) {
    const int last = static_cast<int>(p.axes.size()) - 1;
    const ConvPlanAxis& inner = p.axes[last];
    const int64_t all = p.groups * p.out;
    LanesCall call{};
    call.w = f.weights.get();
    call.init = f.init.get();
    call.lanes = all;
    call.x_step = inner.step * inner.stride / p.width;
    call.out_step = f.to_result ? column_bytes() / p.width : all;

    const Span interior = interior_windows(inner, phase[last], u[last]);
    // Rows without taps on padding are processed together.
    Span rows{0, 0};
    if (last > 0) {
        rows = interior_windows(p.axes[last - 1], phase[last - 1], u[last - 1]);
        call.x_row = p.axes[last - 1].step * p.axes[last - 1].stride / p.width;
        call.out_row =
            f.to_result ? p.axes[last - 1].out_step * p.axes[last - 1].out_stride / p.width : columns() * all;
    }
    std::vector<Run> outer;
    int64_t row = before - columns();
    for_rows([&](int64_t, int64_t to_bytes, const std::vector<int64_t>& at) {
        row += columns();
        call.rows = 1;
        if (last > 0 && at[last - 1] >= rows.begin && at[last - 1] < rows.end) {
            if (at[last - 1] > rows.begin) return;
            call.rows = rows.end - rows.begin;
        }
        real_outer_taps(p, phase, at, outer);
        for (int64_t begin = u[last].begin; begin < u[last].end;) {
            const int64_t end = begin == interior.begin ? interior.end : begin + 1;
            real_taps(p, phase, outer, begin, f.lane_pitch, runs);
            const int64_t column = begin - u[last].begin;
            call.x = p.source;
            call.out =
                f.to_result ? p.result + to_bytes + column * column_bytes() : scratch + (row + column) * all * p.width;
            call.pixels = end - begin;
            call.runs = runs.data();
            call.run_count = static_cast<int64_t>(runs.size());
            p.kernels->lanes(call);
            begin = end;
        }
    });
}

void ForwardTask::store_phase(int64_t before) {
    const int64_t columns = this->columns(), range = out.end - out.begin;
    const int64_t all = p.groups * p.out;
    int64_t row = before;
    for_rows([&](int64_t, int64_t to_bytes, const auto&) {
        if (f.lanes == Lanes::pixels) {
            for (int64_t g = groups.begin; g < groups.end; ++g)
                store_channels(p, p.result + result_at(g) + to_bytes, column_bytes(), p.result_channel,
                               scratch + ((g - groups.begin) * range * rows + row) * p.width, 1, rows, columns, range);
        } else {
            store_channels(p, p.result + to_bytes, column_bytes(), p.result_channel, scratch + row * all * p.width, all,
                           1, columns, all);
        }
        row += columns;
    });
}

// Pixels with channels innermost, all phases at once: complete rows of results are transposed, not every second pixel.
void ForwardTask::store_rows() {
    const size_t axes = p.axes.size();
    const int64_t range = out.end - out.begin, all = range * (groups.end - groups.begin);
    std::vector<Span> spans;
    for (size_t q = 0; q < axes; ++q) spans.push_back(results_of(p, tile, q));
    const ConvPlanAxis& inner = p.axes.back();
    int64_t columns = spans.back().end - spans.back().begin;
    size_t looped = axes - 1;  // axes before this are looped over, those after it are one long row
    while (looped > 0 && p.axes[looped - 1].out_stride == columns * inner.out_stride) {
        --looped;
        columns *= spans[looped].end - spans[looped].begin;
    }
    std::vector<int64_t> at;
    for (const Span& span : spans) at.push_back(span.begin);
    for (int64_t row = 0; row < rows; row += columns) {
        char* to = p.result;
        for (size_t q = 0; q < axes; ++q) to += at[q] * p.axes[q].out_stride;
        const char* const from = scratch + row * all * p.width;
        if (range == p.out) {  // groups are contiguous
            store_channels(p, to + result_at(groups.begin), inner.out_stride, p.result_channel, from, all, 1, columns,
                           all);
        } else {
            for (int64_t g = groups.begin; g < groups.end; ++g)
                store_channels(p, to + result_at(g), inner.out_stride, p.result_channel,
                               from + (g - groups.begin) * range * p.width, all, 1, columns, range);
        }
        for (size_t q = looped; q-- > 0 && ++at[q] == spans[q].end;) at[q] = spans[q].begin;
    }
}

void ForwardTask::run() {
    for_phases([&](int64_t, int64_t pixels) { rows += pixels; });
    if (rows == 0) return;
    const bool depthwise = f.lanes == Lanes::groups;
    const int64_t count = groups.end - groups.begin;
    const int64_t lanes = depthwise ? p.groups * p.out : (out.end - out.begin) * count;
    if (!f.to_result) scratch = static_cast<char*>(arena_take(arena, rows * lanes * p.width));
    if (depthwise && f.blocks.size() == 1 && reads_in_place(p)) {
        for_phases([&](int64_t before, int64_t) { groups_in_place(before); });
    } else {
        // Boxes of later blocks are rarely larger than earlier ones.
        char *memory = nullptr, *packed = nullptr;
        int64_t space = -1, packed_space = -1;
        // Planes of groups pass through the L1 cache one by one, if there is a single phase.
        bool one_by_one = f.lanes == Lanes::pixels && f.blocks.size() == 1 && count > 1;
        for (const ConvPlanAxis& a : p.axes) one_by_one &= a.phases.size() == 1;
        if (f.by_taps) list_tap_rows();
        for (size_t i = 0; i < f.blocks.size(); ++i) {
            if (i) checkpoint();
            const Block& b = f.blocks[i];
            tile.chunk = b.chunk;
            if (f.pack_late) {
                const int64_t each = (out.end - out.begin + p.kernels->panel) * b.steps;
                if (each * count > packed_space) {
                    packed_space = each * count;
                    packed = static_cast<char*>(arena_take(arena, packed_space * p.width));
                }
                panels = packed;
                for (int64_t g = 0; g < count; ++g)
                    pack_block(f, b, groups.begin + g, out.begin, out.end, packed + g * each * p.width);
            }
            if (f.by_taps) {
                taps_block(b, i == 0);
                continue;
            }
            const int64_t channels = depthwise || one_by_one ? b.count : b.count * count;
            box = make_box(p, tile, channels, lanes, f.layout, f.layout == Layout::pixel_major);
            if (!box.direct && box.elements > space) {
                space = box.elements;
                memory = static_cast<char*>(arena_take(arena, (space + p.kernels->slack) * p.width));
            }
            if (one_by_one)
                refill = memory;
            else
                fill_box(p, box, groups.begin, b.first, channels, f.layout, memory);
            const RunShape shape = f.lanes == Lanes::channels ? RunShape::channels
                                   : f.lanes == Lanes::pixels ? RunShape::pixels
                                                              : RunShape::lanes;
            for_phases([&](int64_t before, int64_t) {
                build_runs(p, b, box, phase, shape, f.lane_pitch, runs);
                if (runs.empty() && i > 0) return;
                if (f.lanes == Lanes::channels)
                    channels_phase(b, i == 0);
                else if (f.lanes == Lanes::pixels)
                    pixels_phase(b, i == 0, before);
                else
                    groups_phase(b, i == 0, before);
            });
        }
    }
    if (f.to_result) return;
    if (f.lanes == Lanes::channels) return store_rows();
    for_phases([&](int64_t before, int64_t) { store_phase(before); });
}

}  // namespace cenote
