// Averages of 8-bit and 16-bit integers over windows that do not overlap: totals in lanes twice as wide, two vectors of
// which make one of results. Signed integers are averaged as unsigned ones with the sign bit flipped: the difference is
// an even number, so ties stay ties of the same parity.
//
// The elements of a row are added in pairs; windows of 4 and 8 are pairs of pairs. For images whose pixels have 3 or 4
// elements, a shuffle first puts the corresponding elements of two neighbouring pixels next to each other.

template <class S>
using Total = typename UnsignedOf<2 * sizeof(S)>::type;
template <class S>
using Totals = typename VecOf<Total<S>, kVectorBytes>::type;

// The conversion of a total to an average.
struct Rounding {
    // Division by 2^shift: add half of it, minus one unless the quotient is odd, and shift.
    bool shifts;
    int shift;
    uint32_t add, odd;
    float divisor, inverse;
    uint32_t flip;   // for signed integers: the sign bit
    int32_t excess;  // how much that adds to a total

    Rounding(double count, int64_t real, uint32_t sign) : flip(sign) {
        const auto interior = static_cast<uint64_t>(count);
        shifts = interior && (interior & (interior - 1)) == 0;
        shift = shifts ? __builtin_ctzll(interior) : 0;
        add = shift ? (1u << (shift - 1)) - 1 : 0;
        odd = shift > 0;
        divisor = static_cast<float>(count);
        inverse = 1.0f / divisor;
        excess = static_cast<int32_t>(real * static_cast<int64_t>(sign));
    }
    bool divides_by_four() const { return shifts && shift == 2; }
    void divide_by_four() {  // makes the constants known at compile time
        shifts = true;
        shift = 2;
        add = odd = 1;
        inverse = 0.25f;
    }
};

template <int First, class V, int... I>
CENOTE_INLINE inline auto part_of(V a, V b, Seq<I...>) {
    return __builtin_shufflevector(a, b, (First + I)...);
}

// Lanes of totals as one or two vectors of float: f(index, vector) for each.
template <class S, class F>
CENOTE_INLINE inline void as_floats(Totals<S> t, int32_t excess, F f) {
    using Ints = typename VecOf<int32_t, kVectorBytes>::type;
    using Floats = typename VecOf<float, kVectorBytes>::type;
    const auto give = [&](int k, Ints v) CENOTE_INLINE { f(k, __builtin_convertvector(Ints(v - excess), Floats)); };
    if constexpr (sizeof(S) == 2) {
        give(0, (Ints)t);
    } else {
        constexpr int half = kVectorBytes / 4;
        using Half = typename MakeSeq<half>::type;
        give(0, __builtin_convertvector(part_of<0>(t, t, Half{}), Ints));
        give(1, __builtin_convertvector(part_of<half>(t, t, Half{}), Ints));
    }
}

// Two vectors of lanes whose upper halves are empty as one vector of lanes half as wide.
template <class S>
CENOTE_INLINE inline auto narrowed(Totals<S> a, Totals<S> b) {
    using V = typename VecOf<S, kVectorBytes>::type;
#if defined(__AVX2__)
    if constexpr (sizeof(S) == 1)
        return restore_order<kVectorBytes>((V)_mm256_packus_epi16((__m256i)a, (__m256i)b));
    else
        return restore_order<kVectorBytes>((V)_mm256_packus_epi32((__m256i)a, (__m256i)b));
#else
    return restore_order<kVectorBytes>(deinterleave<0, S, kVectorBytes>((V)a, (V)b));
#endif
}

// Shifts all lanes by the same count. GCC generates a variable shift per lane, which takes ten instructions.
template <class S>
CENOTE_INLINE inline Totals<S> shifted(Totals<S> t, int bits) {
#if defined(__AVX2__)
    return (Totals<S>)(sizeof(S) == 1 ? _mm256_srli_epi16((__m256i)t, bits) : _mm256_srli_epi32((__m256i)t, bits));
#else
    return t >> static_cast<Total<S>>(bits);
#endif
}

