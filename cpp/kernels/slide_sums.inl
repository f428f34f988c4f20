// Sums and averages of small windows that overlap, a row of results at a time. Rows of cells are added up, and widened
// where their sums are of another dtype, to one row of totals in the nearest cache; the results are made from that,
// divided and written. That is the order of the passes, with the same bits, but nothing is gone over again to be
// widened or divided.

constexpr int64_t kSlideBytes = 32 * 1024;  // of a row of totals; pieces of rows are slow to read and to write
constexpr int64_t kSlideRow = 192;          // shorter rows of floats are faster side by side, in passes
constexpr int64_t kAheadBytes = 4 * 1024;   // rows of totals up to this are added up before the last ones are read

// `Count` rows of n cells to their sums: up to three, a tree is a chain.
template <class T, class S, int Count>
CENOTE_ONCE void add_rows(T* totals, const char* first, int64_t step, int64_t n) {
    for_lanes_apart<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        using V = typename L::V;
        const char* x = first + i * static_cast<int64_t>(sizeof(S));
        V all = read<S, L>(x);
        if constexpr (Count > 1) all = V(all + read<S, L>(x + step));
        if constexpr (Count > 2) all = V(all + read<S, L>(x + 2 * step));
        store(totals + i, all);
    });
}

// n results of windows of `Count` totals each, `by` elements apart; `Exact` as in the division.
template <class T, class S, class R, int Count, bool Exact>
CENOTE_ONCE void finish_slide(const T* totals, int64_t by, const Division<R>& given, char* y, int64_t n) {
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, Brain) ? 2 : sizeof(R);
    const Division<R> division{given.divisor, given.inverse, Exact};  // which no store through `y` can change
    for_lanes_apart<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        using V = typename L::V;
        V all = load<V>(totals + i);
        if constexpr (Count > 1) all = V(all + load<V>(totals + i + by));
        if constexpr (Count > 2) all = V(all + load<V>(totals + i + 2 * by));
        write_total<R, S, L>(y + i * size, all, division);
    });
}

// Neighbouring windows along a row with as many cells that count.
struct Alike {
    int64_t begin, end;
    double counted;
};

