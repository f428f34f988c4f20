// Sums and averages of small windows that overlap, a row of results at a time. Rows of elements are added up, and
// widened where their sums are of another dtype, to one row of totals in the nearest cache; the results are made from
// that, divided and written. That is the order of the passes, with the same bits, but nothing is gone over again to be
// widened or divided. Where NaN are left out, a row of counts goes with the row of totals.

constexpr int64_t kBufferBytes = 32 * 1024;  // of a row of totals; pieces of rows are slow to read and to write
constexpr int64_t kBufferRow = 192;          // shorter rows of floats are faster side by side, in passes
constexpr int64_t kAheadBytes = 4 * 1024;    // rows of totals up to this are added up before the last ones are read
constexpr int64_t kValidBytes = 16 * 1024;   // of a row of results, where two rows of counts are in the cache too

// `Count` rows of n elements to their totals: up to three, a tree is a chain.
template <class C, class S, int Count>
CENOTE_ONCE void add_rows(Target<C> totals, const char* first, int64_t step, int64_t n) {
    const bool is_long = !C::two_planes && n * static_cast<int64_t>(sizeof(S)) >= kLongRow;
    for_lanes_overlapping<typename C::T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        const char* x = first + i * static_cast<int64_t>(sizeof(S));
        if (is_long) __builtin_prefetch(x + Count * step);
        auto all = C::from_value(read<S, L>(x));
        if constexpr (Count > 1) all = C::combine(all, C::from_value(read<S, L>(x + step)));
        if constexpr (Count > 2) all = C::combine(all, C::from_value(read<S, L>(x + 2 * step)));
        store_accumulator<C, typename L::V>(totals, i, all);
    });
}

// What totals are divided by: a number or, where NaN are left out, perhaps the elements that are in them and `padded`
// others.
template <class R>
struct Divisor {
    Division<R> number;
    bool by_valid;
    R padded;
};

// n results of windows of `Count` totals each, `by` elements apart. Exact: as in the division, where that is known.
template <class C, class S, class R, int Count, bool Exact>
CENOTE_ONCE void finish_line_buffer(Source<C> totals, int64_t by, const Divisor<R>& given, char* y, int64_t n,
                                    bool streaming) {
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, BFloat16) ? 2 : sizeof(R);
    const Divisor<R> divisor = given;  // which no store through `y` can change
    const Division<R> number{divisor.number.divisor, divisor.number.inverse, Exact};
    if (C::two_planes && !totals.w) __builtin_unreachable();  // load_accumulator() would look each time
    for_lanes_overlapping<typename C::T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        const auto total = [&](int64_t t)
                               CENOTE_INLINE { return load_accumulator<C, typename L::V>(totals, i + t * by); };
        auto all = total(0);
        if constexpr (Count > 1) all = C::combine(all, total(1));
        if constexpr (Count > 2) all = C::combine(all, total(2));
        if constexpr (C::two_planes)
            store(y + i * size, divide_valid<R>(all.v, all.w, divisor.by_valid, divisor.padded, divisor.number));
        else
            write_total<R, S, L>(y + i * size, all.v, number, streaming);
    });
}

// How many elements a window has along an axis: those that an average counts and, where NaN are left out, those that
// are there.
struct Extent {
    double counted, there;
    bool operator==(const Extent& other) const { return counted == other.counted && there == other.there; }
};

// Neighbouring windows along a row that have as many elements, and what these are divided by.
template <class R>
struct Alike {
    int64_t begin, end;
    Extent elements;
    Divisor<R> by;
};

