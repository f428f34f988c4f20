// Small windows that are reduced entirely in registers: no intermediate result goes through memory. One row of results
// at a time: the lanes of one window, or windows with a stride of 1 or 2 along the innermost axis.

constexpr int64_t kAhead =
    4096;  // bytes to prefetch ahead; with 2048, max 2×2×2 is 6 to 8 % slower, others are the same

// The elements of a window that are not padding, without those along its row.
struct DirectWindow {
    int64_t size[3];  // along each axis that has more than one, outermost first
    int64_t count;
    bool clipped;              // some elements are padding
    int64_t at[kDirectTaps];   // bytes from the window's first element, in row-major order
    int64_t tap[kDirectTaps];  // the argmax offset of each
    // The number of consecutive rows of results with the same window; bytes of x and elements of y between them.
    int64_t rows = 1, x_step = 0, y_step = 0;
    uint64_t key = 0;  // for Keyed reducers
};

// The weight of a tap of each axis in an argmax: a window offset or a distance in the flat index.
struct TapWeights {
    int64_t of[kMaxDims];
};

inline DirectWindow direct_window_of(const PoolSchedule& job, int depth, const Span* taps, const TapWeights& weights) {
    DirectWindow window{{1, 1, 1}, 1, false, {0}, {0}, 1, 0, 0, order_key(job)};
    int axes = 0;
    for (int q = 0; q < depth; ++q) {
        const Axis& a = job.axis[q];
        const int64_t n = taps[q].end - taps[q].begin;
        window.clipped |= n < a.k;
        if (a.k == 1 && n == 1) continue;
        if (axes < 3) window.size[axes] = n;
        ++axes;
        window.count *= n;
        for (int64_t i = window.count - 1; i >= 0; --i) {  // backwards, because it is in place
            const int64_t t = taps[q].begin + i % n;
            window.at[i] = window.at[i / n] + t * a.d * job.x_stride[q];
            window.tap[i] = window.tap[i / n] + t * weights.of[q];
        }
    }
    return window;
}

// A window of A × B × D elements, known at compile time; A = 0: known at run time only.
template <int A, int B, int D>
struct Shape {
    static constexpr int count = A * B * D;
    static constexpr int a = A, b = B, d = D;
};
using AnyShape = Shape<0, 0, 0>;

// Pointers to the rows of a window, in registers if their number is known at compile time.
template <class N>
struct Rows {
    const char* p[N::count ? N::count : 1];
    int64_t taps[N::count ? N::count : 1];
    const char* first;
    const DirectWindow* window;
    uint64_t key;

    Rows(const char* element, const DirectWindow& given) : first(element), window(&given), key(given.key) {
        each<N::count>(0, [&](int64_t i) CENOTE_INLINE {
            p[i] = first + given.at[i];
            taps[i] = given.tap[i];
        });
    }
    const char* at(int64_t i) const { return N::count ? p[i] : first + window->at[i]; }
    int64_t tap(int64_t i) const { return N::count ? taps[i] : window->tap[i]; }
    int64_t count() const { return N::count ? N::count : window->count; }
    int64_t size(int axis) const {
        constexpr int64_t known[] = {N::a, N::b, N::d};
        return N::count ? known[axis] : window->size[axis];
    }
};

template <class C, class S, class L, class N>
CENOTE_INLINE inline RegOf<C, typename L::V> window_element(const Rows<N>& rows, int64_t i, int64_t by) {
    return C::tap(C::from_value(flipped<C>(read<S, L>(rows.at(i) + by), rows.key)), rows.tap(i));
}

