// Tiles of small windows: max and min, with winners or without, sums and averages, norms and smooth maxima.

// Whether nests can do a job.
inline bool can_be_nested(const Job& job) {
    const bool lanes = rows_are_lanes(job), summed = job.reduce == Reduce::sum;
    const bool two_planes = job.winners || job.prepare == Prepare::power || (summed && job.omit);
    const int last = job.rank - 1;
    if (job.swap || (lanes ? job.lane_stride : job.x_stride[last]) != size_of(job.in)) return false;
    int64_t cells = 1, axes = 0;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        if (job.physical_padding && job.real_n[q] != a.n) return false;
        // Axes in another order than in the window are another order of cells.
        if (a.starts || job.pass[summed ? q : last - q] != q) return false;
        // Where windows share most of their cells, two passes join fewer (max 3×3 s1 over 64 lanes: 100 µs, and 180
        // so). Two planes are the other way round: indices, 15 ms against 10.
        if (!two_planes && a.k > a.s + 1) return false;
        if (!lanes && q == last) {
            if (a.s > 2 || (!two_planes && a.s == 1) || a.k < 2 || a.k > 3) return false;
            if (a.s == 2 && a.d > 1 && (two_planes || (job.work != DType::f32 && job.work != DType::f64))) return false;
            // Short rows would be gone through one by one.
            const int64_t least_row = job.winners && a.s == 2 && job.work == DType::f32 ? 16 : kVectorBytes;
            if (a.o * size_of(job.work) < least_row + size_of(job.work)) return false;
            continue;
        }
        axes += a.k > 1;
        if (axes > 3 || (summed && a.k > 3)) return false;
        cells *= a.k;
        if (cells > kNestCells) return false;
    }
    return !lanes || (job.lane_tile * size_of(job.work) >= 64 && cells > 1);
}

// rows(Along) for the way in which the windows of a job lie: what can_be_nested() lets through, and no more than that
// is compiled.
template <class C, class F>
inline void as_they_lie(const Job& job, F rows) {
    const Axis& a = job.axis[job.rank - 1];
    if (rows_are_lanes(job)) return rows(Along<0>{});
    if constexpr (C::two_planes) {
        if (a.s == 1) return a.k == 2 ? rows(Along<2, 1>{}) : rows(Along<3, 1>{});
    } else if constexpr (Limits<typename C::T>::has_nan) {
        if (a.d > 1) return a.k == 2 ? rows(Along<2, 2, true>{}) : rows(Along<3, 2, true>{});
    }
    a.k == 2 ? rows(Along<2, 2>{}) : rows(Along<3, 2>{});
}

// ----------------------------------------------------------------------------------------------- max and min

// A number that was read from memory of its kind: nothing is to be rounded, but a NaN is made quiet as elsewhere.
template <class R, class L>
CENOTE_INLINE inline void write(char* p, typename L::V v, bool past = false) {
    if constexpr (__is_same(R, Brain)) {
        using W = BitsOf<typename L::V>;
        const W bits = to_bits(v) >> 16 | (v == v ? splat<W>(0u) : splat<W>(0x40u));
        if constexpr (L::count == 1)
            store(p, static_cast<uint16_t>(bits));
        else
            store(p, __builtin_convertvector(bits, typename VecOf<uint16_t, 2 * L::count>::type));
    } else if constexpr (__is_same(R, Half)) {
        write_half<R, L>(p, v);
    } else {
        store_or_past(reinterpret_cast<R*>(p), v, past);
    }
}

// Whether results of `size` bytes, `lanes` of which are made at a time, may be written past the cache.
inline bool results_go_past(const Job& job, const Box& b, const Line& line, int64_t lanes, int64_t size) {
    if (!job.past || line.whole.begin > 0 || line.whole.end < line.n || line.n % lanes) return false;
    const int depth = row_depth(job);
    return at_vectors(job.y + b.y * size, (depth ? job.y_stride[depth - 1] : 0) * size);
}

