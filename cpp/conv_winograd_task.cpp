// One block of Winograd's tiles: points of the cells, 16 matrix products, results.

#include "conv_winograd.hpp"

namespace cenote {

namespace {

struct Task {
    const Winograd& f;
    const Plan& p;
    Arena* arena;
    Tile tile;
    Span out;
    std::vector<int64_t> rows, columns;  // first results of tiles, from the first one of the block on
    char *cells = nullptr, *results = nullptr;
    int64_t axes = static_cast<int64_t>(p.axes.size());
    int64_t tiles = static_cast<int64_t>(rows.size() * columns.size());

    // The tile that a box is laid for: all cells of all pieces with one tap of the other axes.
    Tile seen(const Piece& piece) const {
        Tile all = tile;
        for (int64_t q = 0; q < axes - 2; ++q) all.chunk[q] = {piece.outer[q], piece.outer[q] + 1};
        for (int64_t q = axes - 2; q < axes; ++q) {
            const PlanAxis& a = p.axes[q];
            const int64_t last = q == axes - 2 ? rows.back() : columns.back();
            all.u[q].end = all.u[q].begin + last + a.d + (3 * pieces_of(a.k) - a.k) * a.d + 1;
        }
        return all;
    }

    // body(first result, results to the next one, tiles) for tiles of a row that are as far apart as the first two.
    template <class Body>
    void for_columns(Body body) const {
        const auto all = static_cast<int64_t>(columns.size());
        for (int64_t i = 0; i < all;) {
            const int64_t step = i + 1 < all ? columns[i + 1] - columns[i] : 1;
            int64_t end = i + 1;
            while (end < all && columns[end] - columns[end - 1] == step) ++end;
            body(columns[i], step, end - i);
            i = end;
        }
    }

    // Points of cells.
    void bring_in(const PieceBlock& b, char* memory) {
        const int64_t count = b.count();
        Box box;
        for (int64_t i = b.pieces.begin; i < b.pieces.end; ++i) {
            const Piece& piece = f.pieces[i];
            if (i == b.pieces.begin || piece.outer != f.pieces[i - 1].outer) {
                box = lay_box(p, seen(piece), count, 1, Layout::pixel_major, true);
                fill_box(p, box, 0, b.channels.begin, count, Layout::pixel_major, memory);
            }
            const int64_t row = box.sides[axes - 2].u_step, column = box.sides[axes - 1].u_step;
            const int64_t down = p.axes[axes - 2].d * row, right = p.axes[axes - 1].d * column;
            const char* const first = box.data + (piece.row * down + piece.column * right) * p.width;
            char* to = cells + (i - b.pieces.begin) * count * p.width;
            WinogradCells call{};
            call.row = down;
            call.column = right;
            call.point = tiles * b.steps;
            call.lanes = count;
            call.next_points = b.steps;
            for (const int64_t u : rows) {
                for_columns([&](int64_t v, int64_t step, int64_t some) {
                    call.x = first + (u * row + v * column) * p.width;
                    call.points = to;
                    call.tiles = some;
                    call.next = step * column;
                    p.kernels->winograd_cells(call);
                    to += some * b.steps * p.width;
                });
            }
        }
    }

    void multiply(const PieceBlock& b, bool add) {
        const int64_t wide = out.end - out.begin;
        std::vector<int64_t> from(tiles), to(tiles);
        for (int64_t t = 0; t < tiles; ++t) {
            from[t] = t * b.steps;
            to[t] = t * wide;
        }
        const Run run{0, 0, b.steps};
        ChannelsCall call{};
        call.a_at = from.data();
        call.out_at = to.data();
        call.rows = tiles;
        call.runs = &run;
        call.run_count = 1;
        call.step = 1;
        call.add = add;
        for (int64_t point = 0; point < kPoints; ++point) {
            call.a = cells + point * tiles * b.steps * p.width;
            for (int64_t n = out.begin; n < out.end; n += p.kernels->panel) {
                call.lanes = static_cast<int>(least(p.kernels->panel, out.end - n));
                call.b = f.weights.get() + points_at(f, b, point, n) * p.width;
                call.out = results + (point * tiles * wide + n - out.begin) * p.width;
                p.kernels->channels(call);
            }
        }
    }