// Reduces the elements of a window, without those along the row, `by` bytes further on.
template <class C, class S, class L, class N>
CENOTE_INLINE inline RegOf<C, typename L::V> reduce_window(const Rows<N>& rows, int64_t by) {
    auto all = window_element<C, S, L>(rows, 0, by);
    const auto add = [](auto& sum, auto more, bool first) CENOTE_INLINE { sum = first ? more : C::combine(sum, more); };
    if constexpr (!C::summed) {
        each<N::count>(rows.count(), [&](int64_t i) CENOTE_INLINE {
            if (i) all = C::combine(all, window_element<C, S, L>(rows, i, by));
        });
    } else {  // a summation tree of up to three is a chain
        each<N::d>(rows.size(2), [&](int64_t d) CENOTE_INLINE {
            auto face = all;
            each<N::b>(rows.size(1), [&](int64_t b) CENOTE_INLINE {
                auto line = face;
                each<N::a>(rows.size(0), [&](int64_t a) CENOTE_INLINE {
                    add(line, window_element<C, S, L>(rows, (a * rows.size(1) + b) * rows.size(2) + d, by), a == 0);
                });
                add(face, line, b == 0);
            });
            add(all, face, d == 0);
        });
    }
    return all;
}

// One window with the taps `taps` of its row, where tap 0 is at rows.first; C::empty if there are none.
template <class C, class S, class N>
inline RegOf<C, typename C::T> reduce_one_window(const Rows<N>& rows, Span taps, int64_t distance, int64_t weight) {
    using T = typename C::T;
    using L = Lane<T, 0>;
    auto all = C::template empty<T>();
    bool first = true;
    const auto add = [&](RegOf<C, T> more) {
        all = first ? more : C::combine(all, more);
        first = false;
    };
    if constexpr (C::summed) {
        for (int64_t t = taps.begin; t < taps.end; ++t) add(reduce_window<C, S, L>(rows, t * distance));
    } else {
        for (int64_t i = 0; i < rows.count(); ++i)
            for (int64_t t = taps.begin; t < taps.end; ++t)
                add(C::tap(window_element<C, S, L>(rows, i, t * distance), t * weight));
    }
    return all;
}

template <int Which, class C, class L>
CENOTE_INLINE inline RegOf<C, typename L::V> deinterleave_accumulators(RegOf<C, typename L::V> a,
                                                                       RegOf<C, typename L::V> b) {
    constexpr int bytes = sizeof(typename L::V);
    auto out = a;
    out.v = deinterleave<Which, typename C::T, bytes>(a.v, b.v);
    if constexpr (is_flagged<C>)  // it does not matter which lane the flag is in
        out.w = a.w | b.w;
    else if constexpr (C::two_planes)
        out.w = deinterleave<Which, typename C::U, bytes>(a.w, b.w);
    if constexpr (has_extreme<C>) out.extreme = deinterleave<Which, typename C::T, bytes>(a.extreme, b.extreme);
    return out;
}

// A row of results: the windows of a tile along the innermost axis, or the lanes of one window.
struct DirectRow {
    const Axis* axis;
    int64_t j0, n;
    Span interior;   // the windows that are not clipped along the row, or only as replicates_edges allows
    int64_t weight;  // of a tap along the row in an argmax
    bool front = false, back = false;  // the first window lacks its first element; the last window its last
};

inline DirectRow direct_row_of(const PoolSchedule& job, const PoolTile& b, const TapWeights& weights) {
    const int last = job.rank - 1;
    if (rows_are_lanes(job)) return {&job.axis[last], 0, b.lanes, {0, b.lanes}, 0};
    return {&job.axis[last], b.j0[last], b.count[last], interior_windows(job.axis[last], b.j0[last], b.count[last]),
            weights.of[last]};
}

// The windows of a row: K elements each, with a stride, or the lanes of one window (K = 0).
template <int K, int Stride = 1, bool Dilated = false>
struct RowWindows {
    static constexpr int k = K, stride = Stride;
    static constexpr bool dilated = Dilated;
};

// At which end of a row a vector of windows is, if one of them lacks the element there.
enum class End { none, front, back };
template <End E>
struct Ends {};

// Whether the missing element may be replaced by its neighbour, which is in the window too, so that a maximum does not
// change. One by one, such windows take a quarter of the time of a row; and results that start at the second window are
// not whole vectors, so they cannot be streamed (max 3×3 s2 p1 of 32×64×112×112: 4.4 vs. 3.6 ms).
template <class C, class S, class A>
constexpr bool replicates_edges = A::k > 0 && A::stride == 2 && !A::dilated && !C::summed && __is_same(S, float);

