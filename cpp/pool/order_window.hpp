// One window at a time: what its keys are when they are sorted. For drivers, which are compiled once.
#pragma once

#include <algorithm>

#include "pool/order_keys.hpp"
#include "pool/tile.hpp"

namespace cenote {

// An element of a window, but for its place along the row.
struct OrderTap {
    int64_t at;      // keys from the window's first element
    int64_t offset;  // in the window, in row-major order
};

// The elements of the windows at position `at` on the axes before `last`, as far as they are in the array; their
// number. Strides are those of the keys of a tile.
static inline int64_t taps_before(const PoolSchedule& job, const PoolTile& b, int last, const int64_t* at,
                                  const int64_t* stride, OrderTap* taps) {
    int64_t count = 1;
    taps[0] = {0, 0};
    for (int q = 0; q < last; ++q) {
        const Axis& a = job.axis[q];
        const int64_t j = b.j0[q] + at[q];
        const Span real = real_taps(a, j);
        const int64_t n = real.end - real.begin, first = window_start(a, j) - b.c0[q];
        for (int64_t i = count * n - 1; i >= 0; --i) {  // from the end: in place
            const int64_t t = real.begin + i % n;
            taps[i] = {taps[i / n].at + (first + t * a.d) * stride[q], taps[i / n].offset + t * job.weight[q]};
        }
        count *= n;
    }
    return count;
}

// The most frequent key, the smallest of several. Sorts the keys.
template <class K>
K most_frequent(K* keys, int64_t n) {
    const K first = keys[0];
    if (std::all_of(keys, keys + n, [&](K key) { return key == first; })) return first;
    std::sort(keys, keys + n);
    K found = keys[0];
    int64_t longest = 0;
    for (int64_t i = 0; i < n;) {
        int64_t end = i + 1;
        while (end < n && keys[end] == keys[i]) ++end;
        if (end - i > longest) {
            longest = end - i;
            found = keys[i];
        }
        i = end;
    }
    return found;
}

template <class K>
struct MiddleKeys {
    K low, high;
};

// The keys in the middle, the same one twice of an odd number. Moves the keys.
template <class K>
MiddleKeys<K> middle_keys(K* keys, int64_t n) {
    std::nth_element(keys, keys + n / 2, keys + n);
    const K high = keys[n / 2];
    return {n % 2 ? high : *std::max_element(keys, keys + n / 2), high};
}

// Writes the result of one window, whose n keys are moved. With `nan` it has one, and NaN are not omitted.
template <class K>
MiddleKeys<K> write_window(const PoolSchedule& job, int64_t y, K* keys, int64_t n, bool nan) {
    MiddleKeys<K> found{kLastKey<K>, kLastKey<K>};
    if (n == 0) {
        write_missing(job, y, 1);
    } else if (job.reduce == Reduce::mode) {
        found.low = found.high = most_frequent(keys, n);
        write_elements(job, y, &found.low, 1);
    } else {
        if (!nan) found = middle_keys(keys, n);
        write_medians(job, y, &found.low, n % 2 ? &found.low : &found.high, 1);
    }
    return found;
}

}  // namespace cenote
