// Winograd's F(2×2, 3×3): filters without stride on many channels, as 16 matrix products.
//
// Larger filters are made of pieces of 3 × 3 taps, the last ones filled up with zeros, and those with more axes of one
// such filter per tap of the other axes: all pieces are summed up as if they were channels. With a dilation d the cells
// and the results of a tile are d apart.
//
// Its sums run over channels and pieces, where the direct ones run over channels and taps: measured against float64 its
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
constexpr int64_t kBlockBytes = 768 * 1024;  // of points of cells and of results
constexpr int64_t kLeastChannels = 32, kLeastPixels = 96, kMostSteps = 128, kMostChannels = 128;

// Taps of the axes before the last two, and the first taps of these.
struct Piece {
    std::vector<int64_t> outer;
    int64_t row, column;
};

// Some pieces of some channels of the source: what is multiplied at a time.
struct PieceBlock {
    Span pieces, channels;
    int64_t start, steps;  // of the whole reduction
    int64_t count() const { return channels.end - channels.begin; }
};

// The tiles of an axis: a tile has two results `d` apart. 2d results next to each other are d tiles.
struct TileAxis {
    int64_t n, d, groups;  // results; groups of 2d of them
    int64_t blocks;        // groups are shared out to so many tasks

    Span results(int64_t block) const {
        return {groups * block / blocks * 2 * d, groups * (block + 1) / blocks * 2 * d};
    }
    // The first results of the tiles of a block, from the block's first one on.
    std::vector<int64_t> starts(int64_t block) const {
        const Span span = results(block);
        std::vector<int64_t> all;
        for (int64_t at = span.begin; at < span.end; at += 2 * d)
            for (int64_t i = at; i < least(at + d, n); ++i) all.push_back(i - span.begin);
        return all;
    }
};

struct Winograd {
    Forward direct;
    const Plan& p = direct.plan;
    std::vector<Piece> pieces;
    std::vector<PieceBlock> blocks;
    int64_t range, ranges;  // channels of the result per task
    int64_t padded_out;
    int64_t outer;  // positions of all axes but the last two
    TileAxis rows, columns;
    Memory weights;
};

// Where the points of a block begin.
int64_t points_at(const Winograd& f, const PieceBlock& b, int64_t point, int64_t first) {
    return (b.start * kPoints + point * b.steps) * f.padded_out + first * b.steps;
}

int64_t pieces_of(int64_t k) { return ceil_div(k, 3); }

constexpr int64_t kFilterChannels = 16;

// The taps of a piece, of some channels of the source, as [channel][tap][lane].
void bring_taps(const Winograd& f, const Piece& piece, int64_t first, int64_t count, char* taps) {
    const Plan& p = f.p;
    const size_t axes = p.axes.size();
    const PlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
    const int64_t rows = least(3, outer.k - piece.row), columns = least(3, inner.k - piece.column);
    const int64_t wide = f.padded_out, part = p.part_bytes;
    if (wide > p.out || rows * columns < 9) std::memset(taps, 0, static_cast<size_t>(9 * count * wide * p.width));
    char* w = const_cast<char*>(p.w) + first * p.w_reduce + piece.row * outer.w_stride + piece.column * inner.w_stride;
    for (size_t q = 0; q + 2 < axes; ++q) w += piece.outer[q] * p.axes[q].w_stride;
    const bool up = inner.w_stride == part && outer.w_stride == 3 * part;
    const bool down = inner.w_stride == -part && outer.w_stride == -3 * part;
    if (rows * columns == 9 && up && p.w_reduce == 9 * part) {  // all of them next to each other
        p.kernels->load({p.part, w, part, p.w_out, taps, wide, 1, 9 * count, p.out});
        return;
    }
    if (rows * columns == 9 && (up || down)) {  // those of a channel
        for (int64_t c = 0; c < count; ++c)
            p.kernels->load({p.part, w + c * p.w_reduce - (up ? 0 : 8 * part), part, p.w_out,
                             taps + (9 * c + (up ? 0 : 8)) * wide * p.width, up ? wide : -wide, 1, 9, p.out});
        return;
    }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            p.kernels->load({p.part, w + i * outer.w_stride + j * inner.w_stride, p.w_reduce, p.w_out,
                             taps + (3 * i + j) * wide * p.width, 9 * wide, 1, count, p.out});
}

