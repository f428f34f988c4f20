// Sums of large windows along a row in the L1 cache, in the order of the summation tree (log_step.inl). First the sums
// of a vector's worth of elements from each element on, in registers; all larger sums are then whole vectors apart.

constexpr int kSumLevels = 24;  // each level sums twice as many elements: windows have fewer than 2^24

// Addresses to prefetch while a row is summed: elements and results that come later.
struct Later {
    const char *elements, *results;
};

// The elements from number By on of a followed by b, as many as a vector has.
template <int By, class V, int... I>
CENOTE_INLINE inline V shifted(V a, V b, Seq<I...>) {
    return __builtin_shufflevector(a, b, (I + By)...);
}

// The sums of a vector's worth of elements and of `Low` elements, fewer than that, from each element on. `right` has
// those of the vector to the right: of M, 2M, … elements.
template <class C, int M, int Low, class Reg>
CENOTE_INLINE inline void doubling_step(Reg sum, Reg* right, Reg& whole, Reg& low) {
    using T = typename C::T;
    constexpr int wide = Lane<T, kVectorBytes>::count;
    if constexpr (M == wide) {
        whole = sum;
    } else {
        using All = typename MakeSeq<wide>::type;
        if constexpr ((Low & M) != 0) {
            constexpr int before = Low & ~(2 * M - 1);
            Reg part = sum;
            if constexpr (before > 0) part = C::from_value(shifted<before>(sum.v, right->v, All{}));
            low = (Low & (M - 1)) ? C::combine(part, low) : part;
        }
        const Reg twice = C::combine(sum, C::from_value(shifted<M>(sum.v, right->v, All{})));
        *right = sum;
        doubling_step<C, 2 * M, Low>(twice, right + 1, whole, low);
    }
}

// From right to left, because sums extend to the right. One vector beyond the last one is read.
template <class C, int Low>
CENOTE_ONCE void sum_vectors(const typename C::T* elements, typename C::T* sums, typename C::T* lows, int64_t vectors,
                             const char* later) {
    using V = typename Lane<typename C::T, kVectorBytes>::V;
    constexpr int wide = Lane<typename C::T, kVectorBytes>::count;
    RegOf<C, V> right[8], whole, low;
    const auto last = C::from_value(load<V>(elements + vectors * wide));
    each<8>(0, [&](int64_t l) CENOTE_INLINE { right[l] = last; });  // no sum that is used extends that far
    doubling_step<C, 1, Low>(last, right, whole, low);
    for (int64_t v = vectors - 1; v >= 0; --v) {
        __builtin_prefetch(later + v * kVectorBytes, 0, 2);
        doubling_step<C, 1, Low>(C::from_value(load<V>(elements + v * wide)), right, whole, low);
        store(sums + v * wide, whole.v);
        if constexpr (Low > 0) store(lows + v * wide, low.v);
    }
}

template <class C, int... Low>
inline void sum_vectors_of(int64_t low, const typename C::T* elements, typename C::T* sums, typename C::T* lows,
                           int64_t vectors, const char* later, Seq<Low...>) {
    using T = typename C::T;
    static constexpr void (*kernel[])(const T*, T*, T*, int64_t, const char*) = {&sum_vectors<C, Low>...};
    kernel[low](elements, sums, lows, vectors, later);
}

// Sums along a row: first those of m = b, 4b, 16b, … elements from each element on, where b is 1 or the size of a
// vector; then for each window the parts given by the base-4 digits of k / b.
template <class C>
struct SumAlongRow {
    using T = typename C::T;
    static constexpr int wide = Lane<T, kVectorBytes>::count;
    struct Part {
        const T* from;
        int64_t step;
        int count;  // consecutive sums, `step` apart
    };
    int64_t k, unit, n;  // k: the window size in units of b elements
    int64_t low = 0, vectors = 0;
    T* lows = nullptr;
    T* sums[kSumLevels];

    SumAlongRow(int64_t window, int64_t lanes, int64_t results, Arena* arena) : k(window), unit(lanes), n(results) {
        if (by_vectors() && lanes == 1 && k >= wide) {
            low = k % wide;
            k /= wide;
            unit = wide;
            vectors = ceil_div(n, wide) + k;
            sums[0] = take<T>(arena, vectors * wide);
            lows = take<T>(arena, vectors * wide);
        }
        int level = 1;
        for (int64_t m = 4; 2 * m <= k; m *= 4) sums[level++] = take<T>(arena, n + (k - m) * unit);
    }

