// Winograd's F(2×2, 3×3) and F(3×3, 2×2): filters with stride 1 on many channels, as 16 matrix products.
//
// Both transform 4×4 input tiles, at the points 0, 1, -1 and ∞. The first one is for filters of 3 taps; longer filters
// are split into parts of 2 taps, the last one of 3. The next part needs the input of the next tile, so input is
// transformed once for all parts, and a point that is zero for a part of 2 taps is skipped. The second one is for
// filters of 2 taps, such as the phases of an adjoint with stride 2 and 4 taps, whose results are summed like
// additional channels. Along one axis there are F(2, 3) and F(3, 2) with 4 products. Filters with more axes have one
// such filter per tap of the other axes, summed as if they were channels. With a dilation d, inputs and results of a
// tile are d apart.
//
// The error, measured against float64, is up to 1.8 times that of direct sums (convolution.md). F(4×4, 3×3) would need
// 4 times fewer products instead of 2¼, but even at the best points (0, ±2/3, ±3/2) its error is 1.7 times that of
// direct sums in a single chain, which are the least accurate.
//
// An infinity or NaN would spread over its tile, while a direct sum confines it to the windows that contain it. So a
// block with results that are not finite is recomputed by direct sums.

#include "conv/winograd.hpp"

#include <cstring>

#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kBlockBytes = 768 * 1024;  // of points of inputs and results
constexpr int64_t kLeastChannels = 32, kLeastWindows = 96, kMostSteps = 128, kMostChannels = 128, kLeastRun = 16;
constexpr int64_t kManyPoints = 4 * 1024 * 1024;  // bytes: more than fit into a cache
constexpr double kLeastSaved = 30;
constexpr int64_t kLeastLine = 224;      // channels times taps
constexpr int64_t kMostLineSteps = 256;  // there are fewer points, so more steps of each fit

constexpr int64_t kFilterChannels = 16, kFilterTaps = 144;

int64_t channels_at_a_time(const ConvPlan& p) {
    const int64_t taps = p.axes[p.axes.size() - 2].k * p.axes.back().k;
    return max(1, min(kFilterChannels, kFilterTaps / taps));
}

// Whether taps can be read in place: the channels of the result are contiguous and fill the lanes.
bool taps_in_place(const Winograd& f) {
    const ConvPlan& p = f.p;
    bool in_place = p.same && p.w_out == p.width && f.padded_out == p.out && p.w_reduce % p.width == 0 &&
                    reinterpret_cast<uintptr_t>(p.w) % p.width == 0;
    for (const ConvPlanAxis& a : p.axes) in_place &= a.w_stride % p.width == 0;
    return in_place;
}

// How many channels of the result have their taps loaded together. If they are far apart in memory it is one panel, so
// that the transpose stays in the L1 cache.
int64_t lanes_at_a_time(const Winograd& f) {
    return f.p.w_out == f.p.part_bytes && !taps_in_place(f) ? f.padded_out : min(f.p.kernels->panel, f.padded_out);
}

// The address of the first tap of a piece, for a channel of the source.
const char* piece_at(const ConvPlan& p, const std::vector<int64_t>& piece, int64_t channel) {
    const char* w = p.w + channel * p.w_reduce;
    for (size_t q = 0; q + 2 < p.axes.size(); ++q) w += piece[q] * p.axes[q].w_stride;
    return w;
}

// Loads the taps of a piece along the last two axes, for some channels of the source, as [channel][tap][lane], for
// `wide` lanes from `lane` on.
void load_taps(const Winograd& f, const std::vector<int64_t>& piece, int64_t first, int64_t count, int64_t lane,
               int64_t wide, char* taps) {
    const ConvPlan& p = f.p;
    const size_t axes = p.axes.size();
    const ConvPlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
    const int64_t part = p.part_bytes, all = outer.k * inner.k, lanes = min(wide, p.out - lane);
    if (wide > lanes) std::memset(taps, 0, static_cast<size_t>(all * count * wide * p.width));
    char* const w = const_cast<char*>(piece_at(p, piece, first)) + lane * p.w_out;
    const bool up = inner.w_stride == part && (outer.k == 1 || outer.w_stride == inner.k * part);
    const bool down = inner.w_stride == -part && (outer.k == 1 || outer.w_stride == -inner.k * part);
    if (up && p.w_reduce == all * part) {  // all taps are contiguous
        p.kernels->load({p.part, w, part, p.w_out, taps, wide, 1, all * count, lanes});
    } else if (up || down) {  // the taps of a channel are contiguous
        const int64_t last = up ? 0 : all - 1;
        for (int64_t c = 0; c < count; ++c)
            p.kernels->load({p.part, w + c * p.w_reduce - last * part, part, p.w_out,
                             taps + (all * c + last) * wide * p.width, up ? wide : -wide, 1, all, lanes});
    } else {
        for (int64_t i = 0; i < outer.k; ++i)
            for (int64_t j = 0; j < inner.k; ++j)
                p.kernels->load({p.part, w + i * outer.w_stride + j * inner.w_stride, p.w_reduce, p.w_out,
                                 taps + (i * inner.k + j) * wide * p.width, all * wide, 1, count, lanes});
    }
}

