// Ways to reduce one line of cells: each cell a run of `run` contiguous elements, windows of cells in order.

template <class C>
struct Pass {
    const Axis* axis;
    int64_t j0, count;  // the windows of this tile
    int64_t c0, cells;  // the real cells of this tile
    Span whole;         // the windows, counted from j0, all of whose taps are real
    int64_t run;        // contiguous elements per cell
    int64_t in_stride, out_stride;
    int64_t weight;       // of a tap in the flat offset that PickAt carries
    Source<C>* rows;      // room for one row per tap
    typename C::T* tall;  // working memory for the sums of tall windows; null: there are none
};

template <class T>
inline T* take(Arena* arena, int64_t n) {
    return static_cast<T*>(arena_take(arena, n * static_cast<int64_t>(sizeof(T))));
}

// Working memory for n cells, with a second plane if they have one already.
template <class C>
inline Target<C> take_cells(Arena* arena, int64_t n, bool both) {
    Target<C> cells{take<typename C::T>(arena, n), nullptr};
    if constexpr (C::two_planes)
        if (both) cells.w = take<typename C::U>(arena, n);
    return cells;
}

constexpr int64_t kTall = 8;        // taps beyond which the rows of a window are gone through one after the other
constexpr int64_t kTallRun = 1024;  // elements of them at a time: what is pending stays in the second cache
constexpr int64_t kTallLevels = 60;

// How many cells lie between the first one that `count` windows see and the last, padding included.
inline int64_t line_length(const Axis& a, int64_t count) { return (count - 1) * a.s + (a.k - 1) * a.d + 1; }

// A sum of many rows, read in the order in which they lie. Eight at a time are joined in registers, and a binary
// counter of rows holds the pending subtrees: the tree is that of join().
template <class C>
CENOTE_ONCE void join_tall(Target<C> out, Source<C>* rows, int64_t count, int64_t run, typename C::T* memory) {
    using T = typename C::T;
    for (int64_t from = 0; from < run; from += kTallRun) {
        const int64_t n = least(kTallRun, run - from), blocks = count / 8, rest = count % 8;
        T* pending[kTallLevels];
        T* part = memory;
        int levels = 0;  // that have memory of their own
        const auto join_next = [&](T* earlier) {
            join_two<C>({part, nullptr}, {earlier, nullptr}, {part, nullptr}, n, 0);
        };
        for (int64_t b = 0; b < blocks; ++b) {
            join_rows_of<C, 8>({part, nullptr}, rows + 8 * b, 0, n, 0);
            int level = 0;
            for (; b >> level & 1; ++level) join_next(pending[level]);
            if (level == levels) pending[levels++] = memory + (level + 1) * kTallRun;
            T* free = pending[level];
            pending[level] = part;
            part = free;
        }
        bool started = rest > 0;
        if (rest) join_rows<C>({part, nullptr}, rows + 8 * blocks, 0, rest, rest, n, 0);
        for (int level = 0; level < levels; ++level) {
            if (!(blocks >> level & 1)) continue;
            if (started)
                join_next(pending[level]);
            else
                copy_row(part, pending[level], n);
            started = true;
        }
        copy_row(out.v + from, part, n);
        for (int64_t t = 0; t < count; ++t) rows[t] = ahead<C>(rows[t], n);
    }
}

// The same for a maximum, which needs no working memory: what has been found is joined with the next rows.
template <class C>
CENOTE_ONCE void pick_tall(Target<C> out, const Source<C>* rows, int64_t count, int64_t run) {
    for (int64_t from = 0; from < run; from += kTallRun) {
        const int64_t n = least(kTallRun, run - from);
        const Target<C> found = ahead<C>(out, from);
        Source<C> some[8];
        int64_t done = 0;
        while (done < count) {
            int64_t k = 0;
            if (done > 0) some[k++] = readable<C>(found);  // some of it twice, which a maximum does not mind
            while (k < 8 && done < count) some[k++] = ahead<C>(rows[done++], from);
            join_rows<C>(found, some, 0, k, k, n, 0);
        }
    }
}