template <class S>
CENOTE_INLINE inline Totals<S> averaged(Totals<S> t, const Rounding& by) {
    using T = Total<S>;
    if (by.shifts)
        return shifted<S>(t + static_cast<T>(by.add) + (shifted<S>(t, by.shift) & static_cast<T>(by.odd)), by.shift);
    using Words = typename VecOf<uint32_t, kVectorBytes>::type;
    Words interior[2]{};
    as_floats<S>(t, 0, [&](int k, auto v) CENOTE_INLINE {
        // The quotient of a total below 2^23 in single precision is a tie only if the exact one is: otherwise it is
        // farther from a tie than the rounding error. Adding 1.5 · 2^23 leaves the integer in the low bits.
        interior[k] = (Words)(v / by.divisor + 0x1.8p23f) - 0x4b400000u;
    });
    if constexpr (sizeof(S) == 2)
        return interior[0];
    else
        return (Totals<S>)narrowed<uint16_t>(interior[0], interior[1]);
}

// ------------------------------------------------------------------------------------------------ rows of totals

// The sum of each element and its neighbour.
template <class S>
CENOTE_INLINE inline Totals<S> pairs(typename VecOf<S, kVectorBytes>::type v) {
#if defined(__AVX2__)
    if constexpr (sizeof(S) == 1) return (Totals<S>)_mm256_maddubs_epi16((__m256i)v, _mm256_set1_epi8(1));
#endif
    constexpr int bits = 8 * sizeof(S);
    const Totals<S> both = (Totals<S>)v;
    return (both & static_cast<Total<S>>((Total<S>{1} << bits) - 1)) + (both >> bits);
}

// The totals of a vector of windows: `Rows` rows (0: `count`), `by` bytes further on, K elements of each row.
template <class S, int K, int Rows>
CENOTE_INLINE inline Totals<S> row_totals(const char* const* rows, int64_t count, int64_t by, S flip) {
    if constexpr (K > 2) {
        const auto a = row_totals<S, K / 2, Rows>(rows, count, by, flip);
        const auto b = row_totals<S, K / 2, Rows>(rows, count, by + K * kVectorBytes / 4, flip);
        using T = Total<S>;
        return restore_order<kVectorBytes>(
            Totals<S>(deinterleave<0, T, kVectorBytes>(a, b) + deinterleave<1, T, kVectorBytes>(a, b)));
    } else {
        const auto one = [&](int64_t r) CENOTE_INLINE {
            if constexpr (K == 2) {
                return pairs<S>(load<typename VecOf<S, kVectorBytes>::type>(rows[r] + by) ^ flip);
            } else {
                return __builtin_convertvector(load<typename VecOf<S, kVectorBytes / 2>::type>(rows[r] + by) ^ flip,
                                               Totals<S>);
            }
        };
        Totals<S> sum = one(0);
        if constexpr (Rows > 0) {
            each<Rows - 1>(0, [&](int64_t r) CENOTE_INLINE { sum += one(r + 1); });
        } else {
            for (int64_t r = 1; r < count; ++r) sum += one(r);
        }
        return sum;
    }
}

// The averages of as many windows as a vector of S has lanes.
template <class S, class R, int K, int Rows>
CENOTE_INLINE inline void some_averages(const char* const* rows, int64_t count, int64_t by, const Rounding& rounding,
                                        char* out, bool streaming) {
    constexpr int64_t half = K * kVectorBytes / 2;
    const S flip = static_cast<S>(rounding.flip);
    const auto a = row_totals<S, K, Rows>(rows, count, by, flip);
    const auto b = row_totals<S, K, Rows>(rows, count, by + half, flip);
    if constexpr (__is_same(R, float)) {
        constexpr int vectors = sizeof(S) == 1 ? 2 : 1;
        const auto write = [&](int k, auto v) CENOTE_INLINE {
            v = rounding.shifts ? v * rounding.inverse : v / rounding.divisor;
            store_or_stream(out + k * kVectorBytes, v, streaming);
        };
        as_floats<S>(a, rounding.excess, write);
        as_floats<S>(b, rounding.excess, [&](int k, auto v) CENOTE_INLINE { write(vectors + k, v); });
    } else {
        store_or_stream(out, narrowed<S>(averaged<S>(a, rounding), averaged<S>(b, rounding)) ^ flip, streaming);
    }
}