template <class C, class S, class A>
inline DirectRow with_replicated_edges(DirectRow line) {
    if constexpr (replicates_edges<C, S, A>) {
        constexpr int64_t wide = Lane<typename C::T, kVectorBytes>::count;
        const Axis& a = *line.axis;
        if (line.n <= wide || line.interior.end - line.interior.begin < wide) return line;
        line.front = line.interior.begin == 1 && window_start(a, line.j0) == -1;
        line.back = line.interior.end == line.n - 1 && window_start(a, line.j0 + line.n - 1) + A::k - 1 == a.n;
        line.interior.begin -= line.front;
        line.interior.end += line.back;
    }
    return line;
}

template <class V, int... I>
inline V first_twice(V v, Seq<I...>) {
    return __builtin_shufflevector(v, v, (I ? I - 1 : 0)...);
}
template <class V, int... I>
inline V last_twice(V v, Seq<I...>) {
    return __builtin_shufflevector(v, v, (I + 1 < static_cast<int>(sizeof...(I)) ? I + 1 : I)...);
}

// A vector of windows, the first one `by` bytes on. Nothing beyond their elements is read, so the row may end there.
// With stride 2, all but the first elements are the odd ones of a row that starts just before them.
template <class C, class S, class A, class L, End E = End::none, class N>
CENOTE_INLINE inline RegOf<C, typename L::V> reduce_windows(const Rows<N>& rows, const DirectRow& line, int64_t by) {
    constexpr int64_t size = sizeof(S), next = L::count * size;
    constexpr int bytes = sizeof(typename L::V);
    constexpr bool no_shuffle = __is_same(S, BFloat16) || A::stride == 1;
    const int64_t d = A::dilated || A::stride == 1 ? line.axis->d : 1;
    const auto row = [&](auto part) CENOTE_INLINE {
        if constexpr (A::stride == 1) {
            auto all = part(S{}, by);
            each<A::k>(A::k, [&](int64_t t) CENOTE_INLINE {
                if (t) all = C::combine(all, C::tap(part(S{}, by + t * d * size), t * line.weight));
            });
            return all;
        } else {
            // A vector of elements, the last one of which is beyond the end of the row.
            const auto behind = [&](int64_t from) CENOTE_INLINE {
                auto elements = part(S{}, E == End::back ? from - size : from);
                if constexpr (E == End::back) elements.v = last_twice(elements.v, typename MakeSeq<L::count>::type{});
                return elements;
            };
            const auto odd = [&](int64_t t) CENOTE_INLINE {
                const int64_t from = by + (t * d - 1) * size;
                if constexpr (no_shuffle)
                    return C::tap(part(OddBFloat16{}, from), t * line.weight);
                else
                    return C::tap(deinterleave_accumulators<1, C, L>(part(S{}, from), behind(from + next)),
                                  t * line.weight);
            };
            RegOf<C, typename L::V> all;
            if constexpr (no_shuffle) {
                all = C::combine(part(EvenBFloat16{}, by), odd(1));
            } else {
                auto a = part(S{}, E == End::front ? by + size : by);
                if constexpr (E == End::front) {  // the element before the row is replaced by its neighbour
                    a.v = first_twice(a.v, typename MakeSeq<L::count>::type{});
                    if constexpr (C::two_planes) a.w[0] += static_cast<typename C::U>(line.weight);
                }
                const auto b = A::k == 2 ? behind(by + next) : part(S{}, by + next);
                all = deinterleave_accumulators<0, C, L>(a, b);
                if constexpr (A::dilated)
                    all = C::combine(all, odd(1));
                else
                    all = C::combine(all, C::tap(deinterleave_accumulators<1, C, L>(a, b), line.weight));
            }
            if constexpr (A::k == 3) all = C::combine(all, odd(2));
            return all;
        }
    };
    RegOf<C, typename L::V> all;
    // Along the row last: for sums because that is their order, for integers because any order will do, and even and
    // odd elements are then separated once instead of for each row.
    if constexpr (C::summed || (!C::two_planes && !Limits<typename C::T>::has_nan)) {
        all = row([&](auto storage, int64_t from)
                      CENOTE_INLINE { return reduce_window<C, decltype(storage), L>(rows, from); });
    } else {
        const auto of_row = [&](int64_t i) CENOTE_INLINE {
            return row([&](auto storage, int64_t from)
                           CENOTE_INLINE { return window_element<C, decltype(storage), L>(rows, i, from); });
        };
        all = of_row(0);
        each<N::count>(rows.count(), [&](int64_t i) CENOTE_INLINE {
            if (i) all = C::combine(all, of_row(i));
        });
    }
    if constexpr (!no_shuffle) {
        all.v = restore_order<bytes>(all.v);
        if constexpr (C::two_planes && !is_flagged<C>) all.w = restore_order<bytes>(all.w);
        if constexpr (has_extreme<C>) all.extreme = restore_order<bytes>(all.extreme);
    }
    return all;
}

