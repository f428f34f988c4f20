// Sorting networks on vectors of keys. Small ones are in registers, and are lists of comparators at compile time: the
// compiler drops those whose results are not used. Larger ones run comparator by comparator over chunks of rows.

template <class K>
using Keys = typename VecOf<K, kVectorBytes>::type;
template <class K>
constexpr int64_t kKeys = kVectorBytes / sizeof(K);

template <class V>
CENOTE_INLINE inline V smaller(V a, V b) {
    return a < b ? a : b;
}
template <class V>
CENOTE_INLINE inline V larger(V a, V b) {
    return a < b ? b : a;
}
template <class V>
CENOTE_INLINE inline void compare(V& a, V& b) {
    const V least = smaller(a, b);
    b = larger(a, b);
    a = least;
}
template <class V>
CENOTE_INLINE inline V middle(V a, V b, V c) {
    return larger(smaller(a, b), smaller(larger(a, b), c));
}

template <class V>
CENOTE_INLINE inline bool all_zero(V v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) == 0;
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) return _mm256_testz_si256((__m256i)v, (__m256i)v);
#endif
    const auto words = (typename VecOf<uint64_t, sizeof(V)>::type)v;
    uint64_t any = 0;
    for (int i = 0; i < static_cast<int>(sizeof(V) / 8); ++i) any |= words[i];
    return any == 0;
}

// Comparators on elements 0 … 31, and in which order these are afterwards.
struct Comparators {
    int size = 0;
    uint8_t a[200] = {}, b[200] = {};
    constexpr void add(int i, int j) {
        a[size] = static_cast<uint8_t>(i);
        b[size++] = static_cast<uint8_t>(j);
    }
};
struct Places {
    int size = 0;
    uint8_t at[32] = {};
    constexpr void add(int i) { at[size++] = static_cast<uint8_t>(i); }
};

// Batcher's merge exchange (Knuth 5.2.2, algorithm M) of any number of elements.
constexpr Comparators sort_of(int n) {
    Comparators list;
    int top = 1;
    while (2 * top < n) top *= 2;
    for (int p = top; p > 0; p /= 2) {
        for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int i = 0; i + d < n; ++i)
                if ((i & p) == r) list.add(i, i + d);
            if (q == p) break;
        }
    }
    return list;
}

// Batcher's odd-even merge of two sorted sequences of any length.
constexpr Places merge_of(const Places& left, const Places& right, Comparators& list) {
    if (left.size == 0) return right;
    if (right.size == 0) return left;
    Places out;
    if (left.size == 1 && right.size == 1) {
        list.add(left.at[0], right.at[0]);
        out.add(left.at[0]);
        out.add(right.at[0]);
        return out;
    }
    Places half[2][2];
    for (int i = 0; i < left.size; ++i) half[0][i % 2].add(left.at[i]);
    for (int i = 0; i < right.size; ++i) half[1][i % 2].add(right.at[i]);
    const Places odd = merge_of(half[0][0], half[1][0], list), even = merge_of(half[0][1], half[1][1], list);
    out.add(odd.at[0]);
    for (int i = 0; i < even.size; ++i) {
        if (i + 1 == odd.size) {
            out.add(even.at[i]);
            continue;
        }
        list.add(even.at[i], odd.at[i + 1]);
        out.add(even.at[i]);
        out.add(odd.at[i + 1]);
    }
    for (int i = even.size + 1; i < odd.size; ++i) out.add(odd.at[i]);
    return out;
}

template <int N>
struct Sort {
    static constexpr Comparators list = sort_of(N);
};

// Sorts elements 0 … N-1 and N … 2N-1 into one sequence: elements at[0], at[1], …
template <int N>
struct Merge {
    struct Both {
        Comparators list;
        Places places;
    };
    static constexpr Both make() {
        Both both;
        Places left, right;
        for (int i = 0; i < N; ++i) left.add(i);
        for (int i = 0; i < N; ++i) right.add(N + i);
        both.places = merge_of(left, right, both.list);
        return both;
    }
    static constexpr Both both = make();
    static constexpr Comparators list = both.list;
    static constexpr Places places = both.places;
};

