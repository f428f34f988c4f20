// Sums and averages of small overlapping windows, one row of results at a time. Rows of elements are added, and widened
// if sums have another dtype, to a row of totals in the L1 cache; results are computed from that, divided and written.
// The order is that of separable passes, with the same bits, but real_count are no extra passes for widening and
// dividing. If NaN is omitted, a row of counts accompanies the row of totals.

constexpr int64_t kBufferBytes = 32 * 1024;  // of a row of totals; partial rows are slow to read and write
constexpr int64_t kBufferRow = 192;          // bytes; shorter rows of floats are faster in line batches (separable)
constexpr int64_t kAheadBytes = 4 * 1024;    // rows of totals up to this size are computed one row ahead
constexpr int64_t kValidBytes =
    16 * 1024;  // of a row of results with NaN omitted, for which counts are in the cache too

// The totals of `Count` rows of n elements: a summation tree of up to three is a chain.
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

// The divisor of totals: a number or, if NaN is omitted, possibly the number of valid elements plus `padded`.
template <class R>
struct Divisor {
    Division<R> number;
    bool by_valid;
    R padded;
};

// n results, from `Count` totals each, `by` elements apart. Exact: number.exact, known at compile time.
template <class C, class S, class R, int Count, bool Exact>
CENOTE_ONCE void line_buffer_epilogue(Source<C> totals, int64_t by, const Divisor<R>& given, char* y, int64_t n,
                                      bool streaming) {
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, BFloat16) ? 2 : sizeof(R);
    const Divisor<R> divisor = given;  // a copy: stores to `y` cannot alias it
    const Division<R> number{divisor.number.divisor, divisor.number.inverse, Exact};
    if (C::two_planes && !totals.w) __builtin_unreachable();  // or load_accumulator() would check it each time
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

// How many elements a window has along an axis: those that an average counts and, if NaN is omitted, those that are not
// padding.
struct Extent {
    double counted, real_count;
    bool operator==(const Extent& other) const { return counted == other.counted && real_count == other.real_count; }
};

// Adjacent windows along a row with the same number of elements, and their divisor.
template <class R>
struct DivisorRun {
    int64_t begin, end;
    Extent elements;
    Divisor<R> by;
};

