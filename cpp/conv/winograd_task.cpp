// One block of Winograd tiles: input transform, a matrix product per point, output transform.

#include "conv/winograd.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

// A result of F(2×2, 3×3) is a sum of 9 points and has all their errors: where a direct sum would be a few chains,
// those of its points are shorter. With more steps, the blocks of the filter limit the chains anyway.
int64_t longest_chain(const Winograd& f, const PieceBlock& b) {
    return f.rows.m == 2 && b.steps <= 64 ? max(16, b.steps / 2) : 0;
}

// The distance between points, in elements: an odd number of cache lines, because all points of a tile are written and
// read together, and addresses a power of two point_distance map to the same cache sets.
int64_t point_distance(const ConvPlan& p, int64_t elements) {
    const int64_t line = 64 / p.width;
    return (ceil_div(elements, line) | 1) * line;
}

struct WinogradTask {
    const Winograd& f;
    const ConvPlan& p;
    Arena* arena;
    std::vector<Tile> planes;  // the same block of tiles in each plane
    Span out;
    std::vector<int64_t> rows, columns;              // first windows of tiles, relative to the block's first
    std::vector<int64_t> input_rows, input_columns;  // the same for input tiles
    char *elements = nullptr, *results = nullptr;
    size_t axes = p.axes.size();
    int64_t plane_tiles = static_cast<int64_t>(rows.size() * columns.size());
    int64_t plane_elements = static_cast<int64_t>(input_rows.size() * input_columns.size());
    int64_t tiles = plane_tiles * static_cast<int64_t>(planes.size());
    int64_t element_tiles = plane_elements * static_cast<int64_t>(planes.size());
    int64_t range = out.end - out.begin, wide = range * f.phases();

    // The tile whose box covers the input of all parts, for one tap of the other axes.
    Tile input_tile(const Tile& tile, const std::vector<int64_t>& piece) const {
        Tile all = tile;
        for (size_t q = 0; q < axes - 2; ++q) all.chunk[q] = {piece[q], piece[q] + 1};
        for (size_t q = axes - 2; q < axes; ++q) {
            const TileAxis& t = q == axes - 2 ? f.rows : f.columns;
            const int64_t last = q == axes - 2 ? input_rows.back() : input_columns.back();
            const SourceBox::Side side = make_side(p.axes[q], {0, 1}, tile.chunk[q]);
            all.u[q].end = all.u[q].begin + last + (t.points() - 1) * t.d + 2 - side.elements;
        }
        return all;
    }

    // The input transform.
    void transform_input(const PieceBlock& b, char* memory) {
        const int64_t count = b.count(), per_tile = b.per_tile();
        for (size_t plane = 0; plane < planes.size(); ++plane)
            for (int64_t i = b.pieces.begin; i < b.pieces.end; ++i)
                transform_piece(b, planes[plane], i, memory,
                                elements + (static_cast<int64_t>(plane) * plane_elements * per_tile +
                                            (i - b.pieces.begin) * count) *
                                               p.width);
    }
    void transform_piece(const PieceBlock& b, const Tile& tile, int64_t piece, char* memory, char* to) {
        const int64_t count = b.count(), per_tile = b.per_tile();
        const auto across = static_cast<int64_t>(input_columns.size());
        SourceBox box = make_box(p, input_tile(tile, f.pieces[piece]), count, 1, Layout::pixel_major, true);
        fill_box(p, box, 0, b.channels.begin, count, Layout::pixel_major, memory);
        const int64_t row = box.sides[axes - 2].u_step, column = box.sides[axes - 1].u_step;
        WinogradInput call{};
        call.row = f.rows.d * row;
        call.column = f.columns.d * column;
        call.point = point_distance(p, element_tiles * per_tile);
        call.lanes = count;
        call.next_points = per_tile;
        call.line = f.rows.m == 1;
        // Tiles of a group are one pixel point_distance; groups of one tile are processed in sequence.
        call.tiles = f.columns.d == 1 ? across : f.columns.d;
        call.next = (f.columns.d == 1 ? f.columns.m : 1) * column;
        for (const int64_t u : input_rows) {
            for (int64_t v = 0; v < across; v += call.tiles) {
                call.x = box.data + (u * row + input_columns[v] * column) * p.width;
                call.points = to;
                p.kernels->winograd_input(call);
                to += call.tiles * per_tile * p.width;
            }
        }
    }

