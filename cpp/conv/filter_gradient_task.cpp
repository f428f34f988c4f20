// One partial sum of a filter gradient.

#include <cstring>

#include "conv/filter_gradient.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

// Rounding errors are smallest if there are about as many chains as products per chain: longer chains for many pixels.
constexpr int64_t kManyPixels = 8192, kLongChain = 256, kShortChain = 64;

struct FilterTask {
    const FilterGradient& f;
    const ConvPlan& p;
    const Block& block;
    int64_t group, begin, end;  // channels of y
    char* sums = nullptr;       // of this part
    bool first = true;          // nothing has been summed yet
    Tile tile{};
    SourceBox box{};
    int64_t pixels = 0;
    std::vector<Run> rows{};                      // rows of pixels along the last axis: a and b as in ChannelsCall
    std::vector<std::vector<int64_t>> windows{};  // the first window of each row
    std::vector<int64_t> from{}, to{};
    std::vector<size_t> phase{};  // there is only one

    // body(offset in the box, offset in y in bytes, windows) for each row of pixels along the last axis
    template <class Body>
    void for_rows(Body body) {
        const int axes = static_cast<int>(p.axes.size());
        std::vector<int64_t> at(axes);
        for (int q = 0; q < axes; ++q) at[q] = tile.u[q].begin;
        for (;;) {
            int64_t in = 0, out = 0;
            for (int q = 0; q < axes; ++q) {
                if (!box.sides.empty()) in += (at[q] - tile.u[q].begin) * box.sides[q].u_step;
                out += at[q] * p.axes[q].out_stride;
            }
            body(in, out, at);
            int q = axes - 2;
            while (q >= 0 && ++at[q] == tile.u[q].end) {
                at[q] = tile.u[q].begin;
                --q;
            }
            if (q < 0) return;
        }
    }
    int64_t columns() const { return tile.u.back().end - tile.u.back().begin; }

    // Packs y of the tile, channels first … first+count-1, as [pixel][width].
    void pack_y(char* to_memory, int64_t first, int64_t count, int64_t width) {
        const char* y = p.result + first / p.parts * p.result_channel;
        int64_t pixel = 0;
        for_rows([&](int64_t, int64_t out, const auto&) {
            load_channels(p, y + out, p.axes.back().out_stride, p.result_channel, to_memory + pixel * width * p.width,
                          width, 1, columns(), count);
            pixel += columns();
        });
    }

    // The rows of pixels for which a tap is not on padding, and the tap's offset in the box.
    struct TapRuns {
        int64_t index, at;
        std::vector<Run> runs;
    };
    std::vector<TapRuns> real_runs() const;
    void by_channels(char* packed);
    void by_taps(char* packed);
    void by_groups(char* packed);
    void by_groups_in_place();
    void by_planes(char* memory);
};

std::vector<FilterTask::TapRuns> FilterTask::real_runs() const {
    const size_t axes = p.axes.size();
    std::vector<TapRuns> all;
    std::vector<int64_t> at(axes);
    for (size_t q = 0; q < axes; ++q) at[q] = block.chunk[q].begin;
    for (int64_t index = 0;; ++index) {
        TapRuns tap{index, 0, {}};
        std::vector<Span> real(axes);
        for (size_t q = 0; q < axes; ++q) {
            const ConvPlanAxis& a = p.axes[q];
            const int64_t offset = a.phases[0].taps[at[q]].offset;
            real[q] = {ceil_div(-offset, a.step), floor_div(a.n - 1 - offset, a.step) + 1};
            tap.at += tap_at(box, static_cast<int>(q), offset);
        }
        for (size_t r = 0; r < rows.size(); ++r) {
            bool inside = true;
            for (size_t q = 0; q + 1 < axes; ++q)
                inside &= windows[r][q] >= real[q].begin && windows[r][q] < real[q].end;
            const int64_t first = windows[r][axes - 1];
            const int64_t begin = max(0, real[axes - 1].begin - first);
            const int64_t length = min(rows[r].length, real[axes - 1].end - first) - begin;
            if (inside && length > 0)
                tap.runs.push_back({rows[r].a + begin * box.sides.back().u_step, rows[r].b + begin, length});
        }
        all.push_back(std::move(tap));
        size_t q = axes;
        while (q-- > 0 && ++at[q] == block.chunk[q].end) at[q] = block.chunk[q].begin;
        if (q == static_cast<size_t>(-1)) return all;
    }
}

