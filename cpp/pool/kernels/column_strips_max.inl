// Large overlapping windows on planes: a task is a strip of columns that is processed row by row from top to bottom.
// Each row of elements is read once and reduced along itself once, and partial results of the last rows stay in the L2
// cache; separable tiles would start again with k - 1 rows of elements each.

// The rows of elements that a strip covers, including padding along the row.
template <class T>
struct StripRows {
    const PoolSchedule* job;
    const char* x;                     // address of the first real element of row 0
    int64_t first;                     // the first row of elements; negative rows are padding
    int64_t lanes, before, inside, n;  // per element; of a row: padding before its elements, its elements, all
    T* line;                           // a buffer for one row; null: rows are read in place

    StripRows(const PoolSchedule& of, const PoolTile& b, Arena* arena) : job(&of), lanes(b.lanes) {
        const Axis& a = of.axis[1];
        const int64_t begin = window_start(a, b.j0[1]), elements = line_length(a, b.count[1]);
        const int64_t real = min(max(begin, 0), begin + elements), end = max(real, min(begin + elements, a.n));
        first = window_start(of.axis[0], b.j0[0]);
        n = elements * lanes;
        before = (real - begin) * lanes;
        inside = (end - real) * lanes;
        x = b.x + real * of.x_stride[1];
        line = nullptr;
        if (!of.direct || inside < n || !is_contiguous()) line = take<T>(arena, n + Lane<T, kVectorBytes>::count);
    }

    bool real(int64_t r) const { return first + r >= 0 && first + r < job->axis[0].n; }

    const char* at(int64_t r) const { return x + (first + r) * job->x_stride[0]; }

    // Copies row r with its padding, of value `none`, to `to`, which has room for whole vectors.
    void copy_padded(int64_t r, T* to, T none) const {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        const int64_t room = ceil_div(n, wide) * wide, begin = real(r) ? before : room;
        for (int64_t i = 0; i < begin; ++i) to[i] = none;
        for (int64_t i = begin + inside; i < room; ++i) to[i] = none;
        if (begin == room) return;
        const bool piece = is_contiguous();
        const int64_t pieces = piece ? 1 : inside / lanes, size = piece ? inside : lanes;
        for (int64_t i = 0; i < pieces; ++i) {
            const char* from = at(r) + i * job->x_stride[1];
            if (job->direct)
                copy_row(to + before + i * size, reinterpret_cast<const T*>(from), size);
            else
                load_row(job->in, to + before + i * size, from,
                         rows_are_lanes(*job) ? job->lane_stride : job->x_stride[1], size, job->swap);
        }
        if (job->prologue == Prologue::absolute || job->prologue == Prologue::power) absolute(to + before, inside);
        if (job->key) flip_row(to + before, to + before, inside, job->key);
    }

    // Row r in place, if it can be read there, except that the last elements, less than a vector, are copied to `to`;
    // otherwise a copy in `to`.
    const T* row_or_copy(int64_t r, T* to, T none) const {
        constexpr int64_t wide = Lane<T, kVectorBytes>::count;
        if (line || !real(r) || job->prologue != Prologue::none) return copy_padded(r, to, none), to;
        const T* elements = reinterpret_cast<const T*>(at(r));
        for (int64_t i = n / wide * wide; i < n; ++i) to[i] = elements[i];
        return elements;
    }

    bool is_contiguous() const {
        return !rows_are_lanes(*job) || (job->direct && job->x_stride[1] == lanes * size_of(job->in));
    }
};

// The rows of results of a strip, computed as T.
template <class T>
struct StripResults {
    const PoolSchedule* job;
    char* y;
    T* line;              // a buffer for one row; null: rows are computed in y
    int64_t down, along;  // bytes of y between rows and between windows
    int64_t windows, lanes;

