// The shifted form of weights (weighted.hpp): of a single window, and of a row of windows tap by tap.

// Where a window of a tile is: its number along each axis, and its lane.
struct WindowAt {
    int64_t j[kMaxDims], lane;
};

// Element i of a row of results.
inline WindowAt window_at(const PoolSchedule& job, const PoolTile& b, const ResultRows& rows, const int64_t* row,
                          int64_t i) {
    WindowAt w;
    for (int q = 0; q < rows.depth; ++q) w.j[q] = b.j0[q] + row[q];
    if (rows.depth < job.rank) w.j[job.rank - 1] = b.j0[job.rank - 1] + i / rows.unit;
    w.lane = i % rows.unit;
    return w;
}

// Sums are added up in parts: of so many taps along the window's last axis, or all of them.
inline bool ends_part(int64_t tap, int64_t end) { return tap % kGathered == kGathered - 1 || tap + 1 == end; }

// f(offsets, n) for the elements of a window that are real, part by part, in the window's order.
template <class F>
inline void for_window(const PoolSchedule& job, const PoolTile& b, const int64_t* stride, const WindowAt& w, F f) {
    int64_t count[kMaxDims], step[kMaxDims], tap[kMaxDims], first = w.lane;
    Span taps{};
    for (int i = 0; i < job.rank; ++i) {
        const int q = job.pass[i];
        const Axis& a = job.axis[q];
        taps = real_taps(a, w.j[q]);
        if (taps.end <= taps.begin) return;
        count[i] = taps.end - taps.begin;
        step[i] = a.d * stride[q];
        tap[i] = 0;
        first += (first_cell(a, w.j[q]) + taps.begin * a.d - b.c0[q]) * stride[q];
    }
    int64_t offsets[kGathered], n = 0, parts = 0;
    const int last = job.rank - 1;
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

// How many elements of a window are padding.
inline double pads_of(const PoolSchedule& job, const WindowAt& w) {
    double padded = 1, real = 1;
    for (int q = 0; q < job.rank; ++q) {
        const Span all = padded_taps(job.axis[q], w.j[q]), taps = real_taps(job.axis[q], w.j[q]);
        padded *= static_cast<double>(all.end - all.begin);
        real *= static_cast<double>(taps.end - taps.begin);
    }
    return padded - real;
}

// What the shifted weights of a window are made of: rest·shifted_weight(x, pivot).
struct Shift {
    double pivot, rest;
};

// … of the sum of terms of a window whose pivot is finite and not 0.
inline Shift finish_shift(const Factors& f, const PoolSchedule& job, const WindowAt& w, double pivot, double total) {
    const double pads = f.of.pads ? pads_of(job, w) : 0.0;
    if (pads > 0) total += pads * shifted_term(f, of_all(f.of.pad_value), of_all(pivot))[0];
    if (f.of.exponential) return {pivot, 1.0 / total};
    if (f.of.q == 0.0) return {pivot, 1.0};
    Doubles whole, left;
    log_of(of_all(total), whole, left);
    return {pivot, power_of_log<true>(whole, left, f.window.q, f.window.q_rest)[0]};
}

// `x` are the elements of a tile. The sum of terms is in the order of the window.
CENOTE_ONCE Shift shift_of(const Factors& f, const PoolSchedule& job, const PoolTile& b, const int64_t* stride,
                           const WindowAt& w, const double* x) {
    const bool exponential = f.of.exponential, largest = !exponential || f.of.beta > 0;
    const double infinity = __builtin_inf(), nan = __builtin_nan("");
    const double pads = f.of.pads ? pads_of(job, w) : 0.0;
    double pivot = !exponential ? 0.0 : largest ? -infinity : infinity;
    if (pads > 0) pivot = f.of.pad_value;
    bool nans = pivot != pivot;
    for_window(job, b, stride, w, [&](const int64_t* from, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
            double v = x[from[i]];
            if (!exponential) v = __builtin_fabs(v);
            nans |= v != v;
            pivot = (largest ? v > pivot : v < pivot) ? v : pivot;
        }
    });
    if (nans) return {0.0, nan};
    double total = 0;
    if (pivot == infinity || pivot == -infinity) {
        if (!exponential) return {pivot, 1.0};
        for_window(job, b, stride, w, [&](const int64_t* from, int64_t n) {  // which are shared in evenly
            for (int64_t i = 0; i < n; ++i) total += x[from[i]] == pivot;
        });
        return {pivot, total > 0 ? 1.0 / total : 0.0};
    }
    if (!exponential && pivot == 0.0) return {pivot, 1.0};
    for_window(job, b, stride, w, [&](const int64_t* from, int64_t n) {
        double terms[kGathered + kDoubles], part = 0;
        for (int64_t i = 0; i < n; ++i) terms[i] = x[from[i]];
        for (int64_t i = n; i < whole_vectors(n); ++i) terms[i] = pivot;
        for_vectors(n, [&](int64_t i) { store(terms + i, shifted_term(f, at(terms, i), of_all(pivot))); });
        for (int64_t i = 0; i < n; ++i) part += terms[i];
        total += part;
    });
    return finish_shift(f, job, w, pivot, total);
}

