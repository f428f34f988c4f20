// Max and min of small overlapping windows, with or without argmax.
//
// A ring buffer holds the last rows, each reduced along itself. The next row is reduced along itself, stored in the
// ring, combined with those before it and written, all in one loop: two passes would spend more time on advancing from
// row to row, a few vectors each, than on the rows.

// For longer rows, in bytes, the next rows of elements and results are prefetched, because the ring fills the L1 cache
// (max 3×3 s1 of 2048², two threads: 1.25 vs. 0.85 ms; over 64 lanes of 8×112×112 1.97 vs. 1.43; prefetching 512 bytes
// at a time instead of a vector: 1.6). For short rows the hardware prefetcher is better (rows of 5 KiB: 1.27 ms
// without, 1.51 with; 112 bytes of int8: 5.3 and 6.8).
constexpr int64_t kLongRow = 6144;

// A result whose window is clipped along the row.
template <class U>
struct ClippedResult {
    int64_t at;  // its index in the row
    U first;     // the argmax of its first real element along the row
    bool none;   // the window is empty
};

// The layout of the rows of elements and results, and the ring of the last rows.
template <class N>
struct LineBuffer {
    using T = typename N::T;
    using U = typename N::U;
    int64_t x_step, y_step;  // bytes from one row to the next
    bool streaming;          // results are written with streaming stores
    int64_t apart;           // elements slot_step the taps of a window along the row
    // The ring: the rows of a window are `slot_step` slots apart, and the next one is stored in `slot`.
    T* ring;
    U* ring_argmax;
    int64_t slot_size, slots, slot_step, slot;
    // If windows are clipped, rows are copied slot_step padding. Two copies alternate, because reading a row right
    // after it was written is slow. Max 3×3 s1 p1 of 16 planes of 112×112, clipped windows one by one: 235 µs; one
    // copy: 90 µs; two copies: 76 µs.
    T* padded_rows[2];       // null: elements are read in slot
    int64_t before, inside;  // the padding before a row and its size, in elements
    // A flat index is the sum of the contributions of the row of elements, of the window's position along the row and
    // of the tap. A window offset has no position, and the contribution of the window's own first row is subtracted.
    U row, row_step, tap, own, own_step;
    const U* along;
    const ClippedResult<U>* clipped;
    int64_t clipped_count, argmax_step;  // number of clipped results; elements from one row of argmax to the next
    ArgmaxStore<U> pending_argmax;
};

// Padding is reduced as the lowest value. If that is the result, all elements of the window have it, and the first one
// that is not padding wins.
template <class T, class U>
CENOTE_ONCE void fix_padding_argmax(const ClippedResult<U>* clipped, int64_t count, const char* y, U* argmax, U row,
                                    T none) {
    for (const ClippedResult<U>* c = clipped; c < clipped + count; ++c) {
        if (load<T>(reinterpret_cast<const T*>(y) + c->at) == none) argmax[c->at] = static_cast<U>(row + c->first);
        if (c->none) argmax[c->at] = static_cast<U>(~U{0});
    }
}

