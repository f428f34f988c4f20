// What the tasks of a convolution share.
#pragma once

#include "conv/blocks.hpp"
#include "conv/plan.hpp"

namespace cenote {

// What a vector is made of: channels of the result, its pixels along the last axis, or channels that are groups.
enum class Lanes : uint8_t { channels, pixels, groups };

struct Forward {
    ConvPlan plan;
    Lanes lanes;
    Layout layout;
    std::vector<Block> blocks;
    int64_t steps;                      // of the whole reduction
    int64_t padded_out;                 // channels of a group, in packed weights
    int64_t lane_pitch;                 // lanes that are groups: elements from one packed step to the next
    int64_t range, ranges;              // channels of the result per task
    int64_t group_range, group_ranges;  // groups per task
    bool to_result;                     // kernels write where the results belong
    bool pack_late;                     // each task packs the weights it needs
    bool by_taps;                       // one tap after the other, for its real windows: see direct_taps.cpp
    Memory weights, init, copy;         // of the source
};

// Channels of the result that one call of a kernel makes, from `first` on.
int64_t panel_at(const Forward& f, int64_t first, int64_t end);

// The weights of a block for channels begin … end-1 of a group, as panels one after the other. A panel is
// [step][lane], its lanes are filled up to whole vectors. For lanes that are groups it is [step][group, channel], and
// goes on with the first lanes behind the last one: kernels may go from pixel to pixel within a vector.
void pack_block(const Forward& f, const Block& b, int64_t group, int64_t begin, int64_t end, char* to);

// All of them, and the bias.
void pack_weights(Forward& f);

// Where the panels of a block are, in bytes.
static inline int64_t packed_at(const Forward& f, const Block& b, int64_t group, int64_t first) {
    const ConvPlan& p = f.plan;
    if (f.lanes == Lanes::groups) return b.start * f.lane_pitch * p.width;
    return ((group * f.steps + b.start) * f.padded_out + first * b.steps) * p.width;
}

// Lanes, blocks and layout of a direct sum. With bundles, what is not finite spreads from group to group.
void choose_method(Forward& f, bool bundles);

// Small planes of many channels: see direct_taps.cpp. Whether they are summed up tap by tap, with the blocks for that,
// and the source as tasks need it.
constexpr int64_t kTapPanels = 2;  // of channels of the result, per task
bool taps_pay(Forward& f);
void copy_source(Forward& f, int threads);

// Filters of 3 × 3 taps, or made of such pieces, without a stride, on many channels: see winograd.cpp.
bool winograd_pays(const ConvPlan& p);
void run_winograd(ConvPlan& plan);

// Long filters, where that costs less: see fft.cpp. False: nothing was done.
bool run_fft(const ConvPlan& plan);
// By direct sums.
void run_directly(const ConvPlan& plan);
void run_filter_directly(ConvPlan& plan);

// The results of a tile on one axis: all phases together leave no gaps.
Span results_of(const ConvPlan& p, const Tile& tile, size_t axis);

// One box of results.
struct ForwardTask {
    const Forward& f;
    const ConvPlan& p;
    Arena* arena;
    Tile tile;
    Span groups, out;         // groups, and channels of the result in each of them
    int64_t rows = 0;         // pixels of the tile, of all phases
    char* scratch = nullptr;  // results, unless they go to memory at once
    const char* panels = nullptr;
    char* refill = nullptr;  // where the box is filled for each group when its turn comes
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
    bool lay_phase(int64_t& pixels);
    const char* panels_of(const Block& b, int64_t group) const;
    int64_t place_of(const std::vector<int64_t>& at) const;
    void channels_phase(const Block& b, bool first);
    void lay_taps();
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
