// Row kernels of the separable reduction (pool/drivers/separable.hpp): result i combines element i of every row.

template <class T>
inline T* take(Arena* arena, int64_t n) {
    return static_cast<T*>(arena_take(arena, n * static_cast<int64_t>(sizeof(T))));
}

template <class C>
inline Source<C> ahead(Source<C> row, int64_t by) {
    return {row.v + by, row.w ? row.w + by : nullptr};
}
template <class C>
inline Target<C> ahead(Target<C> row, int64_t by) {
    return {row.v + by, row.w ? row.w + by : nullptr};
}
template <class C>
inline Source<C> readable(Target<C> row) {
    return {row.v, row.w};
}

template <class C>
inline Source<C> source(Planes e) {
    return {reinterpret_cast<const typename C::T*>(e.v), reinterpret_cast<const typename C::U*>(e.w)};
}
template <class C>
inline Target<C> target(Planes e) {
    return {reinterpret_cast<typename C::T*>(e.v), reinterpret_cast<typename C::U*>(e.w)};
}
template <class T>
inline char* bytes(T* p) {
    return reinterpret_cast<char*>(p);
}

// Row t of a list (see RowKernels).
template <class C>
inline Source<C> row_at(const void* rows, int64_t t) {
    if constexpr (C::two_planes)
        return source<C>(static_cast<const Planes*>(rows)[t]);
    else
        return source<C>({static_cast<char* const*>(rows)[t], nullptr});
}

// K rows as one tree: the largest power of two by halves, then the rest. This defines the order of a sum (tree_sum in
// the reference); for a maximum any order will do.
template <class C, class V, int K>
inline RegOf<C, V> reduce_tree(const Source<C>* rows, int64_t i, int64_t tap, int64_t weight) {
    if constexpr (K == 1) {
        return C::tap(load_accumulator<C, V>(*rows, i), tap * weight);
    } else {
        constexpr int half = K > 4 ? 4 : K > 2 ? 2 : 1;
        return C::combine(reduce_tree<C, V, half>(rows, i, tap, weight),
                          reduce_tree<C, V, K - half>(rows + half, i, tap + half, weight));
    }
}

// Any number of rows, the taps begin … begin+count-1 of a window: a binary counter holds the pending subtrees of the
// same tree. Missing taps leave their sibling unchanged: adding zero would change at most the sign of a zero total,
// which the caller corrects.
template <class C, class V>
inline RegOf<C, V> reduce_many(const void* rows, int64_t i, int64_t begin, int64_t count, int64_t weight) {
    using Reg = RegOf<C, V>;
    if constexpr (!C::summed) {
        Reg all = C::tap(load_accumulator<C, V>(row_at<C>(rows, 0), i), begin * weight);
        for (int64_t t = 1; t < count; ++t)
            all = C::combine(all, C::tap(load_accumulator<C, V>(row_at<C>(rows, t), i), (begin + t) * weight));
        return all;
    } else {
        Reg pending[64];
        uint64_t occupied = 0;
        for (int64_t t = begin; t < begin + count; ++t) {
            Reg part = load_accumulator<C, V>(row_at<C>(rows, t - begin), i);
            int level = 0;
            for (; t >> level & 1; ++level) {
                if (occupied >> level & 1) {
                    part = C::combine(pending[level], part);
                    occupied &= ~(uint64_t{1} << level);
                }
            }
            pending[level] = part;
            occupied |= uint64_t{1} << level;
        }
        int level = __builtin_ctzll(occupied);
        Reg all = pending[level];
        for (occupied &= occupied - 1; occupied; occupied &= occupied - 1)
            all = C::combine(pending[__builtin_ctzll(occupied)], all);
        return all;
    }
}

template <class C>
CENOTE_ONCE void fill_accumulators(Target<C> out, int64_t n) {
    for_lanes<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        store_accumulator<C, V>(out, i, C::template empty<V>());
    });
}

template <class C>
void fill_identity(Planes out, int64_t n) {
    fill_accumulators<C>(target<C>(out), n);
}

template <class C>
void fill_padding(Planes out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) target<C>(out).v[i] = C::absent();
}