void FilterTask::by_channels(char* packed) {
    const ConvKernels& k = *p.kernels;
    from.clear();
    to.clear();
    std::vector<Run> taps;
    build_runs(p, block, box, phase, RunShape::channels, 0, taps);
    std::vector<int64_t> w_at;
    for_taps(p, block, [&](int64_t, int64_t offset) { w_at.push_back(offset + block.first * p.w_reduce); });
    const auto sum_at = [&](int64_t i) {
        if (!f.to_result) return (block.start + i) * f.padded_out;
        return (w_at[i / block.count] + i % block.count * p.w_reduce) / p.width;
    };
    for (const Run& run : taps) {
        for (int64_t i = run.b; i < run.b + run.length; ++i) {
            from.push_back(run.a + i - run.b);
            to.push_back(sum_at(i));
        }
    }
    // On small planes much of a filter is on padding: each tap separately, over the pixels for which it is not on
    // padding.
    std::vector<TapRuns> each;
    if (p.pixels <= kFewPixels && block.count >= kLeastRows && p.groups == 1) {
        each = real_runs();
        from.clear();
        to.clear();
        for (const TapRuns& tap : each)
            for (int64_t i = 0; i < block.count; ++i) {
                from.push_back(tap.at + i);
                to.push_back(sum_at(tap.index * block.count + i));
            }
    }
    ChannelsCall call{};
    call.a = box.data;
    call.a_at = from.data();
    call.out_at = to.data();
    call.rows = static_cast<int64_t>(from.size());
    call.runs = rows.data();
    call.run_count = static_cast<int64_t>(rows.size());
    call.step = box.sides.back().u_step;
    call.add = !first;
    call.chain = p.pixels <= kFewPixels ? kShortChain : p.pixels < kManyPixels ? 0 : kLongChain;
    call.b = packed;
    for (int64_t n = begin; n < end; n += k.panel) {
        const int64_t lanes = min(k.panel, end - n), width = ceil_div(lanes, k.vector) * k.vector;
        if (width > lanes) std::memset(packed, 0, static_cast<size_t>(pixels * width * p.width));
        pack_y(packed, group * p.out + n, lanes, width);
        if (f.to_result)
            call.out = const_cast<char*>(p.w) + group * p.w_group + n * p.w_out;
        else
            call.out = sums + (group * f.steps * f.padded_out + n) * p.width;
        call.lanes = static_cast<int>(f.to_result ? lanes : width);
        if (each.empty()) k.channels(call);
        for (const TapRuns& tap : each) {
            call.a_at = from.data() + tap.index * block.count;
            call.out_at = to.data() + tap.index * block.count;
            call.rows = block.count;
            call.runs = tap.runs.data();
            call.run_count = static_cast<int64_t>(tap.runs.size());
            k.channels(call);
        }
    }
}

