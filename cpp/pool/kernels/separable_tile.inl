// One tile of a separable reduction: load its elements, run the passes, store the results.

#include "pool/tile_rows.inl"

// Loads the elements of a tile into a dense array of the work dtype.
template <class T>
CENOTE_ONCE void load_tile(const PoolSchedule& job, const PoolTile& b, T* out) {
    int64_t done = 0;
    if (!job.physical_padding) {
        const InputRows rows = input_rows(job, b);
        return for_input_rows(job, b, rows, [&](const char* row) {
            in_parts(rows.n, done, [&](int64_t from, int64_t n) {
                load_row(job.in, out + from, row + from * rows.stride, rows.stride, n, job.swap);
            });
            out += rows.n;
        });
    }
    const bool lanes = rows_are_lanes(job);
    const int last = job.rank - 1;
    for_rows(row_depth(job), b.elements, [&](const int64_t* at) {
        const char* from = b.x;
        bool real = true;
        for (int q = 0; q < row_depth(job); ++q) {
            const int64_t element = b.c0[q] + at[q] - job.pad_low[q];
            real &= element >= 0 && element < job.real_n[q];
            from += element * job.x_stride[q];
        }
        int64_t n = lanes ? b.lanes : b.elements[last];
        count_done(done, n);
        const T pad = static_cast<T>(job.pad_value);
        if (lanes || !real) {
            if (real)
                load_row(job.in, out, from, job.lane_stride, n, job.swap);
            else
                for (int64_t i = 0; i < n; ++i) out[i] = pad;
            out += n;
            return;
        }
        const int64_t first = b.c0[last] - job.pad_low[last];  // the index of out[0]; negative in the padding
        const int64_t begin = min(n, max(0, -first)), end = max(begin, min(n, job.real_n[last] - first));
        for (int64_t i = 0; i < begin; ++i) out[i] = pad;
        const int64_t stride = job.x_stride[last];
        in_parts(end - begin, done, [&](int64_t part, int64_t count) {
            load_row(job.in, out + begin + part, from + (first + begin + part) * stride, stride, count, job.swap);
        });
        for (int64_t i = end; i < n; ++i) out[i] = pad;
        out += n;
    });
}

template <class T>
inline int64_t tile_elements(const PoolSchedule& job, const PoolTile& b) {
    int64_t n = b.lanes;
    for (int q = 0; q < job.rank; ++q) n *= b.elements[q];
    return n;
}

// The elements of a tile in place: x has the work dtype.
template <class T>
inline View view_in_place(const PoolSchedule& job, const PoolTile& b) {
    View view;
    const char* from = b.x;
    for (int q = 0; q < job.rank; ++q) {
        from += b.c0[q] * job.x_stride[q];
        view.stride[q] = job.x_stride[q] / static_cast<int64_t>(sizeof(T));
    }
    view.base = {const_cast<char*>(from), nullptr};
    return view;
}

// Converts elements to ordered keys and back (Operation::key).
template <class T>
CENOTE_ONCE void flip_row(T* to, const T* from, int64_t n, uint64_t key) {
    using U = Unsigned<T>;
    for_lanes<U>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        store(to + i, V(load<V>(from + i) ^ splat<V>(static_cast<U>(key))));
    });
}

template <class T>
CENOTE_ONCE View loaded_tile(const PoolSchedule& job, const PoolTile& b, uint64_t key, Arena* arena) {
    View view;
    const int64_t size = contiguous_strides(job.rank, b.elements, b.lanes, view.stride);
    T* out = take<T>(arena, size);
    view.base = {bytes(out), nullptr};
    load_tile(job, b, out);
    if (job.prologue == Prologue::absolute) in_parts(size, [&](int64_t from, int64_t n) { absolute(out + from, n); });
    if (key) in_parts(size, [&](int64_t from, int64_t n) { flip_row(out + from, out + from, n, key); });
    return view;
}

// y itself, if it has the work dtype.
template <class T>
inline View result_view(const PoolSchedule& job, const PoolTile& b) {
    View view;
    for (int q = 0; q < job.rank; ++q) view.stride[q] = job.y_stride[q];
    view.base = {job.y + b.y * static_cast<int64_t>(sizeof(T)), nullptr};
    return view;
}

// ------------------------------------------------------------------------------------------------ max and min

inline bool has_pass(const PoolSchedule& job) {
    for (int q = 0; q < job.rank; ++q)
        if (!is_identity(job.axis[q])) return true;
    return false;
}

// Combining whole rows is faster than combining elements along a row: a pass across rows comes first if it leaves at
// most half of the elements.
inline bool reduces_rows_first(const PoolSchedule& job) {
    int q = 0;
    while (q < job.rank - 1 && is_identity(job.axis[q])) ++q;  // joined planes
    return q < job.rank - 1 && job.axis[q].o * 2 <= job.axis[q].n;
}

// A mask that accumulates the lanes in which something was totals.
template <class T>
using Found = typename Rebind<typename Lane<T, kVectorBytes>::V, Unsigned<T>>::type;