template <class C, int K>
inline void reduce_rows_of(Target<C> out, const void* rows, int64_t begin, int64_t n, int64_t weight) {
    Source<C> local[K];  // a copy in registers: the compiler must assume that stores to `out` change `rows`
    for (int t = 0; t < K; ++t) local[t] = row_at<C>(rows, t);
    for_lanes_overlapping<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        store_accumulator<C, V>(out, i, reduce_tree<C, V, K>(local, i, begin, weight));
    });
}

template <class C>
void reduce_rows(Planes to, const void* rows, int64_t begin, int64_t count, int64_t taps, int64_t n, int64_t weight) {
    const Target<C> out = target<C>(to);
    if (count == 0) return fill_accumulators<C>(out, n);
    const bool complete = count == taps;
    // Unrolled up to where the loop below is as fast: a maximum is a chain, a sum has to keep its tree.
    constexpr int unrolled = C::two_planes ? 3 : 8;
    if (complete || !C::summed) {
        switch (count) {
            case 1: return reduce_rows_of<C, 1>(out, rows, begin, n, weight);
            case 2: return reduce_rows_of<C, 2>(out, rows, begin, n, weight);
            case 3: return reduce_rows_of<C, 3>(out, rows, begin, n, weight);
            default: break;
        }
        if constexpr (unrolled == 8) {
            switch (count) {
                case 4: return reduce_rows_of<C, 4>(out, rows, begin, n, weight);
                case 5: return reduce_rows_of<C, 5>(out, rows, begin, n, weight);
                case 6: return reduce_rows_of<C, 6>(out, rows, begin, n, weight);
                case 7: return reduce_rows_of<C, 7>(out, rows, begin, n, weight);
                case 8: return reduce_rows_of<C, 8>(out, rows, begin, n, weight);
                default: break;
            }
        }
    }
    for_lanes_overlapping<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        auto all = reduce_many<C, V>(rows, i, begin, count, weight);
        // Padding is +0.0: a zero total that includes padding is never -0.0.
        if constexpr (C::summed)
            if (!complete) all = C::combine(all, C::template empty<V>());
        store_accumulator<C, V>(out, i, all);
    });
}

template <class C>
void reduce_one_of(Planes out, const void* rows, int64_t begin, int64_t count, int64_t taps, int64_t weight,
                   int64_t offset) {
    using T = typename C::T;
    auto all = C::template empty<T>();
    if (count) {
        const auto found = reduce_many<C, T>(rows, 0, begin, count, weight);
        all = C::tap(C::summed && count < taps ? C::combine(found, all) : found, offset);
    }
    store_accumulator<C, T>(target<C>(out), 0, all);
}

template <class C>
void reduce_two_of(Planes to, Planes first, Planes second, int64_t n, int64_t offset) {
    const Target<C> out = target<C>(to);
    const Source<C> a = source<C>(first), b = source<C>(second);
    for_lanes<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        store_accumulator<C, V>(out, i,
                                C::combine(load_accumulator<C, V>(a, i), C::tap(load_accumulator<C, V>(b, i), offset)));
    });
}

template <class T>
inline void copy_row(T* out, const T* in, int64_t n) {
    constexpr int64_t wide = kVectorBytes / sizeof(T);
    if (n >= wide && n <= 8 * wide) {  // faster than a call; the last vector overlaps the one before
        using V = typename Lane<T, kVectorBytes>::V;
        for (int64_t i = 0; i + wide <= n; i += wide) store(out + i, load<V>(in + i));
        return store(out + n - wide, load<V>(in + n - wide));
    }
    __builtin_memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
}

inline void copy_lines(char* out, const int64_t* to, const char* in, const int64_t* from, int64_t lines, int64_t n) {
    for (int64_t i = 0; i < lines; ++i) copy_row(out + to[i], in + from[i], n);
}

// Copies accumulators; creates the second plane if there is none yet.
template <class C>
void copy_elements(Planes to, Planes from, int64_t n) {
    const Target<C> out = target<C>(to);
    const Source<C> in = source<C>(from);
    if constexpr (C::two_planes) {
        if (!in.w) return reduce_rows_of<C, 1>(out, &from, 0, n, 0);
        copy_row(out.w, in.w, n);
    }
    copy_row(out.v, in.v, n);
}

