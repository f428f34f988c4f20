#include "pool/convert_rows.hpp"

#include "pool/tile.hpp"
#include "pool/wide_integers.hpp"
#include "runtime/levels.hpp"

namespace cenote {

namespace {

constexpr int kVectorBytes = 16;

#include "simd/vector.inl"

#define CENOTE_ONCE __attribute__((noinline))
#define CENOTE_COLD __attribute__((noinline, cold))  // optimised for size

#include "simd/convert.inl"

// ------------------------------------------------------------------------------------------------------- scalars

constexpr double kToInteger = 0x1.8p52;  // adding and subtracting this rounds to an integer, ties to even

// To 64 bits, clipped; NaN to 0.
template <class I>
inline I nearest(double v) {
    constexpr double beyond = Limits<I>::low < 0 ? 0x1p63 : 0x1p64;
    if (!(v > static_cast<double>(Limits<I>::low))) return v != v ? I{0} : Limits<I>::low;
    if (v >= beyond) return Limits<I>::high;
    return static_cast<I>(v < 0x1p52 && v > -0x1p52 ? (v + kToInteger) - kToInteger : v);
}

// Rounded to odd: rounding it again, to fewer bits, gives the same as rounding `v`.
inline float odd_float(double v) {
    const float near = static_cast<float>(v);
    const double back = static_cast<double>(near);
    if (back == v || v != v) return near;
    uint32_t bits = load<uint32_t>(&near);
    if (bits % 2 == 0) bits += (v < 0 ? -back : back) < (v < 0 ? -v : v) ? 1 : -1;
    return load<float>(&bits);
}

template <class R>
inline R from_odd(double v) {
    if constexpr (__is_same(R, Half))
        return to_half(odd_float(v));
    else if constexpr (__is_same(R, BFloat16))
        return to_bfloat16(odd_float(v));
    else
        return static_cast<R>(v);
}

template <class R>
constexpr bool is_floating =
    __is_same(R, Half) || __is_same(R, BFloat16) || __is_same(R, float) || __is_same(R, double);

template <class R>
inline void put(char* out, int64_t i, R value) {
    store(reinterpret_cast<R*>(out) + i, value);
}

// f(R{}) for the C++ type R of a dtype.
template <class F>
inline void for_dtype(DType t, F f) {
    switch (t) {
        case DType::i8: return f(int8_t{});
        case DType::u8: return f(uint8_t{});
        case DType::i16: return f(int16_t{});
        case DType::u16: return f(uint16_t{});
        case DType::i32: return f(int32_t{});
        case DType::u32: return f(uint32_t{});
        case DType::i64: return f(int64_t{});
        case DType::u64: return f(uint64_t{});
        case DType::f16: return f(Half{});
        case DType::bf16: return f(BFloat16{});
        case DType::f32: return f(float{});
        case DType::f64: return f(double{});
        default: return;  // bool and complex results are never converted
    }
}

// ---------------------------------------------------------------------------------------------------------- rows

constexpr int64_t kChunk = 256;  // elements of a row that are converted at a time

// Up to kChunk doubles to integers of fewer than 64 bits, clipped, NaN to 0: in the low bits of `words`.
CENOTE_ONCE void nearest_words(uint64_t* words, const double* row, int64_t n, double low, double high) {
    for_lanes<double>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        V v = load<V>(row + i);
        v = v == v ? v : splat<V>(0.0);
        v = v < low ? splat<V>(low) : v;
        v = v > high ? splat<V>(high) : v;
        store(words + i, V(v + kToInteger));
    });
}

CENOTE_ONCE void convert_doubles(DType to, char* out, const double* row, int64_t n) {
    for_dtype(to, [&]<class R>(R) {
        if constexpr (!is_floating<R> && sizeof(R) < 8) {
            uint64_t words[kChunk];
            for (int64_t from = 0; from < n; from += kChunk) {
                const int64_t count = min(kChunk, n - from);
                nearest_words(words, row + from, count, Limits<R>::low, Limits<R>::high);
                for (int64_t i = 0; i < count; ++i) put(out, from + i, static_cast<R>(words[i]));
            }
        } else {
            for (int64_t i = 0; i < n; ++i) {
                if constexpr (is_floating<R>)
                    put(out, i, from_odd<R>(row[i]));
                else
                    put(out, i, nearest<R>(row[i]));
            }
        }
    });
}

// By way of doubles, which is exact.
void convert_floats(DType to, char* out, const float* row, int64_t n) {
    double doubles[kChunk];
    for (int64_t from = 0; from < n; from += kChunk) {
        const int64_t count = min(kChunk, n - from);
        for (int64_t i = 0; i < count; ++i) doubles[i] = static_cast<double>(row[from + i]);
        convert_doubles(to, out + from * size_of(to), doubles, count);
    }
}

