// Rows of modes: the keys of a window are sorted, and the first of the longest runs is the mode.

template <int N, class K, class F>
CENOTE_INLINE inline Keys<K> longest_run(int64_t n, F at) {
    Keys<K> before = at(0), found = before;
    using Count = decltype(before == before);  // lanes of 0 and -1
    Count run{}, longest{};                    // how many keys before this one are the same
    each<(N > 0 ? N - 1 : 0)>(n - 1, [&](int64_t t) CENOTE_INLINE {
        const Keys<K> key = at(t + 1);
        run = (run + 1) & (key == before);
        const Count longer = run > longest;
        found = longer ? key : found;
        longest = longer ? run : longest;
        before = key;
    });
    return found;
}

// The mode of N keys that are in registers.
template <class K, int N>
CENOTE_INLINE inline Keys<K> mode_of(Keys<K>* v) {
    if constexpr (N == 2) {
        return smaller(v[0], v[1]);
    } else {
        apply<Sort<N>>(v);
        if constexpr (N == 4)  // two pairs are a tie
            return v[0] == v[1] ? v[0] : v[1] == v[2] ? v[1] : v[2] == v[3] ? v[2] : v[0];
        else
            return longest_run<N, K>(N, [&](int64_t t) CENOTE_INLINE { return v[t]; });
    }
}

template <class K>
void mode_row(const char* const* taps, const Network& network, int64_t length, char* out) {
    for_chunks<K>(taps, network, length, [&](const Chunk<K>& chunk, int64_t at, int64_t bytes) {
        for (int64_t i = 0; i < bytes; i += kVectorBytes) {
            const Keys<K> found =
                longest_run<0, K>(network.n, [&](int64_t t) CENOTE_INLINE { return load<Keys<K>>(chunk.rows[t] + i); });
            __builtin_memcpy(out + at + i, &found, static_cast<size_t>(min(kVectorBytes, bytes - i)));
        }
    });
}

// Windows of one value are frequent in labels: a vector of them is not sorted.
template <class K, int Rows>
CENOTE_ONCE void vote_of_rows(const char* const* rows, K flip, int64_t length, char* out) {
    for_vectors<K>(length, [&](int64_t i) CENOTE_INLINE {
        Keys<K> v[Rows], differ{};
        load_each<Rows>(v, [&](int64_t t) CENOTE_INLINE { return key_at<K>(rows[t], i); });
        each<Rows>(Rows, [&](int64_t t) CENOTE_INLINE { differ |= v[t] ^ v[0]; });
        Keys<K> found = v[0];
        if (!all_zero(differ)) {
            each<Rows>(Rows, [&](int64_t t) CENOTE_INLINE { v[t] ^= flip; });
            found = mode_of<K, Rows>(v) ^ flip;
        }
        put_keys<K>(out, i, found);
    });
}

// The same for two neighbours of each row.
template <class K, int Rows>
CENOTE_ONCE void vote_of_pairs(const char* const* rows, K flip, int64_t length, char* out) {
    for_vectors<K>(length, [&](int64_t i) CENOTE_INLINE {
        Keys<K> a[Rows], b[Rows], differ{};
        load_each<Rows>(a, [&](int64_t t) CENOTE_INLINE { return key_at<K>(rows[t], 2 * i); });
        load_each<Rows>(b, [&](int64_t t) CENOTE_INLINE { return key_at<K>(rows[t], 2 * i + kKeys<K>); });
        Keys<K> v[2 * Rows];
        each<Rows>(Rows, [&](int64_t t) CENOTE_INLINE { differ |= (a[t] ^ a[0]) | (b[t] ^ b[0]); });
        v[0] = deinterleave<0, K, kVectorBytes>(a[0], b[0]);
        v[1] = deinterleave<1, K, kVectorBytes>(a[0], b[0]);
        Keys<K> found = v[0];
        if (!all_zero(differ | (v[0] ^ v[1]))) {
            each<Rows>(Rows, [&](int64_t t) CENOTE_INLINE {
                v[2 * t] = deinterleave<0, K, kVectorBytes>(a[t], b[t]) ^ flip;
                v[2 * t + 1] = deinterleave<1, K, kVectorBytes>(a[t], b[t]) ^ flip;
            });
            found = mode_of<K, 2 * Rows>(v) ^ flip;
        }
        put_keys<K>(out, i, restore_order<kVectorBytes>(found));
    });
}

template <class K>
void vote_row(const char* const* rows, int64_t count, bool pairs, uint64_t flip, int64_t length, char* out) {
    const auto key = static_cast<K>(flip);
    switch (count) {
        case 1: return vote_of_pairs<K, 1>(rows, key, length, out);
        case 2: return pairs ? vote_of_pairs<K, 2>(rows, key, length, out) : vote_of_rows<K, 2>(rows, key, length, out);
        case 4: return pairs ? vote_of_pairs<K, 4>(rows, key, length, out) : vote_of_rows<K, 4>(rows, key, length, out);
        default: return vote_of_rows<K, 8>(rows, key, length, out);
    }
}

template <class K>
void split_row(const char* from, int64_t length, char* even, char* odd) {
    constexpr auto width = static_cast<int64_t>(sizeof(K));
    int64_t i = 0;
    for (; i + kKeys<K> <= length; i += kKeys<K>) {
        const Keys<K> a = key_at<K>(from, 2 * i), b = key_at<K>(from, 2 * i + kKeys<K>);
        put_keys<K>(even, i, restore_order<kVectorBytes>(deinterleave<0, K, kVectorBytes>(a, b)));
        put_keys<K>(odd, i, restore_order<kVectorBytes>(deinterleave<1, K, kVectorBytes>(a, b)));
    }
    for (; i < length; ++i) {
        __builtin_memcpy(even + i * width, from + 2 * i * width, sizeof(K));
        __builtin_memcpy(odd + i * width, from + (2 * i + 1) * width, sizeof(K));
    }
}
