// Medians over large windows that overlap: the elements of a tile are sorted once, and a window is a set of ranks.
//
// The set is a bitmap that slides along a row of windows: a step sets the bits of the columns that enter and clears
// those of the columns that leave. Which word has the median is known from one step to the next, and moves little.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "pool/order_window.hpp"
#include "runtime/levels.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

template <class T>
T* take(Arena* arena, int64_t n) {
    return static_cast<T*>(arena_take(arena, max(n, 1) * static_cast<int64_t>(sizeof(T))));
}

// Bits of a digit of the radix sort.
constexpr int kDigit = 11;
constexpr int64_t kDigits = 1 << kDigit;

// The permutation that sorts keys, in order of equal ones: a radix sort from the least significant digit. `other` and
// `count` are working memory.
template <class K>
const uint32_t* sorted_order(const K* keys, int64_t n, uint32_t* order, uint32_t* other, uint32_t* count) {
    using U = KeyBits<K>;
    constexpr auto sign = static_cast<U>(sizeof(K) == 8 ? U{1} << 63 : 0);
    constexpr int passes = (8 * static_cast<int>(sizeof(K)) + kDigit - 1) / kDigit;
    if (n == 0) return order;  // the windows of the tile are padding
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(i);
    std::memset(count, 0, static_cast<size_t>(passes * kDigits) * sizeof(uint32_t));
    for (int64_t i = 0; i < n; ++i) {
        const U bits = static_cast<U>(keys[i]) ^ sign;
        for (int p = 0; p < passes; ++p)
            ++count[p * kDigits + static_cast<int64_t>(bits >> (p * kDigit) & (kDigits - 1))];
    }
    for (int p = 0; p < passes; ++p) {
        uint32_t* const at = count + p * kDigits;
        const auto digit = [&](uint32_t i) {
            return static_cast<int64_t>(static_cast<U>(static_cast<U>(keys[i]) ^ sign) >> (p * kDigit) & (kDigits - 1));
        };
        if (at[digit(order[0])] == n) continue;  // all the same
        uint32_t sum = 0;
        for (int64_t d = 0; d < kDigits; ++d) sum += std::exchange(at[d], sum);
        for (int64_t i = 0; i < n; ++i) other[at[digit(order[i])]++] = order[i];
        std::swap(order, other);
    }
    return order;
}

// Ranks of which the one in the middle is looked for.
class RankSet {
 public:
    RankSet(Arena* arena, int64_t ranks) : words_(ranks / 64 + 1), bits_(take<uint64_t>(arena, words_)) { clear(); }

    void clear() {
        std::memset(bits_, 0, static_cast<size_t>(words_) * sizeof(uint64_t));
        word_ = below_ = size_ = 0;
    }
    void flip(uint32_t rank) { bits_[rank >> 6] ^= uint64_t{1} << (rank & 63); }
    // Adds `by` to the number of ranks, and to that of ranks below the word of the last search.
    void count(uint32_t rank, int64_t by) { below_ += (rank >> 6) < static_cast<uint64_t>(word_) ? by : 0; }
    void resize(int64_t by) { size_ += by; }
    int64_t size() const { return size_; }

    // The rank with `index` others below it.
    int64_t find(int64_t index) {
        while (below_ > index) below_ -= std::popcount(bits_[--word_]);
        for (int here; below_ + (here = std::popcount(bits_[word_])) <= index; below_ += here) ++word_;
        uint64_t rest = bits_[word_];
        for (int64_t i = below_; i < index; ++i) rest &= rest - 1;
        return word_ * 64 + std::countr_zero(rest);
    }
    // The next one after a rank.
    int64_t after(int64_t rank) const {
        int64_t word = rank >> 6;
        uint64_t rest = rank % 64 == 63 ? 0 : bits_[word] >> (rank % 64 + 1) << (rank % 64 + 1);
        while (rest == 0) rest = bits_[++word];
        return word * 64 + std::countr_zero(rest);
    }

 private:
    const int64_t words_;
    uint64_t* const bits_;
    int64_t word_, below_, size_;
};

template <class K>
class RanksTile {
 public:
    RanksTile(const PoolSchedule& of, int64_t task, Arena* arena)
        : job(of),
          b(locate(of, task)),
          last(of.rank - 1),
          a(of.axis[last]),
          elements(contiguous_strides(of.rank, b.elements, b.lanes, stride)),
          set(arena, elements) {
        K* keys = take<K>(arena, elements);
        const InputRows rows = input_rows(job, b);
        const KeyFormat format = key_format(job);
        for_input_rows(job, b, rows, [&](const char* from) {
            load_keys(keys, from, rows.stride, rows.n, format);
            keys += rows.n;
        });
        rank_elements(keys - elements, arena);
        int64_t outer = 1;
        for (int q = 0; q < last; ++q) outer *= job.axis[q].k;
        taps = take<OrderTap>(arena, outer);
        low = take<K>(arena, b.count[last]);
        high = take<K>(arena, b.count[last]);
        number = take<int64_t>(arena, b.count[last]);
    }