template <class I>
void convert_integers(DType to, char* out, const I* row, int64_t n) {
    for_dtype(to, [&]<class R>(R) {
        for (int64_t i = 0; i < n; ++i) {
            const I v = row[i];
            if constexpr (__is_same(R, Half)) {
                put(out, i, to_half(static_cast<float>(v)));  // integers that a float cannot represent overflow in both
            } else if constexpr (__is_same(R, BFloat16)) {
                // Bits below the upper 40 are collapsed into a sticky bit, so that the float is rounded to odd.
                const bool large = v > (I{1} << 48) || (Limits<I>::low < 0 && v < -(I{1} << 48));
                const I sticky =
                    large ? static_cast<I>((v & ~I{0xffffff}) | ((v & I{0xffffff}) ? I{0x800000} : I{0})) : v;
                put(out, i, to_bfloat16(odd_float(static_cast<double>(sticky))));
            } else if constexpr (is_floating<R>) {
                put(out, i, static_cast<R>(v));
            } else {
                constexpr bool larger = sizeof(R) == 8 && Limits<R>::low == 0 && Limits<I>::low < 0;
                constexpr I low = Limits<I>::low < 0 ? static_cast<I>(Limits<R>::low) : I{0};
                constexpr I high = larger ? Limits<I>::high : static_cast<I>(Limits<R>::high);
                put(out, i, static_cast<R>(v < low ? low : v > high ? high : v));
            }
        }
    });
}

// When the quotient rounded to double does not determine how it is rounded to another dtype: if it looks like a tie,
// which the exact quotient may not be; if an ulp of it is more than 1/2; and, to be safe, for subnormal results.
struct AmbiguousRounding {
    uint64_t digits = 0, tie = 0;  // the mantissa bits that are dropped, and their value at a tie
    double normal = 0;             // the smallest normal number
    bool halves = false;
    double large = __builtin_inf();

    AmbiguousRounding(DType to, bool whole) {
        const int dropped = to == DType::f32 ? 29 : to == DType::f16 ? 42 : to == DType::bf16 ? 45 : 0;
        if (dropped) {
            digits = (uint64_t{1} << dropped) - 1;
            tie = uint64_t{1} << (dropped - 1);
            normal = to == DType::f16 ? 0x1p-14 : 0x1p-126;
        } else {
            // The quotient by an integer looks like a tie only if it is one: others are at least 1 / (2 by) away.
            halves = !whole;
            if (size_of(to) == 8) large = 0x1p51;
        }
    }
    bool none() const { return !tie && !halves && large > 0x1p51; }
    bool operator()(double q) const {
        const double size = q < 0 ? -q : q;
        if (tie) return ((load<uint64_t>(&q) & digits) == tie) | ((size < normal) & (size > 0));
        const double rest = size - ((size + kToInteger) - kToInteger);
        return (halves & ((rest == 0.5) | (rest == -0.5))) | (size >= large);
    }
    bool any(const double* q, int64_t n) const {
        int64_t found = 0;
        if (tie) {  // as above, in a form that GCC vectorises
            const auto low = static_cast<uint32_t>(digits), half = static_cast<uint32_t>(tie);
            for (int64_t i = 0; i < n; ++i) {
                const double size = __builtin_fabs(q[i]);
                found |= (size < normal) & (size > 0);
                found |= (static_cast<uint32_t>(load<uint64_t>(q + i)) & low) == half;
            }
            return found;
        }
        for (int64_t i = 0; i < n; ++i) found |= (*this)(q[i]);
        return found;
    }
};

inline bool is_whole(double v) { return v < 0x1p52 && v > -0x1p52 && (v + kToInteger) - kToInteger == v; }

}  // namespace

CENOTE_COLD void write_exact(DType to, char* out, int64_t i, Wide sum, double by) {
    for_dtype(to, [&]<class R>(R) {
        if constexpr (is_floating<R>) {
            put(out, i, from_odd<R>(by == 0 ? Limits<double>::nan : odd_quotient(sum, WholeDivisor(by))));
        } else {
            constexpr Wide low = Limits<R>::low, high = Limits<R>::high;
            const Wide found = by == 0 ? 0 : rounded_quotient(sum, WholeDivisor(by));
            put(out, i, static_cast<R>(found < low ? low : found > high ? high : found));
        }
    });
}

void convert_row(DType to, char* out, const float* row, int64_t n, bool) { convert_floats(to, out, row, n); }
void convert_row(DType to, char* out, const double* row, int64_t n, bool) { convert_doubles(to, out, row, n); }
void convert_row(DType to, char* out, const int64_t* row, int64_t n, bool is_unsigned) {
    if (is_unsigned) return convert_integers(to, out, reinterpret_cast<const uint64_t*>(row), n);
    convert_integers(to, out, row, n);
}
void convert_row(DType to, char* out, const uint64_t* row, int64_t n, bool is_unsigned) {
    convert_row(to, out, reinterpret_cast<const int64_t*>(row), n, is_unsigned);
}

