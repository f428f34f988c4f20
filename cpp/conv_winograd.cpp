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

#include "conv_winograd.hpp"
#include "parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kBlockBytes = 768 * 1024;  // of points of cells and of results
constexpr int64_t kLeastChannels = 32, kLeastPixels = 96, kMostSteps = 128, kMostChannels = 128;

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
    if (p.out < kLeastChannels || p.pixels < kLeastPixels) return false;
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
    // With several pieces there are enough steps of fewer channels.
    if (p.reduce < (pieces >= 4 ? kLeastChannels / 2 : kLeastChannels)) return false;
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
    parallel_for(f.outer * f.rows.blocks * f.columns.blocks * f.ranges, threads, &run_winograd_task, &f);
}

}  // namespace cenote
