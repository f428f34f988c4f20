#include "conv/blocks.hpp"

namespace cenote {

namespace {

constexpr int64_t kPanelBytes = 160 * 1024;  // of packed weights, which are reused for all pixels of a tile

// An upper bound of the source pixels for 8 results along the last axis.
int64_t least_elements(const ConvPlan& p) {
    int64_t elements = 1;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        const ConvPlanAxis& a = p.axes[q];
        const int64_t taps = min(a.k, a.chunk), u = q + 1 == p.axes.size() ? min(8, a.u.end - a.u.begin) : 1;
        elements *= max(1, a.out_step > 1 ? ceil_div(taps * a.d, a.out_step) + u
                                          : min(u * taps, (u - 1) * a.step + (taps - 1) * a.d + 1));
        if (elements > int64_t{1} << 40) break;
    }
    return elements;
}

std::vector<Tap> taps_of(const ConvPlanAxis& a, size_t phase, Span chunk) {
    std::vector<Tap> taps;
    for (const Tap& tap : a.phases[phase].taps)
        if (tap.index >= chunk.begin && tap.index < chunk.end) taps.push_back(tap);
    return taps;
}

}  // namespace

std::vector<Block> choose_blocks(ConvPlan& p, int64_t copies, int64_t panel, int64_t& steps, int64_t most_channels) {
    const int64_t unit = p.parts, budget = conv_tile_bytes() / p.width;
    int64_t count = min(p.reduce, max(unit, most_channels / unit * unit));
    const auto fits = [&] {
        int64_t taps = 1;
        for (const ConvPlanAxis& a : p.axes) taps *= min(a.k, a.chunk);
        return least_elements(p) * count * copies <= budget && taps * count * panel * p.width <= kPanelBytes;
    };
    while (!fits()) {
        if (count > 8 * unit) {
            count = ceil_div(count, 2 * unit) * unit;
            continue;
        }
        ConvPlanAxis* longest = nullptr;
        for (ConvPlanAxis& a : p.axes)
            if (a.chunk > 1 && (!longest || a.chunk > longest->chunk)) longest = &a;
        if (longest)
            longest->chunk = (longest->chunk + 1) / 2;
        else if (count > unit)
            count = ceil_div(count, 2 * unit) * unit;
        else
            break;
    }
    // As even as possible.
    if (count > 0 && count < p.reduce) count = ceil_div(ceil_div(p.reduce, ceil_div(p.reduce, count)), unit) * unit;

    std::vector<Block> blocks;
    std::vector<int64_t> at(p.axes.size(), 0);
    for (ConvPlanAxis& a : p.axes) a.chunks = max(1, ceil_div(a.k, a.chunk));
    steps = 0;
    for (;;) {
        for (int64_t first = 0; first < max(1, p.reduce); first += max(count, 1)) {
            Block b{{}, first, min(count, p.reduce - first), steps, 0};
            b.steps = b.count;
            for (size_t q = 0; q < p.axes.size(); ++q) {
                const ConvPlanAxis& a = p.axes[q];
                b.chunk.push_back({at[q] * a.chunk, min((at[q] + 1) * a.chunk, a.k)});
                b.steps *= b.chunk[q].end - b.chunk[q].begin;
            }
            steps += b.steps;
            blocks.push_back(std::move(b));
        }
        int q = static_cast<int>(p.axes.size()) - 1;
        while (q >= 0 && ++at[q] == p.axes[q].chunks) at[q--] = 0;
        if (q < 0) return blocks;
    }
}

int64_t tap_step(const ConvPlan& p, const Block& b, const SourceBox& box, const std::vector<size_t>& phase) {
    const int last = static_cast<int>(p.axes.size()) - 1;
    const std::vector<Tap> taps = taps_of(p.axes[last], phase[last], b.chunk[last]);
    if (taps.size() < 2) return 1;
    const int64_t step = tap_at(box, last, taps[1].offset) - tap_at(box, last, taps[0].offset);
    for (size_t t = 1; t < taps.size(); ++t)
        if (taps[t].index != taps[t - 1].index + 1 ||
            tap_at(box, last, taps[t].offset) - tap_at(box, last, taps[t - 1].offset) != step)
            return 0;  // none
    return step;
}

