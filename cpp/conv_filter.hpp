// What the tasks of a filter's derivative share.
#pragma once

#include "conv_blocks.hpp"
#include "conv_plan.hpp"

namespace cenote {

// What the lanes of the sums are: channels of y, taps and channels of x, or groups.
enum class SumLanes : uint8_t { channels, taps, groups };

struct Filter {
    Plan plan;
    SumLanes lanes;
    std::vector<Block> blocks;
    int64_t steps;          // taps × channels of x: rows of w
    int64_t padded_out;     // columns of the sums
    int64_t range, ranges;  // of channels of y, per task
    int64_t sums, slices;   // elements of one part; number of parts
    bool to_result;         // sums are made where the filter belongs
    Memory memory;
    int64_t tiles;
};

// Sum up one part of the pixels, for one block of the filter.
void run_filter_task(const void* filter, int64_t index, Arena* arena);

}  // namespace cenote
