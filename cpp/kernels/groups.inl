// Windows that are further apart than one cell, of cells of a few elements each: the channels of a picture, say. A cell
// is a group of up to 64 bytes, and a window is joined in registers by the group: a list of rows for each window would
// cost ten times as much as its three bytes.

constexpr int64_t kGroup = 16;       // bytes that are joined at a time
constexpr int64_t kMostGroup = 64;   // bytes of a cell; more are runs of their own
constexpr int64_t kGroupTaps = 256;  // of a window; more are worth passes over all of the line (doubling.inl)

// K taps that lie `apart` elements from each other, from element i on, as the tree of join().
template <class C, class V, int K>
inline RegOf<C, V> join_apart(Source<C> in, int64_t i, int64_t apart, int64_t tap, int64_t weight) {
    if constexpr (K == 1) {
        return C::tap(load_cell<C, V>(in, i), tap * weight);
    } else {
        constexpr int half = K > 2 ? 2 : 1;
        return C::combine(join_apart<C, V, half>(in, i, apart, tap, weight),
                          join_apart<C, V, K - half>(in, i + half * apart, apart, tap + half, weight));
    }
}

// Any number of them, by fours: a binary counter of fours holds the pending subtrees of a sum, as in join_many().
template <class C, class V>
inline RegOf<C, V> join_many_apart(Source<C> in, int64_t i, int64_t apart, int64_t count, int64_t weight) {
    using Reg = RegOf<C, V>;
    const auto four = [&](int64_t t) { return join_apart<C, V, 4>(in, i + t * apart, apart, t, weight); };
    const auto rest = [&](int64_t t) {
        const int64_t at = i + t * apart, left = count - t;
        return left == 1   ? join_apart<C, V, 1>(in, at, apart, t, weight)
               : left == 2 ? join_apart<C, V, 2>(in, at, apart, t, weight)
                           : join_apart<C, V, 3>(in, at, apart, t, weight);
    };
    if (count < 4) return rest(0);
    const int64_t fours = count / 4;
    if constexpr (!C::summed) {
        Reg all = four(0);
        for (int64_t b = 1; b < fours; ++b) all = C::combine(all, four(4 * b));
        return count % 4 ? C::combine(all, rest(4 * fours)) : all;
    } else {
        Reg pending[8];  // kGroupTaps is 4·2^6
        for (int64_t b = 0; b < fours; ++b) {
            Reg part = four(4 * b);
            int level = 0;
            for (; b >> level & 1; ++level) part = C::combine(pending[level], part);
            pending[level] = part;
        }
        int level = __builtin_ctzll(static_cast<uint64_t>(fours));
        Reg all = count % 4 ? C::combine(pending[level], rest(4 * fours)) : pending[level];
        for (int64_t held = fours & (fours - 1); held; held &= held - 1)
            all = C::combine(pending[__builtin_ctzll(static_cast<uint64_t>(held))], all);
        return all;
    }
}

// `count` windows, `step` elements apart, of K taps (0: any number). Groups of less than 16 bytes read and write what
// lies behind them: results are overwritten by the next ones, and behind the last one there must be room.
template <class C, int K>
CENOTE_ONCE void join_groups(Target<C> out, Source<C> in, int64_t count, int64_t step, int64_t apart, int64_t taps,
                             int64_t run, int64_t weight) {
    using V = typename Lane<typename C::T, kGroup>::V;
    constexpr int64_t wide = Lane<typename C::T, kGroup>::count;
    const auto joined = [&](int64_t i) CENOTE_INLINE {
        if constexpr (K > 0) return join_apart<C, V, K>(in, i, apart, 0, weight);
        return join_many_apart<C, V>(in, i, apart, taps, weight);
    };
    if (run <= wide) {
        for (int64_t j = 0; j < count; ++j) store_cell<C, V>(out, j * run, joined(j * step));
        return;
    }
    for (int64_t j = 0; j < count; ++j)
        for (int64_t e = 0; e < run; e += wide) {
            const int64_t at = least(e, run - wide);  // the last ones, some of them a second time
            store_cell<C, V>(out, j * run + at, joined(j * step + at));
        }
}

template <class C>
inline bool groups_pay(const Pass<C>& p) {
    const Axis& a = *p.axis;
    return !a.starts && a.s > 1 && a.k <= kGroupTaps && p.run > 1 && p.in_stride == p.run && p.out_stride == p.run &&
           p.run * static_cast<int64_t>(sizeof(typename C::T)) <= kMostGroup;
}

// Room for the windows at the end of a line, their cells and what is read and written behind them.
template <class C>
inline int64_t last_windows(const Pass<C>& p) {
    constexpr int64_t wide = Lane<typename C::T, kGroup>::count;
    return p.run >= wide ? 0 : least(p.whole.end - p.whole.begin, ceil_div(wide, p.run));
}
template <class C>
inline int64_t last_room(const Pass<C>& p) {
    const int64_t last = last_windows(p);  // all real, so that they are no longer than the line
    return last ? line_length(*p.axis, last) * p.run + Lane<typename C::T, kGroup>::count : 0;
}

// All windows of a line. The last ones are made elsewhere, where there is room behind them.
template <class C>
inline void windows_in_groups(const Pass<C>& p, Source<C> in, Target<C> out, Target<C> cells, Target<C> results) {
    const Axis& a = *p.axis;
    const int64_t count = p.whole.end - p.whole.begin, step = a.s * p.run, apart = a.d * p.run;
    windows_one_by_one<C>(p, in, out, 0, least(p.whole.begin, p.count));
    if (count > 0) {
        const auto join = a.k == 2 ? &join_groups<C, 2> : a.k == 3 ? &join_groups<C, 3> : &join_groups<C, 0>;
        const int64_t last = last_windows(p), most_of = count - last;
        const Source<C> from = ahead<C>(in, (first_cell(a, p.j0 + p.whole.begin) - p.c0) * p.run);
        const Target<C> to = ahead<C>(out, p.whole.begin * p.run);
        join(to, from, most_of, step, apart, a.k, p.run, p.weight);
        if (last) {
            const int64_t n = line_length(a, last) * p.run;
            copy_row(cells.v, from.v + most_of * step, n);
            if (from.w) copy_row(cells.w, from.w + most_of * step, n);
            join(results, {cells.v, from.w ? cells.w : nullptr}, last, step, apart, a.k, p.run, p.weight);
            const Target<C> end = ahead<C>(to, most_of * p.run);
            copy_row(end.v, results.v, last * p.run);
            if (end.w) copy_row(end.w, results.w, last * p.run);
        }
    }
    windows_one_by_one<C>(p, in, out, most(p.whole.begin, p.whole.end), p.count);
}