void build_runs(const ConvPlan& p, const Block& b, const SourceBox& box, const std::vector<size_t>& phase,
                RunShape shape, int64_t pitch, std::vector<Run>& runs) {
    runs.clear();
    if (b.count == 0) return;
    const int axes = static_cast<int>(p.axes.size());
    struct TapOffset {
        int64_t at, index;
    };
    std::vector<std::vector<TapOffset>> offsets(axes);
    int64_t weight = 1;
    for (int q = axes - 1; q >= 0; --q) {
        for (const Tap& tap : taps_of(p.axes[q], phase[q], b.chunk[q]))
            offsets[q].push_back({tap_at(box, q, tap.offset), (tap.index - b.chunk[q].begin) * weight});
        if (offsets[q].empty()) return;
        weight *= b.chunk[q].end - b.chunk[q].begin;
    }
    const bool along = shape == RunShape::pixels && b.count == 1 && tap_step(p, b, box, phase) != 0;
    std::vector<size_t> at(axes, 0);
    for (;;) {
        int64_t outer = 0, index = 0;
        for (int q = 0; q < axes - 1; ++q) {
            outer += offsets[q][at[q]].at;
            index += offsets[q][at[q]].index;
        }
        const std::vector<TapOffset>& last = offsets[axes - 1];
        if (along) {
            runs.push_back({index + last[0].index, outer + last[0].at, static_cast<int64_t>(last.size())});
        } else {
            for (const TapOffset& tap : last) {
                const int64_t from = outer + tap.at, step = (index + tap.index) * b.count;
                if (shape == RunShape::pixels) {
                    runs.push_back({step, from, b.count});
                } else if (shape == RunShape::lanes) {
                    for (int64_t r = 0; r < b.count; ++r)
                        runs.push_back({from + r * box.channel_step, (step + r) * pitch, 1});
                } else if (!runs.empty() && runs.back().a + runs.back().length == from &&
                           runs.back().b + runs.back().length == step) {
                    runs.back().length += b.count;  // the next tap is contiguous with this one
                } else {
                    runs.push_back({from, step, b.count});
                }
            }
        }
        int q = axes - 2;
        while (q >= 0 && ++at[q] == offsets[q].size()) at[q--] = 0;
        if (q < 0) return;
    }
}

bool taps_contiguous(const ConvPlan& p, const Block& b) {
    int64_t step = 0;
    for (int q = static_cast<int>(p.axes.size()) - 1; q >= 0; --q) {
        const ConvPlanAxis& a = p.axes[q];
        if (a.k == 1) continue;
        if (step == 0 && a.w_stride != p.part_bytes && a.w_stride != -p.part_bytes) return false;
        if (step != 0 && a.w_stride != step) return false;
        if (b.chunk[q].end - b.chunk[q].begin != a.k) return false;
        step = a.w_stride * a.k;
    }
    return step != 0;
}

Span interior_windows(const ConvPlanAxis& a, size_t phase, Span u) {
    Span interior = u;
    for (const Tap& tap : a.phases[phase].taps) {
        interior.begin = max(interior.begin, ceil_div(-tap.offset, a.step));
        interior.end = min(interior.end, floor_div(a.n - 1 - tap.offset, a.step) + 1);
    }
    if (interior.begin >= interior.end) interior = {u.end, u.end};
    return interior;
}

void real_outer_taps(const ConvPlan& p, const std::vector<size_t>& phase, const std::vector<int64_t>& at,
                     std::vector<Run>& outer) {
    outer.assign(1, {0, 0, 1});
    std::vector<Run> next;
    for (size_t q = 0; q + 1 < p.axes.size(); ++q) {
        const ConvPlanAxis& a = p.axes[q];
        next.clear();
        for (const Run& run : outer) {
            for (const Tap& tap : a.phases[phase[q]].taps) {
                const int64_t element = at[q] * a.step + tap.offset;
                if (element >= 0 && element < a.n)
                    next.push_back({run.a + element * a.stride, run.b * a.k + tap.index, 1});
            }
        }
        outer.swap(next);
    }
}

void real_taps(const ConvPlan& p, const std::vector<size_t>& phase, const std::vector<Run>& outer, int64_t last,
               int64_t pitch, std::vector<Run>& runs) {
    const ConvPlanAxis& a = p.axes.back();
    runs.clear();
    for (const Run& run : outer) {
        for (const Tap& tap : a.phases[phase.back()].taps) {
            const int64_t element = last * a.step + tap.offset;
            if (element >= 0 && element < a.n)
                runs.push_back({(run.a + element * a.stride) / p.width, (run.b * a.k + tap.index) * pitch, 1});
        }
    }
}

}  // namespace cenote
