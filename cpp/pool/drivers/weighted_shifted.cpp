#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "pool/drivers/weighted.hpp"
#include "runtime/parallel.hpp"

namespace cenote {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kPart = 256;  // taps along the window's last axis per partial sum

// Where a partial sum ends. It depends on the window alone, so that single windows and rows of windows agree.
bool ends_part(int64_t tap, int64_t end) { return tap % kPart == kPart - 1 || tap + 1 == end; }

struct WindowAt {
    int64_t j[kMaxDims], lane;
};

// The window of result i of a row.
WindowAt window_at(const RowOfWindows& r, int64_t i) {
    WindowAt w;
    const int rank = r.job.rank;
    for (int q = 0; q < r.rows.depth; ++q) w.j[q] = r.b.j0[q] + r.row[q];
    if (r.rows.depth < rank) w.j[rank - 1] = r.b.j0[rank - 1] + i / r.rows.unit;
    w.lane = i % r.rows.unit;
    return w;
}

Ratio weight_ratio(const Factors& f) { return {f.of.q, f.of.odd}; }
Ratio term_ratio(const Factors& f) { return {f.of.p, false}; }
bool takes_largest(const Factors& f) { return !f.of.exponential || f.of.beta > 0; }

// Never becomes the pivot, and has weight 0 for a finite pivot.
double absent_element(const Factors& f) { return !f.of.exponential ? 0.0 : f.of.beta > 0 ? -kInfinity : kInfinity; }

// How many padding elements of a window take part in its normaliser.
double pads_of(const Factors& f, const PoolSchedule& job, const WindowAt& w) {
    double padded = 1, real = 1;
    for (int q = 0; f.of.pads && q < job.rank; ++q) {
        const Span all = padded_taps(job.axis[q], w.j[q]), taps = real_taps(job.axis[q], w.j[q]);
        padded *= static_cast<double>(all.end - all.begin);
        real *= static_cast<double>(taps.end - taps.begin);
    }
    return padded - real;
}

// ------------------------------------------------------------------------------------------- single windows

// f(offsets, n) for the elements of a window that are not padding, part by part, in the window's order.
template <class F>
void for_window(const RowOfWindows& r, const WindowAt& w, F f) {
    const PoolSchedule& job = r.job;
    int64_t count[kMaxDims], step[kMaxDims], tap[kMaxDims], first = w.lane;
    Span taps{};
    for (int i = 0; i < job.rank; ++i) {
        const int q = job.pass[i];
        const Axis& a = job.axis[q];
        taps = real_taps(a, w.j[q]);
        if (taps.end <= taps.begin) return;
        count[i] = taps.end - taps.begin;
        step[i] = a.d * r.stride[q];
        tap[i] = 0;
        first += (window_start(a, w.j[q]) + taps.begin * a.d - r.b.c0[q]) * r.stride[q];
    }
    const int last = job.rank - 1;
    int64_t offsets[kPart], n = 0, parts = 0;
    for (;;) {
        for (int64_t t = taps.begin; t < taps.end; ++t) {
            offsets[n++] = first + (t - taps.begin) * step[last];
            if (!ends_part(t, taps.end)) continue;
            f(static_cast<const int64_t*>(offsets), n);
            n = 0;
            if (++parts % 4096 == 0) checkpoint();
        }
        int i = last - 1;
        for (; i >= 0; --i) {
            first += step[i];
            if (++tap[i] < count[i]) break;
            first -= count[i] * step[i];
            tap[i] = 0;
        }
        if (i < 0) return;
    }
}

// The weights of a window are `rest` times the shifted weights of the row kernel.
struct Shift {
    double pivot, rest;
};

// For a window whose terms sum to `total`, with a finite pivot, which for a norm is not 0.
Shift finish_shift(const WeightedJob& job, double pads, double pivot, double total) {
    const Factors& f = job.factors;
    if (pads > 0) {
        double v[kVectorRoom], p[kVectorRoom];
        std::fill_n(v, kVectorRoom, f.of.pad_value);
        std::fill_n(p, kVectorRoom, pivot);
        job.rows->shifted(f, term_ratio(f), v, p, v, 1);
        total += pads * v[0];
    }
    if (f.of.exponential) return {pivot, 1.0 / total};
    return {pivot, f.of.q == 0.0 ? 1.0 : job.rows->power(total, f.window)};
}

// The weights or terms of the elements that `from` lists.
struct WeightedPart {
    double v[kPart + kVectorRoom], pivot[kPart + kVectorRoom];