// Σ weight·t over a window.
CENOTE_ONCE double shifted_sum(const Factors& f, const PoolSchedule& job, const PoolTile& b, const int64_t* stride,
                               const WindowAt& w, const Shift& shift, const double* x, const double* t) {
    double total = 0;
    for_window(job, b, stride, w, [&](const int64_t* from, int64_t n) {
        double terms[kGathered + kDoubles], part = 0;
        for (int64_t i = 0; i < n; ++i) terms[i] = x[from[i]];
        for (int64_t i = n; i < whole_vectors(n); ++i) terms[i] = 0.0;
        for_vectors(n, [&](int64_t i) {
            store(terms + i, Doubles(shifted_weight(f, at(terms, i), of_all(shift.pivot)) * shift.rest));
        });
        for (int64_t i = 0; i < n; ++i) part += terms[i] * t[from[i]];
        total += part;
    });
    return total;
}

// Σ weight·g over those windows of an element that take the shifted form, and whether there are any. The arrays begin
// at the first window of the tile.
CENOTE_ONCE bool shifted_spread(const Factors& f, const PoolSchedule& job, const PoolTile& b, const int64_t* stride,
                                const WindowAt& w, double x, const double* pivot, const double* rest, double& total) {
    total = 0;
    bool any = false;
    for_window(job, b, stride, w, [&](const int64_t* from, int64_t n) {
        double pivots[kGathered + kDoubles], rests[kGathered], part = 0;
        int64_t used = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double p = pivot[from[i]];
            if (p != p) continue;
            pivots[used] = p;
            rests[used++] = rest[from[i]];
        }
        if (!used) return;
        any = true;
        for (int64_t i = used; i < whole_vectors(used); ++i) pivots[i] = x;
        for_vectors(used, [&](int64_t i) { store(pivots + i, shifted_weight(f, of_all(x), at(pivots, i))); });
        for (int64_t i = 0; i < used; ++i) part += pivots[i] * rests[i];
        total += part;
    });
    return any;
}

// -------------------------------------------------------------------------------------------- rows of windows
//
// The same for a row of windows, tap by tap: to the same bits, and faster where most of them take the shifted form.

// The taps of a row of windows in the window's order, those along the row being the union of theirs.
struct RowTaps {
    const PoolSchedule& job;
    const PoolTile& b;
    const int64_t* stride;  // of the elements
    const ResultRows& rows;
    const int64_t* row;
    Span along;  // taps along the row

    RowTaps(const PoolSchedule& job, const PoolTile& b, const int64_t* stride, const ResultRows& rows,
            const int64_t* row)
        : job(job), b(b), stride(stride), rows(rows), row(row), along{INT64_MAX, 0} {
        const int last = job.rank - 1;
        if (is_lanes()) return;
        for (int64_t j = 0; j < b.count[last]; ++j) {
            const Span taps = real_taps(job.axis[last], b.j0[last] + j);
            if (taps.end <= taps.begin) continue;
            along = {least(along.begin, taps.begin), most(along.end, taps.end)};
            longest = most(longest, taps.end - taps.begin);
        }
    }

    // A row that is one window's lanes.
    bool is_lanes() const { return rows.depth == job.rank; }
    // Whether most taps are real for most windows. A stride as large as huge padding has taps that are real for one.
    bool pays() const { return is_lanes() || along.end - along.begin <= 2 * longest + 16; }

