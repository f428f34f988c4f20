// One pass: reduce a tile along one of its axes.
//
// A tile has its pooled axes in memory order and rows of lanes innermost. Along the axis of the pass it is
// `lines` of cells, each cell a run of `run` contiguous elements. Padding is never materialised by the direct
// methods: taps that are not real cells are left out of the list of rows.

template <class C>
struct View {
    Target<C> base;
    int64_t stride[kMaxDims];  // elements; the lanes are contiguous
};

template <class C>
struct Pass {
    const Axis* axis;
    int64_t j0, count;  // the windows of this tile
    int64_t c0, cells;  // the real cells of this tile
    int64_t run;        // contiguous elements per cell
    int64_t in_stride, out_stride;
    int64_t weight;   // of a tap in the flat offset that PickAt carries
    Source<C>* rows;  // room for one row per tap
    Arena* arena;
};

// Windows j … j+count-1, one after the other: for any geometry.
template <class C>
CENOTE_ONCE void windows_one_by_one(const Pass<C>& p, Source<C> in, Target<C> out, int64_t from, int64_t to) {
    const Axis& a = *p.axis;
    for (int64_t j = from; j < to; ++j) {
        const Span taps = real_taps(a, p.j0 + j);
        const int64_t first = first_cell(a, p.j0 + j) - p.c0;
        for (int64_t t = taps.begin; t < taps.end; ++t)
            p.rows[t - taps.begin] = ahead<C>(in, (first + t * a.d) * p.in_stride);
        if (p.run == 1) {  // a single element, at the border of a row: not worth the call
            using T = typename C::T;
            const int64_t count = taps.end - taps.begin;
            auto all = C::template empty<T>();
            if (count) {
                const auto found = join_many<C, T>(p.rows, 0, taps.begin, count, p.weight);
                all = C::summed && count < taps_of(a, p.j0 + j) ? C::template combine<T>(found, all) : found;
            }
            C::template store<T>(ahead<C>(out, j * p.out_stride), 0, all);
            continue;
        }
        join_rows<C>(ahead<C>(out, j * p.out_stride), p.rows, taps.begin, taps.end - taps.begin, taps_of(a, p.j0 + j),
                     p.run, p.weight);
    }
}

// The windows of this tile all of whose taps are real.
inline Span whole_windows(const Axis& a, int64_t j0, int64_t count) {
    int64_t begin = most(j0, ceil_div(a.low, a.s));
    int64_t end = least(j0 + count, floor_div(a.n - 1 + a.low - (a.k - 1) * a.d, a.s) + 1);
    begin = least(begin, j0 + count);
    return {begin - j0, most(begin, end) - j0};
}

// Whether windows in a row can be read two cells apart in registers.
template <class C>
inline bool by_stride_2(const Axis& a, int64_t run, bool second_plane) {
    return a.s == 2 && a.d == 1 && run == 1 && a.k >= 2 && a.k <= 4 && !second_plane;
}

// All whole windows at once, as one long row: the cells must lie one after the other, and so must the results.
// A stride is undone first: phase r holds the cells r, r + s, r + 2s, …
template <class C>
CENOTE_ONCE void windows_in_a_row(const Pass<C>& p, Source<C> in, Target<C> out, Span whole, Source<C>* phases) {
    const Axis& a = *p.axis;
    const int64_t count = whole.end - whole.begin;
    const int64_t first = first_cell(a, p.j0 + whole.begin) - p.c0;
    const Source<C> start = ahead<C>(in, first * p.run);
    if (by_stride_2<C>(a, p.run, start.w)) {
        const Target<C> to = ahead<C>(out, whole.begin);
        if (a.k == 2) return join_stride_2<C, 2>(to, start, count, p.weight);
        if (a.k == 3) return join_stride_2<C, 3>(to, start, count, p.weight);
        return join_stride_2<C, 4>(to, start, count, p.weight);
    }
    if (a.s == 1) {
        for (int64_t t = 0; t < a.k; ++t) p.rows[t] = ahead<C>(start, t * a.d * p.run);
    } else {
        const int64_t deep = count + (a.k - 1) * a.d / a.s;
        for (int64_t r = 0; r < a.s; ++r) {
            if (!phases[r].v) continue;
            int64_t room = deep;  // the last phases may end one cell early
            if (first + r + (room - 1) * a.s >= p.cells) --room;
            take_every(const_cast<typename C::T*>(phases[r].v), start.v + r * p.run, room, a.s, p.run);
            if (C::two_planes && start.w)
                take_every(const_cast<typename C::U*>(phases[r].w), start.w + r * p.run, room, a.s, p.run);
        }
        for (int64_t t = 0; t < a.k; ++t) {
            const int64_t at = t * a.d;
            p.rows[t] = ahead<C>(phases[at % a.s], at / a.s * p.run);
            if (!start.w) p.rows[t].w = nullptr;
        }
    }
    join_rows<C>(ahead<C>(out, whole.begin * p.run), p.rows, 0, a.k, a.k, count * p.run, p.weight);
}

