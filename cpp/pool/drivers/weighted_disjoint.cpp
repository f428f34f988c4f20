#include "pool/weighted.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

// Elements of an axis that lie outside of all windows.
bool has_gaps(const Axis& a) { return a.s > a.k || window_start(a, a.o) < a.n; }

// A tile of windows, and the elements after each of them that belong to no window.
class DisjointTile {
 public:
    DisjointTile(const WeightedJob& job, int64_t task)
        : job_(job), s_(job.windows), b_(locate(s_, task)), last_(s_.rank - 1), in_planes_(!rows_are_lanes(s_)) {
        w_.x_type = s_.in;
        w_.type = job.t_type;
        w_.streaming = job.streaming;
        w_.taps = 1;
        for (int i = 0; i < s_.rank; ++i) {
            w_.k[i] = s_.axis[s_.pass[i]].k;
            tap_step_[s_.pass[i]] = w_.taps;
            w_.taps *= w_.k[i];
        }
        w_.pair_step = tap_step_[last_];
    }

    // Whether no window needs the shifted form.
    bool spread() {
        const Axis& a = s_.axis[last_];
        const Span interior = interior_windows(a, b_.j0[last_], b_.count[last_]);
        // A vector of pairs needs as many windows.
        const bool pairs = in_planes_ && interior.end - interior.begin >= kVectorRoom;
        const Span run = in_planes_ && !pairs ? Span{} : interior;
        bool plain = true, listed = false;
        for_rows(last_, b_.count, [&](const int64_t* at) {
            if (!plain) return;
            Window window;
            window.start = 0;
            window.y = b_.y;
            window.padded = window.real = 1;
            bool clipped = false;
            for (int q = 0; q < last_; ++q) {
                place(window, q, at[q]);
                clipped |= window.taps[q].end - window.taps[q].begin < s_.axis[q].k;
            }
            for (int64_t i = 0; i < b_.count[last_]; ++i) {
                Window first = window;
                place(first, last_, i);
                if (i != run.begin || i >= run.end) {
                    list_reads(first, false);
                    listed = false;
                    plain &= spread_from(first, 1, false);
                    continue;
                }
                if (clipped || !listed) list_reads(first, pairs);
                listed = !clipped;
                plain &= spread_from(first, run.end - run.begin, pairs);
                i = run.end - 1;
            }
        });
        return plain;
    }

    // Zeros for elements in no window: the first tile has those before the first window too.
    void fill_gaps() {
        deepest_gap_ = -1;
        for (int q = 0; q < s_.rank; ++q) {
            const Axis& a = s_.axis[q];
            if (has_gaps(a)) deepest_gap_ = q;
            const int64_t j0 = b_.j0[q], end = j0 + b_.count[q];
            owned_[q] = {j0 == 0 ? 0 : clip(a, window_start(a, j0)), end == a.o ? a.n : clip(a, window_start(a, end))};
        }
        if (deepest_gap_ >= 0) fill_gaps(0, element(0));
    }

 private:
    // A window: its first element, from that of the tile, its operand, and its taps that are not padding.
    struct Window {
        int64_t start, y;
        double padded, real;  // how many elements it has, with padding that counts and without
        Span taps[kMaxDims];
    };

    int pass(int i) const { return s_.pass[s_.rank - 1 - i]; }  // the last pass first, as loops nest
    int64_t step(int q) const { return s_.x_stride[q] / size_of(s_.in); }
    int64_t element(int64_t offset) const { return (b_.x - s_.x) / size_of(s_.in) + offset; }
    static int64_t clip(const Axis& a, int64_t c) { return min(max(c, 0), a.n); }

    void place(Window& w, int q, int64_t i) const {
        const Axis& a = s_.axis[q];
        const int64_t j = b_.j0[q] + i;
        w.start += window_start(a, j) * step(q);
        w.y += i * s_.y_stride[q];
        w.taps[q] = real_taps(a, j);
        const Span padded = padded_taps(a, j);
        w.padded *= static_cast<double>(padded.end - padded.begin);
        w.real *= static_cast<double>(w.taps[q].end - w.taps[q].begin);
    }