    static constexpr bool by_vectors() { return Limits<T>::has_nan; }

    // How many elements beyond the end of a row are read.
    static constexpr int64_t overread() { return 2 * wide; }

    template <class L, int N, class F>
    CENOTE_INLINE void sum_parts(const Part* parts, int count, T* out, int64_t i, F finish) const {
        using Reg = RegOf<C, typename L::V>;
        Reg all[N];
        Part part = parts[0];
        const auto at = [&](int64_t t, int64_t v) CENOTE_INLINE {
            return C::from_value(load<typename L::V>(part.from + i + t * part.step + v * L::count));
        };
        const auto two = [&](int64_t t, int64_t v) CENOTE_INLINE { return C::combine(at(t, v), at(t + 1, v)); };
        const auto assign = [&](auto f) CENOTE_INLINE { each<N>(0, [&](int64_t v) CENOTE_INLINE { all[v] = f(v); }); };
        switch (part.count) {
            case 1: assign([&](int64_t v) CENOTE_INLINE { return at(0, v); }); break;
            case 2: assign([&](int64_t v) CENOTE_INLINE { return two(0, v); }); break;
            case 3: assign([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), at(2, v)); }); break;
            default: assign([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), two(2, v)); });
        }
        for (int p = 1; p < count; ++p) {
            part = parts[p];
            switch (part.count) {
                case 1: assign([&](int64_t v) CENOTE_INLINE { return C::combine(at(0, v), all[v]); }); break;
                case 2: assign([&](int64_t v) CENOTE_INLINE { return C::combine(two(0, v), all[v]); }); break;
                case 3:
                    assign([&](int64_t v)
                               CENOTE_INLINE { return C::combine(two(0, v), C::combine(at(2, v), all[v])); });
                    break;
                default:
                    assign([&](int64_t v)
                               CENOTE_INLINE { return C::combine(C::combine(two(0, v), two(2, v)), all[v]); });
            }
        }
        each<N>(0, [&](int64_t v) CENOTE_INLINE { store(out + i + v * L::count, finish(all[v].v)); });
    }

    // The windows of a row of elements: out = finish(total).
    template <class F>
    CENOTE_ONCE void row(const T* elements, T* out, const Later& later, F finish) const {
        using L = Lane<T, kVectorBytes>;
        constexpr int together = 4;
        constexpr int64_t size = sizeof(T);
        Part parts[2 * kSumLevels];
        int count = 0, level = 0;
        const T* from = elements;
        if constexpr (by_vectors()) {
            if (lows) {
                sum_vectors_of<C>(low, elements, sums[0], lows, vectors, later.elements,
                                  typename MakeSeq<wide>::type{});
                from = sums[0];
                if (low) parts[count++] = {lows + k * unit, 0, 1};
            }
        }
        for (int64_t m = 1;; m *= 4, ++level) {
            const int64_t rest = k / m;
            if (rest % 4) parts[count++] = {from + rest / 4 * 4 * m * unit, m * unit, static_cast<int>(rest % 4)};
            if (rest < 4) break;
            if (rest < 8) {
                parts[count++] = {from, m * unit, 4};
                break;
            }
            fourfold(sums[level + 1], from, m * unit, n + (k - 4 * m) * unit, later);
            from = sums[level + 1];
        }
        int64_t i = 0;
        for (; i + together * wide <= n; i += together * wide) {
            for (int64_t line = 0; line < together * kVectorBytes; line += 64)
                __builtin_prefetch(later.results + i * size + line, 1);
            sum_parts<L, together>(parts, count, out, i, finish);
        }
        for (; i + wide <= n; i += wide) sum_parts<L, 1>(parts, count, out, i, finish);
        if (n >= wide && i < n) return sum_parts<L, 1>(parts, count, out, n - wide, finish);
        for (; i < n; ++i) sum_parts<Lane<T, 0>, 1>(parts, count, out, i, finish);
    }

    CENOTE_ONCE static void fourfold(T* out, const T* from, int64_t step, int64_t n, const Later& later) {
        const char* elements = later.elements;
        for_lanes_overlapping<T>(n, [&](auto lane, int64_t i) {
            using V = typename decltype(lane)::V;
            const auto at = [&](int64_t t) { return C::from_value(load<V>(from + i + t * step)); };
            __builtin_prefetch(elements + i * static_cast<int64_t>(sizeof(T)));
            store(out + i, C::combine(C::combine(at(0), at(1)), C::combine(at(2), at(3))).v);
        });
    }
};