// `count` rows of n adjacent results, at least a vector: K elements of the row x, combined with the Rows - 1 rows
// before it in the ring. Nothing beyond the windows is read. Large: rows may be long, or results streamed; checking for
// that would slow down rows shorter than a cache line.
template <class N, int K, int Rows, bool Large>
CENOTE_ONCE void line_buffer_rows(N& given, LineBuffer<N>& state, const char* x, char* y, int64_t n, int64_t count) {
    using T = typename N::T;
    using U = typename N::U;
    using C = typename N::C;
    using V = typename Lane<T, kVectorBytes>::V;
    using W = typename Lane<U, kVectorBytes>::V;
    using Reg = typename N::template Reg<V>;
    constexpr int64_t size = sizeof(T), wide = Lane<T, kVectorBytes>::count;
    const N values = given;  // copies: stores cannot alias them
    const LineBuffer<N> buffer = state;
    typename N::Scan scan(given);
    const bool padded = buffer.padded_rows[0] != nullptr;
    const bool streaming = Large && buffer.streaming, is_long = Large && n * size >= kLongRow;
    const int64_t apart = buffer.apart * size, elements = n + (K - 1) * buffer.apart;
    const auto copy_padded = [&](int64_t row, const char* from) {
        copy_row(buffer.padded_rows[row % 2] + buffer.before, reinterpret_cast<const T*>(from), buffer.inside);
    };
    int64_t slot = buffer.slot;
    U from_row = buffer.row, own = buffer.own;
    ArgmaxStore<U> pending_argmax = buffer.pending_argmax;
    U* argmax = pending_argmax.rows;
    if (padded) copy_padded(0, x);
    for (int64_t r = 0; r < count; ++r, x += buffer.x_step, y += buffer.y_step) {
        const char* from = x;
        if (padded) {
            if (r + 1 < count) copy_padded(r + 1, x + buffer.x_step);
            from = reinterpret_cast<const char*>(buffer.padded_rows[r % 2]);
        }
        int64_t row_at[Rows];  // offsets in the ring of the rows of these windows
        for (int64_t t = Rows - 1, p = slot; t >= 0; --t, p -= buffer.slot_step) {
            if (p < 0) p += buffer.slots;
            row_at[t] = p * buffer.slot_size;
        }
        for (int64_t i = 0; i < n; i += wide) {
            const int64_t at = i < n - wide ? i : n - wide;  // the last vector overlaps
            if (is_long) {
                __builtin_prefetch(x + buffer.x_step + at * size);
                if (!streaming) __builtin_prefetch(y + buffer.y_step + at * size, 1);
            }
            V element[K];
            Reg all;
            each<K>(K, [&](int64_t t) CENOTE_INLINE {
                element[t] = load<V>(from + at * size + t * apart);
                const Reg next = values.from_value(element[t]);
                all = t ? C::combine(all, next) : next;
            });
            scan.visit(element[0]);
            // The overlapping last vector has its own slot: loads that straddle two stores are slow.
            store(buffer.ring + row_at[Rows - 1] + i, all.v);
            // The first element with the bits of the result is the argmax: also for zeros and NaN.
            const auto prefer = [](V a, V result, W its, W others)
                                    CENOTE_INLINE { return (W)a == (W)result ? its : others; };
            W selected;
            if constexpr (N::with_argmax) {
                selected = splat<W>(static_cast<U>(from_row + (K - 1) * buffer.tap));
                each<K - 1>(K - 1, [&](int64_t t) CENOTE_INLINE {
                    const U element_at = static_cast<U>(from_row + static_cast<U>(K - 2 - t) * buffer.tap);
                    selected = prefer(element[K - 2 - t], all.v, splat<W>(element_at), selected);
                });
                store(buffer.ring_argmax + row_at[Rows - 1] + i, selected);
            }
            V row[Rows];
            each<Rows>(Rows, [&](int64_t t) CENOTE_INLINE {
                row[t] = t < Rows - 1 ? load<V>(buffer.ring + row_at[t] + i) : all.v;
            });
            if constexpr (Rows == 2) all = C::combine(values.from_row(row[0]), all);
            if constexpr (Rows == 3)
                all = C::combine(C::combine(values.from_row(row[0]), values.from_row(row[1])), all);
            store_or_stream(y + at * size, values.result(all), streaming);
            if constexpr (N::with_argmax) {
                if constexpr (Rows > 1)
                    each<Rows - 1>(Rows - 1, [&](int64_t t) CENOTE_INLINE {
                        const int64_t u = Rows - 2 - t;
                        selected = prefer(row[u], all.v, load<W>(buffer.ring_argmax + row_at[u] + i), selected);
                    });
                selected = selected + (load<W>(buffer.along + at) - own);
                if constexpr (N::omit)  // all elements are omitted NaN
                    selected = all.v == all.v ? selected : splat<W>(static_cast<U>(~U{0}));
                store(argmax + at, selected);
                if (pending_argmax.lines) pending_argmax.flush_some(r * n);
            }
        }
        for (int64_t i = n; i < elements; i += wide)
            scan.visit(load<V>(from + min(i, elements - wide) * size));  // elements that only the last windows cover
        if constexpr (N::with_argmax) {
            const U top =
                static_cast<U>(from_row - own - static_cast<U>((Rows - 1) * buffer.slot_step) * buffer.row_step);
            if (buffer.clipped_count)
                fix_padding_argmax<T, U>(buffer.clipped, buffer.clipped_count, y, argmax, top, N::padding());
        }
        if (++slot == buffer.slots) slot = 0;
        from_row = static_cast<U>(from_row + buffer.row_step);
        own = static_cast<U>(own + buffer.own_step);
        argmax += buffer.argmax_step;
    }
    state.slot = slot;
    state.pending_argmax.line = pending_argmax.line;
    scan.save(given);
}