template <class T, class S, class R>
void slide_sums(const Job& job, int64_t task, Arena* arena) {
    using Add = void (*)(T*, const char*, int64_t, int64_t);
    using End = void (*)(const T*, int64_t, const Division<R>&, char*, int64_t);
    static constexpr Add add[] = {&add_rows<T, S, 1>, &add_rows<T, S, 2>, &add_rows<T, S, 3>};
    static constexpr End divided[] = {&finish_slide<T, S, R, 1, false>, &finish_slide<T, S, R, 2, false>,
                                      &finish_slide<T, S, R, 3, false>};
    static constexpr End multiplied[] = {&finish_slide<T, S, R, 1, true>, &finish_slide<T, S, R, 2, true>,
                                         &finish_slide<T, S, R, 3, true>};
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, Brain) ? 2 : sizeof(R);
    const Box b = locate(job, task);
    const int last = job.rank - 1;
    const Axis &a = job.axis[last], &up = job.axis[0];
    const int64_t unit = b.lanes, rows = last ? b.count[0] : 1;
    const bool average = job.finish == Finish::average, by_count = average && !job.by_divisor;
    const auto counted = [&](int q, int64_t j) {
        const Span taps = job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    };
    const int64_t reach = (a.k - 1) * a.d;
    const int64_t most_windows = most(reach + 1, kSlideBytes / (unit * static_cast<int64_t>(sizeof(T))));
    const int64_t room = (least(most_windows, b.count[last]) + reach) * unit;
    // What has just been stored, behind all results before it, is slow to read at another place: the next rows are
    // added up before these are read (float16, avg 3×3: 213 µs, and 177). Long rows fill the cache, and wait anyway.
    const int64_t ahead = room * static_cast<int64_t>(sizeof(T)) <= kAheadBytes;
    T* totals[] = {take<T>(arena, room), ahead ? take<T>(arena, room) : nullptr};
    Alike* alike = take<Alike>(arena, b.count[last]);
    for (int64_t w = 0; w < b.count[last]; w += most_windows) {
        const int64_t windows = least(most_windows, b.count[last] - w);
        const int64_t first = first_cell(a, b.j0[last] + w), n = windows + reach;
        const int64_t from = least(most(first, 0), first + n), until = most(from, least(first + n, a.n));
        const int64_t lead = (from - first) * unit, inside = (until - from) * unit;
        for (int64_t h = 0; h <= ahead; ++h) {  // padding along the row is zeros
            for (int64_t i = 0; i < lead; ++i) totals[h][i] = T{0};
            for (int64_t i = lead + inside; i < n * unit; ++i) totals[h][i] = T{0};
        }
        const Span whole = whole_windows(a, b.j0[last] + w, windows);
        int64_t groups = 0;
        for (int64_t j = 0; j < windows;) {
            const bool all_whole = j == whole.begin && whole.end > j;
            const int64_t next = all_whole || !by_count ? (all_whole ? whole.end : windows) : j + 1;
            const double along = !by_count   ? 1
                                 : all_whole ? static_cast<double>(a.k)
                                             : counted(last, b.j0[last] + w + j);
            if (groups > 0 && alike[groups - 1].counted == along)
                alike[groups - 1].end = next;
            else
                alike[groups++] = {j, next, along};
            j = next;
        }
        const auto add_up = [&](int64_t i) {
            const int64_t j = b.j0[0] + i;
            const Span taps = last ? real_taps(up, j) : Span{0, 1};
            const int64_t count = taps.end - taps.begin;
            T* to = totals[ahead & i] + lead;
            const char* x = b.x + from * job.x_stride[last];
            if (last) x += (first_cell(up, j) + taps.begin * up.d) * job.x_stride[0];
            if (count) add[count - 1](to, x, last ? up.d * job.x_stride[0] : 0, inside);
            if (!last || count == up.k) return;
            // Padding is zeros, and a sum of zeros with them is not -0.0.
            for (int64_t c = 0; c < inside; ++c) to[c] = static_cast<T>(count ? to[c] + T{0} : T{0});
        };
        if (ahead) add_up(0);
        for (int64_t i = 0; i < rows; ++i) {
            if (i + ahead < rows) add_up(i + ahead);
            const double outer = by_count && last ? counted(0, b.j0[0] + i) : 1;
            char* y = job.y + (b.y + (last ? i * job.y_stride[0] : 0) + w * job.y_stride[last]) * size;
            for (int64_t g = 0; g < groups; ++g) {
                const Division<R> by = division<R>(!average ? 1 : by_count ? outer * alike[g].counted : job.divisor);
                const End finish = (by.exact ? multiplied : divided)[a.k - 1];
                const int64_t at = alike[g].begin * unit, many = (alike[g].end - alike[g].begin) * unit;
                finish(totals[ahead & i] + at, a.d * unit, by, y + at * size, many);
            }
        }
    }
}

inline TaskFn sliding_sums(const Job& job) {
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const int64_t width = size_of(job.in), unit = job.lanes;
    if (job.rank > 2 || job.swap || job.prepare != Prepare::none || job.lane_tile != unit ||
        (unit > 1 && job.lane_stride != width) || job.x_stride[last] != unit * width || job.y_stride[last] != unit)
        return nullptr;
    bool overlap = false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& axis = job.axis[q];
        if (axis.starts || axis.k > kSlideTaps || job.pass[q] != q) return nullptr;
        if (job.physical_padding && job.real_n[q] != axis.n) return nullptr;
        overlap |= axis.k > axis.s;
    }
    // Results two cells apart along a row would have to be picked out.
    if (!overlap || a.s > 1 || a.d > 32 || a.o * unit * size_of(job.work) < kVectorBytes) return nullptr;
    const bool floats = job.out == job.in && job.work == job.in && a.o * unit * width >= kSlideRow;
    const bool narrow = job.out == DType::f64 && job.work == (width == 1 ? DType::i16 : DType::i32);
    const bool halves = job.out == job.in && job.work == DType::f32;
    const bool in_float = job.finish != Finish::average || !job.by_divisor || divides_in<float>(job.divisor);
    switch (job.in) {
        case DType::f16: return halves && in_float ? &slide_sums<float, Half, float> : nullptr;
        case DType::bf16: return halves && in_float ? &slide_sums<float, Brain, float> : nullptr;
        case DType::f32: return floats && in_float ? &slide_sums<float, float, float> : nullptr;
        case DType::f64: return floats ? &slide_sums<double, double, double> : nullptr;
        case DType::i8: return narrow ? &slide_sums<int16_t, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &slide_sums<int16_t, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &slide_sums<int32_t, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &slide_sums<int32_t, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}
