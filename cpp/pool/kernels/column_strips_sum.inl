// Sums of large overlapping windows on planes: strips that are processed as in column_strips_max.inl, in the order of
// the summation tree.
//
// Let Pₘ be the sum of the last m rows, m a power of two: P₂ₘ is Pₘ from m rows ago plus Pₘ. A window of k rows
// consists of the powers of two in k, the largest first, so each Pₘ is taken from as many rows ago as the smaller ones
// have together. Ring buffers hold the last m rows of Pₘ, k - 1 rows in all. Several rows at a time go through all
// levels for two vectors of columns, whose part of the rings then stays in the L1 cache; four rows at a time, whose P₁
// and P₂ hardly leave the registers. (Row by row with four vectors at a time takes a tenth longer for all of 63×63;
// prefetching results here instead of along the rows takes 6 % longer.)

constexpr int kTogether = 4;  // rows; a step is a multiple of them

template <class C>
struct SumColumns {
    using T = typename C::T;
    struct RingPosition {
        int64_t oldest[kTogether],
            from[kTogether];  // positions in the rings: of Pₘ, and of the Pₘ that is part of the window
    };

    int64_t k, n, pitch, ring_rows, row = 0;
    int levels;
    int64_t start[kSumLevels], size[kSumLevels];  // of the rings, in rows
    T* ring;
    RingPosition* positions;

    SumColumns(int64_t k_down, int64_t elements, Arena* arena) : k(k_down), n(elements) {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        levels = 64 - __builtin_clzll(static_cast<uint64_t>(k));
        pitch = row_pitch<T>(ceil_div(n, wide) * wide);
        int64_t rows = 0;
        for (int l = 0; l < levels; ++l) {
            const int64_t m = int64_t{1} << l;
            start[l] = rows;
            size[l] = l < levels - 1 ? m : k - m;
            rows += size[l];
        }
        ring_rows = rows;
        ring = take<T>(arena, rows * pitch);
        fill_accumulators<C>({ring, nullptr}, rows * pitch);
        positions = take<RingPosition>(arena, kStepRows / kTogether * levels);
    }

    // Four rows of a vector of columns; Low = k % 4.
    template <int Low>
    CENOTE_INLINE void four_rows(const T* const* x, int64_t at, T* out, T* rings, const RingPosition* position) const {
        using V = typename Lane<T, kVectorBytes>::V;
        using Reg = RegOf<C, V>;
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        const int top = levels - 1, lowest = __builtin_ctzll(static_cast<uint64_t>(k));
        const auto read = [](const T* from) CENOTE_INLINE { return C::from_value(load<V>(from)); };
        const auto each_row = [](auto f) CENOTE_INLINE { each<kTogether>(0, f); };
        Reg one[kTogether], two[kTogether], part[kTogether], all[kTogether];
        const Reg before[] = {read(rings + wide), read(rings + 2 * wide)};  // P₂
        each_row([&](int64_t i) CENOTE_INLINE { one[i] = read(x[i] + at); });
        each_row([&](int64_t i) CENOTE_INLINE { two[i] = C::combine(i ? one[i - 1] : read(rings), one[i]); });
        each_row([&](int64_t i) CENOTE_INLINE {
            part[i] = C::combine(i < 2 ? before[i] : two[i - 2], two[i]);
            all[i] = part[i];
            if constexpr (Low == 1) all[i] = one[i];
            if constexpr (Low == 2) all[i] = two[i];
            if constexpr (Low == 3) all[i] = C::combine(i ? two[i - 1] : before[1], one[i]);
        });
        store(rings, one[3].v);
        store(rings + wide, two[2].v);
        store(rings + 2 * wide, two[3].v);
        for (int l = 2; l < top; ++l, ++position) {
            // Row by row: what one row stores, the next one may need.
            if (Low == 0 && l == lowest) each_row([&](int64_t i) CENOTE_INLINE { all[i] = part[i]; });
            const bool used = l > lowest && k >> l & 1;
            T* oldest =
                rings + position->oldest[0];  // followed by those of the other rows, because m is a multiple of four
            each_row([&](int64_t i) CENOTE_INLINE {
                if (used) all[i] = C::combine(read(rings + position->from[i]), all[i]);
                const Reg older = read(oldest + i * wide);
                store(oldest + i * wide, part[i].v);
                part[i] = C::combine(older, part[i]);
            });
        }
        each_row([&](int64_t i) CENOTE_INLINE {
            if (top == lowest) return store(out + at + i * pitch, part[i].v);
            T* oldest = rings + position->oldest[i];
            store(out + at + i * pitch, C::combine(read(oldest), all[i]).v);
            store(oldest, part[i].v);
        });
    }

