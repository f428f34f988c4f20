// Rows between memory and the work dtype: any stride, byte order and alignment; float16 and bfloat16.

struct Half {
    uint16_t bits;
};
struct Brain {  // bfloat16
    uint16_t bits;
};

inline float to_float(uint32_t bits) { return load<float>(&bits); }
inline uint32_t to_bits(float value) { return load<uint32_t>(&value); }

inline float widen(Half h) {
    const uint32_t magnitude = h.bits & 0x7fffu;
    // Moved into place, the exponent is 112 too small; multiplying mends it for subnormal numbers too.
    uint32_t bits = to_bits(to_float(magnitude << 13) * 0x1p112f);
    bits |= magnitude >= 0x7c00u ? 0x7f800000u : 0u;  // infinity and NaN
    return to_float(bits | static_cast<uint32_t>(h.bits & 0x8000u) << 16);
}

inline float widen(Brain b) { return to_float(static_cast<uint32_t>(b.bits) << 16); }

// To nearest, ties to even.
inline Half to_half(float value) {
    const uint32_t bits = to_bits(value), magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    // Adding 0.5 leaves a subnormal result in the low bits, rounded by the addition itself.
    const uint32_t tiny = to_bits(to_float(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    uint32_t out = magnitude < 0x38800000u ? tiny : normal;
    out = magnitude >= 0x47800000u ? 0x7c00u : out;
    out = magnitude > 0x7f800000u ? nan : out;
    return {static_cast<uint16_t>(out | (bits >> 16 & 0x8000u))};
}

inline Brain to_brain(float value) {
    const uint32_t bits = to_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40u;
    return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

// A nonzero byte is true.
struct Bool {
    uint8_t byte;
};

template <class T>
inline T from_storage(Half value) {
    return static_cast<T>(widen(value));
}
template <class T>
inline T from_storage(Brain value) {
    return static_cast<T>(widen(value));
}
template <class T>
inline T from_storage(Bool value) {
    return static_cast<T>(value.byte != 0);
}
template <class T, class S>
inline T from_storage(S value) {
    if constexpr (__is_same(T, double) && __is_same(S, uint64_t)) {
        // Two exact halves and one rounding: the same number, and there are instructions for vectors of it.
        return static_cast<double>(static_cast<uint32_t>(value >> 32)) * 0x1p32 +
               static_cast<double>(static_cast<uint32_t>(value));
    } else {
        return static_cast<T>(value);
    }
}

// Which dtype is computed in which: itself, or something wider.
template <class S, class T>
constexpr bool widens() {
    if (__is_same(S, T) || __is_same(T, double)) return true;
    if (__is_same(S, Bool))
        return __is_same(T, uint8_t) || (Limits<T>::low < 0 && sizeof(T) > 1) || __is_same(T, uint64_t);
    if (__is_same(S, Half) || __is_same(S, Brain)) return __is_same(T, float);
    if (__is_same(S, float) || __is_same(S, double)) return false;
    // Only the signed type of each size is used for wider work, but for uint64.
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

#if defined(__F16C__)
// Eight at a time by the instruction for it; how many were done. The same bits as widen() and to_half().
inline int64_t load_halves(float* out, const char* in, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 2 * i))));
    return i;
}
inline int64_t store_halves(char* out, const float* in, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
    return i;
}
#else
inline int64_t load_halves(float*, const char*, int64_t) { return 0; }
inline int64_t store_halves(char*, const float*, int64_t) { return 0; }
#endif

template <class S, class T>
inline void load_row_of(T* out, const char* in, int64_t stride, int64_t n, bool swap) {
    if constexpr (!widens<S, T>())
        return;
    else if (stride == static_cast<int64_t>(sizeof(S)) && !swap) {
        int64_t i = 0;
        if constexpr (__is_same(S, Half) && __is_same(T, float)) i = load_halves(out, in, n);
        for (; i < n; ++i)
            out[i] = from_storage<T>(load<S>(reinterpret_cast<const S*>(in + i * static_cast<int64_t>(sizeof(S)))));
    } else {
        for (int64_t i = 0; i < n; ++i) {
            S value = load<S>(reinterpret_cast<const S*>(in + i * stride));
            if (swap) value = swapped(value);
            out[i] = from_storage<T>(value);
        }
    }
}

