// Smooth max and Lp norms of small overlapping windows, in single precision: every element is raised to its power once.
//
// A tile is processed in strips that stay in the L1 and L2 cache. A ring holds the powers of the last rows. The rows of
// a window are combined, then the elements along the row, and results are written from there. That is the order of
// separable passes, so a tile with an element out of range is computed again by separable_norm, with the same bits for
// all other windows.

constexpr int64_t kStripElements = 2048;

enum class Terms : uint8_t { exponential, negative, power, bounded };  // negative: β < 0; bounded: p = 3 or 4

// The ring of rows of powers of a strip.
struct Strip {
    float* powers[kNormBufferRows + 1];
    int64_t row[kNormBufferRows + 1];  // which row of x is in each slot
    int64_t size;                      // of the ring
};

template <Terms K>
constexpr bool is_exponential = K == Terms::exponential || K == Terms::negative;

// What results are bounded by: x itself for smooth max, |x| for norms.
template <Terms K, class V>
CENOTE_INLINE inline V bounding(V element) {
    if constexpr (is_exponential<K>)
        return element;
    else
        return to_float<V>(to_bits(element) & 0x7fffffffu);
}
template <Terms K, class V>
CENOTE_INLINE inline V farther(V a, V b) {  // of two zeros either one: no result is a zero
    return (K == Terms::negative ? b < a : b > a) ? b : a;
}

// Checks whether any element is out of range.
template <Terms K>
struct RangeCheck {
    using Wide = typename Lane<int32_t, kVectorBytes>::V;
    Wide worst{};  // the bits of the largest |x|, or nonzero if an element is out of range
    int32_t tail = 0;

    template <class I>
    static CENOTE_INLINE void update(I& worst, I mark) {
        if constexpr (is_exponential<K>)
            worst = mark > worst ? mark : worst;
        else
            worst |= mark;
    }
    template <class V>
    CENOTE_INLINE void at(V element) {
        using I = typename Rebind<V, int32_t>::type;
        I mark;
        if constexpr (is_exponential<K>)
            mark = (I)(to_bits(element) & 0x7fffffffu);
        else
            mark = (I)power_out_of_range(element);
        if constexpr (IsVector<V>::value)
            update(worst, mark);
        else
            update(tail, mark);
    }
    bool wild(const Norm& norm) const {
        int32_t most_seen = tail;
        for (int k = 0; k < Lane<int32_t, kVectorBytes>::count; ++k) update(most_seen, worst[k]);
        return is_exponential<K> ? most_seen > norm.most : most_seen != 0;
    }
};

template <Terms K, class V>
CENOTE_INLINE inline V raised(const Norm& norm, V element) {
    if constexpr (is_exponential<K>)
        return exp2_fp32(element, norm.base);
    else
        return powered(bounding<K>(element), norm.power);
}

template <Terms K>
CENOTE_ONCE void raise_row(const Norm& given, RangeCheck<K>& range, const char* x, float* powers, int64_t n) {
    const Norm norm = given;  // a copy: stores cannot alias it
    RangeCheck<K> check = range;
    for_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        const auto element = load<typename decltype(lane)::V>(reinterpret_cast<const float*>(x) + i);
        check.at(element);
        store(powers + i, raised<K>(norm, element));
    });
    range = check;
}

template <int Count, class V, class R>
CENOTE_INLINE inline V summed_up(R row) {
    V all = row(0);
    if constexpr (Count > 1) all = all + row(1);
    if constexpr (Count > 2) all = all + row(2);
    return all;
}
template <Terms K, int Count, class V, class R>
CENOTE_INLINE inline V farthest(R row) {
    V all = row(0);
    if constexpr (Count > 1) all = farther<K>(all, row(1));
    if constexpr (Count > 2) all = farther<K>(all, row(2));
    return all;
}