    WeightedPart(const WeightedJob& job, Ratio of, const double* x, const int64_t* from, int64_t n, double at) {
        std::fill_n(pivot, n + kVectorRoom, at);
        for (int64_t i = 0; i < n; ++i) v[i] = x[from[i]];
        std::fill_n(v + n, kVectorRoom, 0.0);
        job.rows->shifted(job.factors, of, v, pivot, v, n);
    }
};

Shift shift_of(const WeightedJob& job, const RowOfWindows& r, const WindowAt& w, const double* x) {
    const Factors& f = job.factors;
    const bool exponential = f.of.exponential, largest = takes_largest(f);
    const double pads = pads_of(f, r.job, w);
    double pivot = pads > 0 ? f.of.pad_value : absent_element(f);
    bool nans = pivot != pivot;
    for_window(r, w, [&](const int64_t* from, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
            const double v = exponential ? x[from[i]] : std::fabs(x[from[i]]);
            nans |= v != v;
            pivot = (largest ? v > pivot : v < pivot) ? v : pivot;
        }
    });
    if (nans) return {0.0, kNan};
    double total = 0;
    if (std::isinf(pivot)) {
        if (!exponential) return {pivot, 1.0};
        for_window(r, w, [&](const int64_t* from, int64_t n) {  // infinite elements share evenly
            for (int64_t i = 0; i < n; ++i) total += x[from[i]] == pivot;
        });
        return {pivot, total > 0 ? 1.0 / total : 0.0};
    }
    if (!exponential && pivot == 0.0) return {pivot, 1.0};
    for_window(r, w, [&](const int64_t* from, int64_t n) {
        const WeightedPart terms(job, term_ratio(f), x, from, n, pivot);
        double part = 0;
        for (int64_t i = 0; i < n; ++i) part += terms.v[i];
        total += part;
    });
    return finish_shift(job, pads, pivot, total);
}

double sum_of(const WeightedJob& job, const RowOfWindows& r, const WindowAt& w, Shift shift, const double* x,
              const double* t) {
    double total = 0;
    for_window(r, w, [&](const int64_t* from, int64_t n) {
        const WeightedPart weights(job, weight_ratio(job.factors), x, from, n, shift.pivot);
        double part = 0;
        for (int64_t i = 0; i < n; ++i) part += (weights.v[i] * shift.rest) * t[from[i]];
        total += part;
    });
    return total;
}

// For one element; returns whether any window that contains it is in shifted form.
bool spread_of(const WeightedJob& job, const RowOfWindows& r, const WindowAt& w, double x, const double* pivot,
               const double* rest, double& total) {
    total = 0;
    bool any = false;
    for_window(r, w, [&](const int64_t* from, int64_t n) {
        double pivots[kPart + kVectorRoom], elements[kPart + kVectorRoom], rests[kPart], part = 0;
        int64_t used = 0;
        for (int64_t i = 0; i < n; ++i) {
            if (pivot[from[i]] != pivot[from[i]]) continue;
            pivots[used] = pivot[from[i]];
            rests[used++] = rest[from[i]];
        }
        if (!used) return;
        any = true;
        std::fill_n(pivots + used, kVectorRoom, x);
        std::fill_n(elements, used + kVectorRoom, x);
        job.rows->shifted(job.factors, weight_ratio(job.factors), elements, pivots, pivots, used);
        for (int64_t i = 0; i < used; ++i) part += pivots[i] * rests[i];
        total += part;
    });
    return any;
}

// ------------------------------------------------------------------------------------------ rows of windows
//
// The same tap by tap: the same bits, and faster if most windows of a row are in shifted form.

// The taps of a row of windows in the window's order; along the row, the union of the windows' taps.
class RowTaps {
 public:
    explicit RowTaps(const RowOfWindows& r) : r_(r), along_{INT64_MAX, 0} {
        const int last = r.job.rank - 1;
        if (is_lanes()) return;
        for (int64_t j = 0; j < r.b.count[last]; ++j) {
            const Span taps = real_taps(r.job.axis[last], r.b.j0[last] + j);
            if (taps.end <= taps.begin) continue;
            along_ = {min(along_.begin, taps.begin), max(along_.end, taps.end)};
            longest_ = max(longest_, taps.end - taps.begin);
        }
    }

    // Whether most taps are real for most windows. With huge padding and a stride to match, each is real for one only.
    bool pays() const { return is_lanes() || along_.end - along_.begin <= 2 * longest_ + 16; }

