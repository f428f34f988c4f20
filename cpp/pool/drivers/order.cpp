// Medians and modes of one tile of windows: its elements become keys, and each window's keys are sorted as far as
// needed.

#include "pool/order.hpp"

#include <type_traits>

#include "pool/order_window.hpp"
#include "runtime/levels.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

// Two middle elements, by their offsets in the window; -1: none.
struct Middle {
    int64_t lower, upper;
};

template <class K>
void store_offsets(const PoolSchedule& job, int64_t y, Middle found) {
    const auto put = [&](auto* to) {
        to[y] = static_cast<std::remove_reference_t<decltype(*to)>>(found.lower);  // -1 is its largest value
        to[y + job.results] = static_cast<std::remove_reference_t<decltype(*to)>>(found.upper);
    };
    switch (job.argmax_format) {
        case ArgmaxFormat::offset8: return put(static_cast<uint8_t*>(job.argmax));
        case ArgmaxFormat::offset16: return put(static_cast<uint16_t*>(job.argmax));
        default: return put(static_cast<uint32_t*>(job.argmax));
    }
}

constexpr int64_t kLongWindow = 1 << 14;  // elements; sorting them may take a while

template <class K>
class OrderTile {
 public:
    OrderTile(const PoolSchedule& of, int64_t task, Arena* arena)
        : job(of), b(locate(of, task)), format(key_format(of)), last(of.rank - 1) {
        const int64_t size = contiguous_strides(job.rank, b.elements, b.lanes, stride);
        K* to = take<K>(arena, size);
        keys = to;
        const InputRows rows = input_rows(job, b);
        for_input_rows(job, b, rows, [&](const char* from) {
            has_nan |= load_keys(to, from, rows.stride, rows.n, format);
            to += rows.n;
        });
        int64_t outer = 1;
        for (int q = 0; q < last; ++q) outer *= job.axis[q].k;
        taps = take<OrderTap>(arena, outer);
        window = take<K>(arena, outer * job.axis[last].k);
    }

    void run() {
        for_rows(last, b.count, [&](const int64_t* at) { row(at); });
    }

 private:
    template <class T>
    static T* take(Arena* arena, int64_t n) {
        return static_cast<T*>(arena_take(arena, max(n, 1) * static_cast<int64_t>(sizeof(T))));
    }

    // The windows along the last axis, at one position of the others.
    void row(const int64_t* at) {
        int64_t y = b.y;
        for (int q = 0; q < last; ++q) y += at[q] * job.y_stride[q];
        count = taps_before(job, b, last, at, stride, taps);
        for (int64_t i = 0; i < b.count[last]; ++i, y += job.y_stride[last]) one_by_one(b.j0[last] + i, y);
        checkpoint();
    }

    // The lanes of one window.
    void one_by_one(int64_t j, int64_t y) {
        const Axis& a = job.axis[last];
        const Span real = real_taps(a, j);
        const int64_t start = (window_start(a, j) - b.c0[last]) * stride[last], step = a.d * stride[last];
        for (int64_t lane = 0; lane < b.lanes; ++lane) {
            int64_t n = 0;
            bool nan = false;
            for (int64_t i = 0; i < count; ++i) {
                for (int64_t t = real.begin; t < real.end; ++t) {
                    const K key = keys[taps[i].at + start + t * step + lane];
                    const bool is_nan = has_nan && key == kLastKey<K>;
                    nan |= is_nan;
                    window[n] = key;
                    n += !(is_nan && job.omit);
                }
            }
            if (n >= kLongWindow) checkpoint();
            const auto [low, high] = write_window(job, y + lane, window, n, nan && !job.omit);
            if (job.argmax)
                store_offsets<K>(
                    job, y + lane,
                    n ? find(start + lane, real, step, low, high, n % 2 || (nan && !job.omit)) : Middle{-1, -1});
        }
    }

    // Zeros of both signs as one key.
    K tied(K key) const {
        constexpr K zero = static_cast<K>(sizeof(K) == 8 ? K{0} : K{1} << (8 * sizeof(K) - 1));
        return format.kind == KeyKind::floating && key == static_cast<K>(zero - 1) ? zero : key;
    }

    // Of elements that equal one in the middle the first, and if both are equal, the first two.
    Middle find(int64_t start, Span real, int64_t step, K low, K high, bool same) const {
        constexpr int64_t none = INT64_MAX;
        int64_t first = none, second = none, upper = none;
        low = tied(low);
        high = tied(high);
        for (int64_t i = 0; i < count; ++i) {
            for (int64_t t = real.begin; t < real.end; ++t) {
                const K key = tied(keys[taps[i].at + start + t * step]);
                const int64_t offset = taps[i].offset + t * job.weight[last];
                if (key == high) upper = min(upper, offset);
                if (key != low) continue;
                second = min(second, max(first, offset));
                first = min(first, offset);
            }
        }
        return {first, same ? first : low == high ? second : upper};
    }

    const PoolSchedule& job;
    const PoolTile b;
    const KeyFormat format;
    const int last;
    const K* keys;             // of all elements, contiguous
    int64_t stride[kMaxDims];  // of them
    bool has_nan = false;
    OrderTap* taps;  // of the windows of this row
    int64_t count = 0;
    K* window;  // one of them
};

template <class K>
void sort_windows(const PoolSchedule& job, int64_t task, Arena* arena) {
    OrderTile<K>(job, task, arena).run();
}

}  // namespace

TaskFn find_window_sort(const PoolSchedule& job) {
    switch (size_of(job.work)) {
        case 1: return &sort_windows<uint8_t>;
        case 2: return &sort_windows<uint16_t>;
        case 4: return &sort_windows<uint32_t>;
        default: return &sort_windows<int64_t>;
    }
}

}  // namespace cenote