// Combines `Count` rows: their sums and their bounds.
template <Terms K, int Count>
CENOTE_ONCE void combine_strip_rows(const char* const* elements, float* const* powers, float* totals, float* bounds,
                                    int64_t n) {
    const float *p[Count], *c[Count];
    for (int t = 0; t < Count; ++t) {
        p[t] = powers[t];
        c[t] = reinterpret_cast<const float*>(elements[t]);
    }
    for_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        store(totals + i, summed_up<Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(p[t] + i); }));
        if constexpr (K != Terms::power)
            store(bounds + i,
                  farthest<K, Count, V>([&](int64_t t) CENOTE_INLINE { return bounding<K>(load<V>(c[t] + i)); }));
    });
}

// Windows of `Count` elements, `by` elements apart, to results. Empty: windows may be empty.
template <Terms K, int Count, bool Empty, class V>
CENOTE_INLINE inline V window_result(const Norm& norm, const float* totals, const float* bounds, int64_t by) {
    const V total = summed_up<Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(totals + t * by); });
    V top = splat<V>(0.0f);
    if constexpr (K != Terms::power)
        top = farthest<K, Count, V>([&](int64_t t) CENOTE_INLINE { return load<V>(bounds + t * by); });
    if constexpr (is_exponential<K>)
        return log_epilogue<K == Terms::negative, Empty>(norm, total, top);
    else
        return root_epilogue(norm, total, top);
}
template <Terms K, int Count>
CENOTE_ONCE void strip_row_epilogue(const Norm& given, const float* totals, const float* bounds, int64_t by, float* y,
                                    int64_t n) {
    const Norm norm = given;  // a copy: stores to `y` cannot alias it
    for_whole_vectors(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        store(y + i, window_result<K, Count, true, typename decltype(lane)::V>(norm, totals + i, bounds + i, by));
    });
}

// Two rows at a time of windows with stride 1, none of them empty or clipped vertically: shared elements are read once,
// twice as many independent dependency chains can overlap, and the overhead per row is halved.
struct StripPairs {
    const char* x;  // the first row of elements of the first pair
    float *powers[kBufferTaps + 1], *totals[2], *bounds[2];
    float* y;
    int64_t x_step, y_step;   // bytes; elements
    int64_t lead, inside, n;  // padding before the elements, number of elements, number of results
    int64_t by;
    int64_t ahead;  // bytes from the first row of elements to those that are prefetched
    bool apart;     // rows are not contiguous, so results are prefetched too
};

// For the first pair, all rows of elements except the last two have been raised already.
template <Terms K, int Taps>
CENOTE_ONCE void strip_pairs(const Norm& given, RangeCheck<K>& range, const StripPairs& rows, int64_t pairs) {
    using V = typename Lane<float, kVectorBytes>::V;
    constexpr int64_t size = sizeof(float), wide = Lane<float, kVectorBytes>::count;
    const Norm norm = given;  // a copy: stores cannot alias it
    StripPairs at = rows;
    RangeCheck<K> check = range;
    for (; pairs > 0; --pairs) {
        const StripPairs now = at;
        for (int64_t e = 0; e < now.inside; e += wide) {
            const int64_t i = min(e, now.inside - wide), to = now.lead + i;
            __builtin_prefetch(now.x + now.ahead + i * size);
            __builtin_prefetch(now.x + now.ahead + now.x_step + i * size);
            V power[Taps + 1], element[Taps + 1];
            each<Taps + 1>(0, [&](int64_t t) CENOTE_INLINE {
                element[t] = load<V>(reinterpret_cast<const float*>(now.x + t * now.x_step) + i);
                if (t < Taps - 1) {
                    power[t] = load<V>(now.powers[t] + i);
                } else {
                    check.at(element[t]);
                    power[t] = raised<K>(norm, element[t]);
                    store(now.powers[t] + i, power[t]);
                }
            });
            each<2>(0, [&](int64_t r) CENOTE_INLINE {
                store(now.totals[r] + to, summed_up<Taps, V>([&](int64_t t) CENOTE_INLINE { return power[r + t]; }));
            });
            if constexpr (K != Terms::power) {
                const V both =
                    farthest<K, Taps - 1, V>([&](int64_t t) CENOTE_INLINE { return bounding<K>(element[1 + t]); });
                store(now.bounds[0] + to, farther<K>(bounding<K>(element[0]), both));
                store(now.bounds[1] + to, farther<K>(both, bounding<K>(element[Taps])));
            }
        }
        for (int64_t e = 0; e < now.n; e += wide) {
            const int64_t i = min(e, now.n - wide);
            if (now.apart) {
                __builtin_prefetch(now.y + 2 * now.y_step + i, 1);
                __builtin_prefetch(now.y + 3 * now.y_step + i, 1);
            }
            each<2>(0, [&](int64_t r) CENOTE_INLINE {
                store(now.y + r * now.y_step + i,
                      window_result<K, Taps, false, V>(norm, now.totals[r] + i, now.bounds[r] + i, now.by));
            });
        }
        for (int t = 0; t < Taps - 1; ++t) {  // the last rows are the first of the next pair
            at.powers[t] = now.powers[t + 2];
            at.powers[t + 2] = now.powers[t];
        }
        at.x += 2 * at.x_step;
        at.y += 2 * at.y_step;
    }
    range = check;
}