void FilterTask::by_taps(char* packed) {
    const ConvKernels& k = *p.kernels;
    from.clear();
    to.clear();
    std::vector<Run> taps, pixel_rows;
    build_runs(p, block, box, phase, RunShape::channels, 0, taps);
    for (const Run& row : rows) pixel_rows.push_back({row.b, row.a, row.length});
    PixelsCall call{};
    call.x = box.data;
    call.x_at = from.data();
    call.out_stride = f.steps;
    call.runs = pixel_rows.data();
    call.run_count = static_cast<int64_t>(pixel_rows.size());
    call.step = box.sides.back().u_step;
    call.add = !first;
    call.a = packed;
    const int64_t unit = p.parts, most_m = k.most_m / unit * unit;
    for (int64_t n = begin; n < end;) {
        const int64_t m = ceil_div(end - n, ceil_div(end - n, most_m) * unit) * unit;
        pack_y(packed, group * p.out + n, m, m);
        call.m = static_cast<int>(m);
        call.out = sums + (group * p.out + n) * f.steps * p.width;
        // Runs of the same length are processed together.
        for (size_t t = 0; t < taps.size();) {
            from.clear();
            to.clear();
            call.lanes = taps[t].length;
            for (; t < taps.size() && taps[t].length == call.lanes; ++t) {
                from.push_back(taps[t].a);
                to.push_back(block.start + taps[t].b);
            }
            call.x_at = from.data();
            call.out_at = to.data();
            call.rows = static_cast<int64_t>(from.size());
            k.pixels(call);
        }
        n += m;
    }
}

void FilterTask::by_groups(char* packed) {
    const int64_t all = p.groups * p.out;
    std::vector<Run> taps;
    build_runs(p, block, box, phase, RunShape::lanes, all, taps);
    LanesFilterCall call{};
    call.rows = 1;
    call.pixels = columns();
    call.lanes = all;
    call.x_step = box.sides.back().u_step;
    call.runs = taps.data();
    call.run_count = static_cast<int64_t>(taps.size());
    call.w = sums + block.start * all * p.width;
    const bool direct = reads_results(p);
    call.y_step = direct ? p.axes.back().out_stride / p.width : all;
    if (!direct) pack_y(packed, 0, all, all);
    int64_t pixel = 0;
    for_rows([&](int64_t in, int64_t out, const auto&) {
        call.x = box.data + in * p.width;
        call.y = direct ? p.result + out : packed + pixel * all * p.width;
        p.kernels->lanes_filter(call);
        pixel += columns();
    });
}

// The same without a box: taps on padding are skipped.
void FilterTask::by_groups_in_place() {
    const int last = static_cast<int>(p.axes.size()) - 1;
    const ConvPlanAxis& inner = p.axes[last];
    const int64_t all = p.groups * p.out;
    LanesFilterCall call{};
    call.x = p.source;
    call.w = sums;
    call.lanes = all;
    call.x_step = inner.step * inner.stride / p.width;
    call.y_step = inner.out_stride / p.width;
    const Span columns = tile.u[last];
    const Span interior = interior_windows(inner, 0, columns);
    // Rows without taps on padding are processed together.
    Span rows{0, 0};
    if (last > 0) {
        rows = interior_windows(p.axes[last - 1], 0, tile.u[last - 1]);
        call.x_row = p.axes[last - 1].step * p.axes[last - 1].stride / p.width;
        call.y_row = p.axes[last - 1].out_stride / p.width;
    }
    std::vector<Run> outer, taps;
    for_rows([&](int64_t, int64_t out, const std::vector<int64_t>& at) {
        call.rows = 1;
        if (last > 0 && at[last - 1] >= rows.begin && at[last - 1] < rows.end) {
            if (at[last - 1] > rows.begin) return;
            call.rows = rows.end - rows.begin;
        }
        real_outer_taps(p, phase, at, outer);
        for (int64_t begin = columns.begin; begin < columns.end;) {
            const int64_t end = begin == interior.begin ? interior.end : begin + 1;
            real_taps(p, phase, outer, begin, all, taps);
            call.y = p.result + out + (begin - columns.begin) * inner.out_stride;
            call.pixels = end - begin;
            call.runs = taps.data();
            call.run_count = static_cast<int64_t>(taps.size());
            p.kernels->lanes_filter(call);
            begin = end;
        }
    });
}