    void run() {
        for_rows(last, b.count, [&](const int64_t* at) {
            int64_t y = b.y;
            for (int q = 0; q < last; ++q) y += at[q] * job.y_stride[q];
            count = taps_before(job, b, last, at, stride, taps);
            for (int64_t lane = 0; lane < b.lanes; ++lane) {
                row(lane);
                write(y + lane);
            }
            checkpoint();
        });
    }

 private:
    void rank_elements(const K* keys, Arena* arena) {
        uint32_t *order = take<uint32_t>(arena, elements), *other = take<uint32_t>(arena, elements);
        constexpr int64_t passes = (8 * static_cast<int64_t>(sizeof(K)) + kDigit - 1) / kDigit;
        const uint32_t* const sorted =
            sorted_order(keys, elements, order, other, take<uint32_t>(arena, passes * kDigits));
        ranks = take<uint32_t>(arena, elements);
        value = take<K>(arena, elements);
        for (int64_t i = 0; i < elements; ++i) {
            ranks[sorted[i]] = static_cast<uint32_t>(i);
            value[i] = keys[sorted[i]];
        }
        first_nan = elements;
        if (key_format(job).kind == KeyKind::floating)
            first_nan = std::lower_bound(value, value + elements, kLastKey<K>) - value;
    }

    // The middle keys of a row of windows, and how many elements each window has.
    void row(int64_t lane) {
        Span seen{0, 0};
        nans = 0;
        set.clear();
        for (int64_t i = 0; i < b.count[last]; ++i) {
            const int64_t j = b.j0[last] + i;
            const Span real = real_taps(a, j);
            const int64_t first = window_start(a, j) - b.c0[last];
            const Span now{first + real.begin, first + max(real.begin, real.end)};
            for (int64_t c = seen.begin; c < min(seen.end, now.begin); ++c) change(c, lane, -1);
            for (int64_t c = max(seen.end, now.begin); c < now.end; ++c) change(c, lane, 1);
            seen = now;
            const int64_t n = set.size() - (job.omit ? nans : 0);
            number[i] = n;
            low[i] = high[i] = kLastKey<K>;
            if (n == 0 || (nans && !job.omit)) continue;
            const int64_t rank = set.find((n - 1) / 2);
            low[i] = high[i] = value[rank];
            if (n % 2 == 0) high[i] = value[set.after(rank)];
        }
    }

    // A column enters or leaves the window.
    void change(int64_t c, int64_t lane, int64_t by) {
        const uint32_t* const from = ranks + c * stride[last] + lane;
        if (first_nan < elements)
            for (int64_t i = 0; i < count; ++i) nans += from[taps[i].at] >= first_nan ? by : 0;
        for (int64_t i = 0; i < count; ++i) {
            const uint32_t rank = from[taps[i].at];
            set.flip(rank);
            set.count(rank, by);
        }
        set.resize(count * by);
    }

    void write(int64_t y) {
        const int64_t step = job.y_stride[last];
        for (int64_t i = 0; i < b.count[last];) {  // runs of windows with elements, and without
            const auto kind = [&](int64_t at) { return number[at] == 0 ? 0 : number[at] % 2 ? 1 : 2; };
            int64_t end = i + 1;
            while (end < b.count[last] && step == 1 && kind(end) == kind(i)) ++end;
            if (kind(i) == 0)
                write_missing(job, y + i * step, end - i);
            else
                write_medians(job, y + i * step, low + i, kind(i) == 1 ? low + i : high + i, end - i);
            i = end;
        }
    }

    const PoolSchedule& job;
    const PoolTile b;
    const int last;
    const Axis& a;
    int64_t stride[kMaxDims];
    const int64_t elements;
    RankSet set;
    uint32_t* ranks;  // of the elements of the tile
    K* value;         // by rank
    int64_t first_nan;
    int64_t nans = 0;  // in the set
    OrderTap* taps;
    int64_t count = 0;
    K *low, *high;
    int64_t* number;
};

template <class K>
void ranks_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    RanksTile<K>(job, task, arena).run();
}

}  // namespace

TaskFn find_sliding_ranks(const PoolSchedule& job) {
    switch (size_of(job.work)) {
        case 1: return &ranks_tile<uint8_t>;
        case 2: return &ranks_tile<uint16_t>;
        case 4: return &ranks_tile<uint32_t>;
        default: return &ranks_tile<int64_t>;
    }
}

}  // namespace cenote
