// Medians of bytes over large windows, by threshold decomposition: a window's median is the first value T of which more
// elements than half are not larger. A block is one vector of neighbouring windows, which slides down the array.
//
// For each T that the block has needed so far, there is the number of elements up to T in each window. From one row of
// windows to the next the median moves little, so the search begins at the last one, and few T are looked at. A count
// is brought up to date when it is needed. What enters and leaves by a step down is counted for the first window; for
// each window after it, a column enters and one leaves: running sums.

using Bytes = typename VecOf<uint8_t, kVectorBytes>::type;
using Sums = typename VecOf<uint16_t, kVectorBytes>::type;
using Masks = typename VecOf<int16_t, kVectorBytes>::type;
constexpr int64_t kBlock = kVectorBytes;  // windows
constexpr int64_t kWords = kBlock / 2;    // counts of a vector

// Counts of a block. Vectors of 16 bytes are widened each by itself, so `low` has lanes 0-7, 16-23 … and `high` the
// rest.
struct WordCounts {
    Sums low, high;
};

template <int Which, class V, int... I>
CENOTE_INLINE inline V half_words(V v, V with, Seq<I...>) {
    return __builtin_shufflevector(v, with, (I / 16 * 16 + I % 16 / 2 + 8 * Which + I % 2 * kVectorBytes)...);
}
// Bytes to words, whose upper bytes are `upper`.
CENOTE_INLINE inline WordCounts widen_bytes(Bytes v, Bytes upper) {
    using Each = typename MakeSeq<kVectorBytes>::type;
    return {(Sums)half_words<0>(v, upper, Each{}), (Sums)half_words<1>(v, upper, Each{})};
}
// Each 16-byte part moved up by Count bytes; zeros enter.
template <int Count, class V, int... I>
CENOTE_INLINE inline V moved_up(V v, Seq<I...>) {
    return (V)__builtin_shufflevector((Bytes)v, Bytes{}, (I % 16 < Count ? kVectorBytes : I - Count)...);
}
template <int Count, class V>
CENOTE_INLINE inline V moved_up(V v) {
    return moved_up<Count>(v, typename MakeSeq<kVectorBytes>::type{});
}
// The last Size bytes of each 16-byte part, everywhere in it.
template <int Size, class V, int... I>
CENOTE_INLINE inline V last_of_part(V v, Seq<I...>) {
    return (V)__builtin_shufflevector((Bytes)v, (Bytes)v, (I / 16 * 16 + 16 - Size + I % Size)...);
}
// Each part as the next one; zeros enter.
template <class V, int... I>
CENOTE_INLINE inline V next_part(V v, Seq<I...>) {
    return (V)__builtin_shufflevector((Bytes)v, Bytes{}, (I < 16 ? kVectorBytes : I - 16)...);
}

// Running sums of bytes, modulo 256.
CENOTE_INLINE inline Bytes running_sum(Bytes v) {
    using Each = typename MakeSeq<kVectorBytes>::type;
    v += moved_up<1>(v);
    v += moved_up<2>(v);
    v += moved_up<4>(v);
    v += moved_up<8>(v);
    if constexpr (kVectorBytes == 32) v += next_part(last_of_part<1>(v, Each{}), Each{});
    return v;
}
// The same of words, in the order of WordCounts.
CENOTE_INLINE inline WordCounts running_sum(WordCounts c) {
    using Each = typename MakeSeq<kVectorBytes>::type;
    const auto within = [](Sums v) CENOTE_INLINE {
        v += moved_up<2>(v);
        v += moved_up<4>(v);
        return v + moved_up<8>(v);
    };
    c.low = within(c.low);
    c.high = within(c.high) + last_of_part<2>(c.low, Each{});
    if constexpr (kVectorBytes == 32) {
        const Sums carry = next_part(last_of_part<2>(c.high, Each{}), Each{});
        c.low += carry;
        c.high += carry;
    }
    return c;
}

CENOTE_INLINE inline uint64_t sum_of_bytes(Bytes v) {
#if defined(__AVX2__)
    if constexpr (kVectorBytes == 32) {
        const __m256i four = _mm256_sad_epu8((__m256i)v, _mm256_setzero_si256());
        const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))));
    }
#endif
    uint64_t sum = 0;
    for (int i = 0; i < kVectorBytes; ++i) sum += v[i];
    return sum;
}

// Masks of words as masks of bytes, in the order of the lanes.
CENOTE_INLINE inline Bytes narrow_masks(Masks low, Masks high) {
#if defined(__AVX2__)
    if constexpr (kVectorBytes == 32) return (Bytes)_mm256_packs_epi16((__m256i)low, (__m256i)high);
#endif
    return deinterleave<0, uint8_t, kVectorBytes>((Bytes)low, (Bytes)high);
}

// Which of a are at most, or above, those of b: all are below 2^15.
CENOTE_INLINE inline Bytes above(WordCounts a, WordCounts b) {
    return narrow_masks((Masks)a.low > (Masks)b.low, (Masks)a.high > (Masks)b.high);
}
CENOTE_INLINE inline Bytes at_most(WordCounts a, WordCounts b) { return ~above(a, b); }

// All ones where a byte is negative.
CENOTE_INLINE inline Bytes sign_of(Bytes v) { return (Bytes)((typename VecOf<int8_t, kVectorBytes>::type)v < 0); }

class ThresholdBlock {
 public:
    CENOTE_ONCE explicit ThresholdBlock(const CountedWindows& of) : w(of) {
        for (int64_t& row : counted) row = kNever;
        vectors = (w.k + kBlock - 1) / kBlock;
        ones = splat<Bytes>(uint8_t{1});
        some_ones = ones & (Bytes)(iota<Bytes>() < static_cast<uint8_t>(w.k - (vectors - 1) * kBlock));
        but_first = (Bytes)(iota<Bytes>() > 0);
    }

