// The division of averages.

// Whether dividing in T gives the correctly rounded quotient: it does if the divisor is a T.
template <class T>
inline bool divides_in(double by) {
    return static_cast<double>(static_cast<T>(by)) == by;
}

// Division by a constant; a multiplication where that gives the same bits.
template <class T>
struct Division {
    T divisor, inverse;
    bool exact;

    template <class V>
    V operator()(V v) const {
        if constexpr (!Limits<T>::has_nan) return v;  // integer totals are not divided
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

// Counts in integer lanes, below 2^31, as floating-point numbers.
template <class V, class W>
inline V count_to_float(W w) {
    if constexpr (!IsVector<V>::value) {
        return static_cast<V>(w);
    } else if constexpr (sizeof(w[0]) == 4) {
        return __builtin_convertvector((typename Rebind<V, int32_t>::type)w, V);
    } else {  // in the low bits of 2^52: there is no instruction for it
        return (V)(w | 0x4330000000000000u) - 0x1p52;
    }
}

// The average of a window that omits NaN: its total divided by its `elements` elements plus `padded` ones, or by a
// given number. NaN if there are no elements.
template <class T, class V, class W>
inline V divide_valid(V total, W elements, bool by_count, T padded, const Division<T>& number) {
    const V valid = count_to_float<V>(elements);
    const V result = by_count ? V(total / (valid + padded)) : V(number(total));
    return quiet<T>(valid > T{0} ? result : splat<V>(Limits<T>::nan));
}
