// Small windows, all elements of which are joined in registers: nothing between the elements and the results goes
// through memory. A row of results at a time: the lanes of one window, or windows one or two apart along the innermost
// axis.

constexpr int64_t kAhead = 4096;  // bytes; 2048: max 2×2×2 6 to 8 % slower, the others the same

// The real elements of a window, but for those along its row.
struct DirectWindow {
    int64_t size[3];  // how many along each axis that has more than one, outermost first
    int64_t count;
    bool cut;                  // some elements are missing
    int64_t at[kDirectTaps];   // bytes from the window's first element, in row-major order
    int64_t tap[kDirectTaps];  // by which an argmax is reported
    // So many rows of results have such a window: bytes of x and elements of y from one to the next.
    int64_t rows = 1, x_step = 0, y_step = 0;
    uint64_t key = 0;  // of reducers that are Keyed
};

// By which an argmax is reported, for a tap of each axis: offsets in the window, or distances in the flat index.
struct Weights {
    int64_t of[kMaxDims];
};

inline DirectWindow direct_window_of(const PoolSchedule& job, int depth, const Span* taps, const Weights& weights) {
    DirectWindow window{{1, 1, 1}, 1, false, {0}, {0}, 1, 0, 0, order_key(job)};
    int axes = 0;
    for (int q = 0; q < depth; ++q) {
        const Axis& a = job.axis[q];
        const int64_t n = taps[q].end - taps[q].begin;
        window.cut |= n < a.k;
        if (a.k == 1 && n == 1) continue;
        if (axes < 3) window.size[axes] = n;
        ++axes;
        window.count *= n;
        for (int64_t i = window.count - 1; i >= 0; --i) {  // from the end: in place
            const int64_t t = taps[q].begin + i % n;
            window.at[i] = window.at[i / n] + t * a.d * job.x_stride[q];
            window.tap[i] = window.tap[i / n] + t * weights.of[q];
        }
    }
    return window;
}

// A window whose size is known when this is compiled: A × B × D elements. A = 0: it is not.
template <int A, int B, int D>
struct Shape {
    static constexpr int count = A * B * D;
    static constexpr int a = A, b = B, d = D;
};
using AnyShape = Shape<0, 0, 0>;

// Where the elements of a window lie: in registers if their number is known.
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

