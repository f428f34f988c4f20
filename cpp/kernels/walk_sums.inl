// Sums of large windows that overlap, on planes: strips that are walked down as walk.inl does, in the order of the
// tree.
//
// Let Pₘ be the sum of the last m rows, m a power of two: P₂ₘ = Pₘ of m rows ago + Pₘ. A window of k rows is made of
// the powers of two in k, the largest one first, so that of Pₘ as many rows ago as the smaller ones have together.
// Rings hold the last m rows of Pₘ: k - 1 rows in all. A few rows at a time go through all levels for a few vectors of
// columns, whose part of the rings is then in the nearest cache.

constexpr int kStepVectors = 4;  // of columns at a time
constexpr int64_t kRingLevels = 24;

template <class C>
struct SumWalk {
    using T = typename C::T;
    struct Place {
        int64_t oldest, from;  // in the rings: the place of Pₘ, that of Pₘ as the window has it
    };

    int64_t k, n, pitch, held, row = 0;
    int levels;
    int64_t start[kRingLevels], size[kRingLevels];  // of the rings, in rows
    T* ring;
    Place* places;

    SumWalk(int64_t k_down, int64_t cells, Arena* arena) : k(k_down), n(cells) {
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
        places = take<Place>(arena, kStepRows * levels);
    }

    // One vector or several, from element `at` of the rows on.
    template <int N>
    CENOTE_ONCE void columns(T* x, int64_t rows, int64_t at) {
        using L = Lane<T, kVectorBytes>;
        using Reg = RegOf<C, typename L::V>;
        constexpr int64_t wide = N * L::count;
        const int top = levels - 1, lowest = __builtin_ctzll(static_cast<uint64_t>(k));
        const int64_t bits = k;
        const auto read = [](const T* from, int64_t v)
                              CENOTE_INLINE { return C::fresh(load<typename L::V>(from + v * L::count)); };
        const auto each_vector = [](auto f) CENOTE_INLINE { each<N>(0, f); };
        T* rings = ring + at * held;
        const Place* place = places;
        x += at;
        for (int64_t r = 0; r < rows; ++r, x += pitch) {
            Reg part[N], all[N];
            each_vector([&](int64_t v) CENOTE_INLINE { all[v] = part[v] = read(x, v); });
            for (int l = 0; l < top; ++l, ++place) {
                if (l == lowest) each_vector([&](int64_t v) CENOTE_INLINE { all[v] = part[v]; });
                if (l > lowest && bits >> l & 1) {
                    const T* from = rings + place->from * wide;
                    each_vector([&](int64_t v) CENOTE_INLINE { all[v] = C::combine(read(from, v), all[v]); });
                }
                T* oldest = rings + place->oldest * wide;
                each_vector([&](int64_t v) CENOTE_INLINE {
                    const Reg older = read(oldest, v);
                    store(oldest + v * L::count, part[v].v);
                    part[v] = C::combine(older, part[v]);
                });
            }
            if (top == lowest) {
                each_vector([&](int64_t v) CENOTE_INLINE { store(x + v * L::count, part[v].v); });
            } else {
                T* oldest = rings + place->oldest * wide;
                each_vector([&](int64_t v) CENOTE_INLINE {
                    store(x + v * L::count, C::combine(read(oldest, v), all[v]).v);
                    store(oldest + v * L::count, part[v].v);
                });
            }
            ++place;
        }
    }

    // The next rows of cells, up to kStepRows of them `pitch` apart, each turned into the sums of the k rows that end
    // there.
    void next(T* x, int64_t rows) {
        for (int64_t r = 0; r < rows; ++r, ++row)
            for (int l = 0; l < levels; ++l) {
                const int64_t back = k & ((int64_t{1} << l) - 1), m = most(size[l], 1);
                places[r * levels + l] = {start[l] + row % m, start[l] + (row + m - back % m) % m};
            }
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        int64_t i = 0;
        for (; i + wide * kStepVectors <= n; i += wide * kStepVectors) columns<kStepVectors>(x, rows, i);
        for (; i < n; i += wide) columns<1>(x, rows, i);
    }
};