// n windows of complete rows, at least a vector of them. With two rows, elements `later` bytes on are prefetched (2×2
// of 4096² of uint8: 0.82 vs. 0.61 ms; with more rows it costs more than it saves).
template <class S, class R, int K, int Rows>
CENOTE_ONCE void row_of_averages(const char* const* listed, int64_t count, const Rounding& given, char* out, int64_t n,
                                 int64_t later, bool streaming) {
    constexpr int64_t wide = kVectorBytes / sizeof(S);
    Rounding rounding = given;  // copies: stores to `out` cannot alias them
    if constexpr (Rows * K == 4) rounding.divide_by_four();
    const char* known[Rows ? Rows : 1];
    each<Rows>(0, [&](int64_t r) CENOTE_INLINE { known[r] = listed[r]; });
    const char* const* rows = Rows ? known : listed;
    for (int64_t i = 0; i < n; i += wide) {
        const int64_t k = min(i, n - wide);  // the last vector overlaps
        const int64_t by = k * K * static_cast<int64_t>(sizeof(S));
        each<Rows>(0, [&](int64_t r) CENOTE_INLINE { __builtin_prefetch(rows[r] + by + later); });
        some_averages<S, R, K, Rows>(rows, count, by, rounding, out + k * static_cast<int64_t>(sizeof(R)), streaming);
    }
}

// ---------------------------------------------------------------------------------------- pixels of 3 or 4 elements

// Puts the corresponding elements of two neighbouring pixels of `Unit` elements together, in each 16 bytes; the rest
// last.
template <int Size, int Unit>
constexpr int pixel_byte(int i) {
    const int lane = i / 16 * 16, in = i % 16, pair = 2 * Size * Unit, used = 16 / pair * pair;
    if (in >= used) return lane + in;
    const int element = in % pair / (2 * Size), which = in / Size % 2;
    return lane + in / pair * pair + which * Size * Unit + element * Size + in % Size;
}
// Packs the results of two 16-byte blocks of such pairs, of which each 16 bytes have two halves.
template <int Size, int Unit>
constexpr int packed_byte(int i) {
    const int lane = i / 16 * 16, in = i % 16, used = 16 / (2 * Size * Unit) * Size * Unit;
    return in < 2 * used ? lane + (in < used ? in : 8 + in - used) : lane + in;
}
template <int Size, int Unit, class V, int... I>
CENOTE_INLINE inline V by_pixels(V v, Seq<I...>) {
    return __builtin_shufflevector(v, v, pixel_byte<Size, Unit>(I)...);
}
template <int Size, int Unit, class V, int... I>
CENOTE_INLINE inline V packed(V v, Seq<I...>) {
    return __builtin_shufflevector(v, v, packed_byte<Size, Unit>(I)...);
}

using Sixteen = typename VecOf<uint8_t, 16>::type;
using Bytes = typename VecOf<uint8_t, kVectorBytes>::type;

// 16 bytes from one address and, if a vector has more, 16 from another.
CENOTE_INLINE inline Bytes load_sixteens(const char* p, [[maybe_unused]] const char* q) {
#if defined(__AVX2__)
    const __m256i first = _mm256_castsi128_si256((__m128i)load<Sixteen>(p));
    return (Bytes)_mm256_inserti128_si256(first, (__m128i)load<Sixteen>(q), 1);
#else
    return load<Bytes>(p);
#endif
}