// A clipped sum: padding is +0.0, so a zero total is never -0.0.
template <class C, class L>
CENOTE_INLINE inline RegOf<C, typename L::V> with_padding(RegOf<C, typename L::V> reduced, bool clipped) {
    if constexpr (C::summed)
        if (clipped) return C::combine(reduced, C::template empty<typename L::V>());
    return reduced;
}

// Windows or lanes from … to-1 of a row, one by one: done(lane, i, reduced, row) for each, for all rows of the window.
template <class C, class S, class A, class N, class Done>
CENOTE_ONCE void direct_one_by_one(const DirectRow& line, const char* first, const DirectWindow& window, Span some,
                                   Done done) {
    using L = Lane<typename C::T, 0>;
    constexpr int64_t size = sizeof(S);
    const Axis& a = *line.axis;
    for (int64_t i = some.begin; i < some.end; ++i) {
        const Span taps = A::k ? real_taps(a, line.j0 + i) : Span{0, 1};
        const bool clipped = window.clipped || (A::k && taps.end - taps.begin < a.k);
        const char* x = first + (A::k ? window_start(a, line.j0 + i) : i) * size;
        for (int64_t r = 0; r < window.rows; ++r, x += window.x_step) {
            const auto reduced = reduce_one_window<C, S>(Rows<N>(x, window), taps, a.d * size, line.weight);
            done(L{}, i, with_padding<C, L>(reduced, clipped), r);
        }
    }
}

// The unclipped windows of a row, or all lanes, in whole vectors: at least one.
template <class C, class S, class A, class N, int Bytes = kVectorBytes, class Done>
CENOTE_INLINE inline void row_of_shape(const DirectRow& line, const char* first, const DirectWindow& window,
                                       Done done) {
    using L = Lane<typename C::T, Bytes>;
    constexpr int64_t size = sizeof(S);
    constexpr int lines = A::stride * L::count * size > 64 ? A::stride * L::count * size / 64 : 1;
    if (A::k) first += window_start(*line.axis, line.j0) * size;
    const int64_t many = window.rows, x_step = window.x_step;
    const Span interior = line.interior;
    // A later row is prefetched: the hardware prefetcher does not follow parallel rows 896 bytes apart (max 2×2 of 51
    // MB of float64, two threads: 3.2 vs. 2.2 ms).
    const int64_t later = x_step > 0 ? (kAhead + x_step - 1) / x_step * x_step : 0;
    for (int64_t r = 0; r < many; ++r, first += x_step) {
        const Rows<N> rows(first, window);
        const auto some = [&]<End E>(Ends<E>, int64_t k) CENOTE_INLINE {
            each<N::count>(0, [&](int64_t row) CENOTE_INLINE {
                const char* ahead = rows.at(row) + later + A::stride * k * size;
                each<lines>(0, [&](int64_t e) CENOTE_INLINE { __builtin_prefetch(ahead + e * 64); });
            });
            if constexpr (A::k == 0)
                done(L{}, k, with_padding<C, L>(reduce_window<C, S, L>(rows, k * size), window.clipped), r);
            else
                done(
                    L{}, k,
                    with_padding<C, L>(reduce_windows<C, S, A, L, E>(rows, line, A::stride * k * size), window.clipped),
                    r);
        };
        Span inner = interior;
        if constexpr (replicates_edges<C, S, A>) {
            if (line.front) {
                some(Ends<End::front>{}, 0);
                inner.begin = L::count;
            }
            if (line.back) inner.end = max(inner.begin, interior.end - L::count);
        }
        for (int64_t i = inner.begin; i < inner.end; i += L::count)
            some(Ends<End::none>{}, min(i, interior.end - L::count));  // the last vector overlaps
        if constexpr (replicates_edges<C, S, A>)
            if (line.back) some(Ends<End::back>{}, interior.end - L::count);
    }
}