// The points of a piece of the filters, of some channels of the source.
void transform_filter(const void* context, int64_t task, Arena* arena) {
    const auto& f = *static_cast<const Winograd*>(context);
    const Plan& p = f.p;
    const int64_t chunks = ceil_div(p.reduce, kFilterChannels), piece = task / chunks;
    const int64_t wide = f.padded_out, panel = p.kernels->panel, first = task % chunks * kFilterChannels;
    const int64_t count = least(kFilterChannels, p.reduce - first);
    char* const taps = static_cast<char*>(arena_take(arena, 9 * count * wide * p.width));
    bring_taps(f, f.pieces[piece], first, count, taps);
    for (const PieceBlock& b : f.blocks) {
        if (piece < b.pieces.begin || piece >= b.pieces.end) continue;
        for (int64_t c = most(first, b.channels.begin); c < least(first + count, b.channels.end); ++c) {
            const int64_t at = (piece - b.pieces.begin) * b.count() + c - b.channels.begin;
            for (int64_t n = 0; n < wide; n += panel) {
                const int64_t lanes = least(panel, wide - n);
                p.kernels->winograd_filter({taps + (9 * (c - first) * wide + n) * p.width,
                                            f.weights.get() + (points_at(f, b, 0, n) + at * lanes) * p.width, wide,
                                            b.steps * wide, lanes});
            }
        }
    }
}

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
            WinogradCells call{nullptr, nullptr, down, right, tiles * b.steps, count};
            for (const int64_t u : rows) {
                for (const int64_t v : columns) {
                    call.x = first + (u * row + v * column) * p.width;
                    call.points = to;
                    p.kernels->winograd_cells(call);
                    to += b.steps * p.width;
                }
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
        for (const int64_t u : rows) {
            call.rows = u + outer.d < high ? 2 : 1;
            for (const int64_t v : columns) {
                call.columns = v + inner.d < broad ? 2 : 1;
                call.out = to + (u * row + v * column) * p.width;
                finite &= p.kernels->winograd_results(call);
                call.points = static_cast<const char*>(call.points) + wide * p.width;
            }
        }
        // Whole rows, one behind the other, are one long row.
        const int64_t together = outer.out_stride == broad * inner.out_stride ? high : 1;
        for (int64_t i = 0; i < (direct ? 0 : high); i += together)
            store_channels(p, base + i * outer.out_stride, inner.out_stride, p.result_channel,
                           scratch + i * row * p.width, wide, 1, broad * together, wide);
        return finite;
    }
};

void run_task(const void* context, int64_t index, Arena* arena) {
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

// All pieces of the filter, and blocks of them.
void cut_filter(Winograd& f) {
    const Plan& p = f.p;
    const size_t axes = p.axes.size();
    std::vector<int64_t> at(axes - 2, 0);
    for (;;) {
        for (int64_t i = 0; i < pieces_of(p.axes[axes - 2].k); ++i)
            for (int64_t j = 0; j < pieces_of(p.axes[axes - 1].k); ++j) f.pieces.push_back({at, 3 * i, 3 * j});
        int q = static_cast<int>(axes) - 3;
        while (q >= 0 && ++at[q] == p.axes[q].k) at[q--] = 0;
        if (q < 0) break;
    }
    const auto pieces = static_cast<int64_t>(f.pieces.size());
    const int64_t parts = ceil_div(p.reduce, kMostSteps), channels = ceil_div(p.reduce, parts);
    const int64_t groups = ceil_div(pieces, most(1, kMostSteps / channels));
    int64_t start = 0;
    for (int64_t g = 0; g < groups; ++g) {
        const Span some{pieces * g / groups, pieces * (g + 1) / groups};
        for (int64_t first = 0; first < p.reduce; first += channels) {
            PieceBlock b{some, {first, least(first + channels, p.reduce)}, start, 0};
            b.steps = (some.end - some.begin) * b.count();
            start += b.steps;
            f.blocks.push_back(b);
        }
    }
}

// About so many tiles for a task. Blocks share the cells along their sides, and short rows cost more than long ones.
void share_out(Winograd& f, int64_t tiles) {
    const int64_t groups = most(1, most(8, tiles) / (f.rows.d * f.columns.d));
    const auto seen = [&](size_t axis, const TileAxis& a, int64_t count) {
        return static_cast<double>((2 * count + 3 * pieces_of(f.p.axes[axis].k) - 1) * a.d);
    };
    const size_t axes = f.p.axes.size();
    double least_cost = 0;
    for (int64_t blocks = 1; blocks <= f.columns.groups; ++blocks) {
        const int64_t wide = ceil_div(f.columns.groups, blocks), high = least(f.rows.groups, most(1, groups / wide));
        const double cells = seen(axes - 2, f.rows, high) * (seen(axes - 1, f.columns, wide) + 8);
        const double cost = cells / static_cast<double>(wide * high);
        if (blocks > 1 && cost >= least_cost) continue;
        least_cost = cost;
        f.columns.blocks = blocks;
        f.rows.blocks = ceil_div(f.rows.groups, high);
    }
}

}  // namespace

