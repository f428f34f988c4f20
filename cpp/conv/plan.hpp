// The geometry of a convolution as seen from its results: which source pixels each of them needs.
//
// A convolution and its adjoint with respect to the input have the same form here. Along each axis, the results fall
// into phases: result u*out_step + out_base of a phase needs the source pixels u*step + offset of its taps. A
// convolution has one phase, and `step` is its stride. Its adjoint has as many phases as the stride, each with the taps
// that reach it, and `step` is 1: no zeros are inserted and multiplied.
#pragma once

#include <vector>

#include "conv/conv.hpp"
#include "conv/kernels.hpp"

namespace cenote {

struct Tap {
    int64_t index;   // among the packed taps of the axis, ordered by offset
    int64_t offset;  // in source pixels
};

struct Phase {
    Span u;
    int64_t out_base;
    std::vector<Tap> taps;
};

struct ConvPlanAxis {
    int64_t n, stride;          // of the source; bytes
    int64_t out_n, out_stride;  // of the results; bytes
    int64_t k, w_stride;        // w_stride: bytes between packed taps
    int64_t step, out_step, d;
    Span u;
    std::vector<Phase> phases;
    int64_t chunk, chunks;  // taps are processed in chunks, mostly a single one
    int64_t tile, tiles;    // of u
};

// A convolution without the choice of an algorithm. `reduce` and `out` count real numbers: a complex channel is two.
struct ConvPlan {
    const ConvKernels* kernels;
    DType part;                 // the dtype in memory; of complex numbers, that of their parts
    int64_t part_bytes, width;  // bytes per number in memory and in the work dtype
    int parts;
    bool same;                       // part is as wide as the work dtype
    std::vector<ConvPlanAxis> axes;  // the first one is the batch
    int64_t groups, reduce, out;
    int64_t bundle;  // groups that are computed as one, with a block-diagonal filter
    const char* source;
    char* result;
    int64_t source_channel, result_channel;  // strides in bytes, of real or complex numbers
    const char* w;
    int64_t w_reduce, w_out, w_group;
    const char* bias;
    int64_t bias_stride;
    int64_t taps;
    int64_t pixels;  // of the result
};

ConvPlan make_plan(const ConvProblem& r);

// ----------------------------------------------------------------------------------------------- source boxes

// The source pixels that a task needs, copied to working memory and zero-padded (im2col-free packing), or in place. The
// lanes of a `planar` box are pixels of the last axis, otherwise they are channels.
struct SourceBox {
    struct Side {
        int64_t base, elements;    // first source pixel; pixels of the box
        int64_t gap;               // source pixels per pixel of the box, unless `separate`
        int64_t least;             // offset of the first tap
        int64_t windows;           // pixels of the box between one u and the next
        bool separate;             // windows do not touch: pixel (u, t) of the box is u*windows + t
        int64_t u_step, tap_unit;  // elements
        int64_t stride;            // elements
    };
    std::vector<Side> sides;
    int64_t channel_step;  // elements
    int64_t elements;
    int64_t pitch, fold;  // planar: pixel i of the last axis is at (i % fold)*pitch + i / fold
    bool direct;
    const char* data;
};

// The side of a box along one axis, for windows `u` and a chunk of taps.
SourceBox::Side make_side(const ConvPlanAxis& axis, Span u, Span chunk);

struct Tile {
    std::vector<Span> u;      // per axis
    std::vector<Span> chunk;  // packed taps per axis
};

enum class Layout : uint8_t { pixel_major, planar, expanded };

// The box that a tile needs, with `channels` channels (`expanded`: `lanes` lanes for each of them).
SourceBox make_box(const ConvPlan& plan, const Tile& tile, int64_t channels, int64_t lanes, Layout layout,
                   bool may_be_direct);
// Fills it with channels first … first+count-1 of the source, of group `group`; of all groups if expanded.
void fill_box(const ConvPlan& plan, SourceBox& box, int64_t group, int64_t first, int64_t count, Layout layout,
              void* memory);

// The offset of a tap along an axis from the pixel at the tile's first u, in elements.
int64_t tap_at(const SourceBox& box, int axis, int64_t offset);

// ------------------------------------------------------------------------------------------------ memory, tiles

// Working memory of a call, not zeroed.
class Memory {
 public:
    struct Header {
        int64_t bytes;
        void* pages;  // set if it comes from the buffer cache
    };
    Memory() = default;
    explicit Memory(int64_t bytes);
    Memory(Memory&& other) noexcept : header_(other.header_) { other.header_ = nullptr; }
    Memory& operator=(Memory&& other) noexcept {
        release();
        header_ = other.header_;
        other.header_ = nullptr;
        return *this;
    }
    ~Memory() { release(); }
    char* get() const { return reinterpret_cast<char*>(header_) + 128; }

 private:
    void release();
    Header* header_ = nullptr;
};

int conv_threads(double products);
// The number of tasks that the work is worth, whatever the number of threads: for what affects the bits of results.
int64_t conv_tasks(double products);
int64_t conv_tile_bytes();

// Divides the results into tiles whose boxes have at most `bytes` bytes, and into at least `tasks` tiles if that is
// cheap.
void choose_conv_tiles(ConvPlan& plan, int64_t channels, int64_t extra_per_pixel, int64_t bytes, int64_t tasks);
// The same for tasks that read the source in place, with `lanes` elements per pixel: a few rows at a time have to fit
// into `bytes`, not the whole tile.
void choose_row_tiles(ConvPlan& plan, int64_t lanes, int64_t bytes, int64_t tasks);
int64_t all_elements(const ConvPlan& plan);  // source pixels that all results cover
Tile tile_at(const ConvPlan& plan, int64_t index);
int64_t tile_count(const ConvPlan& plan);

// Copies numbers between an array and working memory; for complex numbers both parts.
void load_channels(const ConvPlan& plan, const char* array, int64_t s0, int64_t channel_stride, void* work, int64_t d0,
                   int64_t d1, int64_t n0, int64_t channels);
void store_channels(const ConvPlan& plan, char* array, int64_t s0, int64_t channel_stride, const void* work, int64_t d0,
                    int64_t d1, int64_t n0, int64_t channels);

// Merges groups until their channels fill a vector.
void bundle_groups(ConvPlan& plan, int64_t lanes);

// Whether a kernel may read the source in place, apart from padding: one channel per group, contiguous.
bool reads_in_place(const ConvPlan& plan);

}  // namespace cenote
