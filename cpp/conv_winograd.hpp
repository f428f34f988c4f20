// What the tasks of a convolution by Winograd's algorithm share: see conv_winograd.cpp.
#pragma once

#include "conv_forward.hpp"

namespace cenote {

constexpr int64_t kPoints = 16;

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
static inline int64_t points_at(const Winograd& f, const PieceBlock& b, int64_t point, int64_t first) {
    return (b.start * kPoints + point * b.steps) * f.padded_out + first * b.steps;
}

static inline int64_t pieces_of(int64_t k) { return ceil_div(k, 3); }

// One block of tiles, for a range of channels of the result.
void run_winograd_task(const void* context, int64_t index, Arena* arena);

}  // namespace cenote
