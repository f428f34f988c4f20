// Direct convolution: what planning and tasks share.
#pragma once

#include "conv/blocks.hpp"
#include "conv/plan.hpp"

namespace cenote {

// What vector lanes are: channels of the result, its pixels along the last axis, or groups (depthwise).
enum class Lanes : uint8_t { channels, pixels, groups };

struct Forward {
    ConvPlan plan;
    Lanes lanes;
    Layout layout;
    std::vector<Block> blocks;
    int64_t steps;                      // products of the whole reduction
    int64_t padded_out;                 // channels per group, in packed weights
    int64_t lane_pitch;                 // depthwise: elements between packed steps
    int64_t range, ranges;              // channels of the result per task
    int64_t group_range, group_ranges;  // groups per task
    bool to_result;                     // kernels write directly to the result
    bool pack_late;                     // each task packs the weights it needs
    bool by_taps;                       // tap by tap: see direct_taps.cpp
    Memory weights, init, copy;         // copy: of the source
};

// How many channels of the result one kernel call computes, from `first` on.
int64_t panel_at(const Forward& f, int64_t first, int64_t end);

// The packed weights of a block for channels begin … end-1 of a group: panels, one after the other. A panel is
// [step][lane], with lanes filled up to whole vectors. For depthwise lanes it is [step][group, channel], and the first
// lanes are repeated after the last one, because a vector may run from one pixel into the next.
void pack_block(const Forward& f, const Block& b, int64_t group, int64_t begin, int64_t end, char* to);

// Packs all weights and the bias.
void pack_weights(Forward& f);

// The offset of the panels of a block, in bytes.
static inline int64_t packed_at(const Forward& f, const Block& b, int64_t group, int64_t first) {
    const ConvPlan& p = f.plan;
    if (f.lanes == Lanes::groups) return b.start * f.lane_pitch * p.width;
    return ((group * f.steps + b.start) * f.padded_out + first * b.steps) * p.width;
}

// Chooses lanes, blocks and layout of a direct sum. With bundles, NaN and infinities spread between groups.
void choose_method(Forward& f, bool bundles);

// Small planes with many channels (direct_taps.cpp): whether they are computed tap by tap, which sets the blocks; and
// the copy of the source that tasks read.
constexpr int64_t kTapPanels = 2;  // panels of channels of the result per task
bool taps_pay(Forward& f);
void copy_source(Forward& f, int threads);

// Filters of 3×3 taps, or made of such parts, with stride 1 and many channels: see winograd.cpp.
bool winograd_pays(const ConvPlan& p);
void run_winograd(ConvPlan& plan);

// Long filters, where it costs less: see fft.cpp. Returns false if it did nothing.
bool run_fft(const ConvPlan& plan);
// Direct sums.
void run_directly(const ConvPlan& plan);
void run_filter_directly(ConvPlan& plan);

// The results of a tile along one axis: all phases together are contiguous.
Span results_of(const ConvPlan& p, const Tile& tile, size_t axis);

// One tile of results.
struct ForwardTask {
    const Forward& f;
    const ConvPlan& p;
    Arena* arena;
    Tile tile;
    Span groups, out;         // groups, and channels of the result in each of them
    int64_t rows = 0;         // pixels of the tile, of all phases
    char* scratch = nullptr;  // results, unless they are written directly
    const char* panels = nullptr;
    char* refill = nullptr;  // the box is filled here for one group at a time
    SourceBox box{};
    std::vector<Run> runs{};
    std::vector<int64_t> from{}, to{};
    std::vector<size_t> phase{};
    std::vector<Span> u{};
    struct TapRows {
        int64_t index;  // among the packed taps
        std::vector<int64_t> from, to;
    };
    std::vector<TapRows> tap_rows{};

    void run();

 private:
    template <class Body>
    void for_phases(Body body);
    template <class Body>
    void for_rows(Body body);
    int64_t columns() const { return u.back().end - u.back().begin; }
    int64_t column_bytes() const { return p.axes.back().out_step * p.axes.back().out_stride; }
    int64_t result_at(int64_t group) const { return (group * p.out + out.begin) / p.parts * p.result_channel; }
    bool set_phase(int64_t& pixels);
    const char* panels_of(const Block& b, int64_t group) const;
    int64_t index_in_tile(const std::vector<int64_t>& at) const;
    void channels_phase(const Block& b, bool first);
    void list_tap_rows();
    void taps_block(const Block& b, bool first);
    void pixels_phase(const Block& b, bool first, int64_t before);
    void groups_phase(const Block& b, bool first, int64_t before);
    void groups_in_place(int64_t before);
    void store_phase(int64_t before);
    void store_rows();
};

// body(offset in the box, bytes in the result, windows) for the first pixel of each row along the last axis.
template <class Body>
void ForwardTask::for_rows(Body body) {
    const int axes = static_cast<int>(p.axes.size());
    std::vector<int64_t> at(axes);
    for (int q = 0; q < axes; ++q) at[q] = u[q].begin;
    for (;;) {
        int64_t in = 0, to_bytes = 0;
        for (int q = 0; q < axes; ++q) {
            const ConvPlanAxis& a = p.axes[q];
            if (!box.sides.empty()) in += (at[q] - tile.u[q].begin) * box.sides[q].u_step;
            to_bytes += (at[q] * a.out_step + a.phases[phase[q]].out_base) * a.out_stride;
        }
        body(in, to_bytes, at);
        int q = axes - 2;
        while (q >= 0 && ++at[q] == u[q].end) {
            at[q] = u[q].begin;
            --q;
        }
        if (q < 0) return;
    }
}

}  // namespace cenote
