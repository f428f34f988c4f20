// Winners of small windows on their way out: rows of lanes as wide as the values, in the nearest cache, become numbers
// in the window, as bytes, or flat indices.

constexpr int64_t kTold = 2048;                   // winners that wait there, if one row has not more
constexpr int64_t kPastCache = int64_t{8} << 20;  // bytes

// Numbers in the window, as bytes.
template <class L, class W>
CENOTE_INLINE inline void write_bytes(uint8_t* p, W w) {
    if constexpr (L::count == 1) {
        *p = static_cast<uint8_t>(w);
    } else if constexpr (sizeof(typename L::Element) == 4 && sizeof(W) == 32) {
        using Bytes = typename VecOf<uint8_t, 32>::type;
        const Bytes all = (Bytes)w,
                    low = __builtin_shufflevector(all, all, 0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 20, 24,
                                                  28, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);
        const W together = __builtin_shufflevector((W)low, (W)low, 0, 4, 0, 0, 0, 0, 0, 0);
        __builtin_memcpy(p, &together, 8);
    } else {
        for (int k = 0; k < L::count; ++k) p[k] = static_cast<uint8_t>(w[k]);
    }
}

template <class U>
CENOTE_ONCE void tell_numbers(uint8_t* out, const U* told, int64_t n) {
    for_lanes_apart<U>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        write_bytes<L>(out + i, load<typename L::V>(told + i));
    });
}

// Whether flat indices are so many that none of them is in the cache when it is read.
inline bool indices_go_past(const Job& job) {
    int64_t bytes = job.lanes * static_cast<int64_t>(sizeof(int64_t));
    for (int q = 0; q < job.rank; ++q) bytes *= job.axis[q].o;
    for (int i = 0; i < job.outer; ++i) bytes *= job.outer_size[i];
    return job.report == Report::index && bytes >= kPastCache;
}

// A vector of indices. No winner is ~0, of which -1 is made.
template <class U>
CENOTE_INLINE inline auto some_indices(const U* told) {
    using Words = typename VecOf<int64_t, kVectorBytes>::type;
    if constexpr (sizeof(U) == 8)
        return load<Words>(told);
    else
        return widened<Words>(reinterpret_cast<const int32_t*>(told));
}

constexpr int64_t kLine = 8;  // indices in a line of the cache

template <class U>
CENOTE_INLINE inline void tell_line(int64_t* out, const U* told) {
    constexpr int some = Lane<int64_t, kVectorBytes>::count;
    each<kLine / some>(0, [&](int64_t k) CENOTE_INLINE { store_past(out + k * some, some_indices(told + k * some)); });
}

template <class U>
CENOTE_ONCE void tell_indices(int64_t* out, const U* told, int64_t n, bool past) {
    constexpr int64_t some = Lane<int64_t, kVectorBytes>::count;
    const auto one = [&](int64_t i) {
        if constexpr (sizeof(U) == 8)
            out[i] = static_cast<int64_t>(told[i]);
        else
            out[i] = static_cast<int32_t>(told[i]);
    };
    int64_t i = 0;
    if (past) {
        for (; i < n && reinterpret_cast<uintptr_t>(out + i) % 64; ++i) one(i);
        for (; i + kLine <= n; i += kLine) tell_line(out + i, told + i);
    }
    for (; i + some <= n; i += some) store(out + i, some_indices(told + i));
    for (; i < n; ++i) one(i);
}

// Rows of n winners each that wait to be told, the first one at element y of the results, `step` elements apart.
template <class U>
struct Told {
    U* rows;
    bool past;
    // Whole lines of indices that go past the cache are told while the next rows are made: many such stores in a row
    // are waited for (max 3×3 s1 of 26 MB, two threads: 4.5 ms, and 3.9 so).
    int64_t* lines;  // null if there are none
    int64_t head;    // winners before the first line
    int64_t line;    // the next one

    void expect(const Job& job, int64_t y, int64_t n, int64_t step) {
        lines = nullptr;
        head = line = 0;
        if (!past || step != n) return;
        int64_t* out = static_cast<int64_t*>(job.winners) + y;
        head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(out) / 8) & (kLine - 1);
        lines = out + head;
    }
    // `ready` winners are there.
    CENOTE_INLINE void tell_some(int64_t ready) {
        if (head + (line + 1) * kLine > ready) return;
        tell_line(lines + line * kLine, rows + head + line * kLine);
        ++line;
    }
    void tell(const Job& job, int64_t y, int64_t n, int64_t count, int64_t step) const {
        const U* told = rows;
        if (step == n) {
            n *= count;
            count = 1;
        }
        for (int64_t r = 0; r < count; ++r, y += step, told += n) {
            int64_t* out = static_cast<int64_t*>(job.winners) + y;
            if (job.report != Report::index) {
                tell_numbers(static_cast<uint8_t*>(job.winners) + y, told, n);
            } else if (line > 0) {
                const int64_t done = head + line * kLine;
                tell_indices(out, told, head, false);
                tell_indices(out + done, told + done, n - done, past);
            } else {
                tell_indices(out, told, n, past);
            }
        }
    }
};
