// When smooth maxima and norms are computed in single precision: for results of float32 and less.
//
// A window is computed so when all its elements are moderate, and in double precision otherwise: never by what else is
// in its tile, so that a result does not depend on how an array is cut. Single precision costs a unit or two in the
// last place of the larger of the result and 1/β, and has twice the lanes, a shorter series and half the bytes.

constexpr double kSingleExponent = 40.0;                   // |βx|: exp(40)·2^63 is a float
constexpr float kSingleLeast = 1e-7f, kSingleMost = 1e7f;  // |x|: so is its fourth power, times
constexpr double kLog2E = 1.4426950408889634074;

// A job's β or p as single precision needs it.
struct Norm {
    bool logarithm, lowest;  // lowest: β < 0, where results are never above the smallest element
    bool alone;              // windows of one element, which is its own smooth maximum
    int power;
    float base;        // β·log2(e)
    LogScale inverse;  // 1 over it
    int32_t most;      // the bits of the largest |x| that is moderate, of a smooth maximum
};

inline Norm norm_of(const PoolSchedule& job) {
    Norm norm{};
    norm.logarithm = job.epilogue == Epilogue::logarithm;
    if (!norm.logarithm) {
        norm.power = static_cast<int>(job.power);
        return norm;
    }
    // Rounded, and then the inverse of that: a smooth maximum for a β that is off by 3e-8 of it, which changes it by
    // 3e-8·log(elements)/β at most, and a product less for each element.
    norm.base = static_cast<float>(job.beta * kLog2E);
    const double inverse = 1.0 / norm.base;
    norm.lowest = job.beta < 0;
    norm.alone = job.window_elements == 1;
    const float scale = static_cast<float>(inverse);
    norm.inverse = {scale, static_cast<float>(inverse - scale), static_cast<float>(inverse * 2.88539129),
                    static_cast<float>(inverse * 0.96147067), static_cast<float>(inverse * 0.59897855)};
    norm.most = __builtin_bit_cast(int32_t, static_cast<float>(kSingleExponent / (norm.lowest ? -job.beta : job.beta)));
    return norm;
}

// All bits where an element is not moderate, none elsewhere. As integers, because NaN are above all others there.
template <class V, class M>
CENOTE_INLINE inline BitsOf<V> as_bits(M mask) {
    if constexpr (IsVector<V>::value)
        return (BitsOf<V>)mask;
    else
        return mask ? ~0u : 0u;
}
template <class V>
CENOTE_INLINE inline BitsOf<V> wild_exponent(V element, int32_t most) {
    using I = typename Rebind<V, int32_t>::type;
    return as_bits<V>((I)(to_bits(element) & 0x7fffffffu) > most);
}
template <class V>
CENOTE_INLINE inline BitsOf<V> wild_power(V element) {
    using I = typename Rebind<V, int32_t>::type;
    constexpr uint32_t least = __builtin_bit_cast(uint32_t, kSingleLeast);
    constexpr uint32_t most = __builtin_bit_cast(uint32_t, kSingleMost), sign = 0x80000000u;
    const BitsOf<V> size = to_bits(element) & ~sign;
    // One comparison for both ends: what is below the least comes out above the most.
    return as_bits<V>(((I)(size - (least + sign)) > static_cast<int32_t>(most - least + sign)) & (size != 0u));
}

template <class V>
CENOTE_INLINE inline V powered(V size, int power) {
    if (power == 1) return size;
    const V square = size * size;
    return power == 2 ? square : power == 3 ? V(square * size) : V(square * square);
}

// A total to a result; never beyond the extreme element of the window, `top`, where powers do not see to that
// themselves. Empty: there may be no element.
template <bool Lowest, bool Empty = true, class V>
CENOTE_INLINE inline V finished_log(const Norm& norm, V total, V top) {
    V y = log2_fp32(total, norm.inverse);
    if constexpr (Empty) y = total > 0.0f ? y : splat<V>(Lowest ? __builtin_inff() : -__builtin_inff());
    return (Lowest ? top < y : top > y) ? top : y;  // in the order of an instruction
}
template <class V>
CENOTE_INLINE inline V finished_root(const Norm& norm, V total, V top) {
    if (norm.power == 1) return total;
    if (norm.power == 2) return sqrt_fp32(total);
    const V root = norm.power == 3 ? cbrt_fp32(total) : sqrt_fp32(sqrt_fp32(total));
    // A total that is the largest element's alone is its power, whose root is known.
    const V y = total == powered(top, norm.power) ? top : root;
    return top > y ? top : y;
}
template <class V>
CENOTE_INLINE inline V finished_single(const Norm& norm, V total, V top) {
    if (!norm.logarithm) return finished_root(norm, total, top);
    if (norm.alone) return top;
    return norm.lowest ? finished_log<true>(norm, total, top) : finished_log<false>(norm, total, top);
}
