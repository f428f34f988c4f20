// The filter gradient: what planning and tasks share.
#pragma once

#include "conv/blocks.hpp"
#include "conv/plan.hpp"

namespace cenote {

// What vector lanes of the sums are: channels of y, taps and channels of x, groups, or pixels of one channel of both.
enum class SumLanes : uint8_t { channels, taps, groups, pixels };

constexpr int64_t kFewPixels = 512;  // up to this many, the filter is larger than x and y
constexpr int64_t kLeastRows = 24;   // fewest channels of x in a block

struct FilterGradient {
    ConvPlan plan;
    SumLanes lanes;
    std::vector<Block> blocks;
    int64_t steps;          // taps × channels of x: rows of w
    int64_t padded_out;     // columns of the sums
    int64_t range, ranges;  // channels of y per task
    int64_t sums, slices;   // elements of one partial sum; their number
    bool to_result;         // sums are computed directly in the result
    bool in_place;          // depthwise, with x and y read in place
    Memory memory;
    int64_t tiles;
};

// Whether y can be read in place, with all its channels as lanes.
bool reads_results(const ConvPlan& p);

// Sums one part of the pixels, for one block of the filter.
void run_filter_task(const void* filter, int64_t index, Arena* arena);

}  // namespace cenote