    StripResults(const PoolSchedule& of, const PoolTile& b, bool same_type, Arena* arena) : job(&of), line(nullptr) {
        y = of.y + b.y * size_of(of.out);
        down = of.y_stride[0] * size_of(of.out);
        along = of.y_stride[1] * size_of(of.out);
        windows = b.count[1];
        lanes = b.lanes;
        if (!same_type || of.y_stride[1] != lanes) line = take<T>(arena, windows * lanes);
    }
    char* at(int64_t r) const { return y + r * down; }
    T* row(int64_t r) const { return line ? line : reinterpret_cast<T*>(at(r)); }
    void store(int64_t r) const {
        if (!line) return;
        if (job->key) flip_row(line, line, windows * lanes, job->key);
        const bool is_contiguous = along == lanes * size_of(job->out);
        const int64_t pieces = is_contiguous ? 1 : windows, size = is_contiguous ? windows * lanes : lanes;
        for (int64_t j = 0; j < pieces; ++j) store_row(job->out, at(r) + j * along, line + j * size, size);
    }
};

// Rows an odd number of cache lines apart: rows a power of two apart would map to the same cache sets.
template <class T>
inline int64_t row_pitch(int64_t n) {
    const int64_t lines = ceil_div(n * static_cast<int64_t>(sizeof(T)), 64);
    return (lines + (lines % 2 == 0)) * 64 / static_cast<int64_t>(sizeof(T));
}

// --------------------------------------------------------------------------------------------------- max and min

// MaxReducer without NaN: one instruction instead of four.
template <class T_, bool Largest>
struct FiniteMaxReducer : MaxReducer<T_, Largest, false> {
    template <class V>
    using Reg = typename MaxReducer<T_, Largest, false>::template Reg<V>;
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {(Largest ? b.v > a.v : b.v < a.v) ? b.v : a.v};
    }
};

// Van Herk/Gil-Werman down a strip, in blocks of k rows. A window that starts in one block ends in the next: it is a
// suffix of the first, combined from below, and a prefix of the second.
template <class T>
struct BlockRow {
    const T* before;  // the rows of this block so far
    T* prefix;        // the same with this row; may be in place
    const T* end;     // the suffix of the block above
    T* kept;          // where this row is kept: replaces a row of that block that is not needed any more
    T* out;
    const char *later_elements, *later_out;  // addresses to prefetch
};

// Combines the parts of windows along a row (log_step.inl) and writes results.
template <class C, int N>
CENOTE_ONCE void combine_down(const BlockRow<typename C::T>& given, Source<C> from, const Parts& parts, int64_t n) {
    const BlockRow<typename C::T> down = given;  // a copy: stores cannot alias it
    Source<C> part[N];
    for (int t = 0; t < N; ++t) part[t] = ahead<C>(from, parts.first[t] * parts.apart);
    // The overlapping last vector may combine a row with itself, which does not change a maximum.
    for_lanes_overlapping<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const auto at = [&](int t) { return load_accumulator<C, V>(part[t], i); };
        auto row = at(0);
        if constexpr (N == 2) row = C::combine(row, at(1));
        if constexpr (N >= 3) row = C::combine(C::combine(row, at(1)), at(2));
        if constexpr (N == 4) row = C::combine(row, at(3));
        __builtin_prefetch(down.later_elements + i * sizeof(typename C::T));
        __builtin_prefetch(down.later_out + i * sizeof(typename C::T), 1);
        store(down.kept + i, row.v);
        const auto all = C::combine(C::from_value(load<V>(down.before + i)), row);
        store(down.prefix + i, all.v);
        store(down.out + i, C::combine(C::from_value(load<V>(down.end + i)), all).v);
    });
}

// Rows 1 … k-1 of a block, each combined with those below it.
template <class C>
CENOTE_ONCE void combine_suffixes(typename C::T* block, int64_t pitch, int64_t k, int64_t n) {
    using T = typename C::T;
    using L = Lane<T, kVectorBytes>;
    using V = typename L::V;
    constexpr int together = 4;
    for (int64_t i = 0; i < n; i += together * L::count) {  // rows are padded to a multiple of this
        RegOf<C, V> all[together];
        T* at = block + (k - 1) * pitch + i;
        each<together>(0, [&](int64_t v) CENOTE_INLINE { all[v] = C::from_value(load<V>(at + v * L::count)); });
        for (int64_t t = k - 2; t > 0; --t) {
            at -= pitch;
            each<together>(0, [&](int64_t v) CENOTE_INLINE {
                all[v] = C::combine(C::from_value(load<V>(at + v * L::count)), all[v]);
                store(at + v * L::count, all[v].v);
            });
        }
    }
}