    // The parts of a phase that have a nonzero point, as runs.
    void build_runs(const PieceBlock& b, int64_t down, int64_t right, int64_t point, std::vector<Run>& runs) const {
        const int64_t per_tile = b.per_tile(), points = f.columns.points();
        runs.clear();
        for (int64_t i = 0; i < f.rows.parts; ++i) {
            if (!f.rows.can_be_nonzero(down * f.rows.parts + i, point / points)) continue;
            for (int64_t j = 0; j < f.columns.parts; ++j) {
                if (!f.columns.can_be_nonzero(right * f.columns.parts + j, point % points)) continue;
                const int64_t at = i * f.rows.d * static_cast<int64_t>(input_columns.size()) + j * f.columns.d;
                runs.push_back({at * per_tile, (i * f.columns.parts + j) * per_tile, per_tile});
            }
        }
    }

    void multiply(const PieceBlock& b, bool add) {
        std::vector<int64_t> from, to, across;
        for (const int64_t v : columns) across.push_back(f.columns.input_index(v) * b.per_tile());
        for (int64_t element = 0; element < element_tiles; element += plane_elements) {
            for (const int64_t u : rows) {
                const int64_t row = element + f.rows.input_index(u) * static_cast<int64_t>(input_columns.size());
                for (const int64_t column : across) {
                    from.push_back(row * b.per_tile() + column);
                    to.push_back(static_cast<int64_t>(to.size()) * wide);
                }
            }
        }
        std::vector<Run> runs;
        ChannelsCall call{};
        call.a_at = from.data();
        call.out_at = to.data();
        call.rows = tiles;
        call.step = 1;
        call.add = add;
        call.chain = longest_chain(f, b);
        for (int64_t point = 0; point < f.points(); ++point) {
            call.a = elements + point * point_distance(p, element_tiles * b.per_tile()) * p.width;
            for (int64_t phase = 0; phase < f.phases(); ++phase) {
                build_runs(b, phase / f.columns.phases(), phase % f.columns.phases(), point, runs);
                if (add && runs.empty()) continue;
                call.runs = runs.data();
                call.run_count = static_cast<int64_t>(runs.size());
                for (int64_t n = out.begin; n < out.end; n += p.kernels->panel) {
                    call.lanes = static_cast<int>(min(p.kernels->panel, out.end - n));
                    call.b = f.weights.get() + points_at(f, b, point, phase, n) * p.width;
                    call.out =
                        results + (point * point_distance(p, tiles * wide) + phase * range + n - out.begin) * p.width;
                    p.kernels->channels(call);
                }
            }
        }
    }

    // Those of the m windows of a tile, d point_distance from `first` on, that are in `all`.
    static Span stored(const TileAxis& t, int64_t first, Span all) {
        const int64_t begin = min(t.m, max(0, ceil_div(all.begin - first, t.d)));
        return {begin, max(begin, min(t.m, ceil_div(all.end - first, t.d)))};
    }
    Span windows_of(const Tile& tile, size_t axis, size_t phase) const {
        const Span all = p.axes[axis].phases[phase].u, here = tile.u[axis];
        return {max(all.begin, here.begin), min(all.end, here.end)};
    }

    // The output transform of the tiles of a plane, to the result or by way of `scratch`; false if any is not finite.
    bool transform_output(size_t plane, char* scratch) {
        const Tile& tile = planes[plane];
        const ConvPlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
        const Span high = results_of(p, tile, axes - 2), broad = results_of(p, tile, axes - 1);
        const int64_t across = broad.end - broad.begin;
        const bool direct = f.direct.to_result;
        char* base = p.result + out.begin * p.result_channel;
        for (size_t q = 0; q < axes; ++q) base += results_of(p, tile, q).begin * p.axes[q].out_stride;
        const int64_t row = direct ? outer.out_stride / p.width : across * range;
        const int64_t column = direct ? inner.out_stride / p.width : range;
        WinogradOutput call{};
        call.point = point_distance(p, tiles * wide);
        call.row = outer.d * outer.out_step * row;
        call.column = inner.d * inner.out_step * column;
        call.lanes = range;
        call.init = f.direct.init.get() + out.begin * p.width;
        call.next_points = wide;
        call.m = static_cast<int>(f.columns.m);
        call.line = f.rows.m == 1;
        char* const to = direct ? base : scratch;
        bool finite = true;
        const auto count = static_cast<int64_t>(columns.size());
        for (int64_t phase = 0; phase < f.phases(); ++phase) {
            const auto down = static_cast<size_t>(phase / f.columns.phases());
            const auto right = static_cast<size_t>(phase % f.columns.phases());
            const Span vertical = windows_of(tile, axes - 2, down), level = windows_of(tile, axes - 1, right);
            const char* points = results + (static_cast<int64_t>(plane) * plane_tiles * wide + phase * range) * p.width;
            std::vector<Span> some;
            for (const int64_t v : columns) some.push_back(stored(f.columns, tile.u[axes - 1].begin + v, level));
            for (const int64_t u : rows) {
                const int64_t at = tile.u[axes - 2].begin + u;
                const int64_t to_row = (at * outer.out_step + outer.phases[down].out_base - high.begin) * row;
                call.rows = stored(f.rows, at, vertical);
                // Tiles at equal distances of which the same columns are stored.
                for (int64_t i = 0, end; i < count; i = end) {
                    call.columns = some[i];
                    const int64_t step = i + 1 < count ? columns[i + 1] - columns[i] : 1;
                    for (end = i + 1; end < count && columns[end] - columns[end - 1] == step; ++end)
                        if (some[end].begin != some[i].begin || some[end].end != some[i].end) break;
                    const int64_t first = tile.u[axes - 1].begin + columns[i];
                    const int64_t to_column = first * inner.out_step + inner.phases[right].out_base - broad.begin;
                    call.tiles = end - i;
                    call.next = step * inner.out_step * column;
                    call.out = to + (to_row + to_column * column) * p.width;
                    call.points = points;
                    points += call.tiles * wide * p.width;
                    if (call.rows.begin < call.rows.end && call.columns.begin < call.columns.end)
                        finite &= p.kernels->winograd_output(call);
                }
            }
        }
        // Contiguous rows are one long row.
        const int64_t all = high.end - high.begin, together = outer.out_stride == across * inner.out_stride ? all : 1;
        for (int64_t i = 0; i < (direct ? 0 : all); i += together)
            store_channels(p, base + i * outer.out_stride, inner.out_stride, p.result_channel,
                           scratch + i * row * p.width, range, 1, across * together, range);
        return finite;
    }
};

}  // namespace