    // Results of all tiles, where they belong or first to `scratch`; false if one of them is not finite.
    bool give_out(char* scratch) {
        const int64_t wide = out.end - out.begin;
        const PlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
        const int64_t high = tile.u[axes - 2].end - tile.u[axes - 2].begin;
        const int64_t broad = tile.u[axes - 1].end - tile.u[axes - 1].begin;
        const bool direct = f.direct.to_result;
        char* base = p.result + out.begin * p.result_channel;
        for (int64_t q = 0; q < axes; ++q)
            base += (tile.u[q].begin + p.axes[q].phases[0].out_base) * p.axes[q].out_stride;
        const int64_t row = direct ? outer.out_stride / p.width : broad * wide;
        const int64_t column = direct ? inner.out_stride / p.width : wide;
        WinogradResults call{};
        call.point = tiles * wide;
        call.row = outer.d * row;
        call.column = inner.d * column;
        call.lanes = wide;
        call.init = f.direct.init.get() + out.begin * p.width;
        call.points = results;
        char* const to = direct ? base : scratch;
        bool finite = true;
        call.next_points = wide;
        for (const int64_t u : rows) {
            call.rows = u + outer.d < high ? 2 : 1;
            for_columns([&](int64_t v, int64_t step, int64_t some) {
                // Those at the end may have one column only.
                const int64_t whole = most(0, least(some, ceil_div(broad - inner.d - v, step)));
                for (const Span part : {Span{0, whole}, Span{whole, some}}) {
                    call.tiles = part.end - part.begin;
                    if (call.tiles == 0) continue;
                    call.columns = part.begin < whole ? 2 : 1;
                    call.next = step * column;
                    call.out = to + (u * row + (v + part.begin * step) * column) * p.width;
                    finite &= p.kernels->winograd_results(call);
                    call.points = static_cast<const char*>(call.points) + call.tiles * wide * p.width;
                }
            });
        }
        // Whole rows, one behind the other, are one long row.
        const int64_t together = outer.out_stride == broad * inner.out_stride ? high : 1;
        for (int64_t i = 0; i < (direct ? 0 : high); i += together)
            store_channels(p, base + i * outer.out_stride, inner.out_stride, p.result_channel,
                           scratch + i * row * p.width, wide, 1, broad * together, wide);
        return finite;
    }
};

}  // namespace

void run_winograd_task(const void* context, int64_t index, Arena* arena) {
    const auto& f = *static_cast<const Winograd*>(context);
    const Plan& p = f.p;
    const int axes = static_cast<int>(p.axes.size());
    const int64_t range = index % f.ranges, column = index / f.ranges % f.columns.blocks;
    const int64_t row = index / f.ranges / f.columns.blocks % f.rows.blocks;
    int64_t outer = index / f.ranges / f.columns.blocks / f.rows.blocks;
    Task task{f,
              p,
              arena,
              {},
              {range * f.range, least((range + 1) * f.range, p.out)},
              f.rows.starts(row),
              f.columns.starts(column)};
    task.tile.u.resize(axes);
    for (const PlanAxis& a : p.axes) task.tile.chunk.push_back({0, a.k});
    for (int q = axes - 3; q >= 0; --q) {
        const int64_t size = p.axes[q].u.end - p.axes[q].u.begin, at = p.axes[q].u.begin + outer % size;
        task.tile.u[q] = {at, at + 1};
        outer /= size;
    }
    const auto place = [&](int q, Span results) {
        const Span u = p.axes[q].u;
        task.tile.u[q] = {u.begin + results.begin, least(u.begin + results.end, u.end)};
    };
    place(axes - 2, f.rows.results(row));
    place(axes - 1, f.columns.results(column));

    const int64_t wide = task.out.end - task.out.begin;
    int64_t steps = 0, cells = 0;
    for (const PieceBlock& b : f.blocks) {
        steps = most(steps, b.steps);
        const Tile seen = task.seen(f.pieces[b.pieces.begin]);
        cells = most(cells, lay_box(p, seen, b.count(), 1, Layout::pixel_major, false).elements);
    }
    char* const memory = static_cast<char*>(arena_take(arena, (cells + p.kernels->slack) * p.width));
    task.cells = static_cast<char*>(arena_take(arena, kPoints * task.tiles * steps * p.width));
    task.results = static_cast<char*>(arena_take(arena, kPoints * task.tiles * wide * p.width));
    for (size_t i = 0; i < f.blocks.size(); ++i) {
        task.bring_in(f.blocks[i], memory);
        task.multiply(f.blocks[i], i > 0);
    }
    char* scratch = nullptr;
    if (!f.direct.to_result) {
        int64_t pixels = 1;
        for (const Span& u : task.tile.u) pixels *= u.end - u.begin;
        scratch = static_cast<char*>(arena_take(arena, pixels * wide * p.width));
    }
    if (!task.give_out(scratch)) ForwardTask{f.direct, p, arena, task.tile, {0, 1}, task.out}.run();
}

}  // namespace cenote