    // The taps, in the order of the passes, except those along a row of pairs.
    void list_reads(const Window& at, bool pairs) {
        w_.reads = 0;
        w_.clipped = false;
        int64_t extent[kMaxDims];
        for (int i = 0; i < s_.rank; ++i) extent[i] = pairs && pass(i) == last_ ? 1 : s_.axis[pass(i)].k;
        for_rows(s_.rank, extent, [&](const int64_t* tap) {
            DisjointWindows::Read& r = w_.read[w_.reads++];
            r = {0, 0, true};
            for (int i = 0; i < s_.rank; ++i) {
                const int q = pass(i);
                r.offset += tap[i] * step(q);
                r.tap += tap[i] * tap_step_[q];
                r.present &= tap[i] >= at.taps[q].begin && tap[i] < at.taps[q].end;
            }
            w_.clipped |= !r.present;
        });
    }

    // From this window on, along the last axis.
    bool spread_from(const Window& first, int64_t windows, bool pairs) {
        const Factors& f = job_.factors;
        w_.pads = 0;
        if (const double pads = f.of.pads ? first.padded - first.real : 0.0; pads > 0) {
            if (!f.plain_pad) return false;
            w_.pads = pads * f.pad;
        }
        const int64_t from = element(first.start), width = size_of(w_.type);
        w_.pairs = pairs;
        w_.x = s_.x + from * size_of(s_.in);
        w_.out = job_.out + from * width;
        w_.g = job_.t + first.y * width;
        w_.rows = pairs ? 1 : windows;
        w_.n = pairs ? windows : b_.lanes;
        w_.x_step = s_.axis[last_].s * step(last_);
        w_.g_step = s_.y_stride[last_];
        const bool plain = job_.rows->spread_disjoint(f, w_);
        count_done(done_, w_.taps * w_.rows * w_.n);
        return plain;
    }

    void fill(int q, int64_t from, int64_t to, int64_t at) {
        const int64_t width = size_of(w_.type);
        if (q == last_ && step(q) == b_.lanes) {
            zero_bytes(job_.out + (at + from * b_.lanes) * width, (to - from) * b_.lanes * width, done_);
            return;
        }
        for (int64_t c = from; c < to; ++c) {
            if (q < last_)
                fill(q + 1, owned_[q + 1].begin, owned_[q + 1].end, at + c * step(q));
            else
                zero_bytes(job_.out + (at + c * step(q)) * width, b_.lanes * width, done_);
        }
    }

    void fill_gaps(int q, int64_t at) {
        const Axis& a = s_.axis[q];
        int64_t filled = owned_[q].begin;
        const int64_t together = a.s == a.k ? b_.count[q] : 1;  // windows without a gap between them
        for (int64_t j = b_.j0[q]; j < b_.j0[q] + b_.count[q]; j += together) {
            const int64_t begin = clip(a, window_start(a, j));
            const int64_t end = clip(a, window_start(a, j + together - 1) + a.k);
            fill(q, filled, begin, at);
            if (q < deepest_gap_)
                for (int64_t c = begin; c < end; ++c) fill_gaps(q + 1, at + c * step(q));
            filled = max(filled, end);
        }
        fill(q, filled, owned_[q].end, at);
    }

    const WeightedJob& job_;
    const PoolSchedule& s_;
    const PoolTile b_;
    const int last_;
    const bool in_planes_;
    int64_t tap_step_[kMaxDims];  // in the order of the passes
    int deepest_gap_;
    Span owned_[kMaxDims];
    int64_t done_ = 0;
    DisjointWindows w_;
};

}  // namespace

bool suits_disjoint(const WeightedJob& job) {
    const Factors& f = job.factors;
    // Other powers take a logarithm for each window: a long dependency chain, which rows of windows run in parallel.
    const bool euclidean = f.of.p == 2.0 && f.of.q == 1.0 && f.of.odd && f.least <= f.most;
    if (!job.rows->spread_disjoint || !(f.of.exponential || euclidean)) return false;
    const PoolSchedule& s = job.windows;
    int64_t taps = 1;
    for (int q = 0; q < s.rank; ++q) {
        const Axis& a = s.axis[q];
        if (a.starts || a.s < a.k || a.k > kDisjointTaps || (a.k > 1 && a.d > 1)) return false;
        taps *= a.k;
        if (taps > kDisjointTaps) return false;
    }
    if (rows_are_lanes(s)) return s.lanes >= kVectorRoom;
    const Axis& along = s.axis[s.rank - 1];
    return along.k == 2 && along.s == 2 && along.o >= kVectorRoom;
}

void weighted_disjoint_tile(const WeightedJob& job, int64_t task, Arena*) {
    if (__atomic_load_n(job.shifted, __ATOMIC_RELAXED)) return;
    DisjointTile tile(job, task);
    if (tile.spread())
        tile.fill_gaps();
    else
        __atomic_store_n(job.shifted, 1, __ATOMIC_RELAXED);
}

}  // namespace cenote
