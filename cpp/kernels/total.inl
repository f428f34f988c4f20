// Tiles of sums: plain, averaged, or with a wide exponent.

// Counts of cells of each window along one axis.
struct Counts {
    int64_t* real[kMaxDims];
    int64_t* counted[kMaxDims];  // what an average divides by
};

inline Counts count_cells(const Job& job, const Box& b, Arena* arena) {
    Counts c;
    for (int q = 0; q < job.rank; ++q) {
        c.real[q] = take<int64_t>(arena, b.count[q]);
        c.counted[q] = take<int64_t>(arena, b.count[q]);
        for (int64_t j = 0; j < b.count[q]; ++j) {
            const Span real = real_taps(job.axis[q], b.j0[q] + j);
            const Span padded = padded_taps(job.axis[q], b.j0[q] + j);
            c.real[q][j] = real.end - real.begin;
            c.counted[q][j] = job.include_pad ? padded.end - padded.begin : c.real[q][j];
        }
    }
    return c;
}

// The quotient in double, rounded once. In T it is the same wherever the divisor is a T, and faster.
template <class T>
inline void divide_row(T* row, int64_t n, double by) {
    const T same = static_cast<T>(by);
    if (static_cast<double>(same) != by) {
        for (int64_t i = 0; i < n; ++i) row[i] = static_cast<T>(static_cast<double>(row[i]) / by);
        return;
    }
    const Unsigned<T> bits = load<Unsigned<T>>(&same);
    constexpr Unsigned<T> mantissa = (Unsigned<T>{1} << (sizeof(T) == 4 ? 23 : 52)) - 1;
    const T inverse = T{1} / same;
    const bool power_of_two = (bits & mantissa) == 0 && inverse * same == T{1} && by > 1e-30 && by < 1e30;
    if (power_of_two) {
        for (int64_t i = 0; i < n; ++i) row[i] *= inverse;
    } else {
        for (int64_t i = 0; i < n; ++i) row[i] /= same;
    }
}

template <class T>
inline void quiet_row(T* row, int64_t n) {
    if constexpr (Limits<T>::has_nan)
        for (int64_t i = 0; i < n; ++i) row[i] = row[i] != row[i] ? Limits<T>::nan : row[i];
}

// Totals to results for sums and averages; `valid` counts the cells that were not NaN (null: all were).
template <class T>
inline void finish_sums(const Job& job, const Box& b, const View<Sum<T>>& totals, const View<Sum<T>>* valid,
                        Arena* arena) {
    const bool average = job.finish == Finish::average;
    const bool lanes = rows_are_lanes(job);
    const int last = job.rank - 1, depth = row_depth(job);
    const int64_t width = lanes ? b.lanes : b.count[last];
    T* row = take<T>(arena, width);
    if constexpr (!Limits<T>::has_nan) {
        for_result_rows<Sum<T>>(job, b, totals, [&](const int64_t*, int64_t offset, int64_t y, int64_t n) {
            store_row(job.out, job.y + y * size_of(job.out), totals.base.v + offset, n);
        });
        return;
    } else {
        const bool divides = average && !job.by_divisor;
        const bool counting = divides || job.omit;
        const Counts counts = counting ? count_cells(job, b, arena) : Counts{};
        bool even = true;  // one divisor along each row
        if (divides && !lanes)
            for (int64_t j = 1; j < width; ++j) even &= counts.counted[last][j] == counts.counted[last][0];
        for_result_rows<Sum<T>>(job, b, totals, [&](const int64_t* at, int64_t offset, int64_t y, int64_t n) {
            copy_row(row, totals.base.v + offset, n);
            int64_t real = 1, counted = 1;
            if (counting)
                for (int q = 0; q < depth; ++q) {
                    real *= counts.real[q][at[q]];
                    counted *= counts.counted[q][at[q]];
                }
            if (average && job.by_divisor) {
                divide_row(row, n, job.divisor);
            } else if (divides && !valid && even) {
                divide_row(row, n, static_cast<double>(lanes ? counted : counted * counts.counted[last][0]));
            } else if (divides) {
                for (int64_t i = 0; i < n; ++i) {
                    const int64_t all = lanes ? counted : counted * counts.counted[last][i];
                    const int64_t cells = lanes ? real : real * counts.real[last][i];
                    const double dropped = valid ? static_cast<double>(cells) - valid->base.v[offset + i] : 0.0;
                    const double by = static_cast<double>(all) - dropped;
                    row[i] = static_cast<T>(static_cast<double>(row[i]) / by);
                }
            }
            if (job.omit) {
                for (int64_t i = 0; i < n; ++i) {
                    const int64_t cells = lanes ? real : real * counts.real[last][i];
                    const bool none = valid ? valid->base.v[offset + i] == T{0} : cells == 0;
                    if (none) row[i] = Limits<T>::nan;
                }
            }
            quiet_row(row, n);
            store_row(job.out, job.y + y * size_of(job.out), row, n);
        });
    }
}

