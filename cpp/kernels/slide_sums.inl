// Sums and averages of small windows that overlap, of cells that are not of the dtype of their sums: halves, and small
// integers. Rows of cells are widened as they are added up, to one row of totals in the nearest cache, and the results
// are made from that. A tile that is widened first is written and read twice more, in a cache further away.

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

// n results of windows of `Count` totals each, `by` elements apart. Where cells are missing, a total of zero is +0.0.
template <class T, class S, class R, int Count>
CENOTE_ONCE void finish_slide(const T* totals, int64_t by, bool cut, const Division<R>& given, char* y, int64_t n) {
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, Brain) ? 2 : sizeof(R);
    const Division<R> division = given;  // which no store through `y` can change
    for_lanes_apart<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        using V = typename L::V;
        V all = load<V>(totals + i);
        if constexpr (Count > 1) all = V(all + load<V>(totals + i + by));
        if constexpr (Count > 2) all = V(all + load<V>(totals + i + 2 * by));
        if (Limits<T>::has_nan && cut) all = V(all + T{0});
        write_total<R, S, L>(y + i * size, all, division);
    });
}

template <class T, class S, class R>
void slide_sums(const Job& job, int64_t task, Arena* arena) {
    using Add = void (*)(T*, const char*, int64_t, int64_t);
    using End = void (*)(const T*, int64_t, bool, const Division<R>&, char*, int64_t);
    static constexpr Add add[] = {&add_rows<T, S, 1>, &add_rows<T, S, 2>, &add_rows<T, S, 3>};
    static constexpr End end[] = {&finish_slide<T, S, R, 1>, &finish_slide<T, S, R, 2>, &finish_slide<T, S, R, 3>};
    constexpr int64_t size = __is_same(S, Half) || __is_same(S, Brain) ? 2 : sizeof(R);
    const Box b = locate(job, task);
    const int last = job.rank - 1;
    const Axis &a = job.axis[last], &up = job.axis[0];
    const int64_t unit = b.lanes, n = b.cells[last] * unit;
    const Span whole = whole_windows(a, b.j0[last], b.count[last]);
    const bool average = job.finish == Finish::average, by_count = average && !job.by_divisor;
    const auto counted = [&](int q, int64_t j) {
        const Span taps = job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    };
    const double divisor = average ? job.divisor : 1, full = static_cast<double>(job.window_cells);
    const Division<R> usual = division<R>(by_count ? full : divisor);
    const int64_t rows = last ? b.count[0] : 1;
    // The rows of one row of windows, and their sums. The next ones are added up before these are read: what has just
    // been stored, behind all results before it, is slow to read at another place (float16, avg 3×3: 213 µs, and 177).
    struct Sums {
        T* totals;
        int64_t j, taps;
    } sums[2];
    for (Sums& s : sums) s.totals = take<T>(arena, n);
    T* nothing = take<T>(arena, unit);
    for (int64_t i = 0; i < unit; ++i) nothing[i] = T{0};
    const auto add_up = [&](int64_t i) {
        const int64_t j = b.j0[0] + i;
        const Span taps = last ? real_taps(up, j) : Span{0, 1};
        Sums& s = sums[i % 2];
        s = {s.totals, j, taps.end - taps.begin};
        const char* x = b.x + b.c0[last] * job.x_stride[last];
        if (last) x += (first_cell(up, j) + taps.begin * up.d) * job.x_stride[0];
        if (s.taps) return add[s.taps - 1](s.totals, x, last ? up.d * job.x_stride[0] : 0, n);
        for (int64_t c = 0; c < n; ++c) s.totals[c] = T{0};
    };
    add_up(0);
    for (int64_t i = 0; i < rows; ++i) {
        if (i + 1 < rows) add_up(i + 1);
        const Sums& s = sums[i % 2];
        const bool cut = last && s.taps < up.k;
        char* y = job.y + (b.y + (last ? i * job.y_stride[0] : 0)) * size;
        const auto windows = [&](int64_t from, int64_t to, Span taps) {
            const int64_t count = taps.end - taps.begin;
            const bool lacks = cut || count < a.k;
            Division<R> by = usual;
            if (by_count && lacks) by = division<R>((last ? counted(0, s.j) : 1) * counted(last, b.j0[last] + from));
            const int64_t at = first_cell(a, b.j0[last] + from) + taps.begin * a.d - b.c0[last];
            end[count ? count - 1 : 0](count ? s.totals + at * unit : nothing, a.d * unit, lacks, by,
                                       y + from * unit * size, (to - from) * unit);
        };
        if (whole.begin < whole.end) windows(whole.begin, whole.end, {0, a.k});
        for (int64_t j = 0; j < whole.begin; ++j) windows(j, j + 1, real_taps(a, b.j0[last] + j));
        for (int64_t j = most(whole.begin, whole.end); j < b.count[last]; ++j)
            windows(j, j + 1, real_taps(a, b.j0[last] + j));
    }
}

inline TaskFn sliding_sums(const Job& job) {
    const int last = job.rank - 1;
    const int64_t width = size_of(job.in), unit = job.lanes;
    if (job.rank > 2 || job.omit || job.swap || job.prepare != Prepare::none || job.physical_padding ||
        job.lane_tile != unit || (unit > 1 && job.lane_stride != width) || job.x_stride[last] != unit * width ||
        job.y_stride[last] != unit)
        return nullptr;
    for (int q = 0; q < job.rank; ++q)
        if (job.axis[q].starts || job.axis[q].k > kSlideTaps || job.pass[q] != q) return nullptr;
    const Axis& a = job.axis[last];
    if (a.s > 1 || a.k < 2 || a.o * unit * size_of(job.work) < kVectorBytes) return nullptr;
    const bool halves = job.out == job.in && job.work == DType::f32;
    if (halves && job.by_divisor && !divides_in<float>(job.divisor)) return nullptr;
    const bool narrow = job.out == DType::f64 && job.work == (width == 1 ? DType::i16 : DType::i32);
    switch (job.in) {
        case DType::f16: return halves ? &slide_sums<float, Half, float> : nullptr;
        case DType::bf16: return halves ? &slide_sums<float, Brain, float> : nullptr;
        case DType::i8: return narrow ? &slide_sums<int16_t, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &slide_sums<int16_t, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &slide_sums<int32_t, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &slide_sums<int32_t, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}