    // f(base, tap along the row, whether a partial sum ends) for every tap.
    template <class F>
    void for_taps(F f) const {
        const PoolSchedule& job = r_.job;
        Span taps[kMaxDims];
        int64_t tap[kMaxDims];
        for (int i = 0; i < job.rank; ++i) {
            const int q = job.pass[i];
            taps[i] = q < r_.rows.depth ? real_taps(job.axis[q], r_.b.j0[q] + r_.row[q]) : along_;
            if (taps[i].end <= taps[i].begin) return;
            tap[i] = taps[i].begin;
        }
        const int last = job.rank - 1;
        for (int64_t done = 0;;) {
            int64_t base = 0, t = 0;
            for (int i = 0; i < job.rank; ++i) {
                const int q = job.pass[i];
                const Axis& a = job.axis[q];
                if (q < r_.rows.depth)
                    base += (window_start(a, r_.b.j0[q] + r_.row[q]) + tap[i] * a.d - r_.b.c0[q]) * r_.stride[q];
                else
                    t = tap[i];
            }
            f(base, t, ends_part(tap[last], taps[last].end));
            count_done(done, r_.rows.n);
            int i = last;
            for (; i >= 0; --i) {
                if (++tap[i] < taps[i].end) break;
                tap[i] = taps[i].begin;
            }
            if (i < 0) return;
        }
    }

    // The elements at a tap, one for each window of the row; `absent` where the tap is padding.
    void read_elements(const double* from, int64_t base, int64_t tap, double absent, double* to) const {
        const auto copy = [](double* into, const double* x, int64_t n) {
            std::memcpy(into, x, static_cast<size_t>(n) * sizeof(double));
        };
        if (is_lanes()) return copy(to, from + base, r_.rows.n);
        const int last = r_.job.rank - 1;
        const Axis& a = r_.job.axis[last];
        const int64_t count = r_.b.count[last], unit = r_.rows.unit, j0 = r_.b.j0[last], along = r_.stride[last];
        const double* x = from + base - r_.b.c0[last] * along;
        if (a.lengths) {
            for (int64_t j = 0; j < count; ++j)
                for (int64_t k = 0; k < unit; ++k)
                    to[j * unit + k] = tap < a.lengths[j0 + j] ? x[(a.starts[j0 + j] + tap * a.d) * along + k] : absent;
            return;
        }
        const int64_t first = window_start(a, j0) + tap * a.d;
        const int64_t begin = min(count, max(0, ceil_div(-first, a.s)));
        const int64_t end = max(begin, min(count, floor_div(a.n - 1 - first, a.s) + 1));
        std::fill(to, to + begin * unit, absent);
        std::fill(to + end * unit, to + r_.rows.n, absent);
        x += (first + begin * a.s) * along;
        to += begin * unit;
        const int64_t step = a.s * along, n = end - begin;
        if (step == unit) return copy(to, x, n * unit);
        for (int64_t j = 0; j < n; ++j)
            for (int64_t k = 0; k < unit; ++k) to[j * unit + k] = x[j * step + k];
    }

 private:
    // The row is the lanes of one window.
    bool is_lanes() const { return r_.rows.depth == r_.job.rank; }

    const RowOfWindows& r_;
    Span along_;
    int64_t longest_ = 0;
};

// r.totals = Σ of the terms that gather(base, tap) leaves in r.x.
template <class F>
void sum_taps(const RowTaps& taps, const ShiftRow& r, int64_t n, F gather) {
    std::fill_n(r.totals, n, 0.0);
    std::fill_n(r.parts, n, 0.0);
    taps.for_taps([&](int64_t base, int64_t tap, bool ends) {
        gather(base, tap);
        for (int64_t i = 0; i < n; ++i) r.parts[i] += r.x[i];
        if (!ends) return;
        for (int64_t i = 0; i < n; ++i) r.totals[i] += r.parts[i];
        std::fill_n(r.parts, n, 0.0);
    });
}

void find_pivots(const Factors& f, const RowOfWindows& w, const RowTaps& taps, const double* x, const ShiftRow& r) {
    const int64_t n = w.rows.n;
    const double sign = takes_largest(f) ? 1.0 : -1.0, absent = absent_element(f);
    for (int64_t i = 0; i < n; ++i) r.pivot[i] = pads_of(f, w.job, window_at(w, i)) > 0 ? f.of.pad_value : absent;
    taps.for_taps([&](int64_t base, int64_t tap, bool) {
        taps.read_elements(x, base, tap, absent, r.x);
        if (!f.of.exponential)
            for (int64_t i = 0; i < n; ++i) r.x[i] = std::fabs(r.x[i]);
        // A NaN is taken and kept: no comparison with it is true.
        for (int64_t i = 0; i < n; ++i) {
            const bool beats = (sign * r.x[i] > sign * r.pivot[i]) | (r.x[i] != r.x[i]);
            r.pivot[i] = beats ? r.x[i] : r.pivot[i];
        }
    });
}

