// Tiles of max and min with argmax, by separable passes.

// Decodes a window offset into the distance, in the flat index, from the window's first element.
struct Taps {
    const PoolSchedule& job;
    int64_t* table;  // for small windows
    int64_t size;

    int64_t decode(int64_t offset) const {
        int64_t distance = 0;
        for (int q = 0; q < job.rank; ++q)
            distance += offset / job.weight[q] % job.axis[q].k * job.axis[q].d * job.plane[q];
        return distance;
    }
};

inline Taps tap_table(const PoolSchedule& job, Arena* arena) {
    int64_t elements = 1;
    for (int q = 0; q < job.rank; ++q) elements = elements > 4096 ? elements : elements * job.axis[q].k;
    Taps taps{job, nullptr, elements > 4096 ? 0 : elements};
    if (taps.size) {
        taps.table = take<int64_t>(arena, taps.size);
        for (int64_t i = 0; i < taps.size; ++i) taps.table[i] = taps.decode(i);
    }
    return taps;
}

// What the windows along one axis contribute to the argmax, and which of them are clipped; each window `unit` times.
struct WindowsAlong {
    int64_t* start;    // the flat index of tap 0
    int64_t* lead;     // the window offset of the first tap that is not padding
    int64_t* clipped;  // the windows with taps on padding
    bool* none;        // those with all taps on padding
    int64_t clipped_count;
};

inline WindowsAlong windows_along(const PoolSchedule& job, const PoolTile& b, int q, int64_t unit, Arena* arena) {
    const Axis& a = job.axis[q];
    const int64_t n = b.count[q] * unit;
    WindowsAlong along{take<int64_t>(arena, n), take<int64_t>(arena, n), take<int64_t>(arena, n), take<bool>(arena, n),
                       0};
    const Span whole = interior_windows(a, b.j0[q], b.count[q]);
    for (int64_t j = 0, i = 0; j < b.count[q]; ++j) {
        const bool clipped = j < whole.begin || j >= whole.end;
        const int64_t start = window_start(a, b.j0[q] + j) * job.plane[q];
        const Span real = clipped ? real_taps(a, b.j0[q] + j) : Span{0, 1};
        for (int64_t e = 0; e < unit; ++e, ++i) {
            along.start[i] = start;
            along.none[i] = real.begin == real.end;
            along.lead[i] = along.none[i] ? 0 : real.begin * job.weight[q];  // an empty window has no first tap
            if (clipped) along.clipped[along.clipped_count++] = i;
        }
    }
    return along;
}

// A row of argmax: window offsets w (null: all 0) or flat indices.
template <class O, class U>
inline void write_argmax(O* __restrict out, const U* __restrict w, int64_t n, int64_t base,
                         const int64_t* __restrict start, const Taps& taps) {
    if constexpr (sizeof(O) < 8) {
        for (int64_t i = 0; i < n; ++i) out[i] = w ? static_cast<O>(w[i]) : O{0};
    } else {
        const int64_t* table = taps.table;
        if (!w)
            for (int64_t i = 0; i < n; ++i) out[i] = base + (start ? start[i] : 0);
        else if (!table)
            for (int64_t i = 0; i < n; ++i)
                out[i] = base + (start ? start[i] : 0) + taps.decode(static_cast<int64_t>(w[i]));
        else if (start)
            for (int64_t i = 0; i < n; ++i) out[i] = base + start[i] + table[w[i]];
        else
            for (int64_t i = 0; i < n; ++i) out[i] = base + table[w[i]];
    }
}

// `absent` is the value of padding, unless that is NaN.
template <class T, class O>
CENOTE_ONCE void store_argmax(const PoolSchedule& job, const PoolTile& b, const View& totals, uint64_t key, T absent,
                              Arena* arena) {
    const T* values = reinterpret_cast<const T*>(totals.base.v);
    auto* offsets = reinterpret_cast<Unsigned<T>*>(totals.base.w);
    const int64_t* stride = totals.stride;
    using U = Unsigned<T>;
    const Taps taps = tap_table(job, arena);
    const ResultRows rows = result_rows(job, b, stride);
    const int depth = rows.depth;
    WindowsAlong* axes = take<WindowsAlong>(arena, job.rank);
    for (int q = 0; q < job.rank; ++q) axes[q] = windows_along(job, b, q, q < depth ? 1 : rows.unit, arena);
    const WindowsAlong* last = depth < job.rank ? &axes[depth] : nullptr;
    const O no_argmax = static_cast<O>(~O{0});
    T* converted = job.omit || key ? take<T>(arena, rows.n) : nullptr;
    for_result_rows(job, b, stride, [&](const int64_t* at, int64_t offset, int64_t y, int64_t n) {
        const T* v = values + offset;
        U* w = offsets ? offsets + offset : nullptr;
        O* out = static_cast<O*>(job.argmax) + y;
        char* to = job.y + y * size_of(job.out);
        if (key) flip_row(converted, v, n, key);
        if constexpr (Limits<T>::has_nan)
            if (job.omit) quiet_row(converted, key ? converted : v, n);
        store_row(job.out, to, converted ? converted : v, n);
        int64_t base = 0, lead = 0;
        bool clipped = false, none = false;
        for (int q = 0; q < depth; ++q) {
            base += axes[q].start[at[q]];
            lead += axes[q].lead[at[q]];
            clipped |= axes[q].lead[at[q]] > 0;
            none |= axes[q].none[at[q]];
        }
        if (none) {
            for (int64_t i = 0; i < n; ++i) out[i] = no_argmax;
            return;
        }
        // Padding was reduced as elements of the lowest value. If that is the result, all real elements have it, and
        // the first of them wins.
        const auto fix_tie = [&](int64_t i) {
            if (v[i] == absent) w[i] = static_cast<U>(lead + (last ? last->lead[i] : 0));
        };
        if (w && clipped)
            for (int64_t i = 0; i < n; ++i) fix_tie(i);
        else if (w && last)
            for (int64_t i = 0; i < last->clipped_count; ++i) fix_tie(last->clipped[i]);
        write_argmax<O, U>(out, w, n, base, last ? last->start : nullptr, taps);
        if (last)
            for (int64_t i = 0; i < last->clipped_count; ++i)
                if (last->none[last->clipped[i]]) out[last->clipped[i]] = no_argmax;
        if (job.omit)
            for (int64_t i = 0; i < n; ++i) out[i] = v[i] != v[i] ? no_argmax : out[i];
    });
}

// Max only: a minimum of floats is the maximum with the signs flipped, and integers use ordered keys anyway.
template <class C>
inline void argmax_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename C::T;
    const PoolTile b = locate(job, task);
    const uint64_t key = job.reduce == Reduce::min ? uint64_t{1} << (8 * sizeof(T) - 1) : job.key;
    const View in = job.direct && !key ? view_in_place<T>(job, b) : loaded_tile<T>(job, b, key, arena);
    const View totals = run_passes(row_kernels<C>, job, b, in, nullptr, arena);
    const auto argmax_format = [&]<class O>(O) { store_argmax<T, O>(job, b, totals, key, C::absent(), arena); };
    switch (job.argmax_format) {
        case ArgmaxFormat::offset8: return argmax_format(uint8_t{});
        case ArgmaxFormat::offset16: return argmax_format(uint16_t{});
        case ArgmaxFormat::offset32: return argmax_format(uint32_t{});
        case ArgmaxFormat::index: return argmax_format(int64_t{});
    }
}