template <class T>
inline void sum_tile(const Job& job, int64_t task, Arena* arena) {
    using C = Sum<T>;
    const Box b = locate(job, task);
    View<C> in = job.direct ? where_it_lies<C>(job, b) : brought_in<C>(job, b, arena);
    int64_t dropped = 0;
    if constexpr (Limits<T>::has_nan)
        if (job.omit) dropped = drop_nan(in.base.v, tile_cells<T>(job, b));
    const View<C> totals = run_passes<C>(job, b, in, nullptr, arena);
    if (dropped == 0) return finish_sums<T>(job, b, totals, nullptr, arena);
    if constexpr (Limits<T>::has_nan) {
        View<C> marks = brought_in<C>(job, b, arena);
        mark_cells(marks.base.v, tile_cells<T>(job, b));
        const View<C> valid = run_passes<C>(job, b, marks, nullptr, arena);
        finish_sums<T>(job, b, totals, &valid, arena);
    }
}

// The largest or smallest cell of each window, laid out as the totals will be.
template <class C>
inline const double* bounds(const Job& job, const Box& b, const View<Sum<double>>& in, int64_t size, Arena* arena) {
    View<C> cells;
    for (int q = 0; q < job.rank; ++q) cells.stride[q] = in.stride[q];
    cells.base = {in.base.v, nullptr};
    const double* found = run_passes<C>(job, b, cells, nullptr, arena).base.v;
    if (found != in.base.v) return found;
    double* copy = take<double>(arena, size);  // no pass: the cells themselves, which are about to change
    copy_row(copy, found, size);
    return copy;
}

inline void wide_sum_tile(const Job& job, int64_t task, Arena* arena) {
    const Box b = locate(job, task);
    const View<Sum<double>> in = brought_in<Sum<double>>(job, b, arena);
    const int64_t size = tile_cells<double>(job, b);
    const bool exponential = job.prepare == Prepare::exponential;
    const bool minimum = exponential && job.beta < 0;
    double* v = in.base.v;
    if (!exponential) absolute(v, size);
    const bool moderate = exponential ? moderate_exponents(v, size, job.beta) : moderate_powers(v, size, job.power);
    // A smooth maximum or a norm is never below the largest cell. Powers 1 and 2 see to that by themselves.
    const double* bound = nullptr;
    if (exponential || (job.power != 1.0 && job.power != 2.0))
        bound = minimum ? bounds<Pick<double, false, false>>(job, b, in, size, arena)
                        : bounds<Pick<double, true, false>>(job, b, in, size, arena);
    double* row = take<double>(arena, rows_are_lanes(job) ? b.lanes : b.count[job.rank - 1]);
    const auto write = [&](const double* totals, const double* exponents, int64_t offset, int64_t y, int64_t n) {
        copy_row(row, totals + offset, n);
        finish_wide(job, row, exponents ? exponents + offset : nullptr, n);
        if (bound && minimum)
            for (int64_t i = 0; i < n; ++i) row[i] = row[i] > bound[offset + i] ? bound[offset + i] : row[i];
        else if (bound)
            for (int64_t i = 0; i < n; ++i) row[i] = row[i] < bound[offset + i] ? bound[offset + i] : row[i];
        quiet_row(row, n);
        store_row(job.out, job.y + y * size_of(job.out), row, n);
    };
    if (moderate) {
        if (exponential)
            plain_exponentials(v, size, job.beta);
        else
            plain_powers(v, size, job.power);
        const View<Sum<double>> totals = run_passes<Sum<double>>(job, b, in, nullptr, arena);
        for_result_rows<Sum<double>>(job, b, totals, [&](const int64_t*, int64_t offset, int64_t y, int64_t n) {
            write(totals.base.v, nullptr, offset, y, n);
        });
        return;
    }
    View<WideSum> wide;
    for (int q = 0; q < job.rank; ++q) wide.stride[q] = in.stride[q];
    wide.base = {v, take<double>(arena, size)};
    wide_terms(job, v, wide.base.w, size);
    const View<WideSum> totals = run_passes<WideSum>(job, b, wide, nullptr, arena);
    for_result_rows<WideSum>(job, b, totals, [&](const int64_t*, int64_t offset, int64_t y, int64_t n) {
        write(totals.base.v, totals.base.w, offset, y, n);
    });
}
