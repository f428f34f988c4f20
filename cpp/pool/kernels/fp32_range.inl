// When smooth max and Lp norms are computed in single precision, for results of float32 and less.
//
// A window is computed in single precision if all its elements are in range, otherwise in double precision. What else
// is in its tile does not matter, so a result does not depend on how an array is tiled. Single precision costs an ulp
// or two of the larger of the result and 1/β, and has twice the lanes, shorter polynomials and half the bytes.

constexpr double kFp32Exponent = 40.0;                 // |βx|: exp(40)·2^63 is a float
constexpr float kFp32Least = 1e-7f, kFp32Most = 1e7f;  // |x|: and so is the sum of 2^63 fourth powers of such
constexpr double kLog2E = 1.4426950408889634074;

// β or p as single precision needs it.
struct Norm {
    bool logarithm, lowest;  // lowest: β < 0, results are never above the smallest element
    bool single_element;     // windows of one element, which is its own smooth max
    int power;
    float base;        // β·log2(e)
    LogScale inverse;  // its inverse
    int32_t most;      // smooth max: the bits of the largest |x| in range
};

inline Norm norm_of(const PoolSchedule& job) {
    Norm norm{};
    norm.logarithm = job.epilogue == Epilogue::logarithm;
    if (!norm.logarithm) {
        norm.power = static_cast<int>(job.power);
        return norm;
    }
    // β·log2(e) is rounded to float and then inverted: the result is that for a β with a relative error of 3e-8, which
    // changes it by at most 3e-8·log(elements)/β, and it saves a multiplication per element.
    norm.base = static_cast<float>(job.beta * kLog2E);
    const double inverse = 1.0 / norm.base;
    norm.lowest = job.beta < 0;
    norm.single_element = job.window_elements == 1;
    const float scale = static_cast<float>(inverse);
    norm.inverse = {scale, static_cast<float>(inverse - scale), static_cast<float>(inverse * 2.88539129),
                    static_cast<float>(inverse * 0.96147067), static_cast<float>(inverse * 0.59897855)};
    norm.most = __builtin_bit_cast(int32_t, static_cast<float>(kFp32Exponent / (norm.lowest ? -job.beta : job.beta)));
    return norm;
}

// A mask of the elements out of range. Compared as integers, in which NaN is above all other magnitudes.
template <class V, class M>
CENOTE_INLINE inline BitsOf<V> as_bits(M mask) {
    if constexpr (IsVector<V>::value)
        return (BitsOf<V>)mask;
    else
        return mask ? ~0u : 0u;
}
template <class V>
CENOTE_INLINE inline BitsOf<V> exponent_out_of_range(V element, int32_t most) {
    using I = typename Rebind<V, int32_t>::type;
    return as_bits<V>((I)(to_bits(element) & 0x7fffffffu) > most);
}
template <class V>
CENOTE_INLINE inline BitsOf<V> power_out_of_range(V element) {
    using I = typename Rebind<V, int32_t>::type;
    constexpr uint32_t least = __builtin_bit_cast(uint32_t, kFp32Least);
    constexpr uint32_t most = __builtin_bit_cast(uint32_t, kFp32Most), sign = 0x80000000u;
    const BitsOf<V> size = to_bits(element) & ~sign;
    // One comparison for both bounds: what is below the lower one wraps to above the upper one.
    return as_bits<V>(((I)(size - (least + sign)) > static_cast<int32_t>(most - least + sign)) & (size != 0u));
}

template <class V>
CENOTE_INLINE inline V powered(V size, int power) {
    if (power == 1) return size;
    const V square = size * size;
    return power == 2 ? square : power == 3 ? V(square * size) : V(square * square);
}

// The epilogue of one total. The result is never beyond the window's extreme element, `top`, where rounding does not
// guarantee that. Empty: the window may be empty.
template <bool Lowest, bool Empty = true, class V>
CENOTE_INLINE inline V log_epilogue(const Norm& norm, V total, V top) {
    V y = log2_fp32(total, norm.inverse);
    if constexpr (Empty) y = total > 0.0f ? y : splat<V>(Lowest ? __builtin_inff() : -__builtin_inff());
    return (Lowest ? top < y : top > y) ? top : y;  // operands in the order of the min/max instruction
}
template <class V>
CENOTE_INLINE inline V root_epilogue(const Norm& norm, V total, V top) {
    if (norm.power == 1) return total;
    if (norm.power == 2) return sqrt_fp32(total);
    const V root = norm.power == 3 ? cbrt_fp32(total) : sqrt_fp32(sqrt_fp32(total));
    // If the total is the power of the largest element single_element, its root is known exactly.
    const V y = total == powered(top, norm.power) ? top : root;
    return top > y ? top : y;
}
template <class V>
CENOTE_INLINE inline V fp32_result(const Norm& norm, V total, V top) {
    if (!norm.logarithm) return root_epilogue(norm, total, top);
    if (norm.single_element) return top;
    return norm.lowest ? log_epilogue<true>(norm, total, top) : log_epilogue<false>(norm, total, top);
}
