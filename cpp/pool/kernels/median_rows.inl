// Rows of medians.

template <class K, int N>
CENOTE_ONCE void small_median(const char* const* taps, int64_t length, char* low, char* high) {
    for_vectors<K>(length, [&](int64_t i) CENOTE_INLINE {
        Keys<K> v[N];
        load_each<N>(v, [&](int64_t t) CENOTE_INLINE { return key_at<K>(taps[t], i); });
        apply<Sort<N>>(v);
        put_keys<K>(low, i, v[(N - 1) / 2]);
        if constexpr (N % 2 == 0) put_keys<K>(high, i, v[N / 2]);
    });
}

template <class K>
bool median_in_registers(const char* const* taps, int64_t n, int64_t length, char* low, char* high) {
    switch (n) {
        case 2: return small_median<K, 2>(taps, length, low, high), true;
        case 3: return small_median<K, 3>(taps, length, low, high), true;
        case 4: return small_median<K, 4>(taps, length, low, high), true;
        case 5: return small_median<K, 5>(taps, length, low, high), true;
        case 6: return small_median<K, 6>(taps, length, low, high), true;
        case 7: return small_median<K, 7>(taps, length, low, high), true;
        case 8: return small_median<K, 8>(taps, length, low, high), true;
        case 9: return small_median<K, 9>(taps, length, low, high), true;
        default: return false;
    }
}

template <class K>
void median_row(const char* const* taps, const Network& network, int64_t length, char* low, char* high) {
    if (length < kKeys<K>) {
        const ShortRows<K> rows(taps, network.n, length);
        alignas(64) K found[2][kKeys<K>];
        median_row<K>(rows.taps, network, kKeys<K>, reinterpret_cast<char*>(found[0]),
                      reinterpret_cast<char*>(found[1]));
        __builtin_memcpy(low, found[0], static_cast<size_t>(length) * sizeof(K));
        if (network.n % 2 == 0) __builtin_memcpy(high, found[1], static_cast<size_t>(length) * sizeof(K));
        return;
    }
    if (median_in_registers<K>(taps, network.n, length, low, high)) return;
    const int64_t lower = (network.n - 1) / 2, upper = network.n / 2;
    for_chunks<K>(taps, network, length, [&](const Chunk<K>& chunk, int64_t at, int64_t bytes) {
        __builtin_memcpy(low + at, chunk.rows[lower], static_cast<size_t>(bytes));
        if (upper != lower) __builtin_memcpy(high + at, chunk.rows[upper], static_cast<size_t>(bytes));
    });
}

// Windows that are neighbours share columns: each column is sorted once.
constexpr int64_t kSharedBytes = 1024;

template <class K>
struct SharedRow {
    // Room for what windows reach to the right of a chunk, and for a vector that is not full.
    static constexpr int64_t room = 2 * kSharedBytes + 2 * kVectorBytes;
    alignas(64) char row[15][room];

    CENOTE_ONCE void sort3(const char* const* rows, int64_t i, int64_t columns) {
        for (int64_t c = 0; c < columns; c += kKeys<K>) {
            const int64_t from = min(c, columns - kKeys<K>);
            Keys<K> v[3];
            load_each<3>(v, [&](int64_t t) CENOTE_INLINE { return key_at<K>(rows[t], i + from); });
            apply<Sort<3>>(v);
            each<3>(3, [&](int64_t t) CENOTE_INLINE { put_keys<K>(row[t], from, v[t]); });
        }
    }
    CENOTE_ONCE void sort5(const char* const* rows, int64_t i, int64_t columns) {
        for (int64_t c = 0; c < columns; c += kKeys<K>) {
            const int64_t from = min(c, columns - kKeys<K>);
            Keys<K> v[5];
            load_each<5>(v, [&](int64_t t) CENOTE_INLINE { return key_at<K>(rows[t], i + from); });
            apply<Sort<5>>(v);
            each<5>(5, [&](int64_t t) CENOTE_INLINE { put_keys<K>(row[t], from, v[t]); });
        }
    }
    // Two columns each, sorted, in rows 5 … 14.
    CENOTE_ONCE void merge5(int64_t step, int64_t columns) {
        for (int64_t c = 0; c < columns; c += kKeys<K>) {
            const int64_t from = min(c, columns - kKeys<K>);
            Keys<K> v[10];
            load_each<10>(v, [&](int64_t t) CENOTE_INLINE { return key_at<K>(row[t % 5], from + (t < 5 ? 0 : step)); });
            apply<Merge<5>>(v);
            each<10>(10, [&](int64_t t) CENOTE_INLINE { put_keys<K>(row[5 + t], from, v[Merge<5>::places.at[t]]); });
        }
    }
    CENOTE_ONCE void median3(int64_t step, int64_t columns, char* out) {
        for_vectors<K>(columns, [&](int64_t i) CENOTE_INLINE {
            const auto at = [&](int t, int64_t s) CENOTE_INLINE { return key_at<K>(row[t], i + s * step); };
            const Keys<K> low = larger(larger(at(0, 0), at(0, 1)), at(0, 2));
            const Keys<K> high = smaller(smaller(at(2, 0), at(2, 1)), at(2, 2));
            put_keys<K>(out, i, middle(low, middle(at(1, 0), at(1, 1), at(1, 2)), high));
        });
    }
    // Of 20 elements, two pairs of columns, those that may be the median with the fifth column: elements 7 … 12.
    CENOTE_ONCE void median5(int64_t step, int64_t columns, char* out) {
        for_vectors<K>(columns, [&](int64_t i) CENOTE_INLINE {
            Keys<K> v[20];
            load_each<20>(
                v, [&](int64_t t) CENOTE_INLINE { return key_at<K>(row[5 + t % 10], i + (t < 10 ? 0 : 2 * step)); });
            apply<Merge<10>>(v);
            constexpr Places places = Merge<10>::places;
            Keys<K> found = v[places.at[12]];
            each<5>(5, [&](int64_t t) CENOTE_INLINE {
                found = smaller(found, larger(v[places.at[11 - t]], key_at<K>(row[t], i + 4 * step)));
            });
            put_keys<K>(out, i, found);
        });
    }
};

template <class K>
void shared_row(const char* const* rows, int64_t k, int64_t step, int64_t length, char* low) {
    constexpr auto width = static_cast<int64_t>(sizeof(K));
    constexpr int64_t most = kSharedBytes / width;
    SharedRow<K> shared;
    for (int64_t i = 0; i < length; i += most) {
        // The last chunk overlaps the one before it, if there is one: it has at least a vector.
        const int64_t from = length - i < kKeys<K> && length >= kKeys<K> ? length - kKeys<K> : i;
        const int64_t some = min(most, length - from), columns = some + (k - 1) * step;
        if (k == 3) {
            shared.sort3(rows, from, columns);
            shared.median3(step, some, low + from * width);
        } else {
            shared.sort5(rows, from, columns);
            shared.merge5(step, columns - step);
            shared.median5(step, some, low + from * width);
        }
    }
}
