// Blocks of the reduction of a convolution: the channels and taps that are summed at a time.
#pragma once

#include <vector>

#include "conv/plan.hpp"

namespace cenote {

// Channels first … first+count-1 and a chunk of the taps of each axis; `start` is its position in the whole reduction,
// in which it has `steps` products.
struct Block {
    std::vector<Span> chunk;
    int64_t first, count, start, steps;
};

// Blocks whose boxes fit into a tile, and whose panels of `panel` lanes fit into the cache, with at most
// `most_channels` channels. They do not depend on the number of threads.
std::vector<Block> choose_blocks(ConvPlan& plan, int64_t copies, int64_t panel, int64_t& steps,
                                 int64_t most_channels = INT64_MAX);

// body(index of the tap in the block, its offset in w in bytes) for all taps of a block.
template <class Body>
void for_taps(const ConvPlan& p, const Block& b, Body body) {
    const int axes = static_cast<int>(p.axes.size());
    std::vector<int64_t> at(axes);
    for (int q = 0; q < axes; ++q) {
        at[q] = b.chunk[q].begin;
        if (b.chunk[q].begin >= b.chunk[q].end) return;
    }
    for (int64_t index = 0;; ++index) {
        int64_t offset = 0;
        for (int q = 0; q < axes; ++q) offset += at[q] * p.axes[q].w_stride;
        body(index, offset);
        int q = axes - 1;
        while (q >= 0 && ++at[q] == b.chunk[q].end) {
            at[q] = b.chunk[q].begin;
            --q;
        }
        if (q < 0) return;
    }
}

enum class RunShape : uint8_t { channels, pixels, lanes };

// The reduction of a block for the windows of a phase (one per axis), as runs of a kernel call. `pitch`: elements
// between steps of weights in lanes.
void build_runs(const ConvPlan& p, const Block& b, const SourceBox& box, const std::vector<size_t>& phase,
                RunShape shape, int64_t pitch, std::vector<Run>& runs);

// With one channel, runs of pixel lanes go along the last axis: the elements between two taps.
int64_t tap_step(const ConvPlan& p, const Block& b, const SourceBox& box, const std::vector<size_t>& phase);

// Whether all taps of a channel are contiguous in memory, in either direction, and all in this block.
bool taps_contiguous(const ConvPlan& p, const Block& b);

// ------------------------------------------------------------------------------ without a box: taps on real pixels

// The windows of `u` along an axis without taps on padding.
Span interior_windows(const ConvPlanAxis& a, size_t phase, Span u);

// The taps of windows `at` that are not on padding, on all axes but the last; and with window `last` on the last axis
// too: offsets in the source in bytes, then in elements; in the weights `pitch` apart.
void real_outer_taps(const ConvPlan& p, const std::vector<size_t>& phase, const std::vector<int64_t>& at,
                     std::vector<Run>& outer);
void real_taps(const ConvPlan& p, const std::vector<size_t>& phase, const std::vector<Run>& outer, int64_t last,
               int64_t pitch, std::vector<Run>& runs);

}  // namespace cenote