// Transforms a piece of the filters, for some channels of the source.
void transform_filter(const void* context, int64_t task, Arena* arena) {
    const auto& f = *static_cast<const Winograd*>(context);
    const ConvPlan& p = f.p;
    const int64_t some = channels_at_a_time(p), chunks = ceil_div(p.reduce, some), piece = task / chunks;
    const bool in_place = taps_in_place(f);
    const int64_t wide = lanes_at_a_time(f), panel = p.kernels->panel, first = task % chunks * some;
    const ConvPlanAxis &outer = p.axes[p.axes.size() - 2], &inner = p.axes.back();
    const int64_t count = min(some, p.reduce - first), all = outer.k * inner.k;
    const char* const w = piece_at(p, f.pieces[piece], 0);
    char* const taps = static_cast<char*>(arena_take(arena, (all * count + 1) * wide * p.width));
    char* const none = taps + all * count * wide * p.width;
    std::memset(none, 0, static_cast<size_t>(wide * p.width));
    const int64_t high = f.rows.most_taps(), broad = f.columns.most_taps();
    const char* at[9];
    WinogradFilter call{};
    call.taps = reinterpret_cast<const void* const*>(at);
    call.m = static_cast<int>(f.columns.m);
    call.line = f.rows.m == 1;
    const auto part_points = [&](const PieceBlock& b, int64_t c, int64_t row, int64_t column, int64_t lane) {
        const int64_t phase = row / f.rows.parts * f.columns.phases() + column / f.columns.parts;
        const int64_t part = row % f.rows.parts * f.columns.parts + column % f.columns.parts;
        const int64_t step = part * b.per_tile() + (piece - b.pieces.begin) * b.count() + c - b.channels.begin;
        const int64_t end = min(lane + wide, f.padded_out);
        for (int64_t n = lane; n < end; n += panel) {
            for (int64_t i = 0; i < high; ++i) {
                for (int64_t j = 0; j < broad; ++j) {
                    const int64_t down = f.rows.taps[row][i], right = f.columns.taps[column][j];
                    const char*& to = at[i * broad + j];
                    if (down < 0 || right < 0)
                        to = none;
                    else if (in_place)
                        to = w + c * p.w_reduce + down * outer.w_stride + right * inner.w_stride + n * p.w_out;
                    else
                        to = taps + (((c - first) * all + down * inner.k + right) * wide + n - lane) * p.width;
                }
            }
            call.lanes = min(panel, end - n);
            call.points = f.weights.get() + (points_at(f, b, 0, phase, n) + step * call.lanes) * p.width;
            call.point = b.steps * f.phases() * f.padded_out;
            p.kernels->winograd_filter(call);
        }
    };
    for (int64_t lane = 0; lane < f.padded_out; lane += wide) {
        if (!in_place) load_taps(f, f.pieces[piece], first, count, lane, wide, taps);
        for (const PieceBlock& b : f.blocks) {
            if (piece < b.pieces.begin || piece >= b.pieces.end) continue;
            for (int64_t c = max(first, b.channels.begin); c < min(first + count, b.channels.end); ++c)
                for (size_t row = 0; row < f.rows.taps.size(); ++row)
                    for (size_t column = 0; column < f.columns.taps.size(); ++column)
                        part_points(b, c, static_cast<int64_t>(row), static_cast<int64_t>(column), lane);
        }
    }
}

// Lists the pieces of the filter, and divides them into blocks.
void divide_filter(Winograd& f) {
    const ConvPlan& p = f.p;
    std::vector<int64_t> at(p.axes.size() - 2, 0);
    for (;;) {
        f.pieces.push_back(at);
        int q = static_cast<int>(at.size()) - 1;
        while (q >= 0 && ++at[q] == p.axes[q].k) at[q--] = 0;
        if (q < 0) break;
    }
    const auto pieces = static_cast<int64_t>(f.pieces.size());
    const int64_t steps = f.rows.m == 1 ? kMostLineSteps : kMostSteps;
    const int64_t some = max(kLeastRun, steps / f.parts());
    const int64_t channels = ceil_div(p.reduce, ceil_div(p.reduce, some));
    const int64_t groups = ceil_div(pieces, max(1, steps / (channels * f.parts())));
    int64_t start = 0;
    for (int64_t g = 0; g < groups; ++g) {
        const Span group{pieces * g / groups, pieces * (g + 1) / groups};
        for (int64_t first = 0; first < p.reduce; first += channels) {
            PieceBlock b{group, {first, min(first + channels, p.reduce)}, start, 0};
            b.steps = b.per_tile() * f.parts();
            start += b.steps;
            f.blocks.push_back(b);
        }
    }
}