    // f(base, tap along the row, whether a part of the sum ends) for every tap.
    template <class F>
    void for_taps(F f) const {
        Span taps[kMaxDims];
        int64_t tap[kMaxDims];
        for (int i = 0; i < job.rank; ++i) {
            const int q = job.pass[i];
            taps[i] = q < rows.depth ? real_taps(job.axis[q], b.j0[q] + row[q]) : along;
            if (taps[i].end <= taps[i].begin) return;
            tap[i] = taps[i].begin;
        }
        const int last = job.rank - 1;
        for (;;) {
            int64_t base = 0, t = 0;
            for (int i = 0; i < job.rank; ++i) {
                const int q = job.pass[i];
                const Axis& a = job.axis[q];
                if (q < rows.depth)
                    base += (first_cell(a, b.j0[q] + row[q]) + tap[i] * a.d - b.c0[q]) * stride[q];
                else
                    t = tap[i];
            }
            f(base, t, ends_part(tap[last], taps[last].end));
            int i = last;
            for (; i >= 0; --i) {
                if (++tap[i] < taps[i].end) break;
                tap[i] = taps[i].begin;
            }
            if (i < 0) return;
        }
    }

    // The elements at a tap, one for each window of the row; `absent` where it is not real.
    void gather(const double* from, int64_t base, int64_t tap, double absent, double* to) const {
        if (is_lanes()) return copy_row(to, from + base, rows.n);
        const int last = job.rank - 1;
        const Axis& a = job.axis[last];
        const int64_t count = b.count[last], unit = rows.unit, j0 = b.j0[last];
        const double* at = from + base - b.c0[last] * stride[last];
        if (a.lengths) {
            for (int64_t j = 0; j < count; ++j)
                for (int64_t k = 0; k < unit; ++k)
                    to[j * unit + k] =
                        tap < a.lengths[j0 + j] ? at[(a.starts[j0 + j] + tap * a.d) * stride[last] + k] : absent;
            return;
        }
        const int64_t first = first_cell(a, j0) + tap * a.d;
        const int64_t begin = least(count, most(0, ceil_div(-first, a.s)));
        const int64_t end = most(begin, least(count, floor_div(a.n - 1 - first, a.s) + 1));
        for (int64_t i = 0; i < begin * unit; ++i) to[i] = absent;
        for (int64_t i = end * unit; i < rows.n; ++i) to[i] = absent;
        at += (first + begin * a.s) * stride[last];
        to += begin * unit;
        const int64_t step = a.s * stride[last], n = end - begin;
        if (step == unit) return copy_row(to, at, n * unit);
        if (unit == 1)
            for (int64_t j = 0; j < n; ++j) to[j] = at[j * step];
        else
            for (int64_t j = 0; j < n; ++j) copy_row(to + j * unit, at + j * step, unit);
    }

 private:
    int64_t longest = 0;
};

// With room for a vector after its end.
inline double* take_vectors(Arena* arena, int64_t n) { return take<double>(arena, n + kDoubles); }

// Working memory of a row, taken when a tile first needs it.
struct ShiftRow {
    double *x = nullptr, *t, *parts, *totals, *pivot, *rest;

    void take_once(Arena* arena, int64_t n) {
        if (x) return;
        double** const rows[] = {&x, &t, &parts, &totals, &pivot, &rest};
        for (double** row : rows) *row = take_vectors(arena, n);
    }
};

// totals = Σ term(i), vectors of terms at every tap, in parts.
template <class G, class F>
CENOTE_INLINE inline void sum_taps(const RowTaps& taps, const ShiftRow& r, G gather, F term) {
    const int64_t n = taps.rows.n;
    for_vectors(n, [&](int64_t i) CENOTE_INLINE {
        store(r.totals + i, Doubles{});
        store(r.parts + i, Doubles{});
    });
    taps.for_taps([&](int64_t base, int64_t tap, bool ends) {
        gather(base, tap);
        for_vectors(n, [&](int64_t i) CENOTE_INLINE {
            const Doubles part = at(r.parts, i) + term(i);
            if (ends) store(r.totals + i, Doubles(at(r.totals, i) + part));
            store(r.parts + i, ends ? Doubles{} : part);
        });
    });
}