// Windows from … to-1, one after the other: for any geometry.
template <class C>
CENOTE_ONCE void windows_one_by_one(const Pass<C>& p, Source<C> in, Target<C> out, int64_t from, int64_t to) {
    using T = typename C::T;
    const Axis& a = *p.axis;
    for (int64_t j = from; j < to; ++j) {
        // A division or two per window would cost as much as the window.
        const bool all_real = j >= p.whole.begin && j < p.whole.end;
        const int64_t taps = taps_of(a, p.j0 + j);
        const Span real = all_real ? Span{0, taps} : real_taps(a, p.j0 + j);
        const int64_t count = real.end - real.begin;
        const Source<C> first = ahead<C>(in, (first_cell(a, p.j0 + j) - p.c0 + real.begin * a.d) * p.in_stride);
        for (int64_t t = 0; t < count; ++t) p.rows[t] = ahead<C>(first, t * a.d * p.in_stride);
        const Target<C> result = ahead<C>(out, j * p.out_stride);
        if constexpr (C::summed && !C::two_planes) {
            if (p.tall && count == taps && count > kTall) {
                join_tall<C>(result, p.rows, count, p.run, p.tall);
                continue;
            }
        }
        if constexpr (!C::summed && !C::two_planes) {
            if (count > kTall && p.run > 1) {
                pick_tall<C>(result, p.rows, count, p.run);
                continue;
            }
        }
        if (p.run > 1) {
            join_rows<C>(result, p.rows, real.begin, count, taps, p.run, p.weight);
            continue;
        }
        auto all = C::template empty<T>();
        if (count) {  // a single element is not worth the call
            const auto found = join_many<C, T>(p.rows, 0, real.begin, count, p.weight);
            all = C::summed && count < taps ? C::combine(found, all) : found;
        }
        store_cell<C, T>(result, 0, all);
    }
}

// ---------------------------------------------------------------------------------- the cells, padding included

struct Margins {
    int64_t before, from, middle, after;  // padded cells, the first real one in the tile, real ones, padded ones
};

inline Margins margins(const Axis& a, int64_t j0, int64_t count, int64_t c0, int64_t cells) {
    const int64_t length = line_length(a, count), first = first_cell(a, j0) - c0;
    const int64_t before = least(most(0, -first), length), from = most(0, first);
    const int64_t middle = most(0, least(cells - from, length - before));
    return {before, from, middle, length - before - middle};
}

template <class C>
inline void fill_padding(Target<C> line, int64_t n) {
    if (!C::two_planes || line.w) return fill_empty<C>(line, n);
    for (int64_t i = 0; i < n; ++i) line.v[i] = C::absent();
}

// The line as one piece of memory: the real cells, `run` elements of each, between padding that is there already.
template <class C>
inline void lay_line(Target<C> line, Source<C> in, const Margins& m, int64_t stride, int64_t run) {
    const Target<C> to = ahead<C>(line, m.before * run);
    const Source<C> from = ahead<C>(in, m.from * stride);
    const int64_t pieces = stride == run ? 1 : m.middle, size = stride == run ? m.middle * run : run;
    for (int64_t i = 0; i < pieces; ++i) {
        copy_row(to.v + i * size, from.v + i * stride, size);
        if constexpr (C::two_planes)
            if (from.w) copy_row(to.w + i * size, from.w + i * stride, size);
    }
}

// ------------------------------------------------------------------- all windows of a line, none of them cut short

// Whether windows in a row can be read two cells apart in registers.
inline bool by_stride_2(const Axis& a, int64_t run) { return a.s == 2 && a.d == 1 && run == 1 && a.k >= 2 && a.k <= 4; }

// Whether windows of single elements are joined from every cell on, and those that are asked for picked out: fewer
// elements are gone through one by one then (max 5×5 of 4096² of uint8, one thread: 1.5 ms, and 0.75 so).
template <class C>
inline bool from_every_cell(const Axis& a) {
    return a.s > 4 && a.k > 1 && a.k * (C::summed ? 1 : 2) <= Lane<typename C::T, kVectorBytes>::count;
}

