// One pass: reduce a tile along one of its axes.
//
// A tile has its pooled axes in memory order and rows of lanes innermost. Along the axis of the pass it is lines of
// cells. Which way of reducing a line is taken depends on the geometry only, and all ways give the same bits.

template <class C>
struct View {
    Target<C> base;
    int64_t stride[kMaxDims];  // elements; the lanes are contiguous
};

// The windows of this tile all of whose taps are real.
inline Span whole_windows(const Axis& a, int64_t j0, int64_t count) {
    if (a.starts) return {0, count};
    int64_t begin = most(j0, ceil_div(a.low, a.s));
    int64_t end = least(j0 + count, floor_div(a.n - 1 + a.low - (a.k - 1) * a.d, a.s) + 1);
    begin = least(begin, j0 + count);
    return {begin - j0, most(begin, end) - j0};
}

enum class Way { one_by_one, in_a_row, in_groups, doubling, sweeping, halving, spread };

constexpr int64_t kLineBytes = 96 * 1024;  // what a line that is gone over again and again may fill of the caches

// How much of a run to take at a time: an odd number of cache lines, about `bytes`. Rows a power of two apart would
// have their loads wait for stores that only look like theirs (13×13 over 256 lanes: 35 ms, and 8 so).
inline int64_t odd_lines(int64_t run, int64_t width, int64_t bytes) {
    if (run * width < 128) return run;
    const int64_t lines = least(run * width / 64, most(bytes / 64, 3));
    return run * width % 128 == 64 && lines == run * width / 64 ? run : (lines - (lines % 2 == 0)) * 64 / width;
}

template <class C>
struct Plan {
    Way way;
    bool laid;             // the line is copied, padding included
    bool apart;            // windows that are cut are joined one by one
    bool together;         // windows are halved together
    Margins at;            // where its real cells are
    int64_t chunk;         // elements of each run that are worked on together
    Target<C> line, sums;  // working memory
    Target<C> spare;
    Source<C>* phases;
    Span spread;
    ShortLines<C> lines;
};

template <class C>
inline Plan<C> plan_pass(const Pass<C>& p, int64_t lines, bool has_second, Arena* arena) {
    const Axis& a = *p.axis;
    const int64_t width = static_cast<int64_t>(sizeof(typename C::T));
    const bool dense_in = p.in_stride == p.run, dense = dense_in && p.out_stride == p.run;
    Plan<C> plan{};
    plan.way = Way::one_by_one;
    plan.chunk = p.run;
    plan.lines.many = 1;
    if constexpr (C::summed && !C::two_planes) {
        if (a.spread_stride && dense && p.run * width < 256 && a.spread_stride <= 64) {
            plan.spread = whole_spread(a, p.j0, p.count);
            if (plan.spread.end > plan.spread.begin) {
                plan.way = Way::spread;
                plan.line = take_cells<C>(arena, p.count * p.run, false);
            }
            return plan;
        }
    }
    // Windows side by side are halved together, as long as they come out even: a power of two to the end.
    plan.together = p.run == 1 && dense_in && a.d == 1 && !a.starts && a.s == a.k && a.k % 2 == 0 && a.k <= kBlock &&
                    p.count > 1 && p.whole.begin == 0 && p.whole.end == p.count;
    const bool to_the_end = plan.together && p.out_stride == 1 && a.k > 2 && (a.k & (a.k - 1)) == 0;
    if (to_the_end ||
        (p.run == 1 && dense_in && a.d == 1 && a.k >= kHalved && (a.starts || a.s >= a.k || p.count == 1))) {
        plan.way = Way::halving;
        const int64_t half = (plan.together ? p.count * a.k : least(a.k, kBlock)) / 2 + 1;
        plan.line = take_cells<C>(arena, half, true);
        plan.sums = take_cells<C>(arena, half, true);
        plan.spare = take_cells<C>(arena, 3 * ceil_div(a.k, kBlock) + 1, true);
        return plan;
    }
    if (a.starts || (a.k - 1) * a.d > 2 * a.n + 64) return plan;  // mostly padding is not worth laying out

    const int64_t length = line_length(a, p.count);
    const bool cut = p.whole.begin > 0 || p.whole.end < p.count;
    if (sweeping_pays<C>(p)) {
        plan.way = Way::sweeping;
        plan.line = take_cells<C>(arena, a.k * kSweepBytes / width, false);
        plan.sums = take_cells<C>(arena, kSweepBytes / width, false);
        fill_empty<C>(plan.sums, kSweepBytes / width);
        return plan;
    }
    plan.at = margins(a, p.j0, p.count, p.c0, p.cells);
    // Long runs are fast one window at a time; single elements are worth undoing a stride for.
    if (doubling_pays(a)) {
        plan.way = Way::doubling;
        plan.chunk = odd_lines(p.run, width, kLineBytes / length);
        if (a.s > 1 && p.out_stride == p.run && p.run * width < 64)
            plan.spare = take_cells<C>(arena, length * p.run, true);
        plan.laid = cut || p.in_stride != p.run || plan.chunk != p.run;
    } else if (groups_pay<C>(p)) {
        plan.way = Way::in_groups;
        plan.line = take_cells<C>(arena, last_room<C>(p), has_second);
        plan.sums = take_cells<C>(arena, last_room<C>(p), true);
        return plan;
    } else if (dense && (a.s == 1 || (a.s <= 64 && p.run == 1))) {
        // Long runs are not worth a copy: windows that are cut are joined one by one.
        plan.apart = cut && p.run * width >= 256;
        if (plan.apart && p.whole.begin >= p.whole.end) return plan;
        plan.way = Way::in_a_row;
        if (plan.apart) return plan;
        plan.laid = cut;
        if (from_every_cell<C>(a)) {
            plan.spare = take_cells<C>(arena, length, true);
        } else if (a.s > 1 && !by_stride_2(a, p.run)) {
            plan.phases = take<Source<C>>(arena, a.s);
            const int64_t deep = p.count + (a.k - 1) * a.d / a.s;
            for (int64_t r = 0; r < a.s; ++r) plan.phases[r] = {nullptr, nullptr};
            for (int64_t t = 0; t < a.k; ++t) {
                Source<C>& phase = plan.phases[t * a.d % a.s];
                if (!phase.v) phase = readable<C>(take_cells<C>(arena, deep * p.run, has_second));
            }
        }
    } else {
        return plan;
    }
    plan.lines = short_lines<C>(p, lines, length, plan.at, arena);
    plan.laid |= plan.lines.many > 1;
    const int64_t room = (plan.lines.many - 1) * plan.lines.apart + length;
    if (plan.way == Way::doubling) plan.sums = take_cells<C>(arena, room * plan.chunk, true);
    if (plan.laid) {
        plan.line = take_cells<C>(arena, room * plan.chunk, has_second);
        if (plan.lines.many > 1)
            fill_padding<C>(plan.line, room * plan.chunk);
        else
            fill_padding<C>(plan.line, plan.at.before * plan.chunk);
        fill_padding<C>(ahead<C>(plan.line, (length - plan.at.after) * plan.chunk), plan.at.after * plan.chunk);
    }
    return plan;
}

