// Rows between memory and the work dtype: any stride, byte order and alignment, including float16 and bfloat16.

struct Half {
    uint16_t bits;
};
struct BFloat16 {  // bfloat16
    uint16_t bits;
};

// Every other bfloat16: the low or the high halves of 32-bit words, which need no shuffle to separate.
struct EvenBFloat16 : BFloat16 {};
struct OddBFloat16 : BFloat16 {};

// The bits of floats, for vectors and scalars alike.
template <class V>
using BitsOf = typename Rebind<V, uint32_t>::type;
template <class V>
inline BitsOf<V> to_bits(V v) {
    return load<BitsOf<V>>(&v);
}
template <class V>
inline V to_float(BitsOf<V> bits) {
    return load<V>(&bits);
}

template <class V, class W = BitsOf<V>>
inline V widen_half(W half) {
    const W magnitude = half & 0x7fffu;
    // After the shift the exponent is too small by 112; the multiplication corrects it, for subnormal numbers too.
    const W bits = to_bits(V(to_float<V>(magnitude << 13) * 0x1p112f));
    const W special = magnitude >= 0x7c00u ? splat<W>(0x7f800000u) : splat<W>(0u);  // infinity and NaN
    return to_float<V>(bits | special | (half & 0x8000u) << 16);
}

template <class V, class W = BitsOf<V>>
inline V widen_bfloat16(W bits) {
    return to_float<V>(bits << 16);
}

// To nearest, ties to even.
template <class V, class W = BitsOf<V>>
inline W narrow_to_half(V value) {
    const W bits = to_bits(value), magnitude = bits & 0x7fffffffu;
    const W normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    // Adding 0.5 rounds a subnormal result and leaves it in the low bits.
    const W tiny = to_bits(V(to_float<V>(magnitude) + 0.5f)) - 0x3f000000u;
    const W nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    W out = magnitude < 0x38800000u ? tiny : normal;
    out = magnitude >= 0x47800000u ? splat<W>(0x7c00u) : out;
    out = magnitude > 0x7f800000u ? nan : out;
    return out | (bits >> 16 & 0x8000u);
}

template <class V, class W = BitsOf<V>>
inline W narrow_to_bfloat16(V value) {
    const W bits = to_bits(value);
    const W rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? W(bits >> 16 | 0x40u) : rounded;
}

inline float widen(Half h) { return widen_half<float>(uint32_t{h.bits}); }
inline float widen(BFloat16 b) { return widen_bfloat16<float>(uint32_t{b.bits}); }
inline Half to_half(float value) { return {static_cast<uint16_t>(narrow_to_half(value))}; }
inline BFloat16 to_bfloat16(float value) { return {static_cast<uint16_t>(narrow_to_bfloat16(value))}; }

// Ordered int16 keys of float16 and bfloat16: the bits without the sign, negated if the sign is set. Keys compare as
// the numbers do, and both zeros have key 0.
constexpr int16_t half_infinity(DType half) { return half == DType::bf16 ? 0x7f80 : 0x7c00; }
constexpr int16_t half_quiet(DType half) { return half == DType::bf16 ? 0x40 : 0x200; }  // the quiet bit of a NaN
template <class V>
inline V half_size(V bits) {
    return V(bits & int16_t{0x7fff});
}
template <class V>
inline V half_key(V bits, V size) {
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_sign_epi16((__m256i)size, (__m256i)bits);
#endif
    const V sign = V(bits >> 15);
    return V(V(size ^ sign) - sign);
}
template <class V>
inline V half_of_key(V key) {  // +0.0 for either zero; -0.0 for INT16_MIN, which is the key of no number
    using W = typename Rebind<V, uint16_t>::type;
    const V sign = V(key >> 15);
    return V(V((W)(key ^ sign) - (W)sign) | V(key & INT16_MIN));
}

// Any nonzero byte is true.
struct Bool {
    uint8_t byte;
};

template <class T>
inline T from_storage(Half value) {
    return static_cast<T>(widen(value));
}
template <class T>
inline T from_storage(BFloat16 value) {
    return static_cast<T>(widen(value));
}
template <class T>
inline T from_storage(Bool value) {
    return static_cast<T>(value.byte != 0);
}
template <class T, class S>
inline T from_storage(S value) {
    if constexpr (__is_same(T, double) && __is_same(S, uint64_t)) {
        // Two exact halves and one rounding: the same result, and it vectorises.
        return static_cast<double>(static_cast<uint32_t>(value >> 32)) * 0x1p32 +
               static_cast<double>(static_cast<uint32_t>(value));
    } else {
        return static_cast<T>(value);
    }
}

// Doubles from 64-bit integers, rounded once: each half goes into the low bits of a double, both exact, and they are
// added. Before AVX-512 there is no instruction for it.
template <class V, bool Signed>
inline V from_words(typename Rebind<V, uint64_t>::type bits) {
    constexpr uint64_t sign = Signed ? 0x80000000u : 0;
    const auto low = (bits & 0xffffffffu) | 0x4330000000000000u;               // 2^52 + low half
    const auto high = (bits >> 32) ^ (0x4530000000000000u + sign);             // 2^84 + 2^32 · high half (+ 2^63)
    return ((V)high - (Signed ? 0x1.00000801p84 : 0x1.00000001p84)) + (V)low;  // minus 2^84 + 2^52 (+ 2^63)
}

// Which storage types are computed in which work types: the same or a wider one.
template <class S, class T>
constexpr bool widens() {
    if (__is_same(S, T) || __is_same(T, double)) return true;
    if (__is_same(S, Bool))
        return __is_same(T, uint8_t) || (Limits<T>::low < 0 && sizeof(T) > 1) || __is_same(T, uint64_t);
    if (__is_same(S, Half) || __is_same(S, BFloat16)) return __is_same(T, float);
    if (__is_same(S, float) || __is_same(S, double)) return false;
    // Apart from uint64, only signed types are used for wider work.
    return __is_same(T, uint64_t) || (Limits<T>::low < 0 && sizeof(S) < sizeof(T)) || __is_same(T, int64_t);
}

