// Norms and smooth maxima of small windows that overlap, in single precision: every cell is raised to its power once.
//
// A tile is gone through in strips that stay in the nearest cache. A ring holds the last rows of powers, and of cells
// where results are held to the largest one. Rows of a window are joined, then the cells along the row, and the results
// are written from there: the order of the passes, so that a tile with a cell that is not moderate is computed again
// the long way, with the same bits for all other windows.

constexpr int64_t kStripTaps = 3;    // along an axis: up to three, a tree is a chain
constexpr int64_t kStripRows = 16;   // in a ring: few of them are read if cells lie far apart
constexpr int64_t kStripReach = 64;  // from the first cell of a window to its last along the row: raised for two strips
constexpr int64_t kStripElements = 1024;

enum class Terms : uint8_t { exponential, negative, power, topped };  // negative: β < 0; topped: p = 3 or 4

// The rows of a strip, each with its powers and, for some, its cells: |x|, or -x where the smallest one counts.
struct Strip {
    float *powers[kStripRows], *cells[kStripRows];
    int64_t held[kStripRows];  // which row of x
    int64_t size;              // of the ring
};

template <Terms K>
CENOTE_ONCE bool raise_row(const Norm& given, const char* x, float* powers, float* cells, int64_t n) {
    const Norm norm = given;  // which no store can change
    BitsOf<typename Lane<float, kVectorBytes>::V> wild{};
    uint32_t wild_alone = 0;
    in_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V cell = load<V>(reinterpret_cast<const float*>(x) + i);
        BitsOf<V> mark;
        if constexpr (K == Terms::exponential || K == Terms::negative) {
            mark = wild_exponent(cell, norm.most);
            store(powers + i, power_single(cell, norm.base, norm.base_rest));
            store(cells + i, K == Terms::negative ? V(-cell) : cell);
        } else {
            const V size = to_float<V>(to_bits(cell) & 0x7fffffffu);
            mark = wild_power(cell);
            store(powers + i, powered(size, norm.power));
            if constexpr (K == Terms::topped) store(cells + i, size);
        }
        if constexpr (decltype(lane)::count > 1)
            wild |= mark;
        else
            wild_alone |= mark;
    });
    for (int k = 0; k < Lane<float, kVectorBytes>::count; ++k) wild_alone |= wild[k];
    return wild_alone != 0;
}

template <int Count, class V, class R>
CENOTE_INLINE inline V summed_up(R row) {
    V all = row(0);
    if constexpr (Count > 1) all = all + row(1);
    if constexpr (Count > 2) all = all + row(2);
    return all;
}
template <int Count, class V, class R>
CENOTE_INLINE inline V largest_of(R row) {  // the first of equal cells, as everywhere
    V all = row(0);
    each<Count>(0, [&](int64_t t) CENOTE_INLINE {
        if (t == 0) return;
        const V other = row(t);
        all = other > all ? other : all;
    });
    return all;
}

// `count` rows to one: their sums and, where there are cells, the largest ones.
template <int Count>
CENOTE_ONCE void join_strip_rows(const float* const* powers, const float* const* cells, float* totals, float* tops,
                                 int64_t n) {
    const float *p[Count], *c[Count];
    for (int t = 0; t < Count; ++t) {
        p[t] = powers[t];
        c[t] = cells[t];
    }
    const bool topped = c[0];
    in_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        store(totals + i, summed_up<Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(p[t] + i); }));
        if (topped) store(tops + i, largest_of<Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(c[t] + i); }));
    });
}

// Windows of `Count` cells that lie `by` elements apart, to results.
template <Terms K, int Count>
CENOTE_ONCE void finish_strip_row(const Norm& given, const float* totals, const float* tops, int64_t by, float* y,
                                  int64_t n) {
    const Norm norm = given;  // which no store through `y` can change
    in_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V total = summed_up<Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(totals + i + t * by); });
        V top = splat<V>(0.0f);
        if constexpr (K != Terms::power)
            top = largest_of<Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(tops + i + t * by); });
        if constexpr (K == Terms::negative) top = -top;
        if constexpr (K == Terms::exponential || K == Terms::negative)
            store(y + i, finished_log<K == Terms::negative>(norm, total, top));
        else
            store(y + i, finished_root(norm, total, top));
    });
}