template <class C>
inline void run_line(const Pass<C>& p, const Plan<C>& plan, Source<C> in, Target<C> out) {
    const Axis& a = *p.axis;
    switch (plan.way) {
        case Way::one_by_one: return windows_one_by_one<C>(p, in, out, 0, p.count);
        case Way::in_a_row: {
            if (plan.apart) {
                const int64_t first = first_cell(a, p.j0 + p.whole.begin) - p.c0;
                windows_one_by_one<C>(p, in, out, 0, p.whole.begin);
                windows_in_a_row<C>(p, ahead<C>(in, first * p.run), ahead<C>(out, p.whole.begin * p.run),
                                    p.whole.end - p.whole.begin, nullptr, {});
                return windows_one_by_one<C>(p, in, out, p.whole.end, p.count);
            }
            if (plan.laid) lay_line<C>(plan.line, in, plan.at, p.in_stride, p.run);
            const Source<C> cells = plan.laid ? readable<C>(plan.line) : ahead<C>(in, plan.at.from * p.run);
            return windows_in_a_row<C>(p, cells, out, p.count, plan.phases, plan.spare);
        }
        case Way::in_groups: return windows_in_groups<C>(p, in, out, plan.line, plan.sums);
        case Way::doubling:
            for (int64_t i = 0; i < p.run; i += plan.chunk) {
                const int64_t run = least(plan.chunk, p.run - i);
                if (plan.laid && p.run % plan.chunk && (i == 0 || run < plan.chunk)) {
                    // The last chunk is shorter: its padding lies elsewhere, and that of the next line back again.
                    fill_padding<C>(plan.line, plan.at.before * run);
                    const int64_t end = plan.at.before + plan.at.middle;
                    fill_padding<C>(ahead<C>(plan.line, end * run), plan.at.after * run);
                }
                if (plan.laid) lay_line<C>(plan.line, ahead<C>(in, i), plan.at, p.in_stride, run);
                const Source<C> cells = plan.laid ? readable<C>(plan.line) : ahead<C>(in, plan.at.from * p.run);
                windows_by_doubling<C>(p, cells, ahead<C>(out, i), run, plan.sums, plan.spare);
            }
            return;
        case Way::sweeping:
            if constexpr (!C::summed && !C::two_planes) windows_by_sweeping<C>(p, in, out, plan.line.v, plan.sums.v);
            return;
        case Way::halving:
            if (plan.together)
                return windows_by_halving<C>(out, ahead<C>(in, first_cell(a, p.j0) - p.c0), p.count, p.out_stride, a.k,
                                             p.weight, plan.line, plan.sums);
            for (int64_t j = 0; j < p.count; ++j) {
                const Span real = real_taps(a, p.j0 + j);
                const int64_t k = real.end - real.begin;
                if (k == 0 || (C::summed && k < taps_of(a, p.j0 + j))) {  // a cut tree: the general way keeps its shape
                    windows_one_by_one<C>(p, in, out, j, j + 1);
                    continue;
                }
                const Source<C> cells = ahead<C>(in, first_cell(a, p.j0 + j) + real.begin - p.c0);
                window_by_halving<C>(ahead<C>(out, j * p.out_stride), cells, real.begin, k, p.weight, plan.line,
                                     plan.sums, plan.spare);
            }
            return;
        case Way::spread:
            if constexpr (C::summed && !C::two_planes) {
                windows_one_by_one<C>(p, in, out, 0, plan.spread.begin);
                windows_spread<C>(p, in, out, plan.spread, plan.line.v);
                windows_one_by_one<C>(p, in, out, plan.spread.end, p.count);
            }
            return;
    }
}