bool winograd_pays(const Plan& p) {
    const size_t axes = p.axes.size();
    if (axes < 2 || !p.kernels->winograd_cells || p.parts != 1 || p.groups != 1) return false;
    if (p.reduce < kLeastChannels || p.out < kLeastChannels || p.pixels < kLeastPixels) return false;
    int64_t pieces = 1;
    for (size_t q = 0; q < axes; ++q) {
        const PlanAxis& a = p.axes[q];
        if (a.step != 1 || a.out_step != 1 || a.phases.size() != 1) return false;
        if (q + 2 < axes) {
            pieces *= a.k;
            continue;
        }
        if (a.k < 3 || a.u.end - a.u.begin < 4 * a.d) return false;
        pieces *= pieces_of(a.k);
    }
    return kPoints / 4 * pieces * 3 <= p.taps * 2;
}

void run_winograd(Plan& plan) {
    Winograd f{};
    f.direct.plan = std::move(plan);
    choose_method(f.direct);
    f.direct.pack_late = true;
    const Plan& p = f.p;
    const ConvKernels& k = *p.kernels;
    f.padded_out = ceil_div(p.out, k.vector) * k.vector;
    f.ranges = ceil_div(p.out, kMostChannels);
    f.range = ceil_div(ceil_div(p.out, f.ranges), k.panel) * k.panel;
    cut_filter(f);
    f.outer = 1;
    for (size_t q = 0; q + 2 < p.axes.size(); ++q) f.outer *= p.axes[q].u.end - p.axes[q].u.begin;
    const auto lay = [](const PlanAxis& a) {
        const int64_t n = a.u.end - a.u.begin;
        return TileAxis{n, a.d, ceil_div(n, 2 * a.d), 1};
    };
    f.rows = lay(p.axes[p.axes.size() - 2]);
    f.columns = lay(p.axes.back());

    const auto pieces = static_cast<int64_t>(f.pieces.size());
    const double products = static_cast<double>(p.pixels * pieces) * 4 * static_cast<double>(p.out * p.reduce);
    const int threads = conv_threads(products);
    share_out(f, kBlockBytes / (kPoints * p.width * (f.blocks[0].steps + f.range)));
    const int64_t wanted = threads > 1 ? 4 * threads : 1;
    while (f.range > k.panel && f.outer * f.rows.blocks * f.columns.blocks * ceil_div(p.out, f.range) < wanted)
        f.range = ceil_div(f.range, 2 * k.panel) * k.panel;
    f.ranges = ceil_div(p.out, f.range);

    pack_weights(f.direct);
    f.weights = Memory((kPoints * pieces * p.reduce * f.padded_out + k.panel) * p.width);
    parallel_for(pieces * ceil_div(p.reduce, kFilterChannels), threads, &transform_filter, &f);
    parallel_for(f.outer * f.rows.blocks * f.columns.blocks * f.ranges, threads, &run_task, &f);
}

}  // namespace cenote