template <Terms K>
void line_buffer_norms(const PoolSchedule& job, int64_t task, Arena* arena) {
    constexpr bool bounded = K != Terms::power;
    constexpr int64_t size = sizeof(float), wide = Lane<float, kVectorBytes>::count;
    const PoolTile b = locate(job, task);
    const Norm norm = norm_of(job);
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const Axis up = last ? job.axis[0] : Axis{1, 1, 1, 1, 1, 0, 0, nullptr, nullptr, 0, 0, 0};
    const int64_t unit = rows_are_lanes(job) ? b.lanes : 1, step = job.x_stride[last];
    const int64_t rows = last ? b.count[0] : 1, up_j0 = last ? b.j0[0] : 0;
    const int64_t x_stride = last ? job.x_stride[0] : 0, y_stride = last ? job.y_stride[0] : 0;
    const int64_t most_windows = max(2 * (a.k - 1) * a.d + 1, kStripElements / (unit * a.s));
    const int64_t strip_windows = ceil_div(b.count[last], ceil_div(b.count[last], most_windows));
    const int64_t most_elements = ((strip_windows - 1) * a.s + (a.k - 1) * a.d + 1) * unit;
    const bool x_contiguous = step == unit * size, y_contiguous = a.s == 1 && job.y_stride[last] == unit;
    const bool by_pairs =
        up.k == a.k && a.k > 1 && up.s == 1 && up.d == 1 && a.d <= a.n && x_contiguous && y_contiguous;
    const Span interior = by_pairs ? interior_windows(up, up_j0, rows) : Span{0, 0};
    Strip ring;
    ring.size = (up.k - 1) * up.d + 1;
    for (int64_t r = 0; r < ring.size + by_pairs; ++r) ring.powers[r] = take<float>(arena, most_elements);
    float *totals[2], *bounds[2];
    for (int r = 0; r < 2; ++r) {
        totals[r] = take<float>(arena, r == 0 || by_pairs ? most_elements : 0);
        bounds[r] = take<float>(arena, bounded && (r == 0 || by_pairs) ? most_elements : 0);
    }
    RangeCheck<K> range;
    for (int64_t w = 0; w < b.count[last]; w += strip_windows) {
        const int64_t windows = min(strip_windows, b.count[last] - w);
        const int64_t first = window_start(a, b.j0[last] + w), n = (windows - 1) * a.s + (a.k - 1) * a.d + 1;
        const int64_t begin = min(max(first, 0), first + n), end = max(begin, min(first + n, a.n));
        const int64_t lead = (begin - first) * unit, inside = (end - begin) * unit;
        const auto clear = [&](int64_t from, int64_t to) {
            for (int r = 0; r < 1 + by_pairs; ++r)
                for (int64_t i = from; i < to; ++i) {
                    totals[r][i] = 0.0f;
                    if (bounded) bounds[r][i] = K == Terms::negative ? __builtin_inff() : -__builtin_inff();
                }
        };
        clear(0, lead);  // padding is the same for all rows
        clear(lead + inside, n * unit);
        const int64_t pieces = x_contiguous ? 1 : end - begin, piece = x_contiguous ? inside : unit;
        const char* x0 = b.x + begin * step;
        float* y0 = reinterpret_cast<float*>(job.y) + b.y + w * job.y_stride[last];
        const auto raise = [&](int64_t row, float* powers) {
            for (int64_t c = 0; c < pieces; ++c)
                raise_row<K>(norm, range, x0 + row * x_stride + c * step, powers + c * unit, piece);
        };
        const bool in_pairs =
            inside >= wide && windows * unit >= wide && first + (a.k - 1) * a.d >= 0 && first + windows - 1 < a.n;
        const auto forget = [&] {
            for (int64_t r = 0; r < ring.size; ++r) ring.row[r] = -1;
        };
        forget();
        for (int64_t i = 0, next; i < rows; i = next) {
            const Span taps = real_taps(up, up_j0 + i);
            const int64_t count = taps.end - taps.begin, top_row = window_start(up, up_j0 + i) + taps.begin * up.d;
            float* y = y0 + i * y_stride;
            if (const int64_t pairs = (interior.end - i) / 2; in_pairs && i >= interior.begin && pairs > 0) {
                StripPairs both{};
                for (int t = 0; t <= a.k; ++t) {
                    // A row replaces the one two rows before, unless its last vector overlaps and is computed twice.
                    both.powers[t] = ring.powers[t >= 2 && inside % wide == 0 ? t - 2 : t];
                    if (t < a.k - 1) raise(top_row + t, ring.powers[t]);
                }
                for (int r = 0; r < 2; ++r) {
                    both.totals[r] = totals[r];
                    both.bounds[r] = bounds[r];
                }
                both.x = x0 + top_row * x_stride;
                both.y = y;
                both.x_step = x_stride;
                both.y_step = y_stride;
                both.lead = lead;
                both.inside = inside;
                both.n = windows * unit;
                both.by = a.d * unit;
                both.apart = x_stride > 2 * inside * size;
                // The next two; for short rows later ones.
                both.ahead = (a.k + 1 + (both.apart || x_stride <= 0 ? 0 : kAhead / x_stride)) * x_stride;
                (a.k == 2 ? strip_pairs<K, 2> : strip_pairs<K, 3>)(norm, range, both, pairs);
                forget();
                next = i + 2 * pairs;
                continue;
            }
            next = i + 1;
            const char* elements[kBufferTaps];
            float* powers[kBufferTaps];
            for (int64_t t = 0; t < count; ++t) {
                const int64_t row = top_row + t * up.d, slot = row % ring.size;
                elements[t] = x0 + row * x_stride;
                powers[t] = ring.powers[slot];
                if (ring.row[slot] != row) raise(row, powers[t]);
                ring.row[slot] = row;
            }
            if (count == 0) clear(lead, lead + inside);
            for (int64_t c = 0; c < (count ? pieces : 0); ++c) {
                const auto combine = count == 1   ? &combine_strip_rows<K, 1>
                                     : count == 2 ? &combine_strip_rows<K, 2>
                                                  : &combine_strip_rows<K, 3>;
                combine(elements, powers, totals[0] + lead + c * unit, bounds[0] + lead + c * unit, piece);
                for (int64_t t = 0; t < count; ++t) {
                    elements[t] += step;
                    powers[t] += unit;
                }
            }
            for (int64_t j = 0; j < (y_contiguous ? 1 : windows); ++j) {
                const int64_t at = j * a.s * unit, many = y_contiguous ? windows * unit : unit;
                const auto finish = a.k == 1   ? &strip_row_epilogue<K, 1>
                                    : a.k == 2 ? &strip_row_epilogue<K, 2>
                                               : &strip_row_epilogue<K, 3>;
                finish(norm, totals[0] + at, bounds[0] + (bounded ? at : 0), a.d * unit, y + j * job.y_stride[last],
                       many);
            }
        }
    }
    if (range.wild(norm)) separable_norm_tile(job, task, arena);
}