inline bool lacks_all(const Axis& a, int64_t j) {
    const Span taps = real_taps(a, j);
    return taps.begin == taps.end;
}

template <class C, class S>
void pick_at_once(const Job& job, int64_t task, Arena*) {
    constexpr int64_t size = sizeof(S);
    const Box b = locate(job, task);
    as_they_lie<C>(job, [&]<class A>(A) {
        const Line line = with_ends<C, S, A>(line_of(job, b, Weights{}));
        const bool past = results_go_past(job, b, line, Lane<typename C::T, kVectorBytes>::count, size);
        for_nests(
            job, b, Weights{}, rows_together(line),
            [&](const int64_t*, const char* first, const Nest& nest, int64_t y) {
                char* out = job.y + y * size;
                row_at_once<C, S, A>(line, first, nest,
                                     [&](auto lane, int64_t i, auto joined, int64_t r) CENOTE_INLINE {
                                         const int64_t at = i + r * nest.y_step;
                                         write<S, decltype(lane)>(out + at * size, C::result(joined.v), past);
                                     });
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < line.n; ++i)
                    write<S, Lane<typename C::T, 0>>(job.y + (y + i) * size, C::absent());
            });
    });
    if (job.past) settle_stores();
}

// O is uint8_t for numbers in the window, int64_t for flat indices.
template <class C, class S, class O>
void pick_where_at_once(const Job& job, int64_t task, Arena* arena) {
    using U = typename C::U;
    using One = Lane<typename C::T, 0>;
    constexpr int64_t size = sizeof(S);
    constexpr bool flat = sizeof(O) == 8;
    const O nobody = static_cast<O>(~O{0});
    const Box b = locate(job, task);
    const int depth = row_depth(job), last = job.rank - 1;
    Weights weights{};
    for (int q = 0; q < job.rank; ++q) weights.of[q] = flat ? job.axis[q].d * job.plane[q] : job.weight[q];
    const int64_t n = line_of(job, b, weights).n, step = rows_are_lanes(job) ? 0 : job.axis[last].s * job.plane[last];
    const int64_t row_step = depth ? job.axis[depth - 1].s * job.plane[depth - 1] : 0;
    Told<U> told{flat ? take<U>(arena, most(kTold, n)) : nullptr, flat && indices_go_past(job), nullptr, 0, 0};
    as_they_lie<C>(job, [&]<class A>(A) {
        const Line line = with_ends<C, S, A>(line_of(job, b, weights));
        const bool cut = line.whole.begin > 0 || line.whole.end < n;
        // Indices that go past the cache are twice as many already: with the values too, 3.5 ms become 4.
        const bool past = !flat && results_go_past(job, b, line, Lane<typename C::T, kVectorBytes>::count, size);
        for_nests(
            job, b, weights, flat ? most(kTold / n, 1) : rows_together(line),
            [&](const int64_t* j, const char* first, const Nest& nest, int64_t y) {
                char* out = job.y + y * size;
                O* winners = static_cast<O*>(job.winners) + y;
                const int64_t apart = nest.rows > 1 ? nest.y_step : n;
                int64_t base = A::k ? first_cell(*line.axis, line.j0) * job.plane[last] : 0;
                for (int q = 0; q < depth; ++q) base += first_cell(job.axis[q], j[q]) * job.plane[q];
                // Windows that are cut along the row come after the others.
                if (flat) told.expect(job, y, n, cut ? 0 : apart);
                row_at_once<C, S, A>(
                    line, first, nest, [&](auto lane, int64_t i, auto joined, int64_t r) CENOTE_INLINE {
                        using L = decltype(lane);
                        using W = decltype(joined.w);
                        const int64_t at = i + r * apart;
                        write<S, L>(out + at * size, joined.v, past);
                        const bool none = L::count == 1 && A::k != 0 && lacks_all(*line.axis, line.j0 + i);
                        if constexpr (!flat) {
                            write_bytes<L>(winners + at, joined.w);
                            if (none) winners[at] = nobody;
                        } else {
                            const U own = static_cast<U>(base + i * step + r * row_step);
                            U* here = told.rows + r * n + i;
                            if constexpr (L::count == 1) {
                                *here = none ? static_cast<U>(~U{0}) : static_cast<U>(joined.w + own);
                            } else {
                                store(here, W(joined.w + (counting<W>() * static_cast<U>(step) + own)));
                                if (told.lines) told.tell_some(r * n);
                            }
                        }
                    });
                if (flat) told.tell(job, y, n, nest.rows, apart);
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < n; ++i) {
                    write<S, One>(job.y + (y + i) * size, C::absent());
                    static_cast<O*>(job.winners)[y + i] = nobody;
                }
            });
    });
    if (told.past || job.past) settle_stores();
    static_assert(sizeof(U) >= 4, "distances in the flat index need room");
}

