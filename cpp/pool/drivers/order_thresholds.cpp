// Medians of 8-bit keys over large windows of stride 1 along the row: elements up to a threshold are counted
// (kernels/threshold_counts.inl). Padding is the largest key, which is never counted.

#include <algorithm>

#include "pool/order_rows.hpp"
#include "pool/order_window.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

template <class T>
T* take(Arena* arena, int64_t n) {
    return static_cast<T*>(arena_take(arena, max(n, 1) * static_cast<int64_t>(sizeof(T))));
}

class ThresholdTile {
 public:
    ThresholdTile(const PoolSchedule& of, int64_t task, Arena* arena)
        : job(of), b(locate(of, task)), last(of.rank - 1), a(of.axis[last]), kernels(*level_in_use().pool.order) {
        const int64_t vector = kernels.vector_bytes;
        down = last > 0 ? &job.axis[last - 1] : &kOneRow;
        windows = b.count[last];
        rows = last > 0 ? b.count[last - 1] : 1;
        row = windows + a.k - 1 + 3 * vector;
        height = (rows - 1) * down->s + down->k;
        keys = take<uint8_t>(arena, height * row + vector) + 1;
        columns = take<uint8_t>(arena, windows + vector);
        real_rows = take<uint8_t>(arena, rows);
        low = take<uint8_t>(arena, rows * (windows + vector));
        high = take<uint8_t>(arena, rows * (windows + vector));
        std::fill_n(columns, windows + vector, uint8_t{0});
        for (int64_t i = 0; i < windows; ++i) {
            const Span real = real_taps(a, b.j0[last] + i);
            columns[i] = static_cast<uint8_t>(real.end - real.begin);
        }
        for (int64_t i = 0; i < rows; ++i) {
            const Span real = last > 0 ? real_taps(*down, b.j0[last - 1] + i) : Span{0, 1};
            real_rows[i] = static_cast<uint8_t>(real.end - real.begin);
        }
    }

    void run() {
        const int before = last > 0 ? last - 1 : 0;  // axes of windows of one element
        for_rows(before, b.count, [&](const int64_t* at) {
            int64_t y = b.y;
            const char* x = b.x + b.c0[last] * job.x_stride[last];
            for (int q = 0; q < before; ++q) {
                y += at[q] * job.y_stride[q];
                x += window_start(job.axis[q], b.j0[q] + at[q]) * job.x_stride[q];
            }
            for (int64_t lane = 0; lane < b.lanes; ++lane) {
                load(x + lane * job.lane_stride);
                for (int64_t i = 0; i < windows; i += kernels.vector_bytes) {
                    block(i);
                    checkpoint();
                }
                for (int64_t i = 0; i < rows; ++i) write(i, y + lane + (last > 0 ? i * job.y_stride[last - 1] : 0));
            }
        });
    }

 private:
    static constexpr Axis kOneRow{1, 1, 1, 1, 1, 0, 0, nullptr, nullptr, 0, 0, 0};

    void load(const char* x) {
        std::fill_n(keys - 1, height * row, kLastKey<uint8_t>);
        const KeyFormat format = key_format(job);
        const int64_t n = b.elements[last], top = last > 0 ? b.c0[last - 1] : 0;
        const int64_t above = last > 0 ? top - window_start(*down, b.j0[last - 1]) : 0;
        uint8_t* first = keys + above * row + b.c0[last] - window_start(a, b.j0[last]);
        for (int64_t r = 0; r < (last > 0 ? b.elements[last - 1] : 1); ++r, first += row) {
            const char* from = x + (last > 0 ? (top + r) * job.x_stride[last - 1] : 0);
            load_keys(first, from, job.x_stride[last], n, format);
        }
    }

    void block(int64_t i) {
        const int64_t out_row = windows + kernels.vector_bytes;
        const int64_t here = min(kernels.vector_bytes, windows - i);
        kernels.threshold_counts(
            {keys + i, row, down->s, rows, down->k, a.k, here, columns + i, real_rows, low + i, high + i, out_row});
    }

    // A row of results, those of odd and of even numbers of elements apart.
    void write(int64_t r, int64_t y) {
        const uint8_t *lower = low + r * (windows + kernels.vector_bytes), *upper = high + (lower - low);
        const auto is_even = [&](int64_t i) { return columns[i] * real_rows[r] % 2 == 0; };
        for (int64_t i = 0; i < windows;) {
            int64_t end = i + 1;
            while (end < windows && job.y_stride[last] == 1 && is_even(end) == is_even(i)) ++end;
            write_medians(job, y + i * job.y_stride[last], lower + i, is_even(i) ? upper + i : lower + i, end - i);
            i = end;
        }
    }

    const PoolSchedule& job;
    const PoolTile b;
    const int last;
    const Axis& a;
    const OrderRows& kernels;
    const Axis* down;                    // the axis before the last one
    int64_t windows, rows, row, height;  // of a plane: windows in a row, rows of windows, bytes in a row, rows of keys
    uint8_t *keys, *columns, *real_rows, *low, *high;
};

void threshold_tile(const PoolSchedule& job, int64_t task, Arena* arena) { ThresholdTile(job, task, arena).run(); }

}  // namespace

TaskFn find_threshold_counts(const PoolSchedule&) { return &threshold_tile; }

}  // namespace cenote
