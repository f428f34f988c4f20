// Ways to reduce one line of a separable pass. All of them give the same bits.
#pragma once

#include "pool/drivers/separable.hpp"

namespace cenote {

// A pass with its row kernels and its working memory.
struct Line : LinePass {
    const RowKernels* op;
    void* rows;  // room for one row per tap
    char* tall;  // for the sums of tall windows; null: there are none

    Elements ahead(Elements e, int64_t by) const {
        by *= op->width;
        return {e.v + by, e.w ? e.w + by : nullptr};
    }
};

constexpr int64_t kTall = 8;         // taps beyond which the rows of a window are read one after the other
constexpr int64_t kTallRun = 1024;   // elements of them at a time: pending partial sums stay in the L2 cache
constexpr int64_t kPairwise = 32;    // elements from which on pairwise reduction pays
constexpr int64_t kBlock = 8192;     // elements reduced pairwise at a time: a power of two, so that the tree stays
constexpr int64_t kPixelTaps = 256;  // of a window; more are worth log-step passes over the line
constexpr int64_t kMostPixel = 64;   // bytes of a pixel; more are runs of their own

static inline void* take_bytes(Arena* arena, int64_t bytes) { return arena_take(arena, bytes); }

// Working memory for n elements, with a second plane if the reducer has one and `both` says so.
static inline Elements take_elements(const RowKernels& op, Arena* arena, int64_t n, bool both) {
    Elements e{static_cast<char*>(take_bytes(arena, n * op.width)), nullptr};
    if (op.two_planes && both) e.w = static_cast<char*>(take_bytes(arena, n * op.width));
    return e;
}

// Where the real elements of a line are: padding before, the first real one in the tile, real ones, padding after.
struct Margins {
    int64_t before, from, middle, after;
};
Margins margins(const LinePass& p);

// A line as contiguous memory, the real elements between padding that is there already; `run` elements of each.
void copy_line(const RowKernels& op, Elements line, Elements in, const Margins& m, int64_t stride, int64_t run);

// Windows from … to-1, one after the other: any geometry.
void windows_one_by_one(const Line& p, Elements in, Elements out, int64_t from, int64_t to);

// ------------------------------------------------------------------------- all windows of a line, none at an edge

bool by_stride_2(const Axis& a, int64_t run);
bool from_every_element(const RowKernels& op, const Axis& a);
// As one long row. A stride is undone first: phase r holds the elements r, r + s, r + 2s, …; or at the end, where
// `every` has room for a window from each element on.
void windows_in_a_row(const Line& p, Elements in, Elements out, int64_t count, Elements* phases, Elements every);

// Log-step: Sₘ[i] reduces m elements from i on, and S₂ₘ[i] = Sₘ[i] ∘ Sₘ[i + m·d].
bool log_step_pays(const Axis& a);
void windows_by_log_step(const Line& p, Elements in, Elements out, int64_t run, Elements sums, Elements spare);

// ------------------------------------------------------------------------------------------------ the other ways

// Pairwise reduction of large windows along a row of single elements.
void windows_pairwise(const Line& p, Elements in, Elements out, bool together, Elements a, Elements b, Elements tops);

// Windows with a stride over pixels of a few elements each.
bool pixels_pay(const Line& p);
int64_t pixel_room(const Line& p);
void windows_of_pixels(const Line& p, Elements in, Elements out, Elements elements, Elements results);

// Transposes of windows with a stride: elements a stride apart see as many outputs each, and are one long row.
Span whole_transposed(const Axis& a, int64_t j0, int64_t count);
void windows_transposed(const Line& p, Elements in, Elements out, Span whole, char* buffer);

}  // namespace cenote