// Reduce axis q of a tile whose axes have `extent` cells before and windows `count` after the pass.
template <class C>
inline void run_pass(const Axis& a, int q, int rank, const int64_t* extent, int64_t lanes, int64_t j0, int64_t count,
                     int64_t c0, const View<C>& in, const View<C>& out, int64_t weight, Arena* arena) {
    if (count == 0 || lanes == 0) return;

    // Inner axes that are contiguous on both sides join the lanes; all others are looped over.
    Pass<C> p{&a,    j0,           count,         c0,     extent[q], whole_windows(a, j0, count),
              lanes, in.stride[q], out.stride[q], weight, nullptr,   nullptr};
    int inner = rank;
    while (inner - 1 > q && in.stride[inner - 1] == p.run && out.stride[inner - 1] == p.run) p.run *= extent[--inner];
    // Lines that follow each other in memory, in whole windows that do not reach into the next, are one line.
    int before = q;
    Axis longer = a;
    const bool tiled = !a.starts && a.low == 0 && j0 == 0 && c0 == 0 && count == a.o && count * a.s == extent[q] &&
                       (a.k - 1) * a.d < a.s && in.stride[q] == p.run && out.stride[q] == p.run;
    for (int64_t from = extent[q] * p.run, to = count * p.run;
         tiled && before > 0 && in.stride[before - 1] == from && out.stride[before - 1] == to;) {
        const int64_t more = extent[--before];
        from *= more;
        to *= more;
        longer.n *= more;
        longer.o *= more;
        p.count *= more;
        p.cells *= more;
    }
    if (before < q) {
        p.axis = &longer;
        p.whole = {0, p.count};
    }
    int64_t lines = 1;
    for (int r = 0; r < inner; ++r)
        if (r < before || r > q) lines *= extent[r];
    if (lines == 0 || p.run == 0 || p.count == 0) return;

    const int64_t taps = taps_of(a, j0) > a.k ? taps_of(a, j0) : a.k;
    const Plan<C> plan = plan_pass<C>(p, lines, in.base.w != nullptr, arena);
    // Only real cells have a row, unless padding is laid out.
    p.rows = take<Source<C>>(arena, 1 + (plan.way == Way::in_a_row ? taps : least(taps, most(extent[q], 1))));

    if (C::summed && !C::two_planes && plan.way == Way::one_by_one && taps > kTall && p.run > 1) {
        const int64_t levels = 66 - __builtin_clzll(static_cast<uint64_t>(taps));
        p.tall = take<typename C::T>(arena, levels * kTallRun);
    }

    int64_t at[kMaxDims];
    for (int r = 0; r < inner; ++r) at[r] = 0;
    int64_t in_offset = 0, out_offset = 0;
    const auto next_line = [&] {
        for (int r = inner - 1; r >= 0; --r) {
            if (r >= before && r <= q) continue;
            in_offset += in.stride[r];
            out_offset += out.stride[r];
            if (++at[r] < extent[r]) break;
            in_offset -= at[r] * in.stride[r];
            out_offset -= at[r] * out.stride[r];
            at[r] = 0;
        }
    };
    if (plan.lines.many == 1) {
        for (int64_t line = 0; line < lines; ++line, next_line())
            run_line<C>(p, plan, ahead<C>(readable<C>(in.base), in_offset), ahead<C>(out.base, out_offset));
        return;
    }
    const int64_t step = plan.lines.apart * p.run, windows = p.count;
    for (int64_t line = 0; line < lines;) {
        int64_t to[kManyLines], n = 0;
        for (; n < plan.lines.many && line < lines; ++n, ++line, next_line()) {
            to[n] = out_offset;
            lay_line<C>(ahead<C>(plan.line, n * step), ahead<C>(readable<C>(in.base), in_offset), plan.at, p.run,
                        p.run);
        }
        p.count = (n - 1) * plan.lines.apart + windows;
        if (plan.way == Way::doubling)
            windows_by_doubling<C>(p, readable<C>(plan.line), plan.lines.results, p.run, plan.sums, plan.spare);
        else
            windows_in_a_row<C>(p, readable<C>(plan.line), plan.lines.results, p.count, nullptr, {});
        for (int64_t i = 0; i < n; ++i)
            copy_cells<C>(ahead<C>(out.base, to[i]), ahead<C>(readable<C>(plan.lines.results), i * step),
                          windows * p.run);
    }
}