// About `tiles` tiles per task. Neighbouring blocks overlap along their sides, and short rows cost more than long ones.
void divide_into_tasks(Winograd& f, int64_t tiles) {
    const int64_t groups = max(1, max(8, tiles) / (f.rows.d * f.columns.d));
    const auto covered = [&](const TileAxis& a, int64_t count) {
        return static_cast<double>((a.m * (count + a.parts - 1) + a.most_taps() - 1) * a.d);
    };
    double least_cost = 0;
    for (int64_t blocks = 1; blocks <= f.columns.groups; ++blocks) {
        const int64_t wide = ceil_div(f.columns.groups, blocks), high = min(f.rows.groups, max(1, groups / wide));
        const double elements = covered(f.rows, high) * (covered(f.columns, wide) + 8);
        const double cost = elements / static_cast<double>(wide * high);
        if (blocks > 1 && cost >= least_cost) continue;
        least_cost = cost;
        f.columns.blocks = blocks;
        f.rows.blocks = ceil_div(f.rows.groups, high);
    }
    // Small planes share a task: the transformed filter is read once for all of them.
    const int64_t plane = f.rows.groups * f.rows.d * f.columns.groups * f.columns.d;
    const bool many =
        f.points() * (f.blocks.back().start + f.blocks.back().steps) * f.phases() * f.padded_out * f.p.width >
        kManyPoints;
    f.planes = many && f.rows.blocks == 1 && f.columns.blocks == 1 ? max(1, min(f.outer, 2 * tiles / plane)) : 1;
    f.batches = ceil_div(f.outer, f.planes);
}

// The number of taps from the first to the last one of any phase, including gaps.
int64_t taps_across(const ConvPlanAxis& a, int64_t& first) {
    Span all{INT64_MAX, INT64_MIN};
    for (const Phase& phase : a.phases)
        for (const Tap& tap : phase.taps) all = {min(all.begin, tap.offset), max(all.end, tap.offset)};
    first = all.begin;
    return all.begin > all.end ? 0 : (all.end - all.begin) / a.d + 1;
}

TileAxis make_tile_axis(const ConvPlanAxis& a, int64_t m) {
    const int64_t n = a.u.end - a.u.begin;
    int64_t first;
    const int64_t across = taps_across(a, first), parts = m == 2 ? max(1, across / 2) : 1;
    TileAxis t{n, a.d, m, parts, ceil_div(n, m * a.d), 1, {}};
    t.taps.assign(a.phases.size() * static_cast<size_t>(parts), {-1, -1, -1});
    for (size_t phase = 0; phase < a.phases.size(); ++phase) {
        for (const Tap& tap : a.phases[phase].taps) {
            const int64_t at = (tap.offset - first) / a.d, part = min(at / m, parts - 1);
            t.taps[phase * static_cast<size_t>(parts) + static_cast<size_t>(part)][at - part * m] = tap.index;
        }
    }
    return t;
}

// The number of windows of a tile along the last two axes; false if Winograd is not applicable.
bool choose_tiles(const ConvPlan& p, int64_t& down, int64_t& right) {
    if (p.axes.empty()) return false;
    const ConvPlanAxis& inner = p.axes.back();
    const ConvPlanAxis* const outer = p.axes.size() > 1 ? &p.axes[p.axes.size() - 2] : nullptr;
    int64_t first;
    const int64_t broad = taps_across(inner, first), high = outer ? taps_across(*outer, first) : 1;
    const bool line = !outer || outer->k == 1;
    for (const ConvPlanAxis& a : p.axes) {
        if (a.step != 1) return false;
        if (a.phases.size() == 1 && a.out_step == 1) continue;
        if ((&a != outer && &a != &inner) || a.d != 1 || taps_across(a, first) > 3) return false;
    }
    if (broad < 2 || (!line && high < 2) || (line && outer && outer->phases.size() > 1)) return false;
    right = broad == 2 && (line || high == 2) ? 3 : 2;
    down = line ? 1 : right;
    return true;
}

}  // namespace

