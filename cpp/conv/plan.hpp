// The geometry of a convolution, seen from its results: which elements of the source each of them needs.
//
// A forward convolution and the one that goes back to the input are the same thing here. On each axis the results
// fall into phases: result u*out_step + out_base of a phase needs the source elements u*step + offset of its taps.
// A convolution has one phase, and `step` is its stride; its adjoint has as many phases as the stride, each with the
// taps that hit it, and `step` is 1: there are no zeros in between to be multiplied by.
#pragma once

#include <vector>

#include "conv/conv.hpp"
#include "conv/kernels.hpp"

namespace cenote {

struct Tap {
    int64_t index;   // among the packed taps of the axis, in the order of their offsets
    int64_t offset;  // in source elements
};

struct Phase {
    Span u;
    int64_t out_base;
    std::vector<Tap> taps;
};

struct ConvPlanAxis {
    int64_t n, stride;          // of the source, bytes
    int64_t out_n, out_stride;  // of the results, bytes
    int64_t k, w_stride;        // w_stride: bytes from one packed tap to the next
    int64_t step, out_step, d;
    Span u;
    std::vector<Phase> phases;
    int64_t chunk, chunks;  // taps are taken in chunks, mostly all at once
    int64_t tile, tiles;    // of u
};

// Everything but the algorithm. `reduce` and `out` count real numbers: a complex one is two.
struct ConvPlan {
    const ConvKernels* kernels;
    DType part;                 // the dtype in memory, of a complex number's parts
    int64_t part_bytes, width;  // bytes of a number in memory and in work
    int parts;
    bool same;                       // part is the work dtype
    std::vector<ConvPlanAxis> axes;  // the batch is the first of them
    int64_t groups, reduce, out;
    int64_t bundle;  // groups that are taken as one, with a filter that is zero between them
    const char* source;
    char* result;
    int64_t source_channel, result_channel;  // strides in bytes, of whole numbers
    const char* w;
    int64_t w_reduce, w_out, w_group;
    const char* bias;
    int64_t bias_stride;
    int64_t taps;
    int64_t pixels;  // of all results
};

ConvPlan make_plan(const ConvProblem& r);

// --------------------------------------------------------------------------------------------- source elements

// A box of source elements as tasks see it: copied into working memory, padded with zeros, or where it lies.
// The lanes of a `planar` box are pixels of the last axis, otherwise they are channels.
struct SourceBox {
    struct Side {
        int64_t base, elements;    // first source element; elements of the box
        int64_t gap;               // source elements between elements of the box, if not `separate`
        int64_t least;             // offset of the first tap
        int64_t windows;           // elements of the box between one u and the next
        bool separate;             // windows with gaps in between: element (u, t) of the box is u*windows + t
        int64_t u_step, tap_unit;  // elements
        int64_t stride;            // elements
    };
    std::vector<Side> sides;
    int64_t channel_step;  // elements
    int64_t elements;
    int64_t pitch, fold;  // planar: element i of the last axis is at (i % fold)*pitch + i / fold
    bool direct;
    const char* data;
};

// The side of a box on one axis, for windows `u` and a chunk of taps.
SourceBox::Side lay_side(const ConvPlanAxis& axis, Span u, Span chunk);

struct Tile {
    std::vector<Span> u;      // per axis
    std::vector<Span> chunk;  // packed taps per axis
};

enum class Layout : uint8_t { pixel_major, planar, expanded };

// The box that a tile needs, with `channels` channels (in `expanded` boxes: lanes for each of them).
SourceBox lay_box(const ConvPlan& plan, const Tile& tile, int64_t channels, int64_t lanes, Layout layout,
                  bool may_be_direct);
// Fill it: channels first … first+count-1 of the source, of group `group`; all groups if expanded.
void fill_box(const ConvPlan& plan, SourceBox& box, int64_t group, int64_t first, int64_t count, Layout layout,
              void* memory);

// The offset of a tap of an axis from the element of u = the tile's first, in elements.
int64_t tap_at(const SourceBox& box, int axis, int64_t offset);

// ------------------------------------------------------------------------------------------------- the rest

// Working memory of a call; not zeroed.
class Memory {
 public:
    struct Header {
        int64_t bytes;
        void* pages;  // where they are kept, if they are many
    };
    Memory() = default;
    explicit Memory(int64_t bytes);
    Memory(Memory&& other) noexcept : header_(other.header_) { other.header_ = nullptr; }
    Memory& operator=(Memory&& other) noexcept {
        gather_gradient();
        header_ = other.header_;
        other.header_ = nullptr;
        return *this;
    }
    ~Memory() { gather_gradient(); }
    char* get() const { return reinterpret_cast<char*>(header_) + 128; }

 private:
    void gather_gradient();
    Header* header_ = nullptr;
};

int conv_threads(double products);
// So many tasks are worth it, whatever the number of threads: for what shows in the bits of results.
int64_t conv_tasks(double products);
int64_t conv_tile_bytes();

// Cut the results into tiles whose boxes are at most `bytes` large, into at least `tasks` tiles if that is cheap.
void choose_conv_tiles(ConvPlan& plan, int64_t channels, int64_t extra_per_pixel, int64_t bytes, int64_t tasks);
// The same for tasks that read elements where they are, `lanes` of them a pixel: a few rows at a time have to fit into
// `bytes`, not the whole tile.
void choose_row_tiles(ConvPlan& plan, int64_t lanes, int64_t bytes, int64_t tasks);
int64_t all_elements(const ConvPlan& plan);  // source elements that all results see
Tile tile_at(const ConvPlan& plan, int64_t index);
int64_t tile_count(const ConvPlan& plan);

// The numbers of x from one place to another, for complex numbers both parts.
void load_channels(const ConvPlan& plan, const char* array, int64_t s0, int64_t channel_stride, void* work, int64_t d0,
                   int64_t d1, int64_t n0, int64_t channels);
void store_channels(const ConvPlan& plan, char* array, int64_t s0, int64_t channel_stride, const void* work, int64_t d0,
                    int64_t d1, int64_t n0, int64_t channels);

// Take groups together until their channels fill a vector.
void bundle_groups(ConvPlan& plan, int64_t lanes);

// Whether a kernel may read the source where it is, apart from padding: one channel per group, next to each other.
bool reads_in_place(const ConvPlan& plan);

}  // namespace cenote
