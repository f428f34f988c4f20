// Modes of 2, 4 and 8 integers, read in place: the labels of an image or a volume halved along two or three axes.

#include "pool/order_rows.hpp"
#include "pool/order_window.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

class VoteTile {
 public:
    VoteTile(const PoolSchedule& of, int64_t task)
        : job(of),
          b(locate(of, task)),
          last(of.rank - 1),
          a(of.axis[last]),
          size(size_of(of.in)),
          index(key_index(of.work)),
          kernels(*level_in_use().pool.order),
          format(key_format(of)) {
        origin = b;
        for (int q = 0; q < job.rank; ++q) origin.c0[q] = 0;
        // Keys of 64 bits are signed, others are not (order.hpp).
        const bool is_signed = format.kind == KeyKind::signed_integer;
        flip = is_signed != (size == 8) ? uint64_t{1} << (8 * size - 1) : 0;
    }

    void run() {
        for_rows(last, b.count, [&](const int64_t* at) { row(at); });
    }

 private:
    void row(const int64_t* at) {
        int64_t y = b.y;
        for (int q = 0; q < last; ++q) y += at[q] * job.y_stride[q];
        rows = taps_before(job, origin, last, at, job.x_stride, taps);
        Span inside = interior_windows(a, b.j0[last], b.count[last]);
        if (rows != 1 && rows != 2 && rows != 4 && rows != 8) inside = {0, 0};
        const int64_t number = inside.end - inside.begin;
        if (rows_are_lanes(job)) {
            for (int64_t i = 0; i < b.count[last]; ++i) {
                const bool whole = i >= inside.begin && i < inside.end;
                lanes_of(i, y + i * job.y_stride[last], whole);
            }
        } else if (number * size >= kernels.vector_bytes && rows * a.k > 1) {
            for (int64_t i = 0; i < inside.begin; ++i) alone(i, y + i, 0);
            const char* first[8];
            for (int64_t r = 0; r < rows; ++r) first[r] = at_column(r, inside.begin, 0);
            kernels.vote[index](first, rows, a.k == 2, flip, number, job.y + (y + inside.begin) * size);
            for (int64_t i = inside.end; i < b.count[last]; ++i) alone(i, y + i, 0);
        } else {
            for (int64_t i = 0; i < b.count[last]; ++i) alone(i, y + i, 0);
        }
        checkpoint();
    }

    // All lanes of a window.
    void lanes_of(int64_t i, int64_t y, bool whole) {
        const int64_t n = rows * a.k;
        if (!whole || n < 2 || b.lanes * size < kernels.vector_bytes) {
            for (int64_t lane = 0; lane < b.lanes; ++lane) alone(i, y + lane, lane);
            return;
        }
        const char* first[8];
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t t = 0; t < a.k; ++t) first[r * a.k + t] = at_column(r, i, t);
        kernels.vote[index](first, n, false, flip, b.lanes, job.y + y * size);
    }

    const char* at_column(int64_t r, int64_t i, int64_t t) const {
        return b.x + taps[r].at + (window_start(a, b.j0[last] + i) + t * a.d) * job.x_stride[last];
    }

    void alone(int64_t i, int64_t y, int64_t lane) {
        switch (size) {
            case 1: return alone_of<uint8_t>(i, y, lane);
            case 2: return alone_of<uint16_t>(i, y, lane);
            case 4: return alone_of<uint32_t>(i, y, lane);
            default: return alone_of<int64_t>(i, y, lane);
        }
    }
    template <class K>
    void alone_of(int64_t i, int64_t y, int64_t lane) {
        const Span real = real_taps(a, b.j0[last] + i);
        K window[kVoteElements];
        int64_t n = 0;
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t t = real.begin; t < real.end; ++t)
                load_keys(window + n++, at_column(r, i, t) + lane * size, size, 1, format);
        write_window(job, y, window, n, false);
    }

    const PoolSchedule& job;
    const PoolTile b;
    PoolTile origin;  // the same, with elements counted from the first of every axis
    const int last;
    const Axis& a;
    const int64_t size;
    const int index;
    const OrderRows& kernels;
    const KeyFormat format;
    uint64_t flip;
    OrderTap taps[kVoteElements];  // of the windows of this row
    int64_t rows = 0;
};

void vote_tile(const PoolSchedule& job, int64_t task, Arena*) { VoteTile(job, task).run(); }

}  // namespace

TaskFn find_direct_mode(const PoolSchedule&) { return &vote_tile; }

}  // namespace cenote