// The windows of a transpose all of whose outputs are there.
inline Span whole_spread(const Axis& a, int64_t j0, int64_t count) {
    const int64_t most_taps = ceil_div(a.spread_taps, a.spread_stride);
    int64_t begin = most(j0, most_taps * a.spread_stride - 1 - a.spread_low);
    const int64_t end = least(j0 + count, a.n * a.spread_stride - a.spread_low);
    begin = least(begin, j0 + count);
    return {begin - j0, most(begin, end) - j0};
}

// Those windows at once. Cells that are a stride apart see as many outputs each, one output on from the cell before:
// they are joined as one long row and put in their places, every stride-th one.
template <class C>
CENOTE_ONCE void windows_spread(const Pass<C>& p, Source<C> in, Target<C> out, Span whole, typename C::T* buffer) {
    const Axis& a = *p.axis;
    const int64_t stride = a.spread_stride, run = p.run;
    for (int64_t phase = 0; phase < least(stride, whole.end - whole.begin); ++phase) {
        const int64_t c = whole.begin + phase;
        const int64_t from = p.j0 + c + a.spread_low, last = from / stride;  // the last output that sees cell c
        const int64_t taps = from % stride < a.spread_taps ? (a.spread_taps - 1 - from % stride) / stride + 1 : 0;
        const int64_t count = (whole.end - c + stride - 1) / stride;
        for (int64_t t = 0; t < taps; ++t) p.rows[t] = ahead<C>(in, (last - taps + 1 + t - p.c0) * run);
        join_rows<C>({buffer, nullptr}, p.rows, 0, taps, taps, count * run, p.weight);
        typename C::T* to = out.v + c * run;
        if (run == 1) {
            for (int64_t i = 0; i < count; ++i) to[i * stride] = buffer[i];
        } else {
            for (int64_t i = 0; i < count; ++i) copy_row(to + i * stride * run, buffer + i * run, run);
        }
    }
}

// Windows by doubling: S₂ₘ[i] = Sₘ[i] ∘ Sₘ[i + m·d], so that the cost grows with log k only. The cells are
// copied next to each other, padding included. The association is that of join().
template <class C>
CENOTE_ONCE void windows_by_doubling(const Pass<C>& p, Source<C> in, Target<C> out, typename C::T* buffer) {
    const Axis& a = *p.axis;
    const int64_t run = p.run;
    const int64_t first = first_cell(a, p.j0);
    int64_t length = (p.count - 1) * a.s + (a.k - 1) * a.d + 1;
    for (int64_t i = 0; i < length;) {
        const int64_t cell = first + i - p.c0;
        if (cell < 0 || cell >= p.cells) {
            const int64_t pads = cell < 0 ? least(-cell, length - i) : length - i;
            fill_empty<C>({buffer + i * run, nullptr}, pads * run);
            i += pads;
        } else {
            const int64_t block = least(p.cells - cell, length - i);
            if (p.in_stride == run) {
                copy_row(buffer + i * run, in.v + cell * run, block * run);
            } else {
                for (int64_t b = 0; b < block; ++b)
                    copy_row(buffer + (i + b) * run, in.v + (cell + b) * p.in_stride, run);
            }
            i += block;
        }
    }

    const bool together = a.s == 1 && p.out_stride == run;
    auto each = [&](auto join_at) {  // join_at(out, buffer position, elements) for all windows
        if (together) return join_at(out, int64_t{0}, p.count * run);
        for (int64_t j = 0; j < p.count; ++j) join_at(ahead<C>(out, j * p.out_stride), j * a.s * run, run);
    };
    const auto at = [&](int64_t position) { return Source<C>{buffer + position, nullptr}; };

    int64_t held = 1;
    bool started = false;
    for (;;) {
        if constexpr (C::summed) {
            if (a.k & held) {  // this power of two is a part of the window: it starts after all larger ones
                const int64_t offset = (a.k & ~(2 * held - 1)) * a.d * run;
                each([&](Target<C> to, int64_t position, int64_t n) {
                    if (started)
                        join_two<C>(to, at(position + offset), readable<C>(to), n);
                    else
                        copy_row(to.v, buffer + position + offset, n);
                });
                started = true;
            }
        }
        if (held * 2 > a.k) break;
        length -= held * a.d;
        join_two<C>({buffer, nullptr}, at(0), at(held * a.d * run), length * run);
        held *= 2;
    }
    if constexpr (!C::summed) {
        const int64_t offset = (a.k - held) * a.d * run;  // the two overlap, which a maximum does not mind
        each([&](Target<C> to, int64_t position, int64_t n) {
            if (offset == 0)
                copy_row(to.v, buffer + position, n);
            else
                join_two<C>(to, at(position), at(position + offset), n);
        });
    }
}

// Where doubling pays. Measured on float32 maxima at stride 1: level with the direct method at k = 9.
inline bool doubling_pays(const Axis& a) {
    if (a.starts || a.k < 9) return false;
    if ((a.k - 1) * a.d > 2 * a.n + 64) return false;  // mostly padding, which is not worth copying
    const int levels = 63 - __builtin_clzll(static_cast<uint64_t>(a.k));
    return a.k > a.s * (levels + 3);
}

