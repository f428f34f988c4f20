// A small vector type on compiler vector extensions.
//
// Every kernel is written once as a function of a lane type V, which is either a vector of T or a plain T. The tail of
// a row runs the same code as its body, so the result cannot depend on the lane, the tail or the length.

// For what hot loops call: a function call per vector would cost more than the work on it.
#define CENOTE_INLINE __attribute__((always_inline))

template <class T, int Bytes>
struct VecOf {
    typedef T type __attribute__((vector_size(Bytes)));
};

template <class T, int Bytes>
struct Lane {
    using V = typename VecOf<T, Bytes>::type;
    using Element = T;
    static constexpr int count = Bytes / sizeof(T);
};

template <class T>
struct Lane<T, 0> {  // one element
    using V = T;
    using Element = T;
    static constexpr int count = 1;
};

template <class V>
struct IsVector {
    static constexpr bool value = true;
};
#define CENOTE_SCALAR(T)                     \
    template <>                              \
    struct IsVector<T> {                     \
        static constexpr bool value = false; \
    };
CENOTE_SCALAR(int8_t)
CENOTE_SCALAR(uint8_t)
CENOTE_SCALAR(int16_t)
CENOTE_SCALAR(uint16_t)
CENOTE_SCALAR(int32_t)
CENOTE_SCALAR(uint32_t)
CENOTE_SCALAR(int64_t)
CENOTE_SCALAR(uint64_t)
CENOTE_SCALAR(float)
CENOTE_SCALAR(double)
#undef CENOTE_SCALAR

template <class V, class T>
inline V load(const T* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof(V));
    return v;
}

template <class V, class T>
inline void store(T* p, V v) {
    __builtin_memcpy(p, &v, sizeof(V));
}

template <class V, class T>
inline V splat(T value) {
    if constexpr (IsVector<V>::value) {
        return value - V{};  // V{} + value would lose the sign of -0.0
    } else {
        return value;
    }
}

// Comparisons return a mask, a vector of integers or a bool. `m ? a : b` selects in both cases.
template <class M>
inline M negate(M m) {
    if constexpr (IsVector<M>::value) {
        return ~m;
    } else {
        return m;
    }
}
inline bool negate(bool m) { return !m; }

// f(lane, i) over a row of n elements of T: full vectors, then 16-byte vectors, then single elements.
template <class T, class F>
inline void for_lanes(int64_t n, F f) {
    int64_t i = 0;
    constexpr int wide = kVectorBytes / sizeof(T);
    for (; i + wide <= n; i += wide) f(Lane<T, kVectorBytes>{}, i);
    if constexpr (kVectorBytes > 16) {
        constexpr int narrow = 16 / sizeof(T);
        for (; i + narrow <= n; i += narrow) f(Lane<T, 16>{}, i);
    }
    for (; i < n; ++i) {
        __asm__ volatile("" : "+r"(i));  // keeps the compiler from vectorising the tail, which would double the code
        f(Lane<T, 0>{}, i);
    }
}

// The same for a row that is not updated in place: the last vector overlaps the one before it and recomputes some
// elements. A scalar tail would take longer than the rest of a row of 110 bytes.
template <class T, class F>
CENOTE_INLINE inline void for_lanes_overlapping(int64_t n, F f) {
    constexpr int wide = kVectorBytes / sizeof(T), narrow = 16 / sizeof(T);
    if (n >= wide) {
        int64_t i = 0;
        for (; i < n - wide; i += wide) f(Lane<T, kVectorBytes>{}, i);
        f(Lane<T, kVectorBytes>{}, n - wide);
    } else if (kVectorBytes > 16 && n >= narrow) {
        for (int64_t i = 0; i < n; i += narrow) f(Lane<T, 16>{}, i < n - narrow ? i : n - narrow);
    } else {
        for (int64_t i = 0; i < n; ++i) {
            __asm__ volatile("" : "+r"(i));  // as above
            f(Lane<T, 0>{}, i);
        }
    }
}

template <class T>
struct Limits;
#define CENOTE_LIMITS(T, lowest, highest)                \
    template <>                                          \
    struct Limits<T> {                                   \
        static constexpr bool has_nan = false;           \
        static constexpr T low = lowest, high = highest; \
    };
CENOTE_LIMITS(int8_t, INT8_MIN, INT8_MAX)
CENOTE_LIMITS(uint8_t, 0, UINT8_MAX)
CENOTE_LIMITS(int16_t, INT16_MIN, INT16_MAX)
CENOTE_LIMITS(uint16_t, 0, UINT16_MAX)
CENOTE_LIMITS(int32_t, INT32_MIN, INT32_MAX)
CENOTE_LIMITS(uint32_t, 0, UINT32_MAX)
CENOTE_LIMITS(int64_t, INT64_MIN, INT64_MAX)
CENOTE_LIMITS(uint64_t, 0, UINT64_MAX)
#undef CENOTE_LIMITS
template <>
struct Limits<float> {
    static constexpr bool has_nan = true;
    static constexpr float low = -__builtin_inff(), high = __builtin_inff(), nan = __builtin_nanf("");
};
template <>
struct Limits<double> {
    static constexpr bool has_nan = true;
    static constexpr double low = -__builtin_inf(), high = __builtin_inf(), nan = __builtin_nan("");
};

