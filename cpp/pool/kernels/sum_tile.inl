// Separable sums and averages: the epilogue of a tile, and the tile itself.

// The number of elements of each window along one axis.
struct Counts {
    int64_t* real[kMaxDims];
    int64_t* counted[kMaxDims];  // what an average divides by
};

inline Counts count_elements(const PoolSchedule& job, const PoolTile& b, int axes, Arena* arena) {
    Counts c;
    for (int q = 0; q < axes; ++q) {
        const Axis& a = job.axis[q];
        c.real[q] = take<int64_t>(arena, b.count[q]);
        c.counted[q] = take<int64_t>(arena, b.count[q]);
        const Span whole = interior_windows(a, b.j0[q], b.count[q]);
        for (int64_t j = 0; j < b.count[q]; ++j) {
            c.real[q][j] = c.counted[q][j] = taps_of(a, b.j0[q] + j);
            if (j >= whole.begin && j < whole.end) continue;
            const Span real = real_taps(a, b.j0[q] + j), padded = padded_taps(a, b.j0[q] + j);
            c.real[q][j] = real.end - real.begin;
            c.counted[q][j] = job.include_pad ? padded.end - padded.begin : c.real[q][j];
        }
    }
    return c;
}

// f(v) for every element, with canonical NaN.
template <class T, class F>
inline void map_row(T* row, int64_t n, F f) {
    for_lanes<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        store(row + i, quiet<T>(V(f(load<V>(row + i), lane, i))));
    });
}

template <class T>
inline void divide_row(T* row, int64_t n, double by) {
    if (!divides_in<T>(by)) {
        for (int64_t i = 0; i < n; ++i) row[i] = static_cast<T>(static_cast<double>(row[i]) / by);
        return quiet_row(row, row, n);
    }
    const Division<T> d = division<T>(by);
    if (d.exact)
        map_row(row, n, [&](auto v, auto, int64_t) { return v * d.inverse; });
    else
        map_row(row, n, [&](auto v, auto, int64_t) { return v / d.divisor; });
}

// The divisors of a row of windows: `outer` times the count along the row; if NaN is omitted, with the number of valid
// elements instead of that of real ones.
template <class T>
struct Divisors {
    T *along, *real_along;  // counted and real elements of each window along the row; null for the lanes of one window
    double outer, real_outer, largest;
};

// Each of n counts as a float, repeated `unit` times.
template <class T>
inline T* as_numbers(const int64_t* counts, int64_t n, int64_t unit, Arena* arena) {
    T *out = take<T>(arena, n * unit), *to = out;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t e = 0; e < unit; ++e) *to++ = static_cast<T>(counts[i]);
    return out;
}

template <class T, class U>
inline void divide_each(T* row, int64_t n, const Divisors<T>& by, const U* valid) {
    // Below these limits products and differences of counts are exact in T, and so the quotient may be computed in T.
    if (by.outer * by.largest > (sizeof(T) == 4 ? 0x1p24 : 0x1p53)) {
        for (int64_t i = 0; i < n; ++i) {
            double d = by.outer * (by.along ? static_cast<double>(by.along[i]) : 1.0);
            if (valid)
                d += static_cast<double>(valid[i]) -
                     by.real_outer * (by.along ? static_cast<double>(by.real_along[i]) : 1.0);
            row[i] = static_cast<T>(static_cast<double>(row[i]) / d);
        }
        return quiet_row(row, row, n);
    }
    const T outer = static_cast<T>(by.outer), real_outer = static_cast<T>(by.real_outer);
    map_row(row, n, [&](auto v, auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        V d = by.along ? V(load<V>(by.along + i) * outer) : splat<V>(outer);
        if (valid) {
            const V real = by.along ? V(load<V>(by.real_along + i) * real_outer) : splat<V>(real_outer);
            d = d - real + count_to_float<V>(load<typename Rebind<V, Unsigned<T>>::type>(valid + i));
        }
        return v / d;
    });
}

