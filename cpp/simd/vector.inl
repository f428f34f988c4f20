// A small vector type on compiler vector extensions.
//
// Every kernel is written once as a function of a lane type V, which is either a vector of T or a plain T:
// the tail of a row runs the same code as its body, so that no lane, tail or length can mean anything else.

// For what a hot loop calls: a call for each vector would cost more than the vector.
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
        return value - V{};  // not V{} + value, which would lose the sign of -0.0
    } else {
        return value;
    }
}

// Comparisons give a mask: a vector of integers, or a bool. `m ? a : b` selects for both.
template <class M>
inline M negate(M m) {
    if constexpr (IsVector<M>::value) {
        return ~m;
    } else {
        return m;
    }
}
inline bool negate(bool m) { return !m; }

// f(lane, i) for vectors of T from i = 0 to n, the tail in narrower vectors and single elements.
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
        __asm__ volatile("" : "+r"(i));  // a tail of a few elements: vectorising it would only double the code
        f(Lane<T, 0>{}, i);
    }
}

// The same for a row that is not written where it is read: the last vector ends where the row does, and does some
// elements a second time. Single elements would take longer than the rest of a row of 110 bytes.
template <class T, class F>
CENOTE_INLINE inline void for_lanes_apart(int64_t n, F f) {
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

// v, of which the compiler does not know where it is from: it joins two selections to one of both masks otherwise,
// which takes an instruction more than a maximum and one selection.
template <class V>
CENOTE_INLINE inline V kept_apart(V v) {
#if defined(__x86_64__)
    __asm__("" : "+x"(v));
#endif
    return v;
}

// One NaN for all: that of x86 has its sign set, those of others have not.
template <class T, class V>
inline V quiet(V v) {
    if constexpr (Limits<T>::has_nan)
        return v == v ? v : splat<V>(Limits<T>::nan);
    else
        return v;
}

// The unsigned integer as wide as T: what a vector of T can carry along in its lanes.
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

// The lane type of U that goes with the lane type V of T (same number of lanes).
template <class V, class U>
struct Beside {
    using type = typename VecOf<U, sizeof(V)>::type;
};
#define CENOTE_BESIDE(T)  \
    template <class U>    \
    struct Beside<T, U> { \
        using type = U;   \
    };
CENOTE_BESIDE(int8_t)
CENOTE_BESIDE(uint8_t)
CENOTE_BESIDE(int16_t)
CENOTE_BESIDE(uint16_t)
CENOTE_BESIDE(int32_t)
CENOTE_BESIDE(uint32_t)
CENOTE_BESIDE(int64_t)
CENOTE_BESIDE(uint64_t)
CENOTE_BESIDE(float)
CENOTE_BESIDE(double)
#undef CENOTE_BESIDE

template <int... I>
struct Seq {};
template <int N, int... I>
struct MakeSeq : MakeSeq<N - 1, N - 1, I...> {};
template <int... I>
struct MakeSeq<0, I...> {
    using type = Seq<I...>;
};

// f(0) … f(count-1): without a loop if the number is known when this is compiled; Count = 0: it is not.
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

// The even (Which = 0) or odd (1) elements of a and b, in an order that costs one instruction: by lanes of 16
// bytes, those of a and those of b side by side. settle() then gives them the order that they had, once for a result
// instead of once for each operand.
template <int Which, class V, int... I>
inline V alternate_of(V a, V b, Seq<I...>) {
    constexpr int n = sizeof...(I), lane = n * 16 / static_cast<int>(sizeof(V)), half = lane / 2;
    return __builtin_shufflevector(
        a, b, (I / lane * lane + (I % lane < half ? 2 * (I % lane) : n + 2 * (I % lane - half)) + Which)...);
}
template <class V, int... I>
inline V settle_of(V v, Seq<I...>) {
    using Words = typename VecOf<uint64_t, sizeof(V)>::type;
    constexpr int half = sizeof...(I) / 2;
    return (V)__builtin_shufflevector((Words)v, (Words)v, (I < half ? 2 * I : 2 * (I - half) + 1)...);
}
template <int Which, class T, int Bytes, class V>
inline V alternate(V a, V b) {
    return alternate_of<Which>(a, b, typename MakeSeq<Bytes / static_cast<int>(sizeof(T))>::type{});
}
template <int Bytes, class V>
inline V settle(V v) {
    return settle_of(v, typename MakeSeq<Bytes / 8>::type{});
}

// a0, b0, a1, b1, … in two vectors.
template <class V, int... I>
inline void interleave(V a, V b, V& low, V& high, Seq<I...>) {
    constexpr int n = sizeof...(I);
    low = __builtin_shufflevector(a, b, (I % 2 * n + I / 2)...);
    high = __builtin_shufflevector(a, b, (I % 2 * n + I / 2 + n / 2)...);
}

// Lanes of 64 bits from narrow integers. What GCC makes of a conversion of vectors takes twice the instructions.
template <class V, class T>
inline V widened(const T* p) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && sizeof(T) <= 4 && sizeof(T) >= 2) {
        __m256i held;
        if constexpr (sizeof(T) == 4)
            held = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        else
            held = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
        if constexpr (__is_same(V, typename VecOf<double, 64>::type))
            return (V)_mm512_cvtepi32_pd(held);
        else
            return (V)_mm512_cvtepi32_epi64(held);
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32 && sizeof(T) <= 4 && sizeof(T) >= 2) {
        __m128i held;
        if constexpr (sizeof(T) == 4)
            held = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        else
            held = _mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
        if constexpr (__is_same(V, typename VecOf<double, 32>::type))
            return (V)_mm256_cvtepi32_pd(held);
        else
            return (V)_mm256_cvtepi32_epi64(held);
    }
#endif
    V v;
    for (int k = 0; k < static_cast<int>(sizeof(V) / 8); ++k) v[k] = static_cast<__typeof__(v[0] + v[0])>(p[k]);
    return v;
}

// 0, 1, 2, …
template <class V, int... I>
inline V counting_of(Seq<I...>) {
    return V{I...};
}
template <class V>
inline V counting() {
    return counting_of<V>(typename MakeSeq<sizeof(V) / sizeof(V{}[0])>::type{});
}