// All windows at once, as one long row. A stride is undone first: phase r holds the cells r, r + s, r + 2s, …; or at
// the end, where `every` has room for a window from each cell on.
template <class C>
inline void windows_in_a_row(const Pass<C>& p, Source<C> cells, Target<C> out, int64_t count, Source<C>* phases,
                             Target<C> every) {
    const Axis& a = *p.axis;
    if (every.v) {
        for (int64_t t = 0; t < a.k; ++t) p.rows[t] = ahead<C>(cells, t * a.d);
        join_rows<C>(every, p.rows, 0, a.k, a.k, (count - 1) * a.s + 1, p.weight);
        take_every(out.v, every.v, count, a.s, 1);
        if constexpr (C::two_planes) take_every(out.w, every.w, count, a.s, 1);
        return;
    }
    if (by_stride_2(a, p.run)) {
        if (a.k == 2) return join_stride_2<C, 2>(out, cells, count, p.weight);
        if (a.k == 3) return join_stride_2<C, 3>(out, cells, count, p.weight);
        return join_stride_2<C, 4>(out, cells, count, p.weight);
    }
    if (a.s == 1) {
        for (int64_t t = 0; t < a.k; ++t) p.rows[t] = ahead<C>(cells, t * a.d * p.run);
    } else {
        const int64_t deep = count + (a.k - 1) * a.d / a.s, length = line_length(a, count);
        for (int64_t r = 0; r < a.s; ++r) {
            if (!phases[r].v) continue;
            const int64_t room = r + (deep - 1) * a.s < length ? deep : deep - 1;  // the last ones may end early
            take_every(const_cast<typename C::T*>(phases[r].v), cells.v + r * p.run, room, a.s, p.run);
            if constexpr (C::two_planes)
                if (cells.w) take_every(const_cast<typename C::U*>(phases[r].w), cells.w + r * p.run, room, a.s, p.run);
        }
        for (int64_t t = 0; t < a.k; ++t) {
            const int64_t at = t * a.d;
            p.rows[t] = ahead<C>(phases[at % a.s], at / a.s * p.run);
            if constexpr (C::two_planes)
                if (!cells.w) p.rows[t].w = nullptr;
        }
    }
    join_rows<C>(out, p.rows, 0, a.k, a.k, count * p.run, p.weight);
}

// ---------------------------------------------------------------------- long windows, one by one, of single elements

constexpr int64_t kHalved = 32;   // cells from which on halving pays
constexpr int64_t kBlock = 8192;  // cells that are halved at once: a power of two, so that the tree stays the same

// The k cells joined, by pairs of neighbours again and again. a and b are working memory for k/2 + 1 cells.
template <class C>
inline RegOf<C, typename C::T> by_halving(Source<C> cells, int64_t k, int64_t weight, Target<C> a, Target<C> b) {
    using T = typename C::T;
    while (k > 8) {
        const int64_t pairs = k / 2;
        join_stride_2<C, 2>(a, cells, pairs, weight);
        if (k & 1) store_cell<C, T>(a, pairs, load_cell<C, T>(cells, k - 1));
        cells = readable<C>(a);
        const Target<C> used = a;
        a = b;
        b = used;
        k = pairs + (k & 1);
        weight *= 2;
    }
    Source<C> rows[8];
    for (int64_t t = 0; t < k; ++t) rows[t] = ahead<C>(cells, t);
    return join_many<C, T>(rows, 0, 0, k, weight);
}

// `count` windows of k cells side by side: together while k is even, which is no different for each of them.
template <class C>
inline void windows_by_halving(Target<C> out, Source<C> cells, int64_t count, int64_t out_stride, int64_t k,
                               int64_t weight, Target<C> a, Target<C> b) {
    for (; k % 2 == 0; k /= 2) {
        if (k == 2 && out_stride == 1) return join_stride_2<C, 2>(out, cells, count, weight);
        join_stride_2<C, 2>(a, cells, count * (k / 2), weight);
        cells = readable<C>(a);
        const Target<C> used = a;
        a = b;
        b = used;
        weight *= 2;
    }
    for (int64_t j = 0; j < count; ++j)
        store_cell<C, typename C::T>(ahead<C>(out, j * out_stride), 0,
                                     by_halving<C>(ahead<C>(cells, j * k), k, weight, a, b));
}

