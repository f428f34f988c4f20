// Sums of large windows that overlap, on planes: strips that are walked down as column_strips_max.inl does, in the
// order of the tree.
//
// Let Pₘ be the sum of the last m rows, m a power of two: P₂ₘ = Pₘ of m rows ago + Pₘ. A window of k rows is made of
// the powers of two in k, the largest one first, so that of Pₘ as many rows ago as the smaller ones have together.
// Rings hold the last m rows of Pₘ: k - 1 rows in all. Some rows at a time go through all levels for two
// vectors of columns, whose part of the rings is then in the nearest cache; four rows at a time, of which P₁ and P₂
// hardly leave the registers. (Row by row, four vectors at a time: a tenth more for all of 63×63. Results fetched here
// and not along the rows: 6 % more.)

constexpr int kTogether = 4;  // rows; a step is a multiple of them

template <class C>
struct SumColumns {
    using T = typename C::T;
    struct Place {
        int64_t oldest[kTogether], from[kTogether];  // in the rings: the place of Pₘ, that of Pₘ as the window has it
    };

    int64_t k, n, pitch, held, row = 0;
    int levels;
    int64_t start[kSumLevels], size[kSumLevels];  // of the rings, in rows
    T* ring;
    Place* places;

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
        held = rows;
        ring = take<T>(arena, rows * pitch);
        fill_empty<C>({ring, nullptr}, rows * pitch);
        places = take<Place>(arena, kStepRows / kTogether * levels);
    }

    // Four rows of a vector of columns; Low = k % 4.
    template <int Low>
    CENOTE_INLINE void four_rows(const T* const* x, int64_t at, T* out, T* rings, const Place* place) const {
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
        for (int l = 2; l < top; ++l, ++place) {
            // Row by row: what one keeps, the next one may want.
            if (Low == 0 && l == lowest) each_row([&](int64_t i) CENOTE_INLINE { all[i] = part[i]; });
            const bool wanted = l > lowest && k >> l & 1;
            T* oldest = rings + place->oldest[0];  // and those of the other rows, for m is a multiple of four
            each_row([&](int64_t i) CENOTE_INLINE {
                if (wanted) all[i] = C::combine(read(rings + place->from[i]), all[i]);
                const Reg older = read(oldest + i * wide);
                store(oldest + i * wide, part[i].v);
                part[i] = C::combine(older, part[i]);
            });
        }
        each_row([&](int64_t i) CENOTE_INLINE {
            if (top == lowest) return store(out + at + i * pitch, part[i].v);
            T* oldest = rings + place->oldest[i];
            store(out + at + i * pitch, C::combine(read(oldest), all[i]).v);
            store(oldest, part[i].v);
        });
    }

    // Vectors of columns, from element `at` of the rows on, to `out`. Two are a line of the cache: rows that are a
    // power of two apart would be read again for the second.
    template <int Low, int Vectors>
    CENOTE_ONCE void columns(const T* const* x, T* out, int64_t rows, int64_t at) const {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        const SumColumns walk = *this;  // which no store can change
        const Place* place = places;
        for (int64_t r = 0; r < rows; r += kTogether, out += kTogether * walk.pitch, place += walk.levels - 2) {
            for (int64_t v = 0; v < Vectors; ++v)
                walk.template four_rows<Low>(x + r, at + v * wide, out, walk.ring + (at + v * wide) * walk.held, place);
        }
    }

    // Up to kStepRows more rows of elements, and to `out`, `pitch` apart, the sums of the k rows that end there. Fewer
    // than a step are the last ones, and there are as many as a multiple of four to read.
    void next(const T* const* x, T* out, int64_t rows) {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        Place* place = places;
        for (int64_t r = 0; r < rows; r += kTogether, row += kTogether)
            for (int l = 2; l < levels; ++l, ++place) {
                const int64_t back = k & ((int64_t{1} << l) - 1), m = max(size[l], 1);
                for (int64_t i = 0; i < kTogether; ++i) {
                    place->oldest[i] = (start[l] + (row + i) % m) * wide;
                    place->from[i] = (start[l] + (row + i + m - back % m) % m) * wide;
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

// What the windows of a strip are divided by, and the rest of what turns totals into results of type R.
template <class R>
struct StripDivision {
    const PoolSchedule* job;
    bool divides, even = true;  // even: there is one divisor along a row
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

    // Whether row j is divided by one number of type R: on the way out.
    bool has_one_divisor(int64_t j, double& by_what) const {
        const bool average = job->epilogue == Epilogue::average;
        by_what = !average ? 1 : divides ? static_cast<double>(counts.counted[0][j]) * by.largest : job->divisor;
        return (!divides || even) && divides_in<R>(by_what);
    }
    // All others afterwards.
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
    const DType made = !Limits<R>::has_nan ? DType::i64 : sizeof(R) == 4 ? DType::f32 : DType::f64;
    const PoolTile b = locate(job, task);
    const StripRows<T> rows(job, b, arena);
    const StripResults<R> results(job, b, job.out == made || (made == DType::i64 && job.out == DType::u64), arena);
    const int64_t k = job.axis[0].k, all = b.count[0] + k - 1, n = b.count[1] * b.lanes;
    SumColumns<C> walk(k, rows.n, arena);
    StripDivision<R> divisors(job, b, arena);
    T* elements = take<T>(arena, kStepRows * walk.pitch + SumAlongRow<C>::behind());
    const SumAlongRow<C> along(job.axis[1].k, b.lanes, n, arena);
    T* line = same ? nullptr : take<T>(arena, n);
    const T* given[kStepRows];
    const auto give = [&](int64_t r) {
        T* to = elements + r % kStepRows * walk.pitch;
        given[r % kStepRows] = rows.give(r, to, T{0});
    };
    for (int64_t r = 0; r < kStepRows; ++r) given[r] = elements + r * walk.pitch;
    for (int64_t r = 0; r < min(kStepRows, all); ++r) give(r);
    for (int64_t from = 0; from < all; from += kStepRows) {
        const int64_t count = min(kStepRows, all - from);
        walk.next(given, elements, count);
        for (int64_t r = 0; r < count; ++r) {
            T* totals = elements + r * walk.pitch;
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
                    T* joined = line;
                    if constexpr (same) joined = to;
                    along.row(totals, joined, later, [](auto v) CENOTE_INLINE { return v; });
                    if constexpr (!same)
                        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(joined[i]);
                    if constexpr (Limits<R>::has_nan)
                        if (job.epilogue == Epilogue::average) divisors.finish(j, to);
                }
                results.wrote(j);
            }
            // Its place is free for a row of the next step: elements come from memory while others are summed up.
            if (from + kStepRows + r < all) give(from + kStepRows + r);
        }
    }
}