template <class Of, class V, int... I>
CENOTE_INLINE inline void apply(V* v, Seq<I...>) {
    (compare(v[Of::list.a[I]], v[Of::list.b[I]]), ...);
}
template <class Of, class V>
CENOTE_INLINE inline void apply(V* v) {
    apply<Of>(v, typename MakeSeq<Of::list.size>::type{});
}

template <int N, class V, class F>
CENOTE_INLINE inline void load_each(V* v, F f) {
    each<N>(N, [&](int64_t t) CENOTE_INLINE { v[t] = f(t); });
}

// f(i) for vectors of `length` windows from i on, the last of which overlaps the one before it. There is at least one.
template <class K, class F>
CENOTE_INLINE inline void for_vectors(int64_t length, F f) {
    for (int64_t i = 0; i < length; i += kKeys<K>) f(min(i, length - kKeys<K>));
}

// Rows shorter than a vector, as rows of one.
template <class K>
struct ShortRows {
    alignas(64) K keys[kNetworkTaps][kKeys<K>];
    const char* taps[kNetworkTaps];
    CENOTE_ONCE ShortRows(const char* const* from, int64_t n, int64_t length) {
        for (int64_t t = 0; t < n; ++t) {
            __builtin_memset(keys[t], 0, sizeof(keys[t]));
            __builtin_memcpy(keys[t], from[t], static_cast<size_t>(length) * sizeof(K));
            taps[t] = reinterpret_cast<const char*>(keys[t]);
        }
    }
};

template <class K>
CENOTE_INLINE inline Keys<K> key_at(const char* row, int64_t i) {
    return load<Keys<K>>(row + i * static_cast<int64_t>(sizeof(K)));
}
template <class K>
CENOTE_INLINE inline void put_keys(char* row, int64_t i, Keys<K> keys) {
    store(row + i * static_cast<int64_t>(sizeof(K)), keys);
}

// -------------------------------------------------------------------------------------------- any number of elements

constexpr int64_t kChunkBytes = 256;

// The rows of a chunk, which comparators work on in place.
template <class K>
struct Chunk {
    alignas(64) char rows[kNetworkTaps][kChunkBytes];

    // Loads `length` elements from i on of each row, and runs the network.
    void run(const char* const* taps, const Network& network, int64_t i, int64_t length) {
        constexpr auto width = static_cast<int64_t>(sizeof(K));
        for (int64_t t = 0; t < network.n; ++t)
            __builtin_memcpy(rows[t], taps[t] + i * width, static_cast<size_t>(length * width));
        const int64_t bytes = (length * width + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
        for (const Comparator *c = network.step, *end = c + network.size; c < end; ++c) {
            char *a = rows[c->a], *b = rows[c->b];
            if (c->keeps_smaller && c->keeps_larger)
                for (int64_t at = 0; at < bytes; at += kVectorBytes) {
                    auto x = load<Keys<K>>(a + at), y = load<Keys<K>>(b + at);
                    compare(x, y);
                    store(a + at, x);
                    store(b + at, y);
                }
            else if (c->keeps_smaller)
                for (int64_t at = 0; at < bytes; at += kVectorBytes)
                    store(a + at, smaller(load<Keys<K>>(a + at), load<Keys<K>>(b + at)));
            else
                for (int64_t at = 0; at < bytes; at += kVectorBytes)
                    store(b + at, larger(load<Keys<K>>(a + at), load<Keys<K>>(b + at)));
        }
    }
};

template <class K, class F>
inline void for_chunks(const char* const* taps, const Network& network, int64_t length, F f) {
    constexpr int64_t most = kChunkBytes / static_cast<int64_t>(sizeof(K));
    Chunk<K> chunk;
    for (int64_t t = 0; t < network.n; ++t) __builtin_memset(chunk.rows[t], 0, kChunkBytes);
    for (int64_t i = 0; i < length; i += most) {
        const int64_t some = min(most, length - i);
        chunk.run(taps, network, i, some);
        f(chunk, i * static_cast<int64_t>(sizeof(K)), some * static_cast<int64_t>(sizeof(K)));
    }
}
