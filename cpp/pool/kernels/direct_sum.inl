// Tiles of small windows: sums and averages.

// The divisors of the windows of a schedule.
template <class R>
struct Divisions {
    const PoolSchedule& job;
    bool by_count;
    double full;  // the elements of an unclipped window, not counting those along its row
    Division<R> whole;

    Divisions(const PoolSchedule& given, int along) : job(given) {
        const bool average = job.epilogue == Epilogue::average;
        by_count = average && !job.by_divisor;
        full = 1;
        for (int q = 0; q < row_depth(job); ++q) full *= static_cast<double>(job.axis[q].k);
        whole = division<R>(!average ? 1.0 : by_count ? full * (along ? along : 1) : job.divisor);
    }
    double counted(int q, int64_t j) const {
        const Span taps = job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    }
    double outer_count(const int64_t* j) const {
        double elements = 1;
        for (int q = 0; q < row_depth(job); ++q) elements *= counted(q, j[q]);
        return elements;
    }
};

// S is the dtype of the elements, C::T of the sums, R of the results, which are written as S if that is float16 or
// bfloat16.
template <class C, class S, class R>
void sum_direct(const PoolSchedule& job, int64_t task, Arena*) {
    constexpr bool narrow = __is_same(S, Half) || __is_same(S, BFloat16);
    constexpr int64_t size = narrow ? 2 : sizeof(R);
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1;
    const DirectRow line = direct_row_of(job, b, TapWeights{});
    dispatch_row_layout<C>(job, [&]<class A>(A) {
        const Divisions<R> divisions(job, A::k);
        const bool streaming = results_stream(job, b, line, Lane<typename C::T, kVectorBytes>::count, size);
        const bool by_count = divisions.by_count;
        for_window_rows(
            job, b, TapWeights{}, rows_together(line),
            [&](const int64_t* j, const char* first, const DirectWindow& window, int64_t y) {
                char* out = job.y + y * size;
                const double elements = window.clipped && by_count ? divisions.outer_count(j) : divisions.full;
                const Division<R> by =
                    window.clipped && by_count ? division<R>(elements * (A::k ? A::k : 1)) : divisions.whole;
                int64_t known = -1;  // the window that has the divisor `own`: the same in all rows
                Division<R> own{};
                direct_row<C, S, A>(
                    line, first, window, [&](auto lane, int64_t i, auto reduced, int64_t r) CENOTE_INLINE {
                        using L = decltype(lane);
                        const int64_t at = i + r * window.y_step;
                        if constexpr (A::k != 0 && L::count == 1) {  // possibly clipped along the row
                            if (i != known)
                                own = by_count ? division<R>(elements * divisions.counted(last, line.j0 + i)) : by;
                            known = i;
                            write_total<R, S, L>(out + at * size, reduced.v, own, streaming);
                        } else {
                            write_total<R, S, L>(out + at * size, reduced.v, by, streaming);
                        }
                    });
            },
            [&](const int64_t* j, int64_t y) {
                const double elements = by_count ? divisions.outer_count(j) : 1;
                for (int64_t i = 0; i < line.n; ++i) {
                    const double along = A::k ? divisions.counted(last, line.j0 + i) : 1;
                    write_total<R, S, Lane<R, 0>>(job.y + (y + i) * size, R{0},
                                                  by_count ? division<R>(elements * along) : divisions.whole);
                }
            });
    });
    if (job.streaming) fence_stores();
}

// NaN omitted: a total is divided by the number of its valid elements, and of padding that counts.
template <class T>
void valid_sum_direct(const PoolSchedule& job, int64_t task, Arena*) {
    using C = SumValid<T>;
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1, depth = row_depth(job);
    const DirectRow line = direct_row_of(job, b, TapWeights{});
    const auto real = [&](int q, int64_t j) {
        const Span taps = real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    };
    dispatch_row_layout<C>(job, [&]<class A>(A) {
        const Divisions<T> divisions(job, A::k);
        for_window_rows(
            job, b, TapWeights{}, rows_together(line),
            [&](const int64_t* j, const char* first, const DirectWindow& window, int64_t y) {
                T* out = reinterpret_cast<T*>(job.y) + y;
                double counted = divisions.full, real_count = divisions.full;
                if (window.clipped && divisions.by_count) {
                    counted = divisions.outer_count(j);
                    real_count = 1;
                    for (int q = 0; q < depth; ++q) real_count *= real(q, j[q]);
                }
                const T more = static_cast<T>((counted - real_count) * (A::k ? A::k : 1));
                direct_row<C, T, A>(
                    line, first, window, [&](auto lane, int64_t i, auto reduced, int64_t r) CENOTE_INLINE {
                        using L = decltype(lane);
                        T padded = more;
                        if constexpr (A::k != 0 && L::count == 1)  // possibly clipped along the row
                            padded = static_cast<T>(counted * divisions.counted(last, line.j0 + i) -
                                                    real_count * real(last, line.j0 + i));
                        store(out + i + r * window.y_step,
                              divide_valid<T>(reduced.v, reduced.w, divisions.by_count, padded, divisions.whole));
                    });
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < line.n; ++i) reinterpret_cast<T*>(job.y)[y + i] = Limits<T>::nan;
            });
    });
}