// The epilogue of sums and averages: totals to results of type R, in place if the totals are in y already.
template <class C, class R>
inline void write_sums(const PoolSchedule& job, const PoolTile& b, const View& totals, bool in_place, Arena* arena) {
    using U = typename C::U;
    const auto* values = reinterpret_cast<const typename C::T*>(totals.base.v);
    const U* counts_of = reinterpret_cast<const U*>(totals.base.w);
    constexpr bool omit = C::two_planes, inexact = Limits<R>::has_nan;
    const bool average = job.epilogue == Epilogue::average;
    const ResultRows rows = result_rows(job, b, totals.stride);
    const int last = job.rank - 1, depth = rows.depth;
    const bool along = depth == last;
    const int64_t width = rows.n;
    R* scratch = take<R>(arena, width);
    // Results of type R are computed directly in y.
    const bool converts = job.convert != Conversion::none;
    const bool in_y = !converts && (job.out == (inexact ? (sizeof(R) == 4 ? DType::f32 : DType::f64) : DType::i64) ||
                                    (!inexact && job.out == DType::u64));
    U* marks = omit ? take<U>(arena, width) : nullptr;
    const bool divides = average && !job.by_divisor;
    // A row of unclipped windows has one divisor: counting the elements window by window in every tile would take a
    // quarter of the time (avg 4×4 of 4096²).
    const Span whole = interior_windows(job.axis[last], b.j0[last], b.count[last]);
    const bool unclipped = along && !omit && !job.axis[last].starts && whole.end - whole.begin == b.count[last];
    const Counts counts = divides ? count_elements(job, b, unclipped ? last : job.rank, arena) : Counts{};
    Divisors<R> by{};
    by.largest = unclipped ? static_cast<double>(job.axis[last].k) : along ? 0 : 1;
    bool even = true;  // all windows of a row have the same divisor
    if (divides && along && !unclipped) {
        by.along = as_numbers<R>(counts.counted[last], b.count[last], rows.unit, arena);
        by.real_along = as_numbers<R>(counts.real[last], b.count[last], rows.unit, arena);
        for (int64_t j = 0; j < b.count[last]; ++j) {
            even &= counts.counted[last][j] == counts.counted[last][0];
            by.largest = by.largest < static_cast<double>(counts.counted[last][j])
                             ? static_cast<double>(counts.counted[last][j])
                             : by.largest;
        }
    }
    for_result_rows(job, b, totals.stride, [&](const int64_t* at, int64_t offset, int64_t y, int64_t n) {
        R* row = in_y ? reinterpret_cast<R*>(job.y) + y : scratch;
        const auto* v = values + offset;
        const U* valid = nullptr;
        if constexpr (omit) {
            valid = marks;
            copy_elements<C>(
                {bytes(row), bytes(marks)},
                {bytes(const_cast<R*>(v)), bytes(const_cast<U*>(counts_of ? counts_of + offset : nullptr))}, n);
        } else if (!in_place) {
            for (int64_t i = 0; i < n; ++i) row[i] = static_cast<R>(v[i]);
        }
        if constexpr (inexact) {
            if (divides) {
                by.outer = by.real_outer = 1;
                for (int q = 0; q < depth; ++q) {
                    by.outer *= static_cast<double>(counts.counted[q][at[q]]);
                    by.real_outer *= static_cast<double>(counts.real[q][at[q]]);
                }
            }
            if constexpr (__is_same(R, double) && !omit) {
                if (job.convert == Conversion::exact) {
                    const double one = job.by_divisor ? job.divisor : even ? by.outer * by.largest : by.outer;
                    const double* each = divides && !even ? by.along : nullptr;
                    return write_quotients(job.out, job.y + y * size_of(job.out), row, each, one, n);
                }
            }
            if (average && job.by_divisor)
                divide_row(row, n, job.divisor);
            else if (divides && !omit && even)
                divide_row(row, n, by.outer * by.largest);
            else if (divides)
                divide_each(row, n, by, valid);
            else
                quiet_row(row, row, n);
            if constexpr (omit)
                for (int64_t i = 0; i < n; ++i) row[i] = marks[i] == 0 ? Limits<R>::nan : row[i];
        }
        if (converts)
            convert_row(job.out, job.y + y * size_of(job.out), row, n, is_unsigned(job.in));
        else if (!in_y)
            store_row(job.out, job.y + y * size_of(job.out), row, n);
    });
}

