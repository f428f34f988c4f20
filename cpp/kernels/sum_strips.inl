// Sums and averages of small windows that overlap, a row of results at a time: the rows of a window are joined to one
// that stays in the nearest caches, then the cells along it, and what comes out is divided and written from there. That
// is the order of the passes, with the same bits, but nothing is gone over again to be divided.

constexpr int64_t kSumStripBytes = 32 * 1024;  // of a row that is joined; pieces of rows are slow to read and to write
constexpr int64_t kStripRow = 192;             // shorter rows cost more to set out on

// Windows of `Count` cells that lie `by` elements apart, to results.
template <class T, int Count, bool Exact>
CENOTE_ONCE void finish_sum_row(const T* totals, int64_t by, T* y, int64_t n, Division<T> division) {
    for_lanes<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        V total = load<V>(totals + i);
        if constexpr (Count > 1) total = total + load<V>(totals + i + by);
        if constexpr (Count > 2) total = total + load<V>(totals + i + 2 * by);
        store(y + i, quiet<T>(Exact ? V(total * division.inverse) : V(total / division.divisor)));
    });
}

template <class T, int Count>
inline void finish_sums_along(const T* totals, int64_t by, T* y, int64_t n, double divisor) {
    const Division<T> division = cenote::CENOTE_LEVEL::division<T>(divisor);
    if (division.exact)
        finish_sum_row<T, Count, true>(totals, by, y, n, division);
    else
        finish_sum_row<T, Count, false>(totals, by, y, n, division);
}

// Neighbouring windows along a row with as many cells that count.
struct Alike {
    int64_t begin, end;
    double counted;
};

template <class T>
void sum_strips(const Job& job, int64_t task, Arena* arena) {
    const Box b = locate(job, task);
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const int64_t unit = b.lanes, rows = last ? b.count[0] : 1;
    const bool average = job.finish == Finish::average, by_count = average && !job.by_divisor;
    const auto counted = [&](int q, int64_t j) {
        const Span taps = job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    };
    const int64_t reach = (a.k - 1) * a.d;
    const int64_t most_windows = most(reach + 1, kSumStripBytes / (unit * static_cast<int64_t>(sizeof(T))));
    T* totals = take<T>(arena, (least(most_windows, b.count[last]) + reach) * unit);
    Alike* alike = take<Alike>(arena, b.count[last]);
    for (int64_t w = 0; w < b.count[last]; w += most_windows) {
        const int64_t windows = least(most_windows, b.count[last] - w);
        const int64_t first = first_cell(a, b.j0[last] + w), n = windows + reach;
        const int64_t begin = least(most(first, 0), first + n), end = most(begin, least(first + n, a.n));
        const int64_t lead = (begin - first) * unit, inside = (end - begin) * unit;
        for (int64_t i = 0; i < lead; ++i) totals[i] = T{0};
        for (int64_t i = lead + inside; i < n * unit; ++i) totals[i] = T{0};
        const Span whole = whole_windows(a, b.j0[last] + w, windows);
        int64_t groups = 0;
        for (int64_t j = 0; j < windows;) {
            const bool all_whole = j == whole.begin && whole.end > j;
            const int64_t until = all_whole || !by_count ? (all_whole ? whole.end : windows) : j + 1;
            const double along = !by_count   ? 1
                                 : all_whole ? static_cast<double>(a.k)
                                             : counted(last, b.j0[last] + w + j);
            if (groups > 0 && alike[groups - 1].counted == along)
                alike[groups - 1].end = until;
            else
                alike[groups++] = {j, until, along};
            j = until;
        }
        for (int64_t i = 0; i < rows; ++i) {
            const Span taps = last ? real_taps(job.axis[0], b.j0[0] + i) : Span{0, 1};
            const int64_t count = taps.end - taps.begin;
            Source<Sum<T>> cells[3];
            for (int64_t t = 0; t < count; ++t) {
                const int64_t row = last ? first_cell(job.axis[0], b.j0[0] + i) + (taps.begin + t) * job.axis[0].d : 0;
                const char* x = b.x + (last ? row * job.x_stride[0] : 0) + begin * job.x_stride[last];
                cells[t] = {reinterpret_cast<const T*>(x), nullptr};
            }
            const Target<Sum<T>> joined{totals + lead, nullptr};
            if (count == 0) fill_empty<Sum<T>>(joined, inside);
            if (count == 1) join_rows_of<Sum<T>, 1>(joined, cells, 0, inside, 0);
            if (count == 2) join_rows_of<Sum<T>, 2>(joined, cells, 0, inside, 0);
            if (count == 3) join_rows_of<Sum<T>, 3>(joined, cells, 0, inside, 0);
            if (last && count < job.axis[0].k)  // padding is zeros, and a sum of zeros with them is not -0.0
                for (int64_t c = 0; c < inside; ++c) joined.v[c] += T{0};
            T* y = reinterpret_cast<T*>(job.y) + b.y + (last ? i * job.y_stride[0] : 0) + w * job.y_stride[last];
            const double outer = by_count && last ? counted(0, b.j0[0] + i) : 1;
            for (int64_t g = 0; g < groups; ++g) {
                const double divisor = !average ? 1 : by_count ? outer * alike[g].counted : job.divisor;
                const int64_t from = alike[g].begin * unit, many = (alike[g].end - alike[g].begin) * unit;
                const auto finish = a.k == 1   ? &finish_sums_along<T, 1>
                                    : a.k == 2 ? &finish_sums_along<T, 2>
                                               : &finish_sums_along<T, 3>;
                finish(totals + from, a.d * unit, y + from, many, divisor);
            }
        }
    }
}

template <class T>
inline bool can_be_stripped(const Job& job) {
    const bool lanes = rows_are_lanes(job);
    const int last = job.rank - 1;
    if (!job.direct || job.in != job.out || job.rank > 2 || (lanes && job.lane_tile < job.lanes)) return false;
    if (job.x_stride[last] != job.lanes * size_of(job.in) || job.y_stride[last] != job.lanes) return false;
    if (job.finish == Finish::average && job.by_divisor && !divides_in<T>(job.divisor)) return false;
    bool overlap = false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (job.physical_padding && job.real_n[q] != a.n) return false;
        if (a.starts || job.pass[q] != q || a.k > 3) return false;
        overlap |= a.k > a.s;
    }
    const Axis& a = job.axis[last];
    // Results two cells apart along a row would have to be picked out, and short rows cost more to set out on.
    return overlap && a.s == 1 && a.d <= 32 && a.o * job.lanes * size_of(job.out) >= kStripRow;
}
