// Sums and averages that leave NaN out, of small windows that overlap: as in slide_sums.inl, with a row of counts
// beside the row of totals.

constexpr int64_t kValidRow = 16 * 1024;  // bytes

// `Count` rows of n cells to their sums, and how many cells are in each.
template <class T, int Count>
CENOTE_ONCE void add_valid(T* totals, Unsigned<T>* counts, const char* first, int64_t step, int64_t n) {
    using C = SumValid<T>;
    for_lanes_apart<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const T* x = reinterpret_cast<const T*>(first) + i;
        auto all = C::fresh(load<V>(x));
        each<Count>(Count, [&](int64_t t) CENOTE_INLINE {
            if (t) all = C::combine(all, C::fresh(load<V>(reinterpret_cast<const char*>(x) + t * step)));
        });
        store(totals + i, all.v);
        store(counts + i, all.w);
    });
}

// n results of windows of `Count` totals each, `by` elements apart: divided by the cells that are in them and `padded`
// others, or by a divisor.
template <class T, int Count>
CENOTE_ONCE void finish_valid(const T* totals, const Unsigned<T>* counts, int64_t by, bool by_count, T padded,
                              const Division<T>& given, T* y, int64_t n) {
    using C = SumValid<T>;
    const Division<T> division = given;  // which no store through `y` can change
    for_lanes_apart<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        using W = typename Beside<V, Unsigned<T>>::type;
        RegOf<C, V> all{load<V>(totals + i), load<W>(counts + i)};
        each<Count>(Count, [&](int64_t t) CENOTE_INLINE {
            if (t) all = C::combine(all, {load<V>(totals + i + t * by), load<W>(counts + i + t * by)});
        });
        const V valid = as_number<V>(all.w);
        const V result = by_count ? V(all.v / (valid + padded)) : V(division(all.v));
        store(y + i, quiet<T>(valid > T{0} ? result : splat<V>(Limits<T>::nan)));
    });
}

// Neighbouring windows along a row with as many cells and as many that count.
struct AlikeValid {
    int64_t begin, end;
    double counted, there;
};

template <class T>
void slide_valid(const Job& job, int64_t task, Arena* arena) {
    using U = Unsigned<T>;
    using Add = void (*)(T*, U*, const char*, int64_t, int64_t);
    using End = void (*)(const T*, const U*, int64_t, bool, T, const Division<T>&, T*, int64_t);
    static constexpr Add add[] = {&add_valid<T, 1>, &add_valid<T, 2>, &add_valid<T, 3>};
    static constexpr End end[] = {&finish_valid<T, 1>, &finish_valid<T, 2>, &finish_valid<T, 3>};
    const Box b = locate(job, task);
    const int last = job.rank - 1;
    const Axis &a = job.axis[last], &up = job.axis[0];
    const int64_t unit = b.lanes, rows = last ? b.count[0] : 1, windows = b.count[last];
    const bool average = job.finish == Finish::average, by_count = average && !job.by_divisor;
    const auto number = [](Span taps) { return static_cast<double>(taps.end - taps.begin); };
    const auto real = [&](int q, int64_t j) { return number(real_taps(job.axis[q], j)); };
    const auto counted = [&](int q, int64_t j) {
        return job.include_pad ? number(padded_taps(job.axis[q], j)) : real(q, j);
    };
    const int64_t first = first_cell(a, b.j0[last]), n = windows + (a.k - 1) * a.d;
    const int64_t from = least(most(first, 0), first + n), until = most(from, least(first + n, a.n));
    const int64_t lead = (from - first) * unit, inside = (until - from) * unit;
    // Two of each by turns: what has just been stored is slow to read at another place.
    T* totals[2];
    U* counts[2];
    for (int h = 0; h < 2; ++h) {
        totals[h] = take<T>(arena, n * unit);
        counts[h] = take<U>(arena, n * unit);
        for (int64_t i = 0; i < n * unit; ++i) {  // padding along the row is no cells
            totals[h][i] = T{0};
            counts[h][i] = U{0};
        }
    }
    AlikeValid* alike = take<AlikeValid>(arena, windows);
    int64_t groups = 0;
    for (int64_t j = 0; j < windows; ++j) {
        const double along = by_count ? counted(last, b.j0[last] + j) : 1,
                     there = by_count ? real(last, b.j0[last] + j) : 1;
        if (groups > 0 && alike[groups - 1].counted == along && alike[groups - 1].there == there)
            alike[groups - 1].end = j + 1;
        else
            alike[groups++] = {j, j + 1, along, there};
    }
    const auto add_up = [&](int64_t i) {
        const int64_t j = b.j0[0] + i;
        const Span taps = last ? real_taps(up, j) : Span{0, 1};
        const int64_t count = taps.end - taps.begin;
        T* to = totals[i % 2] + lead;
        U* many = counts[i % 2] + lead;
        const char* x = b.x + from * job.x_stride[last];
        if (last) x += (first_cell(up, j) + taps.begin * up.d) * job.x_stride[0];
        if (count) add[count - 1](to, many, x, last ? up.d * job.x_stride[0] : 0, inside);
        if (!last || count == up.k) return;
        for (int64_t c = 0; c < inside; ++c) {  // as in slide_sums()
            to[c] = count ? to[c] + T{0} : T{0};
            if (count == 0) many[c] = U{0};
        }
    };
    const Division<T> by = division<T>(!average || by_count ? 1 : job.divisor);
    add_up(0);
    for (int64_t i = 0; i < rows; ++i) {
        if (i + 1 < rows) add_up(i + 1);
        const double outer = by_count && last ? counted(0, b.j0[0] + i) : 1;
        const double outer_there = by_count && last ? real(0, b.j0[0] + i) : 1;
        T* y = reinterpret_cast<T*>(job.y) + b.y + (last ? i * job.y_stride[0] : 0);
        for (const AlikeValid* g = alike; g < alike + groups; ++g) {
            const T padded = static_cast<T>(outer * g->counted - outer_there * g->there);
            const int64_t at = g->begin * unit;
            end[a.k - 1](totals[i % 2] + at, counts[i % 2] + at, a.d * unit, by_count, padded, by, y + at,
                         (g->end - g->begin) * unit);
        }
    }
}

inline TaskFn sliding_valid(const Job& job) {
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const int64_t width = size_of(job.in), unit = job.lanes;
    if (job.rank > 2 || job.swap || job.prepare != Prepare::none || job.physical_padding || job.lane_tile != unit ||
        (unit > 1 && job.lane_stride != width) || job.x_stride[last] != unit * width || job.y_stride[last] != unit)
        return nullptr;
    for (int q = 0; q < job.rank; ++q)
        if (job.axis[q].starts || job.axis[q].k > kSlideTaps || job.pass[q] != q) return nullptr;
    // Longer rows do not stay in the nearest cache, two of totals and two of counts.
    const int64_t row = a.o * unit * width;
    if (a.s > 1 || a.k < 2 || a.d > 32 || row < kVectorBytes || row > kValidRow || job.out != job.in ||
        job.work != job.in)
        return nullptr;
    const bool in_float = job.finish != Finish::average || !job.by_divisor || divides_in<float>(job.divisor);
    if (job.in == DType::f32) return in_float ? &slide_valid<float> : nullptr;
    return job.in == DType::f64 ? &slide_valid<double> : nullptr;
}