// n windows of two pixels in each of two rows; returns how many were computed, the rest being too few for interior
// vectors.
template <class S, int Unit>
CENOTE_ONCE int64_t row_of_pixels(const char* const* rows, const Rounding& given, char* out, int64_t n, int64_t later) {
    using All = typename MakeSeq<kVectorBytes>::type;
    constexpr int size = sizeof(S), lanes = kVectorBytes / 16;
    constexpr int64_t windows = 16 / (2 * size * Unit);  // in 16 bytes
    constexpr int64_t read = windows * 2 * Unit * size, written = windows * Unit * size;
    Rounding rounding = given;
    rounding.divide_by_four();
    const S flip = static_cast<S>(rounding.flip);
    const char *upper = rows[0], *lower = rows[1];
    const auto totals = [&](int64_t by) CENOTE_INLINE {
        const auto one = [&](const char* row) CENOTE_INLINE {
            const Bytes v = by_pixels<size, Unit>(load_sixteens(row + by, row + by + read), All{});
            return pairs<S>((typename VecOf<S, kVectorBytes>::type)v ^ flip);
        };
        return averaged<S>(one(upper) + one(lower), rounding);
    };
    constexpr int64_t step = 2 * lanes * windows;  // windows at a time
    // 16 bytes are read and written even if fewer are used, so as many must follow.
    constexpr int64_t more = (16 - read + 2 * Unit * size - 1) / (2 * Unit * size);
    constexpr int64_t room = (16 - 2 * written + Unit * size - 1) / (Unit * size);
    int64_t i = 0;
    for (; i + step + (more > room ? more : room) <= n; i += step) {
        const int64_t by = i * 2 * Unit * size;
        __builtin_prefetch(upper + by + later);
        __builtin_prefetch(lower + by + later);
        const auto both = narrowed<S>(totals(by), totals(by + lanes * read)) ^ flip;
        const Bytes results = packed<size, Unit>((Bytes)both, All{});
        char* to = out + i * Unit * size;
        store(to, part_of<0>(results, results, typename MakeSeq<16>::type{}));
        if constexpr (lanes == 2) store(to + 2 * written, part_of<16>(results, results, typename MakeSeq<16>::type{}));
    }
    return i;
}

// ------------------------------------------------------------------------------------------------------- the tile

using UintRow = void (*)(const char* const*, int64_t, const Rounding&, char*, int64_t, int64_t, bool);
using PixelRow = int64_t (*)(const char* const*, const Rounding&, char*, int64_t, int64_t);

struct UintKernels {
    UintRow row[4];  // by the size of a window along the row: 1, 2, 4, 8
    UintRow two_by_two;
    PixelRow pixels[2];  // of 3 and 4 elements
};

template <class S, class R>
constexpr UintKernels kUintKernels{{&row_of_averages<S, R, 1, 0>, &row_of_averages<S, R, 2, 0>,
                                    &row_of_averages<S, R, 4, 0>, &row_of_averages<S, R, 8, 0>},
                                   &row_of_averages<S, R, 2, 2>,
                                   {&row_of_pixels<S, 3>, &row_of_pixels<S, 4>}};

// One window: its rows from `first` on, `taps` elements of each, `apart` bytes between them, `size` bytes each.
CENOTE_ONCE void one_average(const char* first, const DirectWindow& window, Span taps, int64_t apart, double count,
                             int64_t size, uint32_t flip, char* out, bool to_float) {
    int64_t sum = 0;
    for (int64_t r = 0; r < window.count; ++r) {
        for (int64_t t = taps.begin; t < taps.end; ++t) {
            const char* x = first + window.at[r] + t * apart;
            const uint32_t element = size == 1 ? load<uint8_t>(x) : load<uint16_t>(x);
            sum += static_cast<int64_t>(element ^ flip) - static_cast<int64_t>(flip);
        }
    }
    if (to_float)
        return store(out, count > 0 ? static_cast<float>(sum) / static_cast<float>(count) : Limits<float>::nan);
    const double average = static_cast<double>(sum) / (count > 0 ? count : 1);
    const int64_t nearest = static_cast<int64_t>((average + 0x1.8p52) - 0x1.8p52);
    if (size == 1)
        store(out, static_cast<uint8_t>(nearest));
    else
        store(out, static_cast<uint16_t>(nearest));
}