// The shifts of those windows of a row that are marked, into r.pivot and r.rest. Whether the row is worth doing tap by
// tap.
CENOTE_ONCE bool shift_row(const Factors& f, const RowTaps& taps, const double* x, const double* marks,
                           const ShiftRow& r) {
    const int64_t n = taps.rows.n;
    const bool exponential = f.of.exponential, largest = !exponential || f.of.beta > 0;
    const double start = !exponential ? 0.0 : largest ? -__builtin_inf() : __builtin_inf();
    const auto window = [&](int64_t i) { return window_at(taps.job, taps.b, taps.rows, taps.row, i); };
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += marks[i] != 0.0;
    const bool by_rows = count * 8 > n && taps.pays();
    if (by_rows) {
        for (int64_t i = 0; i < n; ++i)
            r.pivot[i] = f.of.pads && pads_of(taps.job, window(i)) > 0 ? f.of.pad_value : start;
        taps.for_taps([&](int64_t base, int64_t tap, bool) {
            taps.gather(x, base, tap, start, r.x);
            for_vectors(n, [&](int64_t i) CENOTE_INLINE {
                const Doubles v = exponential ? at(r.x, i) : magnitude(at(r.x, i)), best = at(r.pivot, i);
                // A NaN is taken, and stays: no comparison with it is true.
                store(r.pivot + i, (largest ? v > best : v < best) | (v != v) ? v : best);
            });
        });
        sum_taps(
            taps, r, [&](int64_t base, int64_t tap) { taps.gather(x, base, tap, start, r.x); },
            [&](int64_t i) CENOTE_INLINE {
                const Doubles p = at(r.pivot, i);
                return shifted_term(f, at(r.x, i), exponential | (p > 0.0) ? p : of_all(1.0));
            });
    }
    for (int64_t i = 0; i < n; ++i) {
        if (marks[i] == 0.0) continue;
        const double p = r.pivot[i];
        const bool ordinary = by_rows && p - p == 0.0 && (exponential || p != 0.0);
        const Shift shift = ordinary ? finish_shift(f, taps.job, window(i), p, r.totals[i])
                                     : shift_of(f, taps.job, taps.b, taps.stride, window(i), x);
        r.pivot[i] = shift.pivot;
        r.rest[i] = shift.rest;
    }
    return by_rows;
}

// Σ weight·t over those windows of a row that are marked, into r.totals.
CENOTE_ONCE void sum_row(const Factors& f, const RowTaps& taps, const double* x, const double* t, const double* marks,
                         const ShiftRow& r) {
    const int64_t n = taps.rows.n;
    const bool by_rows = shift_row(f, taps, x, marks, r);
    if (by_rows) {
        const double absent = !f.of.exponential ? 0.0 : f.of.beta > 0 ? -__builtin_inf() : __builtin_inf();
        sum_taps(
            taps, r,
            [&](int64_t base, int64_t tap) {
                taps.gather(x, base, tap, absent, r.x);
                taps.gather(t, base, tap, 0.0, r.t);
            },
            [&](int64_t i) CENOTE_INLINE {
                return Doubles((shifted_weight(f, at(r.x, i), at(r.pivot, i)) * at(r.rest, i)) * at(r.t, i));
            });
    }
    for (int64_t i = 0; i < n; ++i) {
        // Infinity and NaN times the 0 of an absent tap would be NaN.
        if (marks[i] == 0.0 || (by_rows && r.rest[i] - r.rest[i] == 0.0)) continue;
        const WindowAt w = window_at(taps.job, taps.b, taps.rows, taps.row, i);
        r.totals[i] = shifted_sum(f, taps.job, taps.b, taps.stride, w, {r.pivot[i], r.rest[i]}, x, t);
    }
}

// Adds Σ weight·g over those windows of a row of elements x that take the shifted form.
CENOTE_ONCE void spread_to_row(const Factors& f, const RowTaps& taps, const double* x, const double* pivot,
                               const double* rest, double* sums, const ShiftRow& r) {
    const int64_t n = taps.rows.n;
    if (!taps.pays()) {
        for (int64_t i = 0; i < n; ++i) {
            double more;
            if (shifted_spread(f, taps.job, taps.b, taps.stride, window_at(taps.job, taps.b, taps.rows, taps.row, i),
                               x[i], pivot, rest, more))
                sums[i] += more;
        }
        return;
    }
    for (int64_t i = 0; i < n; ++i) r.t[i] = 0.0;  // whether there is any
    sum_taps(
        taps, r,
        [&](int64_t base, int64_t tap) {
            taps.gather(pivot, base, tap, __builtin_nan(""), r.pivot);
            taps.gather(rest, base, tap, 0.0, r.rest);
        },
        [&](int64_t i) CENOTE_INLINE {
            const Doubles p = at(r.pivot, i);
            store(r.t + i, p == p ? of_all(1.0) : at(r.t, i));
            return p == p ? Doubles(shifted_weight(f, at(x, i), p) * at(r.rest, i)) : Doubles{};
        });
    for (int64_t i = 0; i < n; ++i)
        if (r.t[i] != 0.0) sums[i] += r.totals[i];
}