// C is the element type of the totals, S the dtype of the elements, R that of the results, which are written as S if it
// is a half.
template <class C, class S, class R>
void line_buffer_sums(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename C::T;
    using Add = void (*)(Target<C>, const char*, int64_t, int64_t);
    using End = void (*)(Source<C>, int64_t, const Divisor<R>&, char*, int64_t, bool);
    static constexpr bool exact = !C::two_planes;
    static constexpr Add add[] = {&add_rows<C, S, 1>, &add_rows<C, S, 2>, &add_rows<C, S, 3>};
    static constexpr End divided[] = {&finish_line_buffer<C, S, R, 1, false>, &finish_line_buffer<C, S, R, 2, false>,
                                      &finish_line_buffer<C, S, R, 3, false>};
    static constexpr End multiplied[] = {&finish_line_buffer<C, S, R, 1, exact>, &finish_line_buffer<C, S, R, 2, exact>,
                                         &finish_line_buffer<C, S, R, 3, exact>};
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, BFloat16) ? 2 : sizeof(R);
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1;
    const Axis &a = job.axis[last], &up = job.axis[0];
    const int64_t unit = b.lanes, rows = last ? b.count[0] : 1;
    const bool average = job.epilogue == Epilogue::average, by_count = average && !job.by_divisor;
    const auto elements_along = [&](int q, int64_t j) -> Extent {
        const auto number = [](Span taps) { return static_cast<double>(taps.end - taps.begin); };
        const double counted = number(job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j));
        return {counted, C::two_planes ? number(real_taps(job.axis[q], j)) : counted};
    };
    const int64_t reach = (a.k - 1) * a.d;
    const int64_t most_windows = max(reach + 1, kBufferBytes / (unit * static_cast<int64_t>(sizeof(T))));
    const int64_t room = (min(most_windows, b.count[last]) + reach) * unit;
    // What has just been stored, behind all results before it, is slow to read at another place: the next rows are
    // added up before these are read (float16, avg 3×3: 213 µs, and 177). Long rows fill the cache, and wait anyway.
    const int64_t early = C::two_planes || room * static_cast<int64_t>(sizeof(T)) <= kAheadBytes;
    Target<C> totals[2];
    for (int64_t h = 0; h <= early; ++h) {
        totals[h] = {take<T>(arena, room), nullptr};
        if constexpr (C::two_planes) totals[h].w = take<typename C::U>(arena, room);
    }
    Alike<R>* alike = take<Alike<R>>(arena, b.count[last]);
    for (int64_t w = 0; w < b.count[last]; w += most_windows) {
        const int64_t windows = min(most_windows, b.count[last] - w);
        const int64_t first = window_start(a, b.j0[last] + w), n = windows + reach;
        const int64_t from = min(max(first, 0), first + n), until = max(from, min(first + n, a.n));
        const int64_t lead = (from - first) * unit, inside = (until - from) * unit;
        for (int64_t h = 0; inside < n * unit && h <= early; ++h) {  // padding along the row
            fill_empty<C>(totals[h], lead);
            fill_empty<C>(ahead<C>(totals[h], lead + inside), n * unit - lead - inside);
        }
        const Span whole = interior_windows(a, b.j0[last] + w, windows);
        int64_t groups = 0;
        for (int64_t j = 0, next; j < windows; j = next) {
            const bool all_whole = j == whole.begin && whole.end > j;
            next = !by_count ? windows : all_whole ? whole.end : j + 1;
            const double full = by_count ? static_cast<double>(a.k) : 1;
            const Extent elements =
                by_count && !all_whole ? elements_along(last, b.j0[last] + w + j) : Extent{full, full};
            if (groups > 0 && alike[groups - 1].elements == elements)
                alike[groups - 1].end = next;
            else
                alike[groups++] = {j, next, elements, {}};
        }
        const auto add_up = [&](int64_t i) {
            const int64_t j = b.j0[0] + i;
            const Span taps = last ? real_taps(up, j) : Span{0, 1};
            const int64_t count = taps.end - taps.begin;
            const Target<C> to = ahead<C>(totals[early & i], lead);
            const char* x = b.x + from * job.x_stride[last];
            if (last) x += (window_start(up, j) + taps.begin * up.d) * job.x_stride[0];
            if (count == 0) return fill_empty<C>(to, inside);
            add[count - 1](to, x, last ? up.d * job.x_stride[0] : 0, inside);
            if (!last || count == up.k) return;
            // Padding is zeros, and a sum of zeros with them is not -0.0.
            for (int64_t c = 0; c < inside; ++c) to.v[c] = static_cast<T>(to.v[c] + T{0});
        };
        if (early) add_up(0);
        Extent outer{};
        for (int64_t i = 0; i < rows; ++i) {
            if (i + early < rows) add_up(i + early);
            const Extent before = outer;
            outer = by_count && last ? elements_along(0, b.j0[0] + i) : Extent{1, 1};
            const bool others = i == 0 || !(outer == before);
            char* y = job.y + (b.y + (last ? i * job.y_stride[0] : 0) + w * job.y_stride[last]) * size;
            for (Alike<R>* g = alike; g < alike + groups; ++g) {
                const double elements = outer.counted * g->elements.counted, number = by_count ? elements : job.divisor;
                if (others)
                    g->by = {division<R>(average ? number : 1), by_count,
                             static_cast<R>(elements - outer.there * g->elements.there)};
                const End finish = (g->by.number.exact ? multiplied : divided)[a.k - 1];
                const int64_t at = g->begin * unit, many = (g->end - g->begin) * unit;
                const bool streaming =
                    job.streaming && groups == 1 && many % Lane<T, kVectorBytes>::count == 0 && vector_aligned(y, 0);
                finish(readable<C>(ahead<C>(totals[early & i], at)), a.d * unit, g->by, y + at * size, many, streaming);
            }
        }
    }
    if (job.streaming) fence_stores();
}
