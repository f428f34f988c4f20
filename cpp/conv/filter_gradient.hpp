// What the tasks of a filter's derivative share.
#pragma once

#include "conv/blocks.hpp"
#include "conv/plan.hpp"

namespace cenote {

// What the lanes of the sums are: channels of y, taps and channels of x, groups, or pixels of one channel of both.
enum class SumLanes : uint8_t { channels, taps, groups, pixels };

constexpr int64_t kFewPixels = 512;  // up to these, filters are larger than what they are made of
constexpr int64_t kLeastRows = 24;   // channels of x in a block

struct Filter {
    ConvPlan plan;
    SumLanes lanes;
    std::vector<Block> blocks;
    int64_t steps;          // taps × channels of x: rows of w
    int64_t padded_out;     // columns of the sums
    int64_t range, ranges;  // of channels of y, per task
    int64_t sums, slices;   // elements of one part; number of parts
    bool to_result;         // sums are made where the filter belongs
    bool in_place;          // lanes that are groups, x and y as they are
    Memory memory;
    int64_t tiles;
};

// Whether y can be read where it is, with all its channels as lanes.
bool reads_results(const ConvPlan& p);

// Sum up one part of the pixels, for one block of the filter.
void run_filter_task(const void* filter, int64_t index, Arena* arena);

}  // namespace cenote