template <class N>
void line_buffer_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename N::T;
    using U = typename N::U;
    using Rows = void (*)(N&, LineBuffer<N>&, const char*, char*, int64_t, int64_t);
    static constexpr Rows kernels[][2][kBufferTaps] = {
        {{&line_buffer_rows<N, 2, 1, false>, &line_buffer_rows<N, 2, 2, false>, &line_buffer_rows<N, 2, 3, false>},
         {&line_buffer_rows<N, 2, 1, true>, &line_buffer_rows<N, 2, 2, true>, &line_buffer_rows<N, 2, 3, true>}},
        {{&line_buffer_rows<N, 3, 1, false>, &line_buffer_rows<N, 3, 2, false>, &line_buffer_rows<N, 3, 3, false>},
         {&line_buffer_rows<N, 3, 1, true>, &line_buffer_rows<N, 3, 2, true>, &line_buffer_rows<N, 3, 3, true>}}};
    constexpr int64_t size = sizeof(T), wide = Lane<T, kVectorBytes>::count;
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const Axis up = last ? job.axis[0] : Axis{1, 1, 1, 1, 1, 0, 0, nullptr, nullptr, 0, 0, 0};
    const int64_t j0 = b.j0[last], up_j0 = last ? b.j0[0] : 0, rows = last ? b.count[0] : 1;
    const int64_t x_stride = last ? job.x_stride[0] : 0;
    const int64_t unit = b.lanes, n = b.count[last] * unit, y_stride = last ? job.y_stride[0] : n;
    const Span interior = interior_windows(a, j0, b.count[last]), interior_rows = interior_windows(up, up_j0, rows);
    const bool is_clipped = interior.begin > 0 || interior.end < b.count[last];
    N values(job);
    LineBuffer<N> buffer{};
    buffer.apart = a.d * unit;
    buffer.y_step = y_stride * size;
    // Streamed unless results are read again (fix_padding_argmax) or indices, twice as many bytes, are streamed.
    buffer.streaming = job.streaming && !(N::with_argmax && (is_clipped || job.argmax_format == ArgmaxFormat::index)) &&
                       n % wide == 0 && vector_aligned(job.y + b.y * size, buffer.y_step);
    const Rows* kernel = kernels[a.k - 2][buffer.streaming || n * size >= kLongRow];
    buffer.slot_size = n + wide;
    const int64_t first = max(window_start(a, j0), 0), slots = (up.k - 1) * up.d + 1;
    buffer.ring = take<T>(arena, slots * buffer.slot_size);
    if (is_clipped) {
        const int64_t length = n + (a.k - 1) * buffer.apart;
        buffer.before = min(max(-window_start(a, j0), 0) * unit, length);
        buffer.inside = max(0, min((a.n - first) * unit, length - buffer.before));
        for (T*& line : buffer.padded_rows) {
            line = take<T>(arena, length);
            for (int64_t i = 0; i < length; ++i) line[i] = values.padding();
        }
    }
    char* discarded = reinterpret_cast<char*>(take<T>(arena, n));
    int64_t most_rows = rows;
    const bool flat = job.argmax_format == ArgmaxFormat::index;
    if constexpr (N::with_argmax) {
        most_rows = max(kArgmaxRows / n, 1);
        buffer.ring_argmax = take<U>(arena, slots * buffer.slot_size);
        buffer.pending_argmax = {take<U>(arena, min(most_rows, rows) * n), indices_stream(job), nullptr, 0, 0};
        buffer.tap = static_cast<U>(flat ? a.d * job.plane[last] : job.weight[last]);
        buffer.argmax_step = n;
        buffer.own_step = flat ? U{0} : static_cast<U>(job.weight[0]);
        U* along = take<U>(arena, n);
        ClippedResult<U>* clipped = take<ClippedResult<U>>(arena, n);
        for (int64_t j = 0, e = 0; j < b.count[last]; ++j) {
            const U here = static_cast<U>(flat ? window_start(a, j0 + j) * job.plane[last] : 0);
            const Span taps = real_taps(a, j0 + j);
            for (int64_t lane = 0; lane < unit; ++lane, ++e) {
                along[e] = here;
                if (taps.end - taps.begin == a.k) continue;
                const U first_argmax = static_cast<U>(here + static_cast<U>(taps.begin) * buffer.tap);
                clipped[buffer.clipped_count++] = {e, first_argmax, taps.begin == taps.end};
            }
        }
        buffer.along = along;
        buffer.clipped = clipped;
    }
    for (int64_t i = 0, next; i < rows; i = next) {
        // Rows of windows that are not clipped vertically are processed together.
        const bool unclipped = i >= interior_rows.begin && i < interior_rows.end;
        next = unclipped ? min(interior_rows.end, i + most_rows) : i + 1;
        const Span taps = real_taps(up, up_j0 + i);
        const int64_t count = taps.end - taps.begin, top = window_start(up, up_j0 + i) + taps.begin * up.d;
        const int64_t at = b.y + i * y_stride;
        const char* x = b.x + top * x_stride;
        char* y = job.y + at * size;
        buffer.x_step = unclipped ? x_stride : up.d * x_stride;
        if constexpr (N::with_argmax) {
            buffer.own = static_cast<U>(static_cast<U>(i) * buffer.own_step);
            buffer.row = static_cast<U>(flat ? top * job.plane[0] : (i + taps.begin) * job.weight[0]);
            buffer.row_step = static_cast<U>(flat ? (unclipped ? 1 : up.d) * job.plane[0] : job.weight[0]);
            buffer.pending_argmax.begin_rows(job, at, n, y_stride);
        }
        if (count > 0) {
            x += first * job.x_stride[last];
            const int64_t slot_step = unclipped ? up.d : 1, before = (count - 1) * slot_step;
            if (!unclipped || i == interior_rows.begin) {  // otherwise the previous rows are in the ring already
                buffer.slot_step = slot_step;
                buffer.slots = before + 1;
                buffer.slot = 0;
                LineBuffer<N> warm_up = buffer;
                warm_up.y_step = warm_up.argmax_step = 0;
                warm_up.streaming = false;
                warm_up.pending_argmax.lines = nullptr;
                kernel[0](values, warm_up, x, discarded, n, before);
                buffer.slot = before;
            }
            buffer.row = static_cast<U>(buffer.row + static_cast<U>(before) * buffer.row_step);
            kernel[count - 1](values, buffer, x + before * buffer.x_step, y, n, next - i);
        } else {
            for (int64_t e = 0; e < n; ++e) {
                store(reinterpret_cast<T*>(y) + e, values.padding());
                if constexpr (N::with_argmax) buffer.pending_argmax.rows[e] = static_cast<U>(~U{0});
            }
        }
        if constexpr (N::with_argmax) buffer.pending_argmax.flush(job, at, n, next - i, y_stride);
    }
    if (buffer.pending_argmax.streaming || buffer.streaming) fence_stores();
    if (!values.ambiguous()) return;
    if constexpr (__is_same(N, HalfPrecisionKeys)) line_buffer_tile<HalfPrecisionValues>(job, task, arena);
}