template <class W>
inline bool any(W found) {
    bool all = false;
    for (unsigned k = 0; k < sizeof(W) / sizeof(found[0]); ++k) all |= found[k] != 0;
    return all;
}

// f(v) for the vectors of a row, the last one overlapping. A row shorter than a vector is filled up with ones, which
// are neither zero nor NaN.
template <class T, class F>
inline void search_row(const T* row, int64_t n, F f) {
    using L = Lane<T, kVectorBytes>;
    T filled[L::count];
    if (n < L::count) {
        for (int k = 0; k < L::count; ++k) filled[k] = k < n ? row[k] : T{1};
        row = filled;
        n = L::count;
    }
    for (int64_t i = 0; i < n - L::count; i += L::count) f(load<typename L::V>(row + i));
    f(load<typename L::V>(row + n - L::count));
}

// Replaces NaN by the canonical one, in place or not.
template <class T>
CENOTE_ONCE void quiet_row(T* to, const T* from, int64_t n) {
    for_lanes<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        store(to + i, quiet<T>(load<V>(from + i)));
    });
}

template <class T>
CENOTE_ONCE bool has_nan(const T* row, int64_t n) {
    Found<T> nans{};
    search_row(row, n, [&](auto v) CENOTE_INLINE { nans |= (Found<T>)(v != v); });
    return any(nans);
}

// Whether results of reducing rows first may differ from those in the order of the window. The first of equal elements
// wins, and so does the first NaN: only zeros of both signs and several NaN can differ.
template <class T>
CENOTE_ONCE bool order_matters(const PoolSchedule& job, const PoolTile& b, const View& elements, const View& results) {
    using W = Found<T>;
    W zeros{}, nans{}, signed_zeros{};
    for_result_rows(job, b, results.stride, [&](const int64_t*, int64_t offset, int64_t, int64_t n) {
        search_row(reinterpret_cast<const T*>(results.base.v) + offset, n, [&](auto v) CENOTE_INLINE {
            zeros |= (W)(v == T{0});
            nans |= (W)(v != v);
        });
    });
    if (any(nans)) return true;
    if (!any(zeros)) return false;
    const W signed_zero = splat<W>(Unsigned<T>{1} << (8 * sizeof(T) - 1));
    const int last = job.rank - 1;
    const bool along = !rows_are_lanes(job) || elements.stride[last] == b.lanes;
    const int depth = along ? last : job.rank;
    for_rows(depth, b.elements, [&](const int64_t* at) {
        int64_t offset = 0;
        for (int q = 0; q < depth; ++q) offset += at[q] * elements.stride[q];
        search_row(reinterpret_cast<const T*>(elements.base.v) + offset, along ? b.elements[last] * b.lanes : b.lanes,
                   [&](auto v) CENOTE_INLINE { signed_zeros |= (W)(W(v) == signed_zero); });
    });
    return any(signed_zeros);
}

// Replaces NaN by the canonical one in the results of a tile.
template <class T>
inline void quiet_results(const PoolSchedule& job, const PoolTile& b) {
    int depth = row_depth(job);
    int64_t n = rows_are_lanes(job) ? b.lanes : b.count[job.rank - 1];
    while (depth > 0 && job.y_stride[depth - 1] == n) n *= b.count[--depth];  // contiguous rows are one
    for_rows(depth, b.count, [&](const int64_t* at) {
        T* row = reinterpret_cast<T*>(job.y) + b.y;
        for (int q = 0; q < depth; ++q) row += at[q] * job.y_stride[q];
        if (has_nan(row, n)) quiet_row(row, row, n);
    });
}

template <class C>
inline void max_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename C::T;
    const PoolTile b = locate(job, task);
    const RowKernels& op = row_kernels<C>;
    const View in = job.direct ? view_in_place<T>(job, b) : loaded_tile<T>(job, b, job.key, arena);
    const bool in_place = has_pass(job) && job.out == job.work && job.out != DType::boolean && !job.key;
    const View y = result_view<T>(job, b), *to = in_place ? &y : nullptr;
    const bool rows_first = reduces_rows_first(job);
    View totals = run_passes(op, job, b, in, to, arena, rows_first);
    if constexpr (Limits<T>::has_nan)
        if (rows_first && order_matters<T>(job, b, in, totals)) totals = run_passes(op, job, b, in, to, arena);
    if constexpr (C::omit)
        if (in_place) return quiet_results<T>(job, b);
    if (in_place) return;
    T* converted = C::omit || job.key ? take<T>(arena, result_rows(job, b, totals.stride).n) : nullptr;
    for_result_rows(job, b, totals.stride, [&](const int64_t*, int64_t offset, int64_t y, int64_t n) {
        const T* row = reinterpret_cast<const T*>(totals.base.v) + offset;
        if constexpr (C::omit) quiet_row(converted, row, n);
        if (job.key) flip_row(converted, row, n, job.key);
        if constexpr (Limits<T>::has_nan)
            if (job.convert != Conversion::none)
                return convert_row(job.out, job.y + y * size_of(job.out), converted ? converted : row, n, false);
        store_row(job.out, job.y + y * size_of(job.out), converted ? converted : row, n);
    });
}