    CENOTE_ONCE void run() {
        const Bytes valid = (Bytes)(iota<Bytes>() < static_cast<uint8_t>(w.windows));
        const WordCounts columns = widen_bytes(load<Bytes>(w.columns), Bytes{});
        int64_t start = 127;
        for (int64_t r = 0; r < w.rows; ++r) {
            const auto real = static_cast<uint16_t>(w.real_rows[r]);
            const WordCounts elements{columns.low * real, columns.high * real};
            const WordCounts lower{(elements.low - 1) >> 1, (elements.high - 1) >> 1};
            const WordCounts upper{elements.low >> 1, elements.high >> 1};
            const bool even = !all_zero(above(upper, lower) & valid);
            const Bytes low =
                even ? search<true>(r, start, lower, upper, valid) : search<false>(r, start, lower, upper, valid);
            store(w.low + r * w.out_row, low);
            start = low[w.windows / 2];
        }
    }

 private:
    static constexpr int64_t kNever = -(int64_t{1} << 40);
    static constexpr int64_t kRebuild = 6;  // a step costs as much as so many rows of a new count

    // The lower middle elements. With Even the upper ones, which differ, are written too.
    template <bool Even>
    CENOTE_INLINE Bytes search(int64_t r, int64_t start, WordCounts lower, WordCounts upper, Bytes valid) {
        const int64_t y = r * w.down;
        Bytes first = splat<Bytes>(static_cast<uint8_t>(start)), second = first;
        for (int64_t t = start; t < 255; ++t) {  // no element is above 255
            const WordCounts n = counts(t, y);
            const Bytes below = at_most(n, lower);
            first -= below;
            Bytes going = below;
            if constexpr (Even) {
                going = at_most(n, upper);
                second -= going;
            }
            if (all_zero(going & valid)) break;
        }
        for (int64_t t = start - 1; t >= 0; --t) {
            const WordCounts n = counts(t, y);
            const Bytes past = above(n, lower);
            first += past;
            if constexpr (Even) second += above(n, upper);
            if (all_zero(past & valid)) break;
        }
        store(w.high + r * w.out_row, Even ? second : first);
        return first;
    }

    // How many elements up to t the windows have whose first row is y.
    CENOTE_INLINE WordCounts counts(int64_t t, int64_t y) {
        const int64_t steps = y - counted[t];
        if (steps) {
            counted[t] = y;
            if (kRebuild * steps < w.height)
                for (int64_t row = y - steps + 1; row <= y; ++row) one_row(t, row);
            else
                all_rows(t, y);
        }
        return {load<Sums>(box[t]), load<Sums>(box[t] + kWords)};
    }

    CENOTE_INLINE static Bytes up_to(const uint8_t* at, Bytes t) {  // -1 for each
        const Bytes v = load<Bytes>(at);
        return (Bytes)(smaller(v, t) == v);
    }

    // Ones in the columns of the first window that vector v has.
    CENOTE_INLINE Bytes first_window(int64_t v) const { return v + 1 < vectors ? ones : some_ones; }

    // One row enters and one leaves: no difference is above 127.
    CENOTE_ONCE void one_row(int64_t t, int64_t y) {
        const Bytes limit = splat<Bytes>(static_cast<uint8_t>(t));
        const uint8_t *out = w.keys + (y - 1) * w.row, *in = out + w.height * w.row;
        uint64_t first = 0;
        for (int64_t v = 0; v < vectors; ++v) {
            const Bytes count = first_window(v);
            first += sum_of_bytes(up_to(in + v * kBlock, limit) & count);
            first -= sum_of_bytes(up_to(out + v * kBlock, limit) & count);
        }
        // A column leaves for each one that enters: lane i has the differences to lane i - 1.
        const Bytes leaves = up_to(out - 1, limit) - up_to(in - 1, limit);
        const Bytes enters = up_to(out - 1 + w.k, limit) - up_to(in - 1 + w.k, limit);
        const Bytes sum = running_sum((enters - leaves) & but_first) + static_cast<uint8_t>(first);
        const WordCounts more = widen_bytes(sum, sign_of(sum));
        store(box[t], load<Sums>(box[t]) + more.low);
        store(box[t] + kWords, load<Sums>(box[t] + kWords) + more.high);
    }

    // All rows of the windows.
    CENOTE_ONCE void all_rows(int64_t t, int64_t y) {
        const Bytes limit = splat<Bytes>(static_cast<uint8_t>(t));
        const auto column = [&](int64_t at) CENOTE_INLINE {  // how many elements of each column
            Bytes sum{};
            const uint8_t* from = w.keys + y * w.row + at;
            for (int64_t i = 0; i < w.height; ++i, from += w.row) sum -= up_to(from, limit);
            return sum;
        };
        uint64_t first = 0;
        for (int64_t v = 0; v < vectors; ++v) first += sum_of_bytes(column(v * kBlock) & (Bytes{} - first_window(v)));
        const WordCounts leaves = widen_bytes(column(-1) & but_first, Bytes{});
        const WordCounts enters = widen_bytes(column(w.k - 1) & but_first, Bytes{});
        const WordCounts sum = running_sum(WordCounts{enters.low - leaves.low, enters.high - leaves.high});
        const auto start = static_cast<uint16_t>(first);
        store(box[t], sum.low + start);
        store(box[t] + kWords, sum.high + start);
    }

    const CountedWindows w;
    int64_t vectors;  // that the first window covers
    Bytes ones, some_ones, but_first;
    int64_t counted[256];
    alignas(64) uint16_t box[256][kBlock];
};

void threshold_counts(const CountedWindows& windows) { ThresholdBlock(windows).run(); }