// What is fetched while a row is summed up: cells and the place of results that come later.
struct Later {
    const char *cells, *results;
};

// Sums along a row: those of m = 1, 4, 16, … cells from each cell on, and then of each window the parts that make up k,
// written to the base of 4. The tree is that of windows_by_doubling.
template <class C>
struct SumAlong {
    using T = typename C::T;
    struct Part {
        const T* from;
        int64_t step;
        int count;  // of sums side by side, `step` apart
    };
    int64_t k, unit, n;
    T* sums[kRingLevels];

    SumAlong(int64_t window, int64_t lanes, int64_t results, Arena* arena) : k(window), unit(lanes), n(results) {
        int level = 1;
        for (int64_t m = 4; 2 * m <= k; m *= 4) sums[level++] = take<T>(arena, n + (k - m) * unit);
    }

    template <class L, int N, class F>
    CENOTE_INLINE void gather(const Part* parts, int count, T* out, int64_t i, F finish) const {
        using Reg = RegOf<C, typename L::V>;
        Reg all[N];
        Part part = parts[0];
        const auto at = [&](int64_t t, int64_t v) CENOTE_INLINE {
            return C::fresh(load<typename L::V>(part.from + i + t * part.step + v * L::count));
        };
        const auto two = [&](int64_t t, int64_t v) CENOTE_INLINE { return C::combine(at(t, v), at(t + 1, v)); };
        const auto join = [&](auto f) CENOTE_INLINE { each<N>(0, [&](int64_t v) CENOTE_INLINE { all[v] = f(v); }); };
        switch (part.count) {
            case 1: join([&](int64_t v) CENOTE_INLINE { return at(0, v); }); break;
            case 2: join([&](int64_t v) CENOTE_INLINE { return two(0, v); }); break;
            case 3: join([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), at(2, v)); }); break;
            default: join([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), two(2, v)); });
        }
        for (int p = 1; p < count; ++p) {
            part = parts[p];
            switch (part.count) {
                case 1: join([&](int64_t v) CENOTE_INLINE { return C::combine(at(0, v), all[v]); }); break;
                case 2: join([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), all[v]); }); break;
                case 3:
                    join([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), C::combine(at(2, v), all[v])); });
                    break;
                default:
                    join([&](int64_t v) CENOTE_INLINE { return C::combine(C::combine(two(0, v), two(2, v)), all[v]); });
            }
        }
        each<N>(0, [&](int64_t v) CENOTE_INLINE { store(out + i + v * L::count, finish(all[v].v)); });
    }

    // The windows of a row of cells, each to finish(its total).
    template <class F>
    CENOTE_ONCE void row(const T* cells, T* out, const Later& later, F finish) const {
        using L = Lane<T, kVectorBytes>;
        constexpr int together = 4;
        constexpr int64_t size = sizeof(T), wide = L::count;
        Part parts[2 * kRingLevels];
        int count = 0, level = 0;
        const T* from = cells;
        for (int64_t m = 1;; m *= 4, ++level) {
            const int64_t rest = k / m;
            if (rest % 4) parts[count++] = {from + rest / 4 * 4 * m * unit, m * unit, static_cast<int>(rest % 4)};
            if (rest < 4) break;
            if (rest < 8) {
                parts[count++] = {from, m * unit, 4};
                break;
            }
            fourfold(sums[level + 1], from, m * unit, n + (k - 4 * m) * unit, later);
            from = sums[level + 1];
        }
        int64_t i = 0;
        for (; i + together * wide <= n; i += together * wide) {
            for (int64_t line = 0; line < together * kVectorBytes; line += 64)
                __builtin_prefetch(later.results + i * size + line, 1);
            gather<L, together>(parts, count, out, i, finish);
        }
        for (; i + wide <= n; i += wide) gather<L, 1>(parts, count, out, i, finish);
        if (n >= wide && i < n) return gather<L, 1>(parts, count, out, n - wide, finish);
        for (; i < n; ++i) gather<Lane<T, 0>, 1>(parts, count, out, i, finish);
    }

    CENOTE_ONCE static void fourfold(T* out, const T* from, int64_t step, int64_t n, const Later& later) {
        const char* cells = later.cells;
        for_lanes_apart<T>(n, [&](auto lane, int64_t i) {
            using V = typename decltype(lane)::V;
            const auto at = [&](int64_t t) { return C::fresh(load<V>(from + i + t * step)); };
            __builtin_prefetch(cells + i * static_cast<int64_t>(sizeof(T)));
            store(out + i, C::combine(C::combine(at(0), at(1)), C::combine(at(2), at(3))).v);
        });
    }
};

