// Methods to reduce one line of a separable pass. All of them give the same bits.
#pragma once

#include "pool/drivers/separable.hpp"

namespace cenote {

// A pass with its row kernels and its working memory.
struct Line : LinePass {
    const RowKernels* op;
    void* rows;   // space for one row pointer per tap
    char* tall;   // partial sums of tall windows; null if there are none
    Planes tops;  // of the blocks of long windows; null if there are none

    Planes ahead(Planes e, int64_t by) const {
        by *= op->width;
        return {e.v + by, e.w ? e.w + by : nullptr};
    }
};

constexpr int64_t kTall = 8;            // with more taps, the rows of a window are read one after the other
constexpr int64_t kTallRun = 1024;      // elements at a time, so that the partial sums stay in the L2 cache
constexpr int64_t kPairwise = 32;       // taps from which pairwise reduction pays
constexpr int64_t kBlock = 8192;        // elements reduced pairwise at a time: a power of two, which preserves the tree
constexpr int64_t kPixelTaps = 256;     // windows of more taps use log-step passes
constexpr int64_t kMaxPixelBytes = 64;  // bytes; larger pixels are reduced as runs

static inline void* take_bytes(Arena* arena, int64_t bytes) { return arena_take(arena, bytes); }

// Working memory for n accumulators, with a second plane if the reducer has one and `both` is set.
static inline Planes take_planes(const RowKernels& op, Arena* arena, int64_t n, bool both) {
    Planes e{static_cast<char*>(take_bytes(arena, n * op.width)), nullptr};
    if (op.two_planes && both) e.w = static_cast<char*>(take_bytes(arena, n * op.width));
    return e;
}

// The parts of a line: padding before, the first real element in the tile, the number of real ones, padding after.
struct Margins {
    int64_t before, from, middle, after;
};
Margins margins(const LinePass& p);

// Copies the real elements of a line between its padding, which is there already; `run` elements each.
void copy_line(const RowKernels& op, Planes line, Planes in, const Margins& m, int64_t stride, int64_t run);

// Windows from … to-1, one after the other, for any geometry.
void windows_one_by_one(const Line& p, Planes in, Planes out, int64_t from, int64_t to);

// ---------------------------------------------------------------- all windows of a line, none of them clipped

bool by_stride_2(const Axis& a, int64_t run);
bool from_every_element(const RowKernels& op, const Axis& a);
// The line as one long row. A stride is undone first (phase r has the elements r, r + s, r + 2s, …) or last, if `every`
// has room for the windows of stride 1.
void windows_in_a_row(const Line& p, Planes in, Planes out, int64_t count, Planes* phases, Planes every);

// Log-step: Sₘ[i] reduces m elements from i on, and S₂ₘ[i] = Sₘ[i] ∘ Sₘ[i + m·d].
bool log_step_pays(const Axis& a);
void windows_by_log_step(const Line& p, Planes in, Planes out, int64_t run, Planes sums, Planes spare);

// ---------------------------------------------------------------------------------------------- other methods

// Pairwise reduction of large windows along a row of single elements.
void windows_pairwise(const Line& p, Planes in, Planes out, bool together, Planes a, Planes b, Planes tops);

// Windows with a stride over pixels of a few elements each.
bool pixels_pay(const Line& p);
int64_t pixel_room(const Line& p);
void windows_of_pixels(const Line& p, Planes in, Planes out, Planes elements, Planes results);

// Transposes of strided windows: elements a stride apart receive from equally many windows and form one long row.
Span interior_transposed(const Axis& a, int64_t j0, int64_t count);
void windows_transposed(const Line& p, Planes in, Planes out, Span interior, char* buffer);

}  // namespace cenote
