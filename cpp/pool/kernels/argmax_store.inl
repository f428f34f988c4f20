// Argmax of small windows on their way to memory: rows in lanes as wide as the values wait in the L1 cache and are then
// stored as window offsets in bytes or as flat indices.

constexpr int64_t kArgmaxRows = 2048;                 // argmax that wait in the cache, or one row if that is more
constexpr int64_t kStreamIndices = int64_t{8} << 20;  // bytes

// Window offsets as bytes.
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
CENOTE_ONCE void store_offsets(uint8_t* out, const U* pending_argmax, int64_t n) {
    for_lanes_overlapping<U>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        write_bytes<L>(out + i, load<typename L::V>(pending_argmax + i));
    });
}

// Whether there are so many flat indices that they should not go through the cache.
inline bool indices_stream(const PoolSchedule& job) {
    int64_t bytes = job.lanes * static_cast<int64_t>(sizeof(int64_t));
    for (int q = 0; q < job.rank; ++q) bytes *= job.axis[q].o;
    for (int i = 0; i < job.outer; ++i) bytes *= job.outer_size[i];
    return job.argmax_format == ArgmaxFormat::index && bytes >= kStreamIndices;
}

// A vector of indices. An empty window is ~0, which becomes -1.
template <class U>
CENOTE_INLINE inline auto some_indices(const U* pending_argmax) {
    using Words = typename VecOf<int64_t, kVectorBytes>::type;
    if constexpr (sizeof(U) == 8)
        return load<Words>(pending_argmax);
    else
        return widened<Words>(reinterpret_cast<const int32_t*>(pending_argmax));
}

constexpr int64_t kLine = 8;  // indices per cache line

template <class U>
CENOTE_INLINE inline void store_index_line(int64_t* out, const U* pending_argmax) {
    constexpr int some = Lane<int64_t, kVectorBytes>::count;
    each<kLine / some>(
        0, [&](int64_t k) CENOTE_INLINE { store_streaming(out + k * some, some_indices(pending_argmax + k * some)); });
}

template <class U>
CENOTE_ONCE void store_indices(int64_t* out, const U* pending_argmax, int64_t n, bool streaming) {
    constexpr int64_t some = Lane<int64_t, kVectorBytes>::count;
    const auto one = [&](int64_t i) {
        if constexpr (sizeof(U) == 8)
            out[i] = static_cast<int64_t>(pending_argmax[i]);
        else
            out[i] = static_cast<int32_t>(pending_argmax[i]);
    };
    int64_t i = 0;
    if (streaming) {
        for (; i < n && reinterpret_cast<uintptr_t>(out + i) % 64; ++i) one(i);
        for (; i + kLine <= n; i += kLine) store_index_line(out + i, pending_argmax + i);
    }
    for (; i + some <= n; i += some) store(out + i, some_indices(pending_argmax + i));
    for (; i < n; ++i) one(i);
}

// Rows of n argmax each that wait to be stored, the first one at index y of the results, `step` elements apart.
template <class U>
struct ArgmaxStore {
    U* rows;
    bool streaming;
    // Whole cache lines of indices are streamed while the next rows are computed: many streaming stores in sequence
    // stall (max 3×3 s1 of 26 MB, two threads: 4.5 vs. 3.9 ms).
    int64_t* lines;  // null if there are none
    int64_t head;    // argmax before the first line
    int64_t line;    // the next line to be stored

    void begin_rows(const PoolSchedule& job, int64_t y, int64_t n, int64_t step) {
        lines = nullptr;
        head = line = 0;
        if (!streaming || step != n) return;
        int64_t* out = static_cast<int64_t*>(job.argmax) + y;
        head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(out) / 8) & (kLine - 1);
        lines = out + head;
    }
    // `ready` argmax have been computed.
    CENOTE_INLINE void flush_some(int64_t ready) {
        if (head + (line + 1) * kLine > ready) return;
        store_index_line(lines + line * kLine, rows + head + line * kLine);
        ++line;
    }
    void flush(const PoolSchedule& job, int64_t y, int64_t n, int64_t count, int64_t step) const {
        const U* pending_argmax = rows;
        if (step == n) {
            n *= count;
            count = 1;
        }
        for (int64_t r = 0; r < count; ++r, y += step, pending_argmax += n) {
            int64_t* out = static_cast<int64_t*>(job.argmax) + y;
            if (job.argmax_format != ArgmaxFormat::index) {
                store_offsets(static_cast<uint8_t*>(job.argmax) + y, pending_argmax, n);
            } else if (line > 0) {
                const int64_t done = head + line * kLine;
                store_indices(out, pending_argmax, head, false);
                store_indices(out + done, pending_argmax + done, n - done, streaming);
            } else {
                store_indices(out, pending_argmax, n, streaming);
            }
        }
    }
};