// ------------------------------------------------------------------------------------------- sums and averages

// Lanes of totals to results of type R, or halves of it (S), by way of `finish`.
template <class R, class S, class L, class F>
CENOTE_INLINE inline void write_total(char* p, typename L::V v, F finish, bool past = false) {
    using T = typename L::Element;
    if constexpr (__is_same(S, Half) || __is_same(S, Brain)) {
        write_half<S, L>(p, finish(v));
    } else if constexpr (__is_same(T, R)) {
        store_or_past(reinterpret_cast<R*>(p), finish(v), past);
    } else if constexpr (L::count == 1) {
        store(reinterpret_cast<R*>(p), finish(static_cast<R>(v)));
    } else {
        // No more than there are: a narrow vector of totals may be less than a whole one of results.
        constexpr int whole = kVectorBytes / static_cast<int>(sizeof(R)), some = L::count < whole ? L::count : whole;
        using V = typename VecOf<R, some* static_cast<int>(sizeof(R))>::type;
        T held[L::count];
        store(held, v);
        for (int k = 0; k < L::count; k += some)
            store_or_past(reinterpret_cast<R*>(p) + k, finish(widened<V>(held + k)), past);
    }
}

// What the windows of a job are divided by.
template <class R>
struct Divisions {
    const Job& job;
    bool by_count;
    double full;  // the cells of a whole window, but for those along its row
    Division<R> whole;

    Divisions(const Job& given, int along) : job(given) {
        const bool average = job.finish == Finish::average;
        by_count = average && !job.by_divisor;
        full = 1;
        for (int q = 0; q < row_depth(job); ++q) full *= static_cast<double>(job.axis[q].k);
        whole = division<R>(!average ? 1.0 : by_count ? full * (along ? along : 1) : job.divisor);
    }
    double counted(int q, int64_t j) const {
        const Span taps = job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    }
    double off_the_row(const int64_t* j) const {
        double cells = 1;
        for (int q = 0; q < row_depth(job); ++q) cells *= counted(q, j[q]);
        return cells;
    }
};