template <class S>
inline S swapped(S value) {
    if constexpr (sizeof(S) == 1) {
        return value;
    } else {
        Unsigned<S> bits = load<Unsigned<S>>(&value);
        if constexpr (sizeof(S) == 2) bits = __builtin_bswap16(bits);
        if constexpr (sizeof(S) == 4) bits = __builtin_bswap32(bits);
        if constexpr (sizeof(S) == 8) bits = __builtin_bswap64(bits);
        return load<S>(&bits);
    }
}

// Lanes of the work dtype from contiguous memory of type S.
template <class S, class L>
inline typename L::V read(const char* p) {
    using V = typename L::V;
    const S* from = reinterpret_cast<const S*>(p);
    if constexpr (!IsVector<V>::value) {
        return from_storage<V>(load<S>(from));
    } else if constexpr (__is_same(S, EvenBFloat16) || __is_same(S, OddBFloat16)) {
        const auto words = load<BitsOf<V>>(p);
        return to_float<V>(__is_same(S, EvenBFloat16) ? words << 16 : words & 0xffff0000u);
    } else if constexpr (__is_same(S, Half) || __is_same(S, BFloat16)) {
#if defined(__F16C__)
        if constexpr (__is_same(S, Half) && L::count == 8)
            return (V)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#endif
        const auto bits = __builtin_convertvector(load<typename VecOf<uint16_t, 2 * L::count>::type>(from), BitsOf<V>);
        if constexpr (__is_same(S, Half))
            return widen_half<V>(bits);
        else
            return widen_bfloat16<V>(bits);
    } else if constexpr (__is_same(S, typename L::Element)) {
        return load<V>(from);
    } else if constexpr (sizeof(S) == 8 && __is_same(typename L::Element, double)) {
        return from_words<V, (Limits<S>::low < 0)>(load<typename Rebind<V, uint64_t>::type>(from));
    } else {
        return __builtin_convertvector(load<typename VecOf<S, L::count * sizeof(S)>::type>(from), V);
    }
}

// Lanes of float to float16 or bfloat16 in memory.
template <class R, class L>
inline void write_half(char* p, typename L::V v) {
    BitsOf<typename L::V> bits;
    if constexpr (__is_same(R, Half)) {
#if defined(__F16C__)
        if constexpr (L::count == 8) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph((__m256)v, 0));
            return;
        }
#endif
        bits = narrow_to_half(v);
    } else {
        bits = narrow_to_bfloat16(v);
    }
    if constexpr (L::count == 1) {
        store(p, static_cast<uint16_t>(bits));
    } else {
        store(p, __builtin_convertvector(bits, typename VecOf<uint16_t, 2 * L::count>::type));
    }
}

template <class S, class T>
inline void load_row_of(T* out, const char* in, int64_t stride, int64_t n, bool swap) {
    if constexpr (!widens<S, T>())
        return;
    else if (stride == static_cast<int64_t>(sizeof(S)) && !swap) {
        constexpr int64_t size = sizeof(S);
        constexpr bool half = (__is_same(S, Half) || __is_same(S, BFloat16)) && __is_same(T, float);
        if constexpr (half || ((__is_same(S, int64_t) || __is_same(S, uint64_t)) && __is_same(T, double))) {
            for_lanes_overlapping<T>(
                n, [&](auto lane, int64_t i) { store(out + i, read<S, decltype(lane)>(in + i * size)); });
        } else {
            for (int64_t i = 0; i < n; ++i)
                out[i] = from_storage<T>(load<S>(reinterpret_cast<const S*>(in + i * size)));
        }
    } else {
        for (int64_t i = 0; i < n; ++i) {
            S value = load<S>(reinterpret_cast<const S*>(in + i * stride));
            if (swap) value = swapped(value);
            out[i] = from_storage<T>(value);
        }
    }
}

// Results back to their storage dtype.
template <class S, class T>
inline void store_row_of(char* out, const T* in, int64_t n) {
    if constexpr (!widens<S, T>() && !(sizeof(S) == 8 && sizeof(T) == 8)) {
        return;
    } else if constexpr ((__is_same(S, Half) || __is_same(S, BFloat16)) && __is_same(T, float)) {
        for_lanes<float>(n, [&](auto lane, int64_t i) {
            write_half<S, decltype(lane)>(out + 2 * i, load<typename decltype(lane)::V>(in + i));
        });
    } else {
        for (int64_t i = 0; i < n; ++i) {
            S value;
            if constexpr (__is_same(S, Half)) {
                value = to_half(static_cast<float>(in[i]));
            } else if constexpr (__is_same(S, BFloat16)) {
                value = to_bfloat16(static_cast<float>(in[i]));
            } else if constexpr (__is_same(S, Bool)) {
                value = {static_cast<uint8_t>(in[i] > 0)};  // an empty window has the lowest value, not false
            } else if constexpr (sizeof(T) > sizeof(S) && !Limits<T>::has_nan) {
                // Only results of empty windows are out of range: they become the limits of the narrower type.
                const T low = static_cast<T>(Limits<S>::low), high = static_cast<T>(Limits<S>::high);
                value = static_cast<S>(in[i] < low ? low : in[i] > high ? high : in[i]);
            } else {
                value = static_cast<S>(in[i]);
            }
            store(reinterpret_cast<S*>(out + i * static_cast<int64_t>(sizeof(S))), value);
        }
    }
}