    // Vectors of columns, from element `at` of the rows on, to `out`. Two make a cache line: with rows a power of two
    // apart, the line would be fetched again for the second.
    template <int Low, int Vectors>
    CENOTE_ONCE void columns(const T* const* x, T* out, int64_t rows, int64_t at) const {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        const SumColumns strip = *this;  // a copy: stores cannot alias it
        const RingPosition* position = positions;
        for (int64_t r = 0; r < rows; r += kTogether, out += kTogether * strip.pitch, position += strip.levels - 2) {
            for (int64_t v = 0; v < Vectors; ++v)
                strip.template four_rows<Low>(x + r, at + v * wide, out, strip.ring + (at + v * wide) * strip.ring_rows,
                                              position);
        }
    }

    // Adds up to kStepRows more rows of elements and writes the sums of the k rows that end there to `out`, `pitch`
    // apart. Less than a step is the last one, and a multiple of four rows must be readable.
    void next(const T* const* x, T* out, int64_t rows) {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        RingPosition* position = positions;
        for (int64_t r = 0; r < rows; r += kTogether, row += kTogether)
            for (int l = 2; l < levels; ++l, ++position) {
                const int64_t back = k & ((int64_t{1} << l) - 1), m = max(size[l], 1);
                for (int64_t i = 0; i < kTogether; ++i) {
                    position->oldest[i] = (start[l] + (row + i) % m) * wide;
                    position->from[i] = (start[l] + (row + i + m - back % m) % m) * wide;
                }
            }
        switch (k % 4) {
            case 0: return all_columns<0>(x, out, rows);
            case 1: return all_columns<1>(x, out, rows);
            case 2: return all_columns<2>(x, out, rows);
            default: return all_columns<3>(x, out, rows);
        }
    }

    template <int Low>
    void all_columns(const T* const* x, T* out, int64_t rows) const {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        int64_t i = 0;
        for (; i + 2 * wide <= n; i += 2 * wide) columns<Low, 2>(x, out, rows, i);
        for (; i + wide <= n; i += wide) columns<Low, 1>(x, out, rows, i);
        if (i == n) return;
        const T* tails[kStepRows];
        for (int64_t r = 0; r < kStepRows; ++r) tails[r] = out + r * pitch;
        columns<Low, 1>(tails, out, rows, i);
    }
};

// The divisors of the windows of a strip, and the rest of the epilogue that makes results of type R.
template <class R>
struct StripDivision {
    const PoolSchedule* job;
    bool divides, even = true;  // even: all windows of a row have the same divisor
    int64_t n;
    Counts counts;
    Divisors<R> by{};