// One channel after the other, whose elements are copied to the L1 cache.
void FilterTask::by_planes(char* memory) {
    const int last = static_cast<int>(p.axes.size()) - 1;
    std::vector<Run> taps;
    build_runs(p, block, box, phase, RunShape::lanes, p.groups, taps);
    PlanesFilterCall call{};
    call.rows = 1;
    call.columns = columns();
    call.runs = taps.data();
    call.run_count = static_cast<int64_t>(taps.size());
    if (last > 0) {
        call.rows = tile.u[last - 1].end - tile.u[last - 1].begin;
        call.x_row = box.sides[last - 1].u_step;
        call.y_row = p.axes[last - 1].out_stride / p.width;
    }
    for (int64_t g = 0; g < p.groups; ++g) {
        fill_box(p, box, g, 0, 1, Layout::planar, memory);
        call.w = sums + (block.start * p.groups + g) * p.width;
        for_rows([&](int64_t in, int64_t out, const std::vector<int64_t>& at) {
            if (last > 0 && at[last - 1] > tile.u[last - 1].begin) return;  // one call for all rows
            call.x = box.data + in * p.width;
            call.y = p.result + out + g * p.result_channel;
            p.kernels->planes_filter(call);
        });
    }
}

}  // namespace

bool reads_results(const ConvPlan& p) {
    bool direct =
        p.same && p.result_channel == p.part_bytes && reinterpret_cast<uintptr_t>(p.result) % p.part_bytes == 0;
    for (const ConvPlanAxis& a : p.axes) direct &= a.out_stride % p.width == 0;
    return direct;
}

void run_filter_task(const void* context, int64_t index, Arena* arena) {
    const auto& f = *static_cast<const FilterGradient*>(context);
    const ConvPlan& p = f.plan;
    const auto blocks = static_cast<int64_t>(f.blocks.size());
    const bool planes = f.lanes == SumLanes::pixels, depthwise = f.lanes == SumLanes::groups || planes;
    const int64_t groups = depthwise ? 1 : p.groups;
    const int64_t range = index % f.ranges, block = index / f.ranges % blocks;
    const int64_t group = index / f.ranges / blocks % groups, slice = index / f.ranges / blocks / groups;
    const Block& b = f.blocks[block];
    if (b.steps == 0) return;
    const int64_t lanes = depthwise ? p.groups * p.out : 1;
    const Layout layout = planes ? Layout::planar : depthwise ? Layout::expanded : Layout::pixel_major;
    FilterTask task{f, p, b, group, range * f.range, min((range + 1) * f.range, p.out)};
    task.sums = f.memory.get() + slice * f.sums * p.width;
    task.phase.assign(p.axes.size(), 0);
    char *memory = nullptr, *packed = nullptr;
    int64_t space = -1, packed_space = -1;
    for (int64_t t = f.tiles * slice / f.slices; t < f.tiles * (slice + 1) / f.slices; ++t) {
        checkpoint();
        task.tile = tile_at(p, t);
        task.tile.chunk = b.chunk;
        if (f.in_place) {
            task.by_groups_in_place();
            continue;
        }
        // Lanes of taps may be read beyond the last one.
        const bool may_be_direct = f.lanes == SumLanes::channels;
        task.box = make_box(p, task.tile, b.count, lanes, layout, may_be_direct);
        if (!task.box.direct && task.box.elements > space) {
            space = task.box.elements;
            memory = static_cast<char*>(arena_take(arena, (space + p.kernels->slack) * p.width));
        }
        if (planes) {
            task.by_planes(memory);
            continue;
        }
        fill_box(p, task.box, group, b.first, b.count, layout, memory);
        task.pixels = 0;
        task.rows.clear();
        task.windows.clear();
        task.for_rows([&](int64_t in, int64_t, const auto& at) {
            task.windows.push_back(at);
            task.rows.push_back({in, task.pixels, task.columns()});
            task.pixels += task.columns();
        });
        const int64_t wide = depthwise ? p.groups * p.out : p.kernels->panel;
        if (task.pixels * wide > packed_space) {
            packed_space = task.pixels * wide;
            packed = static_cast<char*>(arena_take(arena, packed_space * p.width));
        }
        if (depthwise)
            task.by_groups(packed);
        else if (f.lanes == SumLanes::channels)
            task.by_channels(packed);
        else
            task.by_taps(packed);
        task.first = false;
    }
}

}  // namespace cenote
