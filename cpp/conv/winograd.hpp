// Winograd convolution: what planning and tasks share. See winograd.cpp.
#pragma once

#include <array>

#include "conv/direct.hpp"

namespace cenote {

// A block of the reduction: some taps of the axes before the last two (pieces), and some channels of the source.
struct PieceBlock {
    Span pieces, channels;
    int64_t start, steps;  // of the whole reduction
    int64_t count() const { return channels.end - channels.begin; }
    int64_t per_tile() const { return (pieces.end - pieces.begin) * count(); }
};

// The tiles along an axis. A tile has `m` windows that are `d` apart, so m·d adjacent windows are a group of d tiles.
// Its filter has up to 5 - m taps. A longer filter is split into parts, each of which covers the input of the next
// group, so that input is transformed once for all parts. An axis with one tap has tiles of one window and is not
// transformed.
struct TileAxis {
    int64_t n, d, m, parts;
    int64_t groups, blocks;                    // groups are divided among `blocks` tasks
    std::vector<std::array<int64_t, 3>> taps;  // per phase and part: packed index, or -1 for none

    int64_t most_taps() const { return m == 1 ? 1 : 5 - m; }
    int64_t points() const { return m == 1 ? 1 : 4; }
    int64_t phases() const { return static_cast<int64_t>(taps.size()) / parts; }
    // Whether a point of the transformed filter can be nonzero.
    bool can_be_nonzero(int64_t which, int64_t point) const {
        const std::array<int64_t, 3>& t = taps[which];
        if (m == 1 || point == 0) return t[0] >= 0;
        if (point == 3) return t[most_taps() - 1] >= 0;
        return t[0] >= 0 || t[1] >= 0 || t[2] >= 0;
    }
    Span windows(int64_t block) const {
        return {groups * block / blocks * m * d, groups * (block + 1) / blocks * m * d};
    }
    // The first windows of the tiles of a block, relative to the block's first one.
    std::vector<int64_t> starts(int64_t block) const {
        const Span span = windows(block);
        std::vector<int64_t> all;
        for (int64_t at = span.begin; at < span.end; at += m * d)
            for (int64_t i = at; i < min(at + d, n); ++i) all.push_back(i - span.begin);
        return all;
    }
    // The same for input tiles: groups are complete, and there are more of them for the other parts.
    std::vector<int64_t> input_starts(int64_t block) const {
        const Span span = windows(block);
        std::vector<int64_t> all;
        for (int64_t at = 0; at < span.end - span.begin + (parts - 1) * m * d; at += m * d)
            for (int64_t i = at; i < at + d; ++i) all.push_back(i);
        return all;
    }
    // The index of the input tile of a tile.
    int64_t input_index(int64_t start) const { return start / (m * d) * d + start % (m * d); }
};

struct Winograd {
    Forward direct;
    const ConvPlan& p = direct.plan;
    std::vector<std::vector<int64_t>> pieces;
    std::vector<PieceBlock> blocks;
    int64_t range, ranges;  // channels of the result per task
    int64_t padded_out;
    int64_t outer;            // positions on all axes but the last two
    int64_t planes, batches;  // planes per task, if a plane has few tiles; number of such tasks
    TileAxis rows, columns;
    Memory weights;

    int64_t points() const { return rows.points() * columns.points(); }
    int64_t phases() const { return rows.phases() * columns.phases(); }
    int64_t parts() const { return rows.parts * columns.parts; }
};

// The offset of the points of a block, for the channels of a phase from `first` on.
static inline int64_t points_at(const Winograd& f, const PieceBlock& b, int64_t point, int64_t phase, int64_t first) {
    return (b.start * f.points() + point * b.steps) * f.phases() * f.padded_out +
           (phase * f.padded_out + first) * b.steps;
}

// One block of tiles, for a range of channels of the result.
void run_winograd_task(const void* context, int64_t index, Arena* arena);

}  // namespace cenote