// For totals that are in y already: adjacent windows with the same divisor are treated as one row; separate rows for
// the lanes of each window have too much overhead (avg 2×2 channels last: 5.7 vs. 4.9 ms).
template <class C, class R>
inline bool divide_runs(const PoolSchedule& job, const PoolTile& b, Arena* arena) {
    const int last = job.rank - 1;
    if (!rows_are_lanes(job) || job.y_stride[last] != b.lanes) return false;
    if constexpr (Limits<R>::has_nan) {
        const bool divides = job.epilogue == Epilogue::average && !job.by_divisor;
        const Counts counts = divides ? count_elements(job, b, job.rank, arena) : Counts{};
        for_rows(last, b.count, [&](const int64_t* at) {
            R* row = reinterpret_cast<R*>(job.y) + b.y;
            double outer = job.epilogue == Epilogue::average && !divides ? job.divisor : 1;
            for (int q = 0; q < last; ++q) {
                row += at[q] * job.y_stride[q];
                if (divides) outer *= static_cast<double>(counts.counted[q][at[q]]);
            }
            if (!divides) return divide_row(row, b.count[last] * b.lanes, outer);
            const int64_t* along = counts.counted[last];
            for (int64_t j = 0, end; j < b.count[last]; j = end) {
                for (end = j + 1; end < b.count[last] && along[end] == along[j];) ++end;
                divide_row(row + j * b.lanes, (end - j) * b.lanes, outer * static_cast<double>(along[j]));
            }
        });
        return true;
    }
    return false;
}

constexpr int64_t kShortRow = 256;  // bytes

// For totals that are in y already, in rows of a few vectors: a plane is treated as one row, with a divisor for each
// window (avg 3×3 on planes of 20×20: 1.35 vs. 1.1 ms).
template <class C, class R>
inline bool divide_planes(const PoolSchedule& job, const PoolTile& b, Arena* arena) {
    const int last = job.rank - 1;
    if (rows_are_lanes(job) || last == 0 || job.y_stride[last - 1] != b.count[last]) return false;
    int64_t planes = 1;
    for (int q = 0; q < last - 1; ++q) planes *= b.count[q];
    if (planes < 2 || b.count[last] * static_cast<int64_t>(sizeof(R)) > kShortRow) return false;
    if constexpr (Limits<R>::has_nan) {
        const bool divides = job.epilogue == Epilogue::average && !job.by_divisor;
        const Counts counts = divides ? count_elements(job, b, job.rank, arena) : Counts{};
        const int64_t rows = b.count[last - 1], wide = b.count[last], n = rows * wide;
        Divisors<R> by{};
        bool even = true;
        if (divides) {
            by.along = take<R>(arena, n);
            const R* along = as_numbers<R>(counts.counted[last], wide, 1, arena);
            for (int64_t i = 0; i < rows; ++i) {
                const R of_row = static_cast<R>(counts.counted[last - 1][i]);
                for (int64_t j = 0; j < wide; ++j) by.along[i * wide + j] = along[j] * of_row;
            }
            for (int64_t i = 0; i < n; ++i) {
                even &= by.along[i] == by.along[0];
                by.largest = by.largest < by.along[i] ? by.along[i] : by.largest;
            }
        }
        for_rows(last - 1, b.count, [&](const int64_t* at) {
            R* row = reinterpret_cast<R*>(job.y) + b.y;
            by.outer = job.epilogue == Epilogue::average && !divides ? job.divisor : 1;
            for (int q = 0; q < last - 1; ++q) {
                row += at[q] * job.y_stride[q];
                if (divides) by.outer *= static_cast<double>(counts.counted[q][at[q]]);
            }
            if (!divides || even)
                divide_row(row, n, by.outer * (divides ? by.largest : 1));
            else
                divide_each(row, n, by, static_cast<const typename C::U*>(nullptr));
        });
        return true;
    }
    return false;
}