void write_quotients(DType to, char* out, const double* sums, const double* along, double by, int64_t n) {
    const AmbiguousRounding ambiguous(to, along || is_whole(by));
    double quotients[kChunk];
    for (int64_t from = 0; from < n; from += kChunk, sums += kChunk, out += kChunk * size_of(to)) {
        const int64_t count = min(kChunk, n - from);
        const double* each = along ? along + from : nullptr;
        for_lanes<double>(count, [&](auto lane, int64_t i) {
            using V = typename decltype(lane)::V;
            const V divisor = each ? V(load<V>(each + i) * by) : splat<V>(by);
            store(quotients + i, quiet<double>(V(load<V>(sums + i) / divisor)));
        });
        convert_doubles(to, out, quotients, count);
        if (ambiguous.none()) continue;
        if (!ambiguous.any(quotients, count)) continue;
        for (int64_t i = 0; i < count; ++i)
            if (ambiguous(quotients[i]))
                write_exact(to, out, i, static_cast<int64_t>(sums[i]), each ? by * each[i] : by);
    }
}

// ---------------------------------------------------------------------------------------------------- 128 bits

namespace {

#include "pool/tile_rows.inl"

template <class S>
Wide element(const char* from, bool swap) {
    S value = load<S>(from);
    if (swap) value = swapped(value);
    return static_cast<Wide>(value);
}

Wide element(DType type, const char* from, bool swap) {
    switch (type) {
        case DType::boolean: return *from != 0;
        case DType::i8: return element<int8_t>(from, swap);
        case DType::u8: return element<uint8_t>(from, swap);
        case DType::i16: return element<int16_t>(from, swap);
        case DType::u16: return element<uint16_t>(from, swap);
        case DType::i32: return element<int32_t>(from, swap);
        case DType::u32: return element<uint32_t>(from, swap);
        case DType::i64: return element<int64_t>(from, swap);
        default: return element<uint64_t>(from, swap);
    }
}

Wide* take_wide(Arena* arena, int64_t n) {
    return static_cast<Wide*>(arena_take(arena, max(n, 1) * static_cast<int64_t>(sizeof(Wide))));
}

// Sums over the windows of axis q; `before` is the size of the axes before it, `run` of those after it.
Wide* add_up(const Axis& a, const PoolTile& b, int q, const Wide* in, int64_t before, int64_t run, Arena* arena) {
    const int64_t count = b.count[q], elements = b.elements[q];
    Wide *out = take_wide(arena, before * count * run), *to = out;
    int64_t done = 0;
    for (int64_t i = 0; i < before; ++i) {
        for (int64_t j = 0; j < count; ++j, to += run) {
            in_parts(run, done, [&](int64_t first, int64_t n) {
                for (int64_t e = first; e < first + n; ++e) to[e] = 0;
            });
            const Span taps = real_taps(a, b.j0[q] + j);
            for (int64_t t = taps.begin; t < taps.end; ++t) {
                const int64_t element = window_start(a, b.j0[q] + j) + t * a.d - b.c0[q];
                const Wide* from = in + (i * elements + element) * run;
                in_parts(run, done, [&](int64_t first, int64_t n) {
                    for (int64_t e = first; e < first + n; ++e) to[e] += from[e];
                });
            }
        }
    }
    return out;
}

// The totals of integers in 128 bits, and their exact averages.
void wide_average(const PoolSchedule& job, int64_t task, Arena* arena) {
    const PoolTile b = locate(job, task);
    int64_t size = b.lanes, done = 0;
    for (int q = 0; q < job.rank; ++q) size *= b.elements[q];
    Wide *elements = take_wide(arena, size), *to = elements;
    for_rows(job.rank, b.elements, [&](const int64_t* at) {
        const char* from = b.x;
        for (int q = 0; q < job.rank; ++q) from += (b.c0[q] + at[q]) * job.x_stride[q];
        for (int64_t e = 0; e < b.lanes; ++e) *to++ = element(job.in, from + e * job.lane_stride, job.swap);
        count_done(done, b.lanes);
    });
    const Wide* totals = elements;
    int64_t before = 1;
    for (int q = 0; q < job.rank; ++q) {
        int64_t run = b.lanes;
        for (int p = q + 1; p < job.rank; ++p) run *= b.elements[p];
        totals = add_up(job.axis[q], b, q, totals, before, run, arena);
        before *= b.count[q];
    }
    for_rows(job.rank, b.count, [&](const int64_t* at) {
        double by = 1;
        int64_t y = b.y;
        for (int q = 0; q < job.rank; ++q) {
            const Axis& a = job.axis[q];
            const Span taps = job.include_pad ? padded_taps(a, b.j0[q] + at[q]) : real_taps(a, b.j0[q] + at[q]);
            by *= static_cast<double>(taps.end - taps.begin);
            y += at[q] * job.y_stride[q];
        }
        if (job.by_divisor) by = job.divisor;
        for (int64_t e = 0; e < b.lanes; ++e) write_exact(job.out, job.y, y + e, totals[e], by);
        totals += b.lanes;
    });
}

}  // namespace

TaskFn find_wide(const PoolSchedule&) { return &wide_average; }

}  // namespace cenote
