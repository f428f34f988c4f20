// Row kernels of large overlapping windows, and of transposes.

// Log-step: out[i] = part 0 ∘ … ∘ part N-1, combined pairwise. May be in place, because i only grows.
template <class C, int N>
void reduce_parts(Planes to, Planes in, const Parts& parts, int64_t n) {
    const Target<C> out = target<C>(to);
    const Source<C> from = source<C>(in);
    Source<C> part[N];
    int64_t tap[N];
    for (int t = 0; t < N; ++t) {
        part[t] = ahead<C>(from, parts.first[t] * parts.apart);
        tap[t] = parts.first[t] * parts.weight;
    }
    for_lanes<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const auto at = [&](int t) { return C::tap(load_accumulator<C, V>(part[t], i), tap[t]); };
        auto all = C::combine(at(0), at(1));
        if constexpr (N == 3) all = C::combine(all, at(2));
        if constexpr (N == 4) all = C::combine(all, C::combine(at(2), at(3)));
        store_accumulator<C, V>(out, i, all);
    });
}

// out[i] = N consecutive parts, `step` elements apart, ∘ rest[i] if More: the part of the summation tree that one
// base-4 digit of k contributes; N = 4 is the next digit if that is 1.
template <class C, int N, bool More>
void reduce_digit(Planes to, Planes in, int64_t step, Planes more, int64_t n) {
    const Target<C> out = target<C>(to);
    const Source<C> from = source<C>(in), rest = source<C>(more);
    for_lanes<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const auto at = [&](int64_t t) { return load_accumulator<C, V>(from, i + t * step); };
        const auto with_rest = [&](auto part) {
            if constexpr (More) return C::combine(part, load_accumulator<C, V>(rest, i));
            return part;
        };
        if constexpr (N == 1) store_accumulator<C, V>(out, i, with_rest(at(0)));
        if constexpr (N == 2) store_accumulator<C, V>(out, i, with_rest(C::combine(at(0), at(1))));
        if constexpr (N == 3) store_accumulator<C, V>(out, i, C::combine(C::combine(at(0), at(1)), with_rest(at(2))));
        if constexpr (N == 4)
            store_accumulator<C, V>(out, i, with_rest(C::combine(C::combine(at(0), at(1)), C::combine(at(2), at(3)))));
    });
}

// to[2i] = even[i], to[2i + 1] = odd[i]
template <class T>
void interleave_rows(char* out, const char* first, const char* second, int64_t n) {
    T* to = reinterpret_cast<T*>(out);
    const T *even = reinterpret_cast<const T*>(first), *odd = reinterpret_cast<const T*>(second);
    using V = typename Lane<T, kVectorBytes>::V;
    constexpr int wide = Lane<T, kVectorBytes>::count;
    int64_t i = 0;
    for (; i + wide <= n; i += wide) {
        V low, high;
        interleave(load<V>(even + i), load<V>(odd + i), low, high, typename MakeSeq<wide>::type{});
        store(to + 2 * i, low);
        store(to + 2 * i + wide, high);
    }
    for (; i < n; ++i) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}