template <Terms K>
void norm_strips(const Job& job, int64_t task, Arena* arena) {
    constexpr bool topped = K != Terms::power;
    constexpr int64_t size = sizeof(float);
    const Box b = locate(job, task);
    const Norm norm = norm_of(job);
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const int64_t unit = rows_are_lanes(job) ? b.lanes : 1, step = job.x_stride[last];
    const int64_t rows = last ? b.count[0] : 1;
    const int64_t most_windows = most(2 * (a.k - 1) * a.d + 1, kStripElements / (unit * a.s));
    const int64_t strip_windows = ceil_div(b.count[last], ceil_div(b.count[last], most_windows));
    const int64_t most_cells = ((strip_windows - 1) * a.s + (a.k - 1) * a.d + 1) * unit;
    Strip ring;
    ring.size = last ? (job.axis[0].k - 1) * job.axis[0].d + 1 : 1;
    for (int64_t r = 0; r < ring.size; ++r) {
        ring.powers[r] = take<float>(arena, most_cells);
        ring.cells[r] = topped ? take<float>(arena, most_cells) : nullptr;
    }
    float* totals = take<float>(arena, most_cells);
    float* tops = topped ? take<float>(arena, most_cells) : nullptr;
    bool wild = false;
    for (int64_t w = 0; w < b.count[last]; w += strip_windows) {
        const int64_t windows = least(strip_windows, b.count[last] - w);
        const int64_t first = first_cell(a, b.j0[last] + w), n = (windows - 1) * a.s + (a.k - 1) * a.d + 1;
        const int64_t begin = least(most(first, 0), first + n), end = most(begin, least(first + n, a.n));
        const int64_t lead = (begin - first) * unit, inside = (end - begin) * unit;
        const auto clear = [&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to; ++i) {
                totals[i] = 0.0f;
                if (topped) tops[i] = -__builtin_inff();
            }
        };
        clear(0, lead);  // padding stays as it is for all rows
        clear(lead + inside, n * unit);
        for (int64_t r = 0; r < ring.size; ++r) ring.held[r] = -1;
        for (int64_t i = 0; i < rows; ++i) {
            const Span taps = last ? real_taps(job.axis[0], b.j0[0] + i) : Span{0, 1};
            const float *powers[kStripTaps], *cells[kStripTaps];
            for (int64_t t = taps.begin; t < taps.end; ++t) {
                const int64_t row = last ? first_cell(job.axis[0], b.j0[0] + i) + t * job.axis[0].d : 0;
                const int64_t slot = row % ring.size;
                powers[t - taps.begin] = ring.powers[slot];
                cells[t - taps.begin] = ring.cells[slot];
                if (ring.held[slot] == row) continue;
                ring.held[slot] = row;
                const char* x = b.x + (last ? row * job.x_stride[0] : 0) + begin * step;
                const bool in_one_piece = step == unit * size;
                for (int64_t c = 0; c < (in_one_piece ? 1 : end - begin); ++c)
                    wild |= raise_row<K>(norm, x + c * step, ring.powers[slot] + c * unit,
                                         topped ? ring.cells[slot] + c * unit : nullptr, in_one_piece ? inside : unit);
            }
            const int64_t count = taps.end - taps.begin;
            if (count == 0) clear(lead, lead + inside);
            if (count == 1) join_strip_rows<1>(powers, cells, totals + lead, tops + lead, inside);
            if (count == 2) join_strip_rows<2>(powers, cells, totals + lead, tops + lead, inside);
            if (count == 3) join_strip_rows<3>(powers, cells, totals + lead, tops + lead, inside);
            float* y =
                reinterpret_cast<float*>(job.y) + b.y + (last ? i * job.y_stride[0] : 0) + w * job.y_stride[last];
            const bool in_one_piece = a.s == 1 && job.y_stride[last] == unit;
            for (int64_t j = 0; j < (in_one_piece ? 1 : windows); ++j) {
                const int64_t at = j * a.s * unit, many = in_one_piece ? windows * unit : unit;
                const auto finish = a.k == 1   ? &finish_strip_row<K, 1>
                                    : a.k == 2 ? &finish_strip_row<K, 2>
                                               : &finish_strip_row<K, 3>;
                finish(norm, totals + at, topped ? tops + at : nullptr, a.d * unit, y + j * job.y_stride[last], many);
            }
        }
    }
    if (wild) cenote::CENOTE_WHOLE::wide_sum(job, task, arena);
}

inline TaskFn norm_in_strips(const Job& job) {
    const bool lanes = rows_are_lanes(job);
    const int last = job.rank - 1;
    if (job.in != DType::f32 || job.out != DType::f32 || job.swap || job.rank > 2 || !single_will_do(job))
        return nullptr;
    if ((lanes ? job.lane_stride : job.x_stride[last]) != size_of(job.in)) return nullptr;
    bool overlap = false;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (job.physical_padding && job.real_n[q] != a.n) return nullptr;
        if (a.starts || job.pass[q] != q || a.k > kStripTaps) return nullptr;
        overlap |= a.k > a.s;
    }
    if (job.axis[last].d > kStripReach / 2 || !overlap || (last && (job.axis[0].k - 1) * job.axis[0].d >= kStripRows))
        return nullptr;
    // Results two cells apart along a row would have to be picked out, and short rows gone through one by one.
    if (lanes ? job.lane_tile * size_of(job.out) < 64
              : job.axis[last].s > 1 || job.axis[last].o * size_of(job.out) < kVectorBytes)
        return nullptr;
    if (job.prepare == Prepare::exponential)
        return job.beta < 0 ? &norm_strips<Terms::negative> : &norm_strips<Terms::exponential>;
    return job.power > 2.0 ? &norm_strips<Terms::topped> : &norm_strips<Terms::power>;
}