// S is the dtype of the cells, C::T that of the sums, R that of the results, which are written as S if it is a half.
template <class C, class S, class R>
void sum_at_once(const Job& job, int64_t task, Arena*) {
    constexpr bool narrow = __is_same(S, Half) || __is_same(S, Brain);
    constexpr int64_t size = narrow ? 2 : sizeof(R);
    const Box b = locate(job, task);
    const int last = job.rank - 1;
    const Line line = line_of(job, b, Weights{});
    as_they_lie<C>(job, [&]<class A>(A) {
        const Divisions<R> divisions(job, A::k);
        const bool past = results_go_past(job, b, line, Lane<typename C::T, kVectorBytes>::count, size);
        const bool by_count = divisions.by_count;
        for_nests(
            job, b, Weights{}, rows_together(line),
            [&](const int64_t* j, const char* first, const Nest& nest, int64_t y) {
                char* out = job.y + y * size;
                const double cells = nest.cut && by_count ? divisions.off_the_row(j) : divisions.full;
                const Division<R> by = nest.cut && by_count ? division<R>(cells * (A::k ? A::k : 1)) : divisions.whole;
                int64_t known = -1;  // the window whose own divisor is `own`: all rows have the same ones
                Division<R> own{};
                row_at_once<C, S, A>(
                    line, first, nest, [&](auto lane, int64_t i, auto joined, int64_t r) CENOTE_INLINE {
                        using L = decltype(lane);
                        const int64_t at = i + r * nest.y_step;
                        if constexpr (A::k != 0 && L::count == 1) {  // perhaps one that is cut along the row
                            if (i != known)
                                own = by_count ? division<R>(cells * divisions.counted(last, line.j0 + i)) : by;
                            known = i;
                            write_total<R, S, L>(out + at * size, joined.v, own, past);
                        } else {
                            write_total<R, S, L>(out + at * size, joined.v, by, past);
                        }
                    });
            },
            [&](const int64_t* j, int64_t y) {
                const double cells = by_count ? divisions.off_the_row(j) : 1;
                for (int64_t i = 0; i < line.n; ++i) {
                    const double along = A::k ? divisions.counted(last, line.j0 + i) : 1;
                    write_total<R, S, Lane<R, 0>>(job.y + (y + i) * size, R{0},
                                                  by_count ? division<R>(cells * along) : divisions.whole);
                }
            });
    });
    if (job.past) settle_stores();
}

// NaN left out: a total is divided by the cells that are in it, and by those of the padding that count.
template <class T>
void valid_sum_at_once(const Job& job, int64_t task, Arena*) {
    using C = SumValid<T>;
    const Box b = locate(job, task);
    const int last = job.rank - 1, depth = row_depth(job);
    const Line line = line_of(job, b, Weights{});
    const auto real = [&](int q, int64_t j) {
        const Span taps = real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    };
    as_they_lie<C>(job, [&]<class A>(A) {
        const Divisions<T> divisions(job, A::k);
        for_nests(
            job, b, Weights{}, rows_together(line),
            [&](const int64_t* j, const char* first, const Nest& nest, int64_t y) {
                T* out = reinterpret_cast<T*>(job.y) + y;
                double counted = divisions.full, there = divisions.full;
                if (nest.cut && divisions.by_count) {
                    counted = divisions.off_the_row(j);
                    there = 1;
                    for (int q = 0; q < depth; ++q) there *= real(q, j[q]);
                }
                const T more = static_cast<T>((counted - there) * (A::k ? A::k : 1));
                row_at_once<C, T, A>(
                    line, first, nest, [&](auto lane, int64_t i, auto joined, int64_t r) CENOTE_INLINE {
                        using L = decltype(lane);
                        T padded = more;
                        if constexpr (A::k != 0 && L::count == 1)  // perhaps one that is cut along the row
                            padded = static_cast<T>(counted * divisions.counted(last, line.j0 + i) -
                                                    there * real(last, line.j0 + i));
                        store(out + i + r * nest.y_step,
                              divide_valid<T>(joined.v, joined.w, divisions.by_count, padded, divisions.whole));
                    });
            },
            [&](const int64_t*, int64_t y) {
                for (int64_t i = 0; i < line.n; ++i) reinterpret_cast<T*>(job.y)[y + i] = Limits<T>::nan;
            });
    });
}

// ---------------------------------------------------------------------------------------------- the choice

template <class T, class S, bool Largest, bool Omit>
TaskFn pick_nests_of(const Job& job) {
    if (!job.winners) return &pick_at_once<Pick<T, Largest, Omit>, S>;
    if constexpr (Limits<T>::has_nan && !Omit) {
        int64_t cells = 1;  // indices must have room in lanes as wide as the values
        for (int q = 0; q < job.rank; ++q) cells *= job.axis[q].n;
        if (job.report == Report::offset8) return &pick_where_at_once<PickAt<T, Largest, Omit>, S, uint8_t>;
        if constexpr (sizeof(S) >= 4)
            if (job.report == Report::index && (sizeof(T) == 8 || cells <= INT32_MAX))
                return &pick_where_at_once<PickAt<T, Largest, Omit>, S, int64_t>;
    }
    return nullptr;
}