bool shift_marked(const WeightedJob& job, const RowOfWindows& w, const RowTaps& taps, const double* x,
                  const double* marks, const ShiftRow& r) {
    const Factors& f = job.factors;
    const int64_t n = w.rows.n, marked = n - std::count(marks, marks + n, 0.0);
    const bool by_rows = marked * 8 > n && taps.pays();
    if (by_rows) {
        find_pivots(f, w, taps, x, r);
        sum_taps(taps, r, n, [&](int64_t base, int64_t tap) {
            taps.read_elements(x, base, tap, absent_element(f), r.x);
            job.rows->shifted(f, term_ratio(f), r.x, r.pivot, r.x, n);
        });
    }
    for (int64_t i = 0; i < n; ++i) {
        if (marks[i] == 0.0) continue;
        const WindowAt at = window_at(w, i);
        const double p = r.pivot[i];
        const bool ordinary = by_rows && std::isfinite(p) && (f.of.exponential || p != 0.0);
        const Shift shift =
            ordinary ? finish_shift(job, pads_of(f, w.job, at), p, r.totals[i]) : shift_of(job, w, at, x);
        r.pivot[i] = shift.pivot;
        r.rest[i] = shift.rest;
    }
    return by_rows;
}

}  // namespace

double* take_row(Arena* arena, int64_t n) {
    return static_cast<double*>(arena_take(arena, (n + kVectorRoom) * static_cast<int64_t>(sizeof(double))));
}

void ShiftRow::take_once(Arena* arena, int64_t n) {
    if (x) return;
    for (double** row : {&x, &t, &parts, &totals, &pivot, &rest}) {
        *row = take_row(arena, n);
        std::fill_n(*row + n, kVectorRoom, 0.0);
    }
}

bool shift_row(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* marks, const ShiftRow& r) {
    return shift_marked(job, w, RowTaps(w), x, marks, r);
}

void sum_shifted(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* t, const double* marks,
                 const ShiftRow& r) {
    const Factors& f = job.factors;
    const int64_t n = w.rows.n;
    const RowTaps taps(w);
    const bool by_rows = shift_marked(job, w, taps, x, marks, r);
    if (by_rows)
        sum_taps(taps, r, n, [&](int64_t base, int64_t tap) {
            taps.read_elements(x, base, tap, absent_element(f), r.x);
            taps.read_elements(t, base, tap, 0.0, r.t);
            job.rows->shifted(f, weight_ratio(f), r.x, r.pivot, r.x, n);
            for (int64_t i = 0; i < n; ++i) r.x[i] = (r.x[i] * r.rest[i]) * r.t[i];
        });
    for (int64_t i = 0; i < n; ++i) {
        // Infinity or NaN times the 0 of an absent tap would be NaN.
        if (marks[i] == 0.0 || (by_rows && std::isfinite(r.rest[i]))) continue;
        r.totals[i] = sum_of(job, w, window_at(w, i), {r.pivot[i], r.rest[i]}, x, t);
    }
}

void spread_shifted(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* pivot,
                    const double* rest, double* sums, const ShiftRow& r) {
    const int64_t n = w.rows.n;
    const RowTaps taps(w);
    if (!taps.pays()) {
        for (int64_t i = 0; i < n; ++i) {
            double more;
            if (spread_of(job, w, window_at(w, i), x[i], pivot, rest, more)) sums[i] += more;
        }
        return;
    }
    std::fill_n(r.t, n, 0.0);  // whether an element is in a window in shifted form
    sum_taps(taps, r, n, [&](int64_t base, int64_t tap) {
        taps.read_elements(pivot, base, tap, kNan, r.pivot);
        taps.read_elements(rest, base, tap, 0.0, r.rest);
        job.rows->shifted(job.factors, weight_ratio(job.factors), x, r.pivot, r.x, n);
        for (int64_t i = 0; i < n; ++i) {
            const bool is = r.pivot[i] == r.pivot[i];
            r.t[i] = is ? 1.0 : r.t[i];
            r.x[i] = is ? r.x[i] * r.rest[i] : 0.0;
        }
    });
    for (int64_t i = 0; i < n; ++i)
        if (r.t[i] != 0.0) sums[i] += r.totals[i];
}

}  // namespace cenote