// Every `step`-th group of `group` elements, from the first: out[i] = in[i·step] for i < n.
template <class T, int Step>
inline void every_nth(T* out, const T* in, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * Step];
}

template <class T>
void take_every(char* to, const char* from, int64_t n, int64_t step, int64_t group) {
    T* out = reinterpret_cast<T*>(to);
    const T* in = reinterpret_cast<const T*>(from);
    if (group == 1) {
        switch (step) {
            case 1: return copy_row(out, in, n);
            case 2: return every_nth<T, 2>(out, in, n);
            case 3: return every_nth<T, 3>(out, in, n);
            case 4: return every_nth<T, 4>(out, in, n);
            default:
                for (int64_t i = 0; i < n; ++i) out[i] = in[i * step];
                return;
        }
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t g = 0; g < group; ++g) out[i * group + g] = in[i * step * group + g];
}

// The accumulators at, at+2, at+4, … of a row (Odd: at+1, at+3, …), in the order of deinterleave().
template <class C, bool Odd, int Bytes>
inline auto every_other(Source<C> in, int64_t at, int64_t offset) {
    using T = typename C::T;
    using U = typename C::U;
    using V = typename Lane<T, Bytes>::V;
    constexpr int wide = Lane<T, Bytes>::count;
    const V v = deinterleave<Odd, T, Bytes>(load<V>(in.v + at), load<V>(in.v + at + wide));
    if constexpr (C::two_planes) {
        using W = typename Rebind<V, U>::type;
        if (in.w) {
            const W w = deinterleave<Odd, U, Bytes>(load<W>(in.w + at), load<W>(in.w + at + wide));
            return C::tap(RegOf<C, V>{v, w}, offset);
        }
    }
    return C::tap(C::from_value(v), offset);
}

// Windows of K elements with stride 2 in a row of single elements: out[i] = in[2i] ∘ … ∘ in[2i+K-1]. Even and odd
// elements are separated in registers. Nothing beyond the last window is read, so the row may end there.
template <class C, int K, int Bytes>
inline void stride_2_at(Target<C> out, Source<C> in, int64_t i, int64_t weight) {
    using V = typename Lane<typename C::T, Bytes>::V;
    auto all = C::combine(every_other<C, false, Bytes>(in, 2 * i, 0), every_other<C, true, Bytes>(in, 2 * i, weight));
    // The third elements are the odd ones of the row that starts one element later, which ends with the last window.
    if constexpr (K == 3) all = C::combine(all, every_other<C, true, Bytes>(in, 2 * i + 1, 2 * weight));
    if constexpr (K == 4)
        all = C::combine(all, C::combine(every_other<C, false, Bytes>(in, 2 * i + 2, 2 * weight),
                                         every_other<C, true, Bytes>(in, 2 * i + 2, 3 * weight)));
    all.v = restore_order<Bytes>(all.v);
    if constexpr (C::two_planes) all.w = restore_order<Bytes>(all.w);
    store_accumulator<C, V>(out, i, all);
}

template <class C, int K>
void reduce_stride_2(Planes to, Planes from, int64_t n, int64_t weight) {
    using T = typename C::T;
    const Target<C> out = target<C>(to);
    const Source<C> in = source<C>(from);
    constexpr int wide = kVectorBytes / sizeof(T), narrow = 16 / sizeof(T);
    int64_t i = 0;
    for (; i + wide <= n; i += wide) stride_2_at<C, K, kVectorBytes>(out, in, i, weight);
    // The last vector overlaps.
    if (i < n && n >= wide) return stride_2_at<C, K, kVectorBytes>(out, in, n - wide, weight);
    for (; i + narrow <= n; i += narrow) stride_2_at<C, K, 16>(out, in, i, weight);
    if (i < n && n >= narrow) return stride_2_at<C, K, 16>(out, in, n - narrow, weight);
    Source<C> rows[K];
    for (; i < n; ++i) {
        for (int t = 0; t < K; ++t) rows[t] = ahead<C>(in, 2 * i + t);
        store_accumulator<C, T>(out, i, reduce_tree<C, T, K>(rows, 0, 0, weight));
    }
}