bool winograd_pays(const ConvPlan& p) {
    int64_t down, right;
    if (!p.kernels->winograd_input || p.parts != 1 || p.groups != 1 || !choose_tiles(p, down, right)) return false;
    double products = 1, taps = 1, windows = 1;
    int64_t parts = 1, stored = 1;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        const ConvPlanAxis& a = p.axes[q];
        const int64_t n = a.u.end - a.u.begin, m = q + 1 == p.axes.size() ? right : q + 2 == p.axes.size() ? down : 1;
        windows *= static_cast<double>(n);
        taps *= static_cast<double>(a.k);
        if (m == 1) {
            products *= static_cast<double>(a.k);
            parts *= a.k;
            stored *= a.k;
            continue;
        }
        if (n < 4 * a.d) return false;
        const TileAxis t = make_tile_axis(a, m);
        int64_t count = 0;
        for (size_t which = 0; which < t.taps.size(); ++which)
            for (int64_t point = 0; point < 4; ++point)
                count += t.can_be_nonzero(static_cast<int64_t>(which), point) ? 1 : 0;
        products *= static_cast<double>(count) / static_cast<double>(m);
        parts *= t.parts;
        stored *= static_cast<int64_t>(t.taps.size()) * 4;
    }
    if (p.out < kLeastChannels || windows < kLeastWindows) return false;
    // With several parts there are enough steps even with fewer channels.
    if (p.reduce < (parts >= 4 && down > 1 ? kLeastChannels / 2 : kLeastChannels)) return false;
    // The filter has to be transformed: this many products must be saved per point of it.
    const double each = stored * p.reduce * p.out * p.width > kManyPoints ? kLeastSaved * 3 : kLeastSaved;
    if (windows * (taps - products) < each * static_cast<double>(stored)) return false;
    if (stored > parts * 16) return products * 9 <= taps * 5;  // phases
    // Along a line fewer products are saved, for as many points of input and results.
    if (down == 1) return p.reduce * p.taps >= kLeastLine && products * 4 <= taps * 3;
    return products * 3 <= taps * 2;
}

void run_winograd(ConvPlan& plan) {
    Winograd f{};
    int64_t down, right;
    choose_tiles(plan, down, right);
    if (plan.axes.size() == 1) {
        ConvPlanAxis one{};
        one.n = one.out_n = one.k = one.step = one.out_step = one.d = one.chunk = one.chunks = 1;
        one.u = {0, 1};
        one.phases.push_back({{0, 1}, 0, {{0, 0}}});
        plan.axes.insert(plan.axes.begin(), std::move(one));
    }
    f.direct.plan = std::move(plan);
    choose_method(f.direct, false);
    f.direct.pack_late = true;
    f.direct.by_taps = false;
    const ConvPlan& p = f.p;
    const ConvKernels& k = *p.kernels;
    f.rows = make_tile_axis(p.axes[p.axes.size() - 2], down);
    f.columns = make_tile_axis(p.axes.back(), right);
    f.padded_out = ceil_div(p.out, k.vector) * k.vector;
    f.ranges = ceil_div(p.out * f.phases(), kMostChannels);
    f.range = ceil_div(ceil_div(p.out, f.ranges), k.panel) * k.panel;
    divide_filter(f);
    f.outer = 1;
    for (size_t q = 0; q + 2 < p.axes.size(); ++q) f.outer *= p.axes[q].u.end - p.axes[q].u.begin;

    const auto pieces = static_cast<int64_t>(f.pieces.size());
    const double products = static_cast<double>(p.pixels * pieces * f.parts()) * static_cast<double>(f.points()) /
                            static_cast<double>(down * right) * static_cast<double>(p.out * p.reduce);
    const int threads = conv_threads(products);
    divide_into_tasks(f, kBlockBytes / (f.points() * p.width * (f.blocks[0].per_tile() + f.range * f.phases())));
    // If a result is not finite, all channels of its task are recomputed directly, so tasks must not be too large.
    const int64_t wanted = conv_tasks(products) / (f.planes > 1 ? 2 : 1);
    while (f.range > k.panel && f.batches * f.rows.blocks * f.columns.blocks * ceil_div(p.out, f.range) < wanted)
        f.range = ceil_div(f.range, 2 * k.panel) * k.panel;
    f.ranges = ceil_div(p.out, f.range);

    pack_weights(f.direct);
    f.weights = Memory((f.points() * pieces * f.parts() * p.reduce * f.phases() * f.padded_out + k.panel) * p.width);
    parallel_for(pieces * ceil_div(p.reduce, channels_at_a_time(p)), threads, &transform_filter, &f);
    parallel_for(f.batches * f.rows.blocks * f.columns.blocks * f.ranges, threads, &run_winograd_task, &f);
}

}  // namespace cenote