template <class T>
CENOTE_ONCE void load_row(DType from, T* out, const char* in, int64_t stride, int64_t n, bool swap) {
    switch (from) {
        case DType::boolean: return load_row_of<Bool>(out, in, stride, n, swap);
        case DType::i8: return load_row_of<int8_t>(out, in, stride, n, swap);
        case DType::u8: return load_row_of<uint8_t>(out, in, stride, n, swap);
        case DType::i16: return load_row_of<int16_t>(out, in, stride, n, swap);
        case DType::u16: return load_row_of<uint16_t>(out, in, stride, n, swap);
        case DType::i32: return load_row_of<int32_t>(out, in, stride, n, swap);
        case DType::u32: return load_row_of<uint32_t>(out, in, stride, n, swap);
        case DType::i64: return load_row_of<int64_t>(out, in, stride, n, swap);
        case DType::u64: return load_row_of<uint64_t>(out, in, stride, n, swap);
        case DType::f16: return load_row_of<Half>(out, in, stride, n, swap);
        case DType::bf16: return load_row_of<Brain>(out, in, stride, n, swap);
        case DType::f32: return load_row_of<float>(out, in, stride, n, swap);
        case DType::f64: return load_row_of<double>(out, in, stride, n, swap);
        default: return;  // complex numbers come as their parts
    }
}

// Results are narrowed back to what they came from.
template <class S, class T>
inline void store_row_of(char* out, const T* in, int64_t n) {
    if constexpr (!widens<S, T>() && !(sizeof(S) == 8 && sizeof(T) == 8))
        return;
    else {
        int64_t i = 0;
        if constexpr (__is_same(S, Half) && __is_same(T, float)) i = store_halves(out, in, n);
        for (; i < n; ++i) {
            S value;
            if constexpr (__is_same(S, Half)) {
                value = to_half(static_cast<float>(in[i]));
            } else if constexpr (__is_same(S, Brain)) {
                value = to_brain(static_cast<float>(in[i]));
            } else if constexpr (__is_same(S, Bool)) {
                value = {static_cast<uint8_t>(in[i] > 0)};  // the maximum of no cell is the least number, not false
            } else if constexpr (sizeof(T) > sizeof(S) && !Limits<T>::has_nan) {
                // Only the maximum or minimum of no cell is out of range: it becomes that of the narrow type.
                const T low = static_cast<T>(Limits<S>::low), high = static_cast<T>(Limits<S>::high);
                value = static_cast<S>(in[i] < low ? low : in[i] > high ? high : in[i]);
            } else {
                value = static_cast<S>(in[i]);
            }
            store(reinterpret_cast<S*>(out + i * static_cast<int64_t>(sizeof(S))), value);
        }
    }
}

template <class T>
CENOTE_ONCE void store_row(DType to, char* out, const T* in, int64_t n) {
    switch (to) {
        case DType::boolean: return store_row_of<Bool>(out, in, n);
        case DType::u8: return store_row_of<uint8_t>(out, in, n);
        case DType::i8: return store_row_of<int8_t>(out, in, n);
        case DType::i16: return store_row_of<int16_t>(out, in, n);
        case DType::u16: return store_row_of<uint16_t>(out, in, n);
        case DType::i32: return store_row_of<int32_t>(out, in, n);
        case DType::u32: return store_row_of<uint32_t>(out, in, n);
        case DType::i64: return store_row_of<int64_t>(out, in, n);
        case DType::u64: return store_row_of<uint64_t>(out, in, n);
        case DType::f16: return store_row_of<Half>(out, in, n);
        case DType::bf16: return store_row_of<Brain>(out, in, n);
        case DType::f32: return store_row_of<float>(out, in, n);
        case DType::f64: return store_row_of<double>(out, in, n);
        default: return;
    }
}