template <bool Largest>
TaskFn pick_nests(const Job& job) {
    if (job.out != job.in) return nullptr;
    if (job.omit) {
        switch (job.in) {
            case DType::f32: return pick_nests_of<float, float, Largest, true>(job);
            case DType::f64: return pick_nests_of<double, double, Largest, true>(job);
            default: return nullptr;
        }
    }
    switch (job.in) {
        case DType::i8: return pick_nests_of<int8_t, int8_t, Largest, false>(job);
        case DType::u8: return pick_nests_of<uint8_t, uint8_t, Largest, false>(job);
        case DType::i16: return pick_nests_of<int16_t, int16_t, Largest, false>(job);
        case DType::u16: return pick_nests_of<uint16_t, uint16_t, Largest, false>(job);
        case DType::i32: return pick_nests_of<int32_t, int32_t, Largest, false>(job);
        case DType::u32: return pick_nests_of<uint32_t, uint32_t, Largest, false>(job);
        case DType::i64: return pick_nests_of<int64_t, int64_t, Largest, false>(job);
        case DType::u64: return pick_nests_of<uint64_t, uint64_t, Largest, false>(job);
        case DType::f16: return pick_nests_of<float, Half, Largest, false>(job);
        case DType::bf16: return pick_nests_of<float, Brain, Largest, false>(job);
        case DType::f32: return pick_nests_of<float, float, Largest, false>(job);
        case DType::f64: return pick_nests_of<double, double, Largest, false>(job);
        default: return nullptr;
    }
}

inline TaskFn sum_nests(const Job& job) {
    if (job.by_divisor && job.work == DType::f32 && !divides_in<float>(job.divisor)) return nullptr;
    const bool as_it_is = job.out == job.in;
    const bool narrow = job.out == DType::f64 && job.work == (size_of(job.in) == 1 ? DType::i16 : DType::i32);
    if (job.omit) {
        if (as_it_is && job.in == DType::f32) return &valid_sum_at_once<float>;
        return as_it_is && job.in == DType::f64 ? &valid_sum_at_once<double> : nullptr;
    }
    switch (job.in) {
        case DType::f16: return as_it_is ? &sum_at_once<Sum<float>, Half, float> : nullptr;
        case DType::bf16: return as_it_is ? &sum_at_once<Sum<float>, Brain, float> : nullptr;
        case DType::f32: return as_it_is ? &sum_at_once<Sum<float>, float, float> : nullptr;
        case DType::f64: return as_it_is ? &sum_at_once<Sum<double>, double, double> : nullptr;
        case DType::i32: return job.work == DType::f64 ? &sum_at_once<Sum<double>, int32_t, double> : nullptr;
        case DType::u32: return job.work == DType::f64 ? &sum_at_once<Sum<double>, uint32_t, double> : nullptr;
        case DType::i64: return job.work == DType::f64 ? &sum_at_once<Sum<double>, int64_t, double> : nullptr;
        case DType::u64: return job.work == DType::f64 ? &sum_at_once<Sum<double>, uint64_t, double> : nullptr;
        case DType::i8: return narrow ? &sum_at_once<Sum<int16_t>, int8_t, double> : nullptr;
        case DType::u8: return narrow ? &sum_at_once<Sum<int16_t>, uint8_t, double> : nullptr;
        case DType::i16: return narrow ? &sum_at_once<Sum<int32_t>, int16_t, double> : nullptr;
        case DType::u16: return narrow ? &sum_at_once<Sum<int32_t>, uint16_t, double> : nullptr;
        default: return nullptr;
    }
}