// One row of results, or several with the same window: done(lane, i, reduced, row) for all windows or lanes i. `first`
// is the address of the first lane of the window, or of element 0 of the row.
template <class C, class S, class A, class Done>
inline void direct_row(const DirectRow& line, const char* first, const DirectWindow& window, Done done) {
    constexpr int k = A::k;
    // The most common shapes are compiled separately.
    const auto as = [&]<class N>(N) CENOTE_INLINE { row_of_shape<C, S, A, N>(line, first, window, done); };
    const auto is = [&](int64_t x, int64_t y, int64_t z) {
        return !window.clipped && window.size[0] == x && window.size[1] == y && window.size[2] == z;
    };
    const auto alone = [&](int64_t begin, int64_t end) {
        if (begin == end) return;
        if constexpr (k > 0 && !A::dilated && __is_same(typename C::T, float))
            if (is(k, 1, 1)) return direct_one_by_one<C, S, A, Shape<k, 1, 1>>(line, first, window, {begin, end}, done);
        direct_one_by_one<C, S, A, AnyShape>(line, first, window, {begin, end}, done);
    };
    const int64_t unclipped = line.interior.end - line.interior.begin;
    if (unclipped < Lane<typename C::T, kVectorBytes>::count) {
        // Planes of 14×14 have rows shorter than a vector; without argmax several planes share a tile (tiling.cpp).
        if constexpr (kVectorBytes > 16 && k > 0 && A::stride == 2 && tracks_offsets<C> && sizeof(typename C::T) == 4)
            if (unclipped >= Lane<typename C::T, 16>::count) {
                row_of_shape<C, S, A, AnyShape, 16>(line, first, window, done);
                alone(0, line.interior.begin);
                return alone(line.interior.end, line.n);
            }
        return alone(0, line.n);
    }
    const auto unclipped_windows = [&] {
        if constexpr (A::dilated) {
            if (is(k, 1, 1)) return as(Shape<k, 1, 1>{});
        } else {
            if constexpr (k == 0) {
                if (is(2, 2, 1)) return as(Shape<2, 2, 1>{});
                if constexpr (__is_same(typename C::T, float)) {
                    if (is(3, 3, 1)) return as(Shape<3, 3, 1>{});
                    if (is(2, 2, 2)) return as(Shape<2, 2, 2>{});
                    if (is(3, 1, 1)) return as(Shape<3, 1, 1>{});
                }
            } else {
                if (is(k, 1, 1)) return as(Shape<k, 1, 1>{});
                if constexpr (__is_same(typename C::T, float)) {
                    if (is(1, 1, 1)) return as(Shape<1, 1, 1>{});
                    if constexpr (k == 2)
                        if (is(2, 2, 1)) return as(Shape<2, 2, 1>{});
                }
            }
        }
        as(AnyShape{});
    };
    unclipped_windows();
    // The clipped ones come last, when the others have brought their elements into the cache (max 3×3 s2 p1 of
    // 32×64×112×112: 7.4 vs. 5.8 ms).
    alone(0, line.interior.begin);
    alone(line.interior.end, line.n);
}
