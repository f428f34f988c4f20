// Row kernels of medians and modes: what a SIMD level provides, and sorting networks. Plain data only: units include
// this, see core/geometry.hpp.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

constexpr int64_t kNetworkTaps = 64;    // elements of a window that a network sorts
constexpr int64_t kNetworkSize = 1024;  // comparators of a network; 64 elements need 543
constexpr int64_t kVoteElements = 8;    // elements of a window that is read in place
constexpr int64_t kCountedSide = 127;   // rows or columns of windows whose elements are counted
constexpr int64_t kSharedReach = 1024;  // bytes from the first column of shared windows to the last

// A comparator: the smaller of two elements goes to `a`, the larger to `b`. One whose result is not needed is left out.
struct Comparator {
    uint8_t a, b;
    bool keeps_smaller, keeps_larger;
};

// Sorts n elements, or finds only the two in the middle, which are elements (n - 1) / 2 and n / 2 afterwards.
struct Network {
    int64_t n, size;
    Comparator step[kNetworkSize];
};

// A block of neighbouring windows of bytes, one for each byte of a vector, for one row of windows after the
// other. The padding of the array is real: 255. Rows may be read from one byte before, to a vector after the last
// window's end.
struct CountedWindows {
    const uint8_t* keys;       // the first window's first element
    int64_t row;               // from row to row
    int64_t down, rows;        // how many rows of windows, and how far apart
    int64_t height, k;         // rows and columns of a window
    int64_t windows;           // of the block
    const uint8_t* columns;    // of a window that are in the array, for each of a vector; at least one
    const uint8_t* real_rows;  // that are in the array, for each row of windows; at least one
    uint8_t *low, *high;       // the middle elements of a vector of windows
    int64_t out_row;
};

// Keys of 1, 2, 4 and 8 bytes. Every function computes `length` windows whose elements t are taps[t][i], and writes
// keys that are contiguous.
struct OrderRows {
    int64_t vector_bytes;
    // The two middle keys of n; `high` is not written for an odd number.
    using Median = void (*)(const char* const* taps, const Network& network, int64_t length, char* low, char* high);
    // The most frequent of n keys, the smallest of several.
    using Mode = void (*)(const char* const* taps, const Network& network, int64_t length, char* out);
    // The median of k × k keys, k = 3 or 5, `step` keys from column to column. At least a vector of windows.
    using Shared = void (*)(const char* const* rows, int64_t k, int64_t step, int64_t length, char* low);
    // At least a vector of modes of 2, 4 or 8 elements in place: of `rows` rows one element each, or with `pairs` two
    // neighbours of each. Elements and results are keys XOR `flip`.
    using Vote = void (*)(const char* const* rows, int64_t count, bool pairs, uint64_t flip, int64_t length, char* out);
    // Every other key, from the first and from the second on; `length` of each.
    using Split = void (*)(const char* from, int64_t length, char* even, char* odd);
    Median median[4];
    Mode mode[4];
    Shared shared[4];
    Vote vote[4];
    Split split[4];
    void (*threshold_counts)(const CountedWindows& windows);
};

// The index of a key's kernels.
static inline int key_index(DType work) {
    const int64_t width = size_of(work);
    return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3;
}

}  // namespace cenote