void run_winograd_task(const void* context, int64_t index, Arena* arena) {
    const auto& f = *static_cast<const Winograd*>(context);
    const ConvPlan& p = f.p;
    const int axes = static_cast<int>(p.axes.size());
    const int64_t range = index % f.ranges, column = index / f.ranges % f.columns.blocks;
    const int64_t row = index / f.ranges / f.columns.blocks % f.rows.blocks;
    const int64_t batch = index / f.ranges / f.columns.blocks / f.rows.blocks;
    Tile tile;
    tile.u.resize(axes);
    for (const ConvPlanAxis& a : p.axes) tile.chunk.push_back({0, a.k});
    const auto set_windows = [&](int q, Span windows) {
        const Span u = p.axes[q].u;
        tile.u[q] = {u.begin + windows.begin, min(u.begin + windows.end, u.end)};
    };
    set_windows(axes - 2, f.rows.windows(row));
    set_windows(axes - 1, f.columns.windows(column));
    std::vector<Tile> planes;
    for (int64_t each = f.outer * batch / f.batches; each < f.outer * (batch + 1) / f.batches; ++each) {
        int64_t outer = each;
        for (int q = axes - 3; q >= 0; --q) {
            const int64_t size = p.axes[q].u.end - p.axes[q].u.begin, at = p.axes[q].u.begin + outer % size;
            tile.u[q] = {at, at + 1};
            outer /= size;
        }
        planes.push_back(tile);
    }
    WinogradTask task{f,
                      p,
                      arena,
                      std::move(planes),
                      {range * f.range, min((range + 1) * f.range, p.out)},
                      f.rows.starts(row),
                      f.columns.starts(column),
                      f.rows.input_starts(row),
                      f.columns.input_starts(column)};

    int64_t per_tile = 0, elements = 0;
    for (const PieceBlock& b : f.blocks) {
        per_tile = max(per_tile, b.per_tile());
        const Tile input_tile = task.input_tile(tile, f.pieces[b.pieces.begin]);
        elements = max(elements, make_box(p, input_tile, b.count(), 1, Layout::pixel_major, false).elements);
    }
    char* const memory = static_cast<char*>(arena_take(arena, (elements + p.kernels->slack) * p.width));
    task.elements =
        static_cast<char*>(arena_take(arena, f.points() * point_distance(p, task.element_tiles * per_tile) * p.width));
    task.results =
        static_cast<char*>(arena_take(arena, f.points() * point_distance(p, task.tiles * task.wide) * p.width));
    for (size_t i = 0; i < f.blocks.size(); ++i) {
        if (i) checkpoint();
        task.transform_input(f.blocks[i], memory);
        task.multiply(f.blocks[i], i > 0);
    }
    char* scratch = nullptr;
    if (!f.direct.to_result) {
        int64_t pixels = task.range;
        for (size_t q = 0; q < p.axes.size(); ++q) {
            const Span all = results_of(p, tile, q);
            pixels *= all.end - all.begin;
        }
        scratch = static_cast<char*>(arena_take(arena, pixels * p.width));
    }
    for (size_t plane = 0; plane < task.planes.size(); ++plane)
        if (!task.transform_output(plane, scratch))
            ForwardTask{f.direct, p, arena, task.planes[plane], {0, 1}, task.out}.run();
}

}  // namespace cenote