// The elements of a window but for those along the row, `by` bytes further on, joined.
template <class C, class S, class L, class N>
CENOTE_INLINE inline RegOf<C, typename L::V> reduce_window(const Rows<N>& rows, int64_t by) {
    auto all = window_element<C, S, L>(rows, 0, by);
    const auto add = [](auto& sum, auto more, bool first) CENOTE_INLINE { sum = first ? more : C::combine(sum, more); };
    if constexpr (!C::summed) {
        each<N::count>(rows.count(), [&](int64_t i) CENOTE_INLINE {
            if (i) all = C::combine(all, window_element<C, S, L>(rows, i, by));
        });
    } else {  // up to three, a tree is a chain
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

// One window with the elements `taps` of its row, the first one of which would be at rows.first; none: C::empty.
template <class C, class S, class N>
inline RegOf<C, typename C::T> window_alone(const Rows<N>& rows, Span taps, int64_t distance, int64_t weight) {
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
CENOTE_INLINE inline RegOf<C, typename L::V> alternate_elements(RegOf<C, typename L::V> a, RegOf<C, typename L::V> b) {
    constexpr int bytes = sizeof(typename L::V);
    auto out = a;
    out.v = deinterleave<Which, typename C::T, bytes>(a.v, b.v);
    if constexpr (is_flagged<C>)  // which of them does not matter
        out.w = a.w | b.w;
    else if constexpr (C::two_planes)
        out.w = deinterleave<Which, typename C::U, bytes>(a.w, b.w);
    if constexpr (has_top<C>) out.top = deinterleave<Which, typename C::T, bytes>(a.top, b.top);
    return out;
}

// The windows of a tile along the innermost axis, or the lanes of one window.
struct Line {
    const Axis* axis;
    int64_t j0, n;
    Span whole;      // the windows that lack no element of the row, or only what mends_ends() is about
    int64_t weight;  // of a tap along it
    bool front = false, back = false;  // the first window lacks its first element, the last one its last
};

inline Line line_of(const PoolSchedule& job, const PoolTile& b, const Weights& weights) {
    const int last = job.rank - 1;
    if (rows_are_lanes(job)) return {&job.axis[last], 0, b.lanes, {0, b.lanes}, 0};
    return {&job.axis[last], b.j0[last], b.count[last], interior_windows(job.axis[last], b.j0[last], b.count[last]),
            weights.of[last]};
}

// How the windows of a row lie: K elements each, Stride apart, or the lanes of one window (K = 0).
template <int K, int Stride = 1, bool Dilated = false>
struct Along {
    static constexpr int k = K, stride = Stride;
    static constexpr bool dilated = Dilated;
};

// Which end of a row some windows lie at, one of which lacks the element there.
enum class End { none, front, back };
template <End E>
struct Ends {};

// Whether that element can have its neighbour in its place, which is in the window too: that changes no maximum. Joined
// one by one, such windows take a quarter of the time of a row, and results that begin at the second one are no whole
// vectors, which cannot be written with streaming stores (max 3×3 s2 p1 of 32×64×112×112: 4.4 ms, and 3.6 so).
template <class C, class S, class A>
constexpr bool mends_ends = A::k > 0 && A::stride == 2 && !A::dilated && !C::summed && __is_same(S, float);

template <class C, class S, class A>
inline Line with_ends(Line line) {
    if constexpr (mends_ends<C, S, A>) {
        constexpr int64_t wide = Lane<typename C::T, kVectorBytes>::count;
        const Axis& a = *line.axis;
        if (line.n <= wide || line.whole.end - line.whole.begin < wide) return line;
        line.front = line.whole.begin == 1 && window_start(a, line.j0) == -1;
        line.back = line.whole.end == line.n - 1 && window_start(a, line.j0 + line.n - 1) + A::k - 1 == a.n;
        line.whole.begin -= line.front;
        line.whole.end += line.back;
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

// As many windows as L has lanes, the first one `by` bytes on. Only their elements are read: a row may end where they
// do. Of windows two elements apart, all but the first elements are odd ones of a row that starts just before them.
template <class C, class S, class A, class L, End E = End::none, class N>
CENOTE_INLINE inline RegOf<C, typename L::V> side_by_side(const Rows<N>& rows, const Line& line, int64_t by) {
    constexpr int64_t size = sizeof(S), next = L::count * size;
    constexpr int bytes = sizeof(typename L::V);
    constexpr bool told_apart = __is_same(S, BFloat16) || A::stride == 1;
    const int64_t d = A::dilated || A::stride == 1 ? line.axis->d : 1;
    const auto row = [&](auto part) CENOTE_INLINE {
        if constexpr (A::stride == 1) {
            auto all = part(S{}, by);
            each<A::k>(A::k, [&](int64_t t) CENOTE_INLINE {
                if (t) all = C::combine(all, C::tap(part(S{}, by + t * d * size), t * line.weight));
            });
            return all;
        } else {
            // A vector of elements of which the last one lies behind the row.
            const auto behind = [&](int64_t from) CENOTE_INLINE {
                auto elements = part(S{}, E == End::back ? from - size : from);
                if constexpr (E == End::back) elements.v = last_twice(elements.v, typename MakeSeq<L::count>::type{});
                return elements;
            };
            const auto odd = [&](int64_t t) CENOTE_INLINE {
                const int64_t from = by + (t * d - 1) * size;
                if constexpr (told_apart)
                    return C::tap(part(OddBFloat16{}, from), t * line.weight);
                else
                    return C::tap(alternate_elements<1, C, L>(part(S{}, from), behind(from + next)), t * line.weight);
            };
            RegOf<C, typename L::V> all;
            if constexpr (told_apart) {
                all = C::combine(part(EvenBFloat16{}, by), odd(1));
            } else {
                auto a = part(S{}, E == End::front ? by + size : by);
                if constexpr (E ==
                              End::front) {  // the first element lies before the row, and is reported as its neighbour
                    a.v = first_twice(a.v, typename MakeSeq<L::count>::type{});
                    if constexpr (C::two_planes) a.w[0] += static_cast<typename C::U>(line.weight);
                }
                const auto b = A::k == 2 ? behind(by + next) : part(S{}, by + next);
                all = alternate_elements<0, C, L>(a, b);
                if constexpr (A::dilated)
                    all = C::combine(all, odd(1));
                else
                    all = C::combine(all, C::tap(alternate_elements<1, C, L>(a, b), line.weight));
            }
            if constexpr (A::k == 3) all = C::combine(all, odd(2));
            return all;
        }
    };
    RegOf<C, typename L::V> all;
    // Along the row last: a sum because that is its order, whole numbers because any order will do and elements two
    // apart are then separated once and not for each row.
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
    if constexpr (!told_apart) {
        all.v = restore_order<bytes>(all.v);
        if constexpr (C::two_planes && !is_flagged<C>) all.w = restore_order<bytes>(all.w);
        if constexpr (has_top<C>) all.top = restore_order<bytes>(all.top);
    }
    return all;
}

// A sum that lacks some elements: padded elements are +0.0, so that a total of zero is never -0.0.
template <class C, class L>
CENOTE_INLINE inline RegOf<C, typename L::V> mended(RegOf<C, typename L::V> joined, bool cut) {
    if constexpr (C::summed)
        if (cut) return C::combine(joined, C::template empty<typename L::V>());
    return joined;
}

// Windows or lanes from … to-1 of a row, one by one: done(lane, i, joined, row) for each, of all rows of the window.
template <class C, class S, class A, class N, class Done>
CENOTE_ONCE void direct_one_by_one(const Line& line, const char* first, const DirectWindow& window, Span some,
                                   Done done) {
    using L = Lane<typename C::T, 0>;
    constexpr int64_t size = sizeof(S);
    const Axis& a = *line.axis;
    for (int64_t i = some.begin; i < some.end; ++i) {
        const Span taps = A::k ? real_taps(a, line.j0 + i) : Span{0, 1};
        const bool cut = window.cut || (A::k && taps.end - taps.begin < a.k);
        const char* x = first + (A::k ? window_start(a, line.j0 + i) : i) * size;
        for (int64_t r = 0; r < window.rows; ++r, x += window.x_step) {
            const auto joined = window_alone<C, S>(Rows<N>(x, window), taps, a.d * size, line.weight);
            done(L{}, i, mended<C, L>(joined, cut), r);
        }
    }
}

// The windows that lack no element of the row, or all lanes, in whole vectors: at least one.
template <class C, class S, class A, class N, int Bytes = kVectorBytes, class Done>
CENOTE_INLINE inline void row_of_shape(const Line& line, const char* first, const DirectWindow& window, Done done) {
    using L = Lane<typename C::T, Bytes>;
    constexpr int64_t size = sizeof(S);
    constexpr int lines = A::stride * L::count * size > 64 ? A::stride * L::count * size / 64 : 1;
    if (A::k) first += window_start(*line.axis, line.j0) * size;
    const int64_t many = window.rows, x_step = window.x_step;
    const Span whole = line.whole;
    // Elements of a later row are fetched meanwhile: rows side by side, 896 bytes apart, are not found by the CPU
    // itself (max 2×2 of 51 MB of float64, two threads: 3.2 ms, and 2.2 so).
    const int64_t later = x_step > 0 ? (kAhead + x_step - 1) / x_step * x_step : 0;
    for (int64_t r = 0; r < many; ++r, first += x_step) {
        const Rows<N> rows(first, window);
        const auto some = [&]<End E>(Ends<E>, int64_t k) CENOTE_INLINE {
            each<N::count>(0, [&](int64_t row) CENOTE_INLINE {
                const char* ahead = rows.at(row) + later + A::stride * k * size;
                each<lines>(0, [&](int64_t e) CENOTE_INLINE { __builtin_prefetch(ahead + e * 64); });
            });
            if constexpr (A::k == 0)
                done(L{}, k, mended<C, L>(reduce_window<C, S, L>(rows, k * size), window.cut), r);
            else
                done(L{}, k, mended<C, L>(side_by_side<C, S, A, L, E>(rows, line, A::stride * k * size), window.cut),
                     r);
        };
        Span inner = whole;
        if constexpr (mends_ends<C, S, A>) {
            if (line.front) {
                some(Ends<End::front>{}, 0);
                inner.begin = L::count;
            }
            if (line.back) inner.end = max(inner.begin, whole.end - L::count);
        }
        for (int64_t i = inner.begin; i < inner.end; i += L::count)
            some(Ends<End::none>{}, min(i, whole.end - L::count));  // the last ones, some of them a second time
        if constexpr (mends_ends<C, S, A>)
            if (line.back) some(Ends<End::back>{}, whole.end - L::count);
    }
}

// One row of results, or several with the same window: done(lane, i, joined, row) for all windows or lanes i.
// `first` is the first lane of the window, or where element 0 of the row lies.
template <class C, class S, class A, class Done>
inline void direct_row(const Line& line, const char* first, const DirectWindow& window, Done done) {
    constexpr int k = A::k;
    // The usual shapes are compiled on their own.
    const auto as = [&]<class N>(N) CENOTE_INLINE { row_of_shape<C, S, A, N>(line, first, window, done); };
    const auto is = [&](int64_t x, int64_t y, int64_t z) {
        return !window.cut && window.size[0] == x && window.size[1] == y && window.size[2] == z;
    };
    const auto alone = [&](int64_t begin, int64_t end) {
        if (begin == end) return;
        if constexpr (k > 0 && !A::dilated && __is_same(typename C::T, float))
            if (is(k, 1, 1)) return direct_one_by_one<C, S, A, Shape<k, 1, 1>>(line, first, window, {begin, end}, done);
        direct_one_by_one<C, S, A, AnyShape>(line, first, window, {begin, end}, done);
    };
    const int64_t whole = line.whole.end - line.whole.begin;
    if (whole < Lane<typename C::T, kVectorBytes>::count) {
        // Planes of 14×14 have rows of less than a vector; without argmax many of them go together (tiling.cpp).
        if constexpr (kVectorBytes > 16 && k > 0 && A::stride == 2 && tracks_offsets<C> && sizeof(typename C::T) == 4)
            if (whole >= Lane<typename C::T, 16>::count) {
                row_of_shape<C, S, A, AnyShape, 16>(line, first, window, done);
                alone(0, line.whole.begin);
                return alone(line.whole.end, line.n);
            }
        return alone(0, line.n);
    }
    const auto whole_ones = [&] {
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
    whole_ones();
    // These come after the others, which have brought the elements in (max 3×3 s2 p1 of 32×64×112×112: 7.4 ms, and 5.8
    // so).
    alone(0, line.whole.begin);
    alone(line.whole.end, line.n);
}