// What the windows of a strip are divided by, and the rest of what turns totals into results of type R.
template <class R>
struct StripDivision {
    const Job* job;
    bool divides, even = true;  // even: there is one divisor along a row
    int64_t n;
    Counts counts;
    Divisors<R> by{};

    StripDivision(const Job& of, const Box& b, Arena* arena) : job(&of), n(b.count[1] * b.lanes) {
        divides = of.finish == Finish::average && !of.by_divisor;
        if (!divides) return;
        counts = count_cells(of, b, arena);
        by.along = take<R>(arena, n);
        for (int64_t i = 0; i < n; ++i) {
            const int64_t counted = counts.counted[1][i / b.lanes];
            by.along[i] = static_cast<R>(counted);
            even &= counted == counts.counted[1][0];
            by.largest = by.largest < static_cast<double>(counted) ? static_cast<double>(counted) : by.largest;
        }
    }

    // Whether row j is divided by one number of type R: on the way out.
    bool at_once(int64_t j, double& by_what) const {
        const bool average = job->finish == Finish::average;
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
void sum_strip(const Job& job, int64_t task, Arena* arena) {
    using T = typename C::T;
    constexpr bool same = __is_same(T, R);
    const DType made = !Limits<R>::has_nan ? DType::i64 : sizeof(R) == 4 ? DType::f32 : DType::f64;
    const Box b = locate(job, task);
    const StripRows<T> rows(job, b, arena);
    const StripResults<R> results(job, b, job.out == made || (made == DType::i64 && job.out == DType::u64), arena);
    const int64_t k = job.axis[0].k, all = b.count[0] + k - 1, n = b.count[1] * b.lanes;
    SumWalk<C> walk(k, rows.n, arena);
    StripDivision<R> divisors(job, b, arena);
    T* cells = take<T>(arena, kStepRows * walk.pitch);
    const SumAlong<C> along(job.axis[1].k, b.lanes, n, arena);
    T* line = same ? nullptr : take<T>(arena, n);
    for (int64_t r = 0; r < least(kStepRows, all); ++r) rows.lay(r, cells + r * walk.pitch, T{0});
    for (int64_t from = 0; from < all; from += kStepRows) {
        const int64_t count = least(kStepRows, all - from);
        walk.next(cells, count);
        for (int64_t r = 0; r < count; ++r) {
            T* totals = cells + r * walk.pitch;
            if (const int64_t j = from + r - k + 1; j >= 0) {
                R* to = results.row(j);
                const Later later{rows.at(from + kStepRows + r + 1), results.at(j + 1)};
                if constexpr (same && Limits<R>::has_nan) {
                    double by;
                    const bool at_once = divisors.at_once(j, by);
                    const Division<R> divide = division<R>(by);
                    if (!at_once)
                        along.row(totals, to, later, [](auto v) CENOTE_INLINE { return v; });
                    else if (by == 1)
                        along.row(totals, to, later, [](auto v) CENOTE_INLINE { return quiet<R>(v); });
                    else
                        along.row(totals, to, later, [&](auto v) CENOTE_INLINE { return divide(v); });
                    if (!at_once) divisors.finish(j, to);
                } else {
                    T* joined = line;
                    if constexpr (same) joined = to;
                    along.row(totals, joined, later, [](auto v) CENOTE_INLINE { return v; });
                    if constexpr (!same)
                        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(joined[i]);
                    if constexpr (Limits<R>::has_nan)
                        if (job.finish == Finish::average) divisors.finish(j, to);
                }
                results.wrote(j);
            }
            // Its place is free for a row of the next step: cells come from memory while others are summed up.
            if (from + kStepRows + r < all) rows.lay(from + kStepRows + r, totals, T{0});
        }
    }
}