// Reduce axis q of a tile whose axes have `extent` cells before and windows `count` after the pass.
template <class C>
inline void run_pass(const Axis& a, int q, int rank, const int64_t* extent, int64_t lanes, int64_t j0, int64_t count,
                     int64_t c0, const View<C>& in, const View<C>& out, int64_t weight, Arena* arena) {
    using T = typename C::T;
    using U = typename C::U;
    if (count == 0 || lanes == 0) return;

    // Inner axes that are contiguous on both sides join the lanes; all others are looped over.
    Pass<C> p{&a, j0, count, c0, extent[q], lanes, in.stride[q], out.stride[q], weight, nullptr, arena};
    int inner = rank;
    while (inner - 1 > q && in.stride[inner - 1] == p.run && out.stride[inner - 1] == p.run) p.run *= extent[--inner];
    int64_t lines = 1;
    for (int r = 0; r < inner; ++r)
        if (r != q) lines *= extent[r];
    if (lines == 0 || p.run == 0) return;

    const int64_t reach = least(taps_of(a, j0) > a.k ? taps_of(a, j0) : a.k, most(extent[q], 1));
    p.rows = static_cast<Source<C>*>(arena_take(arena, (reach + 1) * static_cast<int64_t>(sizeof(Source<C>))));

    const bool dense = in.stride[q] == p.run && out.stride[q] == p.run && !a.starts;
    Span spread{0, 0};
    const Span whole = dense && a.k <= reach ? whole_windows(a, j0, count) : Span{0, 0};
    // Long runs are fast one window at a time; short ones are worth undoing a stride for.
    const bool in_a_row =
        whole.end > whole.begin && (a.s == 1 || (a.s <= 64 && p.run * static_cast<int64_t>(sizeof(T)) < 32));

    T* buffer = nullptr;
    bool doubling = false, spreading = false;
    if constexpr (C::summed && !C::two_planes) {
        const bool short_runs = p.run * static_cast<int64_t>(sizeof(T)) < 256;
        if (a.spread_stride && in.stride[q] == p.run && out.stride[q] == p.run && short_runs) {
            spread = whole_spread(a, j0, count);
            spreading = spread.end > spread.begin && a.spread_stride <= 64;
            if (spreading) buffer = static_cast<T*>(arena_take(arena, count * p.run * static_cast<int64_t>(sizeof(T))));
        }
    }
    if constexpr (!C::two_planes) {
        doubling = doubling_pays(a);
        if (doubling)
            buffer = static_cast<T*>(
                arena_take(arena, ((count - 1) * a.s + (a.k - 1) * a.d + 1) * p.run * static_cast<int64_t>(sizeof(T))));
    }
    Source<C>* phases = nullptr;
    if (in_a_row && a.s > 1 && !doubling && !by_stride_2<C>(a, p.run, in.base.w)) {
        phases = static_cast<Source<C>*>(arena_take(arena, a.s * static_cast<int64_t>(sizeof(Source<C>))));
        const int64_t deep = whole.end - whole.begin + (a.k - 1) * a.d / a.s;
        for (int64_t r = 0; r < a.s; ++r) phases[r] = {nullptr, nullptr};
        for (int64_t t = 0; t < a.k; ++t) {
            Source<C>& phase = phases[t * a.d % a.s];
            if (phase.v) continue;
            phase.v = static_cast<T*>(arena_take(arena, deep * p.run * static_cast<int64_t>(sizeof(T))));
            if (C::two_planes)
                phase.w = static_cast<U*>(arena_take(arena, deep * p.run * static_cast<int64_t>(sizeof(U))));
        }
    }

    int64_t at[kMaxDims] = {};
    int64_t in_offset = 0, out_offset = 0;
    for (int64_t line = 0; line < lines; ++line) {
        const Source<C> from = ahead<C>(readable<C>(in.base), in_offset);
        const Target<C> to = ahead<C>(out.base, out_offset);
        if (spreading) {
            windows_one_by_one<C>(p, from, to, 0, spread.begin);
            if constexpr (C::summed && !C::two_planes) windows_spread<C>(p, from, to, spread, buffer);
            windows_one_by_one<C>(p, from, to, spread.end, count);
        } else if (doubling) {
            if constexpr (!C::two_planes) windows_by_doubling<C>(p, from, to, buffer);
        } else if (in_a_row) {
            windows_one_by_one<C>(p, from, to, 0, whole.begin);
            windows_in_a_row<C>(p, from, to, whole, phases);
            windows_one_by_one<C>(p, from, to, whole.end, count);
        } else {
            windows_one_by_one<C>(p, from, to, 0, count);
        }
        for (int r = inner - 1; r >= 0; --r) {
            if (r == q) continue;
            in_offset += in.stride[r];
            out_offset += out.stride[r];
            if (++at[r] < extent[r]) break;
            in_offset -= at[r] * in.stride[r];
            out_offset -= at[r] * out.stride[r];
            at[r] = 0;
        }
    }
}
