// Large windows that overlap, by doubling: Sₘ[i] joins m cells from i on, and S₂ₘ[i] = Sₘ[i] ∘ Sₘ[i + m·d], so that the
// cost grows with log k only. Two doublings are done at once: S₄ₘ is read and written half as often as S₂ₘ and S₄ₘ.
// The association is that of join().

// Where doubling pays. Measured on float32 maxima at stride 1: level with the direct method at k = 9.
inline bool doubling_pays(const Axis& a) {
    if (a.starts || a.k < 9) return false;
    const int levels = 63 - __builtin_clzll(static_cast<uint64_t>(a.k));
    return a.k > a.s * (levels + 3);
}

// Parts of a window: part t starts with tap first[t], and taps are `apart` elements apart.
struct Parts {
    int64_t first[4];
    int64_t apart, weight;
};

// out[i] = part 0 ∘ … ∘ part N-1, by halves. In place is allowed: i only grows.
template <class C, int N>
CENOTE_ONCE void join_parts(Target<C> out, Source<C> from, const Parts& parts, int64_t n) {
    Source<C> part[N];
    int64_t tap[N];
    for (int t = 0; t < N; ++t) {
        part[t] = ahead<C>(from, parts.first[t] * parts.apart);
        tap[t] = parts.first[t] * parts.weight;
    }
    for_lanes<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const auto at = [&](int t) { return C::tap(load_cell<C, V>(part[t], i), tap[t]); };
        auto all = C::combine(at(0), at(1));
        if constexpr (N == 3) all = C::combine(all, at(2));
        if constexpr (N == 4) all = C::combine(all, C::combine(at(2), at(3)));
        store_cell<C, V>(out, i, all);
    });
}

// out[i] = N parts that follow each other `step` elements apart ∘ rest[i], if there is a rest: as much of the tree of a
// sum as one digit of k, written to the base of 4, stands for; N = 4 is the next digit if that is a one.
template <class C, int N, bool More>
CENOTE_ONCE void gather(Target<C> out, Source<C> from, int64_t step, Source<C> rest, int64_t n) {
    for_lanes<typename C::T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const auto at = [&](int64_t t) { return load_cell<C, V>(from, i + t * step); };
        const auto with_rest = [&](auto part) {
            if constexpr (More) return C::combine(part, load_cell<C, V>(rest, i));
            return part;
        };
        if constexpr (N == 1) store_cell<C, V>(out, i, with_rest(at(0)));
        if constexpr (N == 2) store_cell<C, V>(out, i, with_rest(C::combine(at(0), at(1))));
        if constexpr (N == 3) store_cell<C, V>(out, i, C::combine(C::combine(at(0), at(1)), with_rest(at(2))));
        if constexpr (N == 4)
            store_cell<C, V>(out, i, with_rest(C::combine(C::combine(at(0), at(1)), C::combine(at(2), at(3)))));
    });
}

template <class C, bool More>
inline void gather_digit(int digit, Target<C> out, Source<C> from, int64_t step, Source<C> rest, int64_t n) {
    switch (digit) {
        case 1: return gather<C, 1, More>(out, from, step, rest, n);
        case 2: return gather<C, 2, More>(out, from, step, rest, n);
        case 3: return gather<C, 3, More>(out, from, step, rest, n);
        default: return gather<C, 4, More>(out, from, step, rest, n);
    }
}

// All windows of a line, none of them cut short, of which `run` elements of each cell are at hand. `sums` has room for
// the line; so has `spare`, which is there when a stride is to be undone at the end.
template <class C>
inline void windows_by_doubling(const Pass<C>& p, Source<C> cells, Target<C> out, int64_t run, Target<C> sums,
                                Target<C> spare) {
    const Axis& a = *p.axis;
    const bool together = spare.v || (a.s == 1 && p.out_stride == run);
    const Target<C> results = spare.v ? spare : out;
    const int64_t positions = spare.v ? (p.count - 1) * a.s + 1 : p.count;
    auto each_window = [&](auto join_at) {  // join_at(out, position in the line, elements)
        if (together) return join_at(results, int64_t{0}, positions * run);
        for (int64_t j = 0; j < p.count; ++j) join_at(ahead<C>(out, j * p.out_stride), j * a.s * run, run);
    };

    const int64_t apart = a.d * run;
    int64_t held = 1, length = line_length(a, p.count);
    Source<C> part = cells;  // Sₘ of m = held
    const auto fourfold = [&] {
        length -= 3 * held * a.d;
        join_parts<C, 4>(sums, part, {{0, held, 2 * held, 3 * held}, apart, p.weight}, length * run);
        part = readable<C>(sums);
        held *= 4;
    };
    if constexpr (C::summed) {
        bool started = false;
        Source<C> lone{nullptr, nullptr};  // the last cell, which stays where it is until there is one to join
        const auto collect = [&](int digit, int64_t first) {
            each_window([&](Target<C> to, int64_t position, int64_t n) {
                const Source<C> from = ahead<C>(part, position + first * apart);
                const int64_t step = held * apart;
                if (lone.v)
                    gather_digit<C, true>(digit, to, from, step, ahead<C>(lone, position), n);
                else if (started)
                    gather_digit<C, true>(digit, to, from, step, readable<C>(to), n);
                else
                    gather_digit<C, false>(digit, to, from, step, from, n);
            });
            started = true;
            lone = {nullptr, nullptr};
        };
        for (;; fourfold()) {
            const int64_t rest = a.k / held;
            if (held == 1 && rest % 4 == 1 && rest > 1)
                lone = ahead<C>(cells, (a.k - 1) * apart);
            else if (rest % 4)
                collect(static_cast<int>(rest % 4), rest / 4 * 4 * held);
            if (rest < 4) break;
            if (rest < 8) {
                collect(4, 0);
                break;
            }
        }
    } else {
        while (4 * held < a.k) fourfold();
        // The last parts overlap, which a maximum does not mind.
        const int64_t count = ceil_div(a.k, held), last = a.k - held;
        each_window([&](Target<C> to, int64_t position, int64_t n) {
            const Source<C> from = ahead<C>(part, position);
            if (count == 2) return join_parts<C, 2>(to, from, {{0, last}, apart, p.weight}, n);
            if (count == 3) return join_parts<C, 3>(to, from, {{0, held, last}, apart, p.weight}, n);
            join_parts<C, 4>(to, from, {{0, held, 2 * held, last}, apart, p.weight}, n);
        });
    }
    if (spare.v) {
        take_every(out.v, spare.v, p.count, a.s, run);
        if constexpr (C::two_planes) take_every(out.w, spare.w, p.count, a.s, run);
    }
}