// The largest or smallest elements of the windows of a strip, row by row.
template <class C>
struct MaxColumns {
    using T = typename C::T;
    int64_t k, n, pitch, t = 0;  // rows of a window; elements of a row of results; row in the current block
    int64_t along, unit;         // taps of a window along a row; lanes
    T *block, *prefix, *sums, *absent, *unused;

    MaxColumns(int64_t k_down, int64_t k_along, int64_t results, int64_t lanes, Arena* arena)
        : k(k_down), n(results), along(k_along), unit(lanes) {
        constexpr int64_t wide = kVectorBytes / sizeof(T);
        pitch = row_pitch<T>(ceil_div(n, 4 * wide) * 4 * wide);
        block = take<T>(arena, k * pitch);
        prefix = take<T>(arena, n);
        sums = take<T>(arena, n + (along - 1) * unit);
        absent = take<T>(arena, n);
        unused = take<T>(arena, n);
        fill_accumulators<C>({absent, nullptr}, n);
    }

    // Adds the next row of elements (null: padding). `out` is the row of results of the windows that end there, if any.
    void next(const T* elements, T* out, const char* later_elements, const char* later_out) {
        const bool last = t == k - 1;
        const BlockRow<T> down{t ? prefix : absent,
                               prefix,
                               last ? absent : block + (t + 1) * pitch,
                               block + t * pitch,
                               out ? out : unused,
                               later_elements,
                               later_out};
        int64_t taps = 1, length = n + (along - 1) * unit;
        Source<C> part{elements ? elements : absent, nullptr};
        while (elements && 4 * taps < along) {
            length -= 3 * taps * unit;
            reduce_parts<C, 4>({bytes(sums), nullptr}, {bytes(const_cast<T*>(part.v)), nullptr},
                               {{0, taps, 2 * taps, 3 * taps}, unit, 0}, length);
            part = {sums, nullptr};
            taps *= 4;
        }
        const int64_t count = elements ? ceil_div(along, taps) : 1, end = along - taps;
        if (count == 1) combine_down<C, 1>(down, part, {{0}, unit, 0}, n);
        if (count == 2) combine_down<C, 2>(down, part, {{0, end}, unit, 0}, n);
        if (count == 3) combine_down<C, 3>(down, part, {{0, taps, end}, unit, 0}, n);
        if (count == 4) combine_down<C, 4>(down, part, {{0, taps, 2 * taps, end}, unit, 0}, n);
        if (last) combine_suffixes<C>(block, pitch, k, n);
        t = last ? 0 : t + 1;
    }
};

// A strip from top to bottom; false as soon as a NaN is found, if Checked.
template <class C, bool Checked>
bool reduce_strip(const PoolSchedule& job, const PoolTile& b, const StripRows<typename C::T>& rows, Arena* arena) {
    using T = typename C::T;
    const int64_t k = job.axis[0].k;
    MaxColumns<C> columns(k, job.axis[1].k, b.count[1] * b.lanes, b.lanes, arena);
    const StripResults<T> results(job, b, !job.key, arena);
    for (int64_t r = 0; r < b.count[0] + k - 1; ++r) {
        const T* elements = nullptr;
        if (rows.real(r)) {
            elements = rows.line ? rows.line : reinterpret_cast<const T*>(rows.at(r));
            if (rows.line) rows.copy_padded(r, rows.line, C::absent());
            if constexpr (Checked)
                if (has_nan(elements, rows.n)) return false;
        }
        columns.next(elements, r < k - 1 ? nullptr : results.row(r - k + 1), rows.at(r + 1), results.at(r - k + 2));
        if (r >= k - 1) results.store(r - k + 1);
    }
    return true;
}

template <class T, bool Largest>
void max_strip(const PoolSchedule& job, int64_t task, Arena* arena) {
    const PoolTile b = locate(job, task);
    const StripRows<T> rows(job, b, arena);
    if constexpr (Limits<T>::has_nan)
        if (reduce_strip<FiniteMaxReducer<T, Largest>, true>(job, b, rows, arena)) return;
    reduce_strip<MaxReducer<T, Largest, false>, false>(job, b, rows, arena);
}