// Results have the dtype of the elements, or are float32.
void uint_direct(const PoolSchedule& job, int64_t task, Arena*) {
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1;
    const uint32_t flip = job.in == DType::i8 ? 0x80 : job.in == DType::i16 ? 0x8000 : 0;
    const bool to_float = job.out == DType::f32;
    const int64_t size = size_of(job.in), written = size_of(job.out), wide = kVectorBytes / size;
    const UintKernels& kernels = size == 1
                                     ? (to_float ? kUintKernels<uint8_t, float> : kUintKernels<uint8_t, uint8_t>)
                                     : (to_float ? kUintKernels<uint16_t, float> : kUintKernels<uint16_t, uint16_t>);
    // A row is a run of windows along the last axis, or the lanes of one window.
    const bool lanes = job.lanes > 4;
    const int64_t unit = lanes ? 1 : b.lanes;
    const int depth = lanes ? job.rank : last;
    const Axis& a = job.axis[last];
    const int64_t j0 = b.j0[last], n = lanes ? b.lanes : b.count[last], k = lanes ? 1 : a.k;
    const Span interior = lanes ? Span{0, n} : interior_windows(a, j0, n);
    const int64_t many = interior.end - interior.begin;
    const auto counted = [&](int q, int64_t j) {
        const Span taps = job.include_pad ? padded_taps(job.axis[q], j) : real_taps(job.axis[q], j);
        return static_cast<double>(taps.end - taps.begin);
    };
    const auto one_by_one = [&](Span some, const char* first, const DirectWindow& window, double elements, char* out) {
        for (int64_t i = some.begin; i < some.end; ++i) {
            const Span taps = lanes ? Span{0, 1} : real_taps(a, j0 + i);
            const double count = lanes ? elements : elements * counted(last, j0 + i);
            const char* x = first + (lanes ? i : window_start(a, j0 + i) * unit) * size;
            for (int64_t e = 0; e < unit; ++e)
                one_average(x + e * size, window, taps, unit * size, count, size, flip, out + (i * unit + e) * written,
                            to_float);
        }
    };
    const auto row = [&](const int64_t* j, const char* first, const DirectWindow& window, int64_t y) {
        double elements = 1;
        for (int q = 0; q < depth; ++q) elements *= counted(q, j[q]);
        const Rounding rounding(elements * static_cast<double>(k), window.count * k, flip);
        const bool two_by_two = k == 2 && window.count == 2 && rounding.divides_by_four();
        const UintRow kernel = two_by_two ? kernels.two_by_two : kernels.row[__builtin_ctzll(static_cast<uint64_t>(k))];
        const int64_t later = window.x_step > 0 ? (kAhead + window.x_step - 1) / window.x_step * window.x_step : 0;
        for (int64_t r = 0; r < window.rows; ++r, first += window.x_step, y += window.y_step) {
            char* out = job.y + y * written;
            int64_t done = 0;  // windows that are not clipped along the row
            if (window.count > 0) {
                const char* x = first + (lanes ? 0 : (window_start(a, j0) + interior.begin * k) * unit * size);
                const char* rows[kDirectTaps];
                for (int64_t e = 0; e < window.count; ++e) rows[e] = x + window.at[e];
                char* to = out + interior.begin * unit * written;
                if (unit == 1 && many >= wide) {
                    const bool streaming = job.streaming && many % wide == 0 && vector_aligned(to, 0);
                    kernel(rows, window.count, rounding, to, many, later, streaming);
                    done = many;
                } else if (unit > 1 && two_by_two) {
                    done = kernels.pixels[unit - 3](rows, rounding, to, many, later);
                }
            }
            one_by_one({0, interior.begin}, first, window, elements, out);
            one_by_one({interior.begin + done, n}, first, window, elements, out);
        }
    };
    for_window_rows(job, b, TapWeights{}, depth, INT64_MAX, row,
                    [&](const int64_t* j, int64_t y) { row(j, b.x, DirectWindow{{0, 0, 0}, 0, true, {0}, {0}}, y); });
    if (job.streaming) fence_stores();
}