// Rows of small integers, widened and added in one step if windows do not share rows: loading the tile first takes
// longer than the additions (avg 4×4 of 4096² of uint8, one thread: 4.1 vs. 2.6 ms).
template <class T, class S>
CENOTE_ONCE void add_rows(T* __restrict to, const char* x, int64_t stride, int64_t count, int64_t n) {
    const auto row = [&](int64_t r) { return reinterpret_cast<const S*>(x + r * stride); };
    if (count == 0)
        for (int64_t i = 0; i < n; ++i) to[i] = 0;
    // Four at a time, and the first four are not added to anything: totals of four rows are written once.
    for (int64_t r = 0; r < count; r += 4) {
        const int64_t some = min(4, count - r);
        const S* __restrict a = row(r), * __restrict b = row(r + (some > 1)), * __restrict c = row(r + 2 * (some > 2)), * __restrict d = row(r + 3 * (some > 3));
        const auto add = [&](auto sum) CENOTE_INLINE {
            if (r == 0)
                for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(sum(i));
            else
                for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] + sum(i));
        };
        if (some == 1) add([&](int64_t i) CENOTE_INLINE { return a[i]; });
        if (some == 2) add([&](int64_t i) CENOTE_INLINE { return a[i] + b[i]; });
        if (some == 3) add([&](int64_t i) CENOTE_INLINE { return a[i] + b[i] + c[i]; });
        if (some == 4) add([&](int64_t i) CENOTE_INLINE { return a[i] + b[i] + c[i] + d[i]; });
    }
}

inline bool can_sum_rows_first(const PoolSchedule& job, const PoolTile& b, const InputRows& rows) {
    const Axis& a = job.axis[0];
    const int64_t width = size_of(job.in);
    if (reinterpret_cast<uintptr_t>(b.x) % width || job.x_stride[0] % width) return false;
    if (job.rank != 2 || job.pass[0] != 0 || rows.depth != 1 || rows.stride != width || job.swap) return false;
    if (job.physical_padding || a.starts || a.k > a.s || a.k < 2) return false;
    return job.in == DType::i8 || job.in == DType::u8 || job.in == DType::i16 || job.in == DType::u16;
}

// All passes of such a tile.
template <class C>
CENOTE_ONCE View sum_rows_first(const PoolSchedule& job, const PoolTile& b, const InputRows& rows, Arena* arena) {
    using T = typename C::T;
    const Axis &a = job.axis[0], &along = job.axis[1];
    const auto add = job.in == DType::i8    ? &add_rows<T, int8_t>
                     : job.in == DType::u8  ? &add_rows<T, uint8_t>
                     : job.in == DType::i16 ? &add_rows<T, int16_t>
                                            : &add_rows<T, uint16_t>;
    const int64_t elements[] = {b.count[0], b.elements[1]}, windows[] = {b.count[0], b.count[1]};
    View sums, totals;
    T* row = take<T>(arena, contiguous_strides(2, elements, b.lanes, sums.stride));
    sums.base = {bytes(row), nullptr};
    for (int64_t j = 0; j < b.count[0]; ++j) {
        const Span taps = real_taps(a, b.j0[0] + j);
        const int64_t first = window_start(a, b.j0[0] + j) + taps.begin * a.d;
        add(row + j * sums.stride[0], b.x + first * job.x_stride[0] + b.c0[1] * job.x_stride[1], a.d * job.x_stride[0],
            taps.end - taps.begin, rows.n);
    }
    if (is_identity(along)) return sums;
    totals.base = {bytes(take<T>(arena, contiguous_strides(2, windows, b.lanes, totals.stride))), nullptr};
    run_pass(row_kernels<C>, along, 1, 2, elements, b.lanes, b.j0[1], b.count[1], b.c0[1], sums, totals, job.weight[1],
             arena);
    return totals;
}

template <class C, class R>
inline void sum_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    const PoolTile b = locate(job, task);
    if constexpr (!C::two_planes && !Limits<typename C::T>::has_nan && sizeof(typename C::T) <= 4) {
        const InputRows rows = input_rows(job, b);
        if (can_sum_rows_first(job, b, rows))
            return write_sums<C, R>(job, b, sum_rows_first<C>(job, b, rows, arena), false, arena);
    }
    using T = typename C::T;
    const View in = job.direct ? view_in_place<T>(job, b) : loaded_tile<T>(job, b, 0, arena);
    const bool in_place = !C::two_planes && job.out == job.work && job.convert == Conversion::none && has_pass(job);
    const View y = result_view<T>(job, b);
    const View totals = run_passes(row_kernels<C>, job, b, in, in_place ? &y : nullptr, arena);
    if (in_place && (divide_runs<C, R>(job, b, arena) || divide_planes<C, R>(job, b, arena))) return;
    write_sums<C, R>(job, b, totals, in_place, arena);
}