// C is the reducer, S the dtype of the elements, R of the results, which are written as S if that is float16 or
// bfloat16.
template <class C, class S, class R>
void line_buffer_sums(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename C::T;
    using Add = void (*)(Target<C>, const char*, int64_t, int64_t);
    using End = void (*)(Source<C>, int64_t, const Divisor<R>&, char*, int64_t, bool);
    static constexpr bool exact = !C::two_planes;
    static constexpr Add add[] = {&add_rows<C, S, 1>, &add_rows<C, S, 2>, &add_rows<C, S, 3>};
    static constexpr End divided[] = {&line_buffer_epilogue<C, S, R, 1, false>,
                                      &line_buffer_epilogue<C, S, R, 2, false>,
                                      &line_buffer_epilogue<C, S, R, 3, false>};
    static constexpr End multiplied[] = {&line_buffer_epilogue<C, S, R, 1, exact>,
                                         &line_buffer_epilogue<C, S, R, 2, exact>,
                                         &line_buffer_epilogue<C, S, R, 3, exact>};
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
    const int64_t span = (a.k - 1) * a.d;
    const int64_t most_windows = max(span + 1, kBufferBytes / (unit * static_cast<int64_t>(sizeof(T))));
    const int64_t row_size = (min(most_windows, b.count[last]) + span) * unit;
    // Reading totals right after they were stored, at another alignment, stalls: totals are computed one row ahead
    // (float16, avg 3×3: 213 vs. 177 µs). Long rows would fill the cache and do not need it.
    const int64_t one_ahead = C::two_planes || row_size * static_cast<int64_t>(sizeof(T)) <= kAheadBytes;
    Target<C> totals[2];
    for (int64_t h = 0; h <= one_ahead; ++h) {
        totals[h] = {take<T>(arena, row_size), nullptr};
        if constexpr (C::two_planes) totals[h].w = take<typename C::U>(arena, row_size);
    }
    DivisorRun<R>* runs = take<DivisorRun<R>>(arena, b.count[last]);
    for (int64_t w = 0; w < b.count[last]; w += most_windows) {
        const int64_t windows = min(most_windows, b.count[last] - w);
        const int64_t first = window_start(a, b.j0[last] + w), n = windows + span;
        const int64_t from = min(max(first, 0), first + n), until = max(from, min(first + n, a.n));
        const int64_t lead = (from - first) * unit, inside = (until - from) * unit;
        for (int64_t h = 0; inside < n * unit && h <= one_ahead; ++h) {  // padding along the row
            fill_accumulators<C>(totals[h], lead);
            fill_accumulators<C>(ahead<C>(totals[h], lead + inside), n * unit - lead - inside);
        }
        const Span interior = interior_windows(a, b.j0[last] + w, windows);
        int64_t groups = 0;
        for (int64_t j = 0, next; j < windows; j = next) {
            const bool is_interior = j == interior.begin && interior.end > j;
            next = !by_count ? windows : is_interior ? interior.end : j + 1;
            const double full = by_count ? static_cast<double>(a.k) : 1;
            const Extent elements =
                by_count && !is_interior ? elements_along(last, b.j0[last] + w + j) : Extent{full, full};
            if (groups > 0 && runs[groups - 1].elements == elements)
                runs[groups - 1].end = next;
            else
                runs[groups++] = {j, next, elements, {}};
        }
        const auto add_up = [&](int64_t i) {
            const int64_t j = b.j0[0] + i;
            const Span taps = last ? real_taps(up, j) : Span{0, 1};
            const int64_t count = taps.end - taps.begin;
            const Target<C> to = ahead<C>(totals[one_ahead & i], lead);
            const char* x = b.x + from * job.x_stride[last];
            if (last) x += (window_start(up, j) + taps.begin * up.d) * job.x_stride[0];
            if (count == 0) return fill_accumulators<C>(to, inside);
            add[count - 1](to, x, last ? up.d * job.x_stride[0] : 0, inside);
            if (!last || count == up.k) return;
            // Padding is +0.0, and a zero total that includes it is never -0.0.
            for (int64_t c = 0; c < inside; ++c) to.v[c] = static_cast<T>(to.v[c] + T{0});
        };
        if (one_ahead) add_up(0);
        Extent outer{};
        for (int64_t i = 0; i < rows; ++i) {
            if (i + one_ahead < rows) add_up(i + one_ahead);
            const Extent before = outer;
            outer = by_count && last ? elements_along(0, b.j0[0] + i) : Extent{1, 1};
            const bool others = i == 0 || !(outer == before);
            char* y = job.y + (b.y + (last ? i * job.y_stride[0] : 0) + w * job.y_stride[last]) * size;
            for (DivisorRun<R>* g = runs; g < runs + groups; ++g) {
                const double elements = outer.counted * g->elements.counted, number = by_count ? elements : job.divisor;
                if (others)
                    g->by = {division<R>(average ? number : 1), by_count,
                             static_cast<R>(elements - outer.real_count * g->elements.real_count)};
                const End finish = (g->by.number.exact ? multiplied : divided)[a.k - 1];
                const int64_t at = g->begin * unit, many = (g->end - g->begin) * unit;
                const bool streaming =
                    job.streaming && groups == 1 && many % Lane<T, kVectorBytes>::count == 0 && vector_aligned(y, 0);
                finish(readable<C>(ahead<C>(totals[one_ahead & i], at)), a.d * unit, g->by, y + at * size, many,
                       streaming);
            }
        }
    }
    if (job.streaming) fence_stores();
}