// One window of k cells; `tops` has room for one cell per block.
template <class C>
inline void window_by_halving(Target<C> out, Source<C> cells, int64_t begin, int64_t k, int64_t weight, Target<C> a,
                              Target<C> b, Target<C> tops) {
    using T = typename C::T;
    RegOf<C, T> all;
    if (k <= kBlock) {
        all = by_halving<C>(cells, k, weight, a, b);
    } else {
        const int64_t blocks = ceil_div(k, kBlock);
        for (int64_t i = 0; i < blocks; ++i)
            store_cell<C, T>(tops, i,
                             by_halving<C>(ahead<C>(cells, i * kBlock), least(kBlock, k - i * kBlock), weight, a, b));
        // Blocks of blocks: twice is enough for 2^26 cells, and beyond that the working memory is small beside x.
        all = by_halving<C>(readable<C>(tops), blocks, weight * kBlock, ahead<C>(tops, blocks),
                            ahead<C>(tops, 2 * blocks));
    }
    store_cell<C, T>(out, 0, C::tap(all, begin * weight));
}

// --------------------------------------------------------------------------------------- transposes of strides

// The windows of a transpose all of whose outputs are there.
inline Span whole_spread(const Axis& a, int64_t j0, int64_t count) {
    const int64_t most_taps = ceil_div(a.spread_taps, a.spread_stride);
    int64_t begin = most(j0, most_taps * a.spread_stride - 1 - a.spread_low);
    const int64_t end = least(j0 + count, a.n * a.spread_stride - a.spread_low);
    begin = least(begin, j0 + count);
    return {begin - j0, most(begin, end) - j0};
}

// to[2i] = even[i], to[2i + 1] = odd[i]
template <class T>
CENOTE_ONCE void weave(T* to, const T* even, const T* odd, int64_t n) {
    using V = typename Lane<T, kVectorBytes>::V;
    constexpr int wide = Lane<T, kVectorBytes>::count;
    int64_t i = 0;
    for (; i + wide <= n; i += wide) {
        V low, high;
        interleave(load<V>(even + i), load<V>(odd + i), low, high, typename MakeSeq<wide>::type{});
        store(to + 2 * i, low);
        store(to + 2 * i + wide, high);
    }
    for (; i < n; ++i) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
    }
}

// Those windows at once. Cells that are a stride apart see as many outputs each, one output on from the cell before:
// they are joined as one long row and put in their places, every stride-th one. `buffer` has room for all of them.
template <class C>
inline void windows_spread(const Pass<C>& p, Source<C> in, Target<C> out, Span whole, typename C::T* buffer) {
    using T = typename C::T;
    const Axis& a = *p.axis;
    const int64_t stride = a.spread_stride, run = p.run, all = whole.end - whole.begin;
    const bool woven = stride == 2 && run == 1;
    const T* even = nullptr;
    for (int64_t phase = 0; phase < least(stride, all); ++phase) {
        const int64_t c = whole.begin + phase;
        const int64_t from = p.j0 + c + a.spread_low, last = from / stride;  // the last output that sees cell c
        const int64_t taps = from % stride < a.spread_taps ? (a.spread_taps - 1 - from % stride) / stride + 1 : 0;
        const int64_t count = (whole.end - c + stride - 1) / stride;
        for (int64_t t = 0; t < taps; ++t) p.rows[t] = ahead<C>(in, (last - taps + 1 + t - p.c0) * run);
        // One output is as good where it lies.
        const T* joined = taps == 1 ? p.rows[0].v : buffer;
        if (taps != 1) join_rows<C>({buffer, nullptr}, p.rows, 0, taps, taps, count * run, p.weight);
        T* to = out.v + c * run;
        if (woven && phase == 0) {
            even = joined;
            buffer += count;
        } else if (woven) {
            weave(out.v + whole.begin, even, joined, count);
            if (all % 2) out.v[whole.end - 1] = even[count];
        } else if (run == 1) {
            for (int64_t i = 0; i < count; ++i) to[i * stride] = joined[i];
        } else {
            for (int64_t i = 0; i < count; ++i) copy_row(to + i * stride * run, joined + i * run, run);
        }
    }
    if (woven && all == 1) out.v[whole.begin] = even[0];
}
