// Windows with a stride over pixels of a few elements, e.g. the channels of an image. A pixel has up to 64 bytes, and
// windows are reduced in registers pixel by pixel: a list of rows per window would cost ten times as much as its three
// bytes.

// K taps, `apart` elements from each other, from element i on, in the tree of reduce_tree().
template <class C, class V, int K>
inline RegOf<C, V> reduce_strided(Source<C> in, int64_t i, int64_t apart, int64_t tap, int64_t weight) {
    if constexpr (K == 1) {
        return C::tap(load_accumulator<C, V>(in, i), tap * weight);
    } else {
        constexpr int half = K > 2 ? 2 : 1;
        return C::combine(reduce_strided<C, V, half>(in, i, apart, tap, weight),
                          reduce_strided<C, V, K - half>(in, i + half * apart, apart, tap + half, weight));
    }
}

// Any number of taps, by fours: a binary counter of fours holds the pending subtrees of a sum, as in reduce_many().
template <class C, class V>
inline RegOf<C, V> reduce_many_strided(Source<C> in, int64_t i, int64_t apart, int64_t count, int64_t weight) {
    using Reg = RegOf<C, V>;
    const auto four = [&](int64_t t) { return reduce_strided<C, V, 4>(in, i + t * apart, apart, t, weight); };
    const auto rest = [&](int64_t t) {
        const int64_t at = i + t * apart, left = count - t;
        return left == 1   ? reduce_strided<C, V, 1>(in, at, apart, t, weight)
               : left == 2 ? reduce_strided<C, V, 2>(in, at, apart, t, weight)
                           : reduce_strided<C, V, 3>(in, at, apart, t, weight);
    };
    if (count < 4) return rest(0);
    const int64_t fours = count / 4;
    if constexpr (!C::summed) {
        Reg all = four(0);
        for (int64_t b = 1; b < fours; ++b) all = C::combine(all, four(4 * b));
        return count % 4 ? C::combine(all, rest(4 * fours)) : all;
    } else {
        Reg pending[8];  // kPixelTaps is 4·2^6
        for (int64_t b = 0; b < fours; ++b) {
            Reg part = four(4 * b);
            int level = 0;
            for (; b >> level & 1; ++level) part = C::combine(pending[level], part);
            pending[level] = part;
        }
        int level = __builtin_ctzll(static_cast<uint64_t>(fours));
        Reg all = count % 4 ? C::combine(pending[level], rest(4 * fours)) : pending[level];
        for (int64_t occupied = fours & (fours - 1); occupied; occupied &= occupied - 1)
            all = C::combine(pending[__builtin_ctzll(static_cast<uint64_t>(occupied))], all);
        return all;
    }
}

// `count` windows, `step` elements apart, of K taps (0: any number). Pixels of less than 16 bytes are read and written
// with what follows them: the next result overwrites it, and after the last one there must be room.
template <class C, int K>
void reduce_pixels(Planes to, Planes from, int64_t count, int64_t step, int64_t apart, int64_t taps, int64_t run,
                   int64_t weight) {
    const Target<C> out = target<C>(to);
    const Source<C> in = source<C>(from);
    using V = typename Lane<typename C::T, kPixelBytes>::V;
    constexpr int64_t wide = Lane<typename C::T, kPixelBytes>::count;
    const auto reduced = [&](int64_t i) CENOTE_INLINE {
        if constexpr (K > 0) return reduce_strided<C, V, K>(in, i, apart, 0, weight);
        return reduce_many_strided<C, V>(in, i, apart, taps, weight);
    };
    if (run <= wide) {
        for (int64_t j = 0; j < count; ++j) store_accumulator<C, V>(out, j * run, reduced(j * step));
        return;
    }
    for (int64_t j = 0; j < count; ++j)
        for (int64_t e = 0; e < run; e += wide) {
            const int64_t at = min(e, run - wide);  // the last vector overlaps
            store_accumulator<C, V>(out, j * run + at, reduced(j * step + at));
        }
}