// An optimisation barrier: returns v. Without it GCC merges two selections into one on both masks, which takes one
// instruction more than a maximum and a selection.
template <class V>
CENOTE_INLINE inline V optimisation_barrier(V v) {
#if defined(__x86_64__)
    __asm__("" : "+x"(v));
#endif
    return v;
}

// Replaces any NaN by the same quiet one: the default NaN of x86 has its sign bit set, that of others has not.
template <class T, class V>
inline V quiet(V v) {
    if constexpr (Limits<T>::has_nan)
        return v == v ? v : splat<V>(Limits<T>::nan);
    else
        return v;
}

// The unsigned integer of the size of T, e.g. for offsets that are kept in lanes of the same width as the values.
template <int Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
    using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
    using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
    using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
    using type = uint64_t;
};
template <class T>
using Unsigned = typename UnsignedOf<sizeof(T)>::type;

// The vector of U as large as the vector V, or U itself if V is a scalar.
template <class V, class U>
struct Rebind {
    using type = typename VecOf<U, sizeof(V)>::type;
};
#define CENOTE_REBIND(T)  \
    template <class U>    \
    struct Rebind<T, U> { \
        using type = U;   \
    };
CENOTE_REBIND(int8_t)
CENOTE_REBIND(uint8_t)
CENOTE_REBIND(int16_t)
CENOTE_REBIND(uint16_t)
CENOTE_REBIND(int32_t)
CENOTE_REBIND(uint32_t)
CENOTE_REBIND(int64_t)
CENOTE_REBIND(uint64_t)
CENOTE_REBIND(float)
CENOTE_REBIND(double)
#undef CENOTE_REBIND

template <int... I>
struct Seq {};
template <int N, int... I>
struct MakeSeq : MakeSeq<N - 1, N - 1, I...> {};
template <int... I>
struct MakeSeq<0, I...> {
    using type = Seq<I...>;
};

// f(0) … f(count-1), unrolled if Count > 0, which is then the number of calls.
template <class F, int... I>
CENOTE_INLINE inline void each_of(F f, Seq<I...>) {
    (f(int64_t{I}), ...);
}
template <int Count, class F>
CENOTE_INLINE inline void each(int64_t count, F f) {
    if constexpr (Count > 0)
        each_of(f, typename MakeSeq<Count>::type{});
    else
        for (int64_t i = 0; i < count; ++i) f(i);
}

// Deinterleave: the even (Which = 0) or odd (1) elements of a and b. One instruction, because it works within 16-byte
// blocks: each has the elements of a, then those of b. restore_order() then undoes the permutation, once per result
// instead of once per operand.
template <int Which, class V, int... I>
inline V deinterleave_of(V a, V b, Seq<I...>) {
    constexpr int n = sizeof...(I), lane = n * 16 / static_cast<int>(sizeof(V)), half = lane / 2;
    return __builtin_shufflevector(
        a, b, (I / lane * lane + (I % lane < half ? 2 * (I % lane) : n + 2 * (I % lane - half)) + Which)...);
}
template <class V, int... I>
inline V restore_order_of(V v, Seq<I...>) {
    using Words = typename VecOf<uint64_t, sizeof(V)>::type;
    constexpr int half = sizeof...(I) / 2;
    return (V)__builtin_shufflevector((Words)v, (Words)v, (I < half ? 2 * I : 2 * (I - half) + 1)...);
}
template <int Which, class T, int Bytes, class V>
inline V deinterleave(V a, V b) {
    return deinterleave_of<Which>(a, b, typename MakeSeq<Bytes / static_cast<int>(sizeof(T))>::type{});
}
template <int Bytes, class V>
inline V restore_order(V v) {
    return restore_order_of(v, typename MakeSeq<Bytes / 8>::type{});
}

// a0, b0, a1, b1, … in two vectors.
template <class V, int... I>
inline void interleave(V a, V b, V& low, V& high, Seq<I...>) {
    constexpr int n = sizeof...(I);
    low = __builtin_shufflevector(a, b, (I % 2 * n + I / 2)...);
    high = __builtin_shufflevector(a, b, (I % 2 * n + I / 2 + n / 2)...);
}

// 64-bit lanes from narrower integers. GCC's code for a vector conversion takes twice the instructions.
template <class V, class T>
inline V widened(const T* p) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && sizeof(T) <= 4 && sizeof(T) >= 2) {
        __m256i half;
        if constexpr (sizeof(T) == 4)
            half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        else
            half = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
        if constexpr (__is_same(V, typename VecOf<double, 64>::type))
            return (V)_mm512_cvtepi32_pd(half);
        else
            return (V)_mm512_cvtepi32_epi64(half);
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32 && sizeof(T) <= 4 && sizeof(T) >= 2) {
        __m128i half;
        if constexpr (sizeof(T) == 4)
            half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        else
            half = _mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
        if constexpr (__is_same(V, typename VecOf<double, 32>::type))
            return (V)_mm256_cvtepi32_pd(half);
        else
            return (V)_mm256_cvtepi32_epi64(half);
    }
#endif
    V v;
    for (int k = 0; k < static_cast<int>(sizeof(V) / 8); ++k) v[k] = static_cast<__typeof__(v[0] + v[0])>(p[k]);
    return v;
}

// 0, 1, 2, …
template <class V, int... I>
inline V iota_of(Seq<I...>) {
    return V{I...};
}
template <class V>
inline V iota() {
    return iota_of<V>(typename MakeSeq<sizeof(V) / sizeof(V{}[0])>::type{});
}
