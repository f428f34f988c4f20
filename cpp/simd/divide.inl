// What an average divides by.

// Whether a quotient by `by` is the same in T as in double, rounded once: wherever the divisor is a T.
template <class T>
inline bool divides_in(double by) {
    return static_cast<double>(static_cast<T>(by)) == by;
}

// A division by a number of type T: a product where that is the same.
template <class T>
struct Division {
    T divisor, inverse;
    bool exact;

    template <class V>
    V operator()(V v) const {
        if constexpr (!Limits<T>::has_nan) return v;  // whole numbers are not divided
        return quiet<T>(exact ? V(v * inverse) : V(v / divisor));
    }
};

template <class T>
inline Division<T> division(double by) {
    if constexpr (!Limits<T>::has_nan) return {};
    const T same = static_cast<T>(by), inverse = T{1} / same;
    constexpr Unsigned<T> mantissa = (Unsigned<T>{1} << (sizeof(T) == 4 ? 23 : 52)) - 1;
    const bool power_of_two = (load<Unsigned<T>>(&same) & mantissa) == 0;
    return {same, inverse, power_of_two && inverse * same == T{1} && by > 1e-30 && by < 1e30};
}

// Counts in lanes, below 2^31, as numbers.
template <class V, class W>
inline V as_number(W w) {
    if constexpr (!IsVector<V>::value) {
        return static_cast<V>(w);
    } else if constexpr (sizeof(w[0]) == 4) {
        return __builtin_convertvector((typename Beside<V, int32_t>::type)w, V);
    } else {  // in the low bits of 2^52, for want of an instruction
        return (V)(w | 0x4330000000000000u) - 0x1p52;
    }
}

// A total that leaves NaN out, of `elements` elements: divided by them and `padded` others, or by a number. Of no
// elements: NaN.
template <class T, class V, class W>
inline V divide_valid(V total, W elements, bool by_count, T padded, const Division<T>& number) {
    const V valid = as_number<V>(elements);
    const V result = by_count ? V(total / (valid + padded)) : V(number(total));
    return quiet<T>(valid > T{0} ? result : splat<V>(Limits<T>::nan));
}