    StripDivision(const PoolSchedule& of, const PoolTile& b, Arena* arena) : job(&of), n(b.count[1] * b.lanes) {
        divides = of.epilogue == Epilogue::average && !of.by_divisor;
        if (!divides) return;
        counts = count_elements(of, b, of.rank, arena);
        by.along = take<R>(arena, n);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t counted = counts.counted[1][i / b.lanes];
            by.along[i] = static_cast<R>(counted);
            even &= counted == counts.counted[1][0];
            by.largest = by.largest < static_cast<double>(counted) ? static_cast<double>(counted) : by.largest;
        }
    }

    // Whether row j has a single divisor of type R, so that it is divided while it is written.
    bool has_one_divisor(int64_t j, double& by_what) const {
        const bool average = job->epilogue == Epilogue::average;
        by_what = !average ? 1 : divides ? static_cast<double>(counts.counted[0][j]) * by.largest : job->divisor;
        return (!divides || even) && divides_in<R>(by_what);
    }
    // Otherwise it is divided afterwards.
    void finish(int64_t j, R* row) {
        by.outer = divides ? static_cast<double>(counts.counted[0][j]) : 1;
        if (divides && !even) return divide_each(row, n, by, static_cast<const Unsigned<R>*>(nullptr));
        divide_row(row, n, divides ? by.outer * by.largest : job->divisor);
    }
};

template <class C, class R>
void sum_strip(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename C::T;
    constexpr bool same = __is_same(T, R);
    const DType result_type = !Limits<R>::has_nan ? DType::i64 : sizeof(R) == 4 ? DType::f32 : DType::f64;
    const PoolTile b = locate(job, task);
    const StripRows<T> rows(job, b, arena);
    const StripResults<R> results(
        job, b, job.out == result_type || (result_type == DType::i64 && job.out == DType::u64), arena);
    const int64_t k = job.axis[0].k, all = b.count[0] + k - 1, n = b.count[1] * b.lanes;
    SumColumns<C> strip(k, rows.n, arena);
    StripDivision<R> divisors(job, b, arena);
    T* elements = take<T>(arena, kStepRows * strip.pitch + SumAlongRow<C>::overread());
    const SumAlongRow<C> along(job.axis[1].k, b.lanes, n, arena);
    T* line = same ? nullptr : take<T>(arena, n);
    const T* inputs[kStepRows];
    const auto load_strip_row = [&](int64_t r) {
        T* to = elements + r % kStepRows * strip.pitch;
        inputs[r % kStepRows] = rows.row_or_copy(r, to, T{0});
    };
    for (int64_t r = 0; r < kStepRows; ++r) inputs[r] = elements + r * strip.pitch;
    for (int64_t r = 0; r < min(kStepRows, all); ++r) load_strip_row(r);
    for (int64_t from = 0; from < all; from += kStepRows) {
        const int64_t count = min(kStepRows, all - from);
        strip.next(inputs, elements, count);
        for (int64_t r = 0; r < count; ++r) {
            T* totals = elements + r * strip.pitch;
            if (const int64_t j = from + r - k + 1; j >= 0) {
                R* to = results.row(j);
                const Later later{rows.at(from + kStepRows + r), results.at(j + 1)};
                if constexpr (same && Limits<R>::has_nan) {
                    double by;
                    const bool has_one_divisor = divisors.has_one_divisor(j, by);
                    const Division<R> divide = division<R>(by);
                    if (!has_one_divisor)
                        along.row(totals, to, later, [](auto v) CENOTE_INLINE { return v; });
                    else if (by == 1)
                        along.row(totals, to, later, [](auto v) CENOTE_INLINE { return quiet<R>(v); });
                    else
                        along.row(totals, to, later, [divide](auto v) CENOTE_INLINE { return divide(v); });
                    if (!has_one_divisor) divisors.finish(j, to);
                } else {
                    T* sums = line;
                    if constexpr (same) sums = to;
                    along.row(totals, sums, later, [](auto v) CENOTE_INLINE { return v; });
                    if constexpr (!same)
                        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(sums[i]);
                    if constexpr (Limits<R>::has_nan)
                        if (job.epilogue == Epilogue::average) divisors.finish(j, to);
                }
                results.store(j);
            }
            // Its buffer is free for a row of the next step: elements are loaded while others are summed.
            if (from + kStepRows + r < all) load_strip_row(from + kStepRows + r);
        }
    }
}
