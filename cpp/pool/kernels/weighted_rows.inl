// Rows of elements and their factors (weighted.hpp).

constexpr int64_t kGathered = 256;  // elements of a window that the shifted form takes at a time

inline int64_t whole_vectors(int64_t n) { return ceil_div(n, kDoubles) * kDoubles; }

// f(i) for each vector of a row.
template <class F>
CENOTE_INLINE inline void for_vectors(int64_t n, F f) {
    for (int64_t i = 0; i < n; i += kDoubles) f(i);
}

CENOTE_INLINE inline Doubles at(const double* row, int64_t i) { return load<Doubles>(row + i); }

inline bool any_lane(DoubleMask m) {
    bool found = false;
    for (int64_t k = 0; k < kDoubles; ++k) found |= m[k] != 0;
    return found;
}

// The vector from element i on of a row of n elements, zeros after its end.
CENOTE_INLINE inline Doubles read_doubles(DType type, const char* row, int64_t i, int64_t n) {
    if (i + kDoubles <= n) {
        if (type == DType::f32) return read<float, Lane<double, kVectorBytes>>(row + i * 4);
        if (type == DType::f64) return load<Doubles>(row + i * 8);
    }
    double part[kDoubles] = {};
    load_row(type, part, row + i * size_of(type), size_of(type), least(kDoubles, n - i), false);
    return at(part, 0);
}

// Doubles as floats that are rounded to odd, so that the conversion from float to half rounds as if it came from them.
inline double rounded_to_odd(double v) {
    const float near = static_cast<float>(v);
    if (static_cast<double>(near) == v || v - v != 0.0) return v;
    uint32_t bits = load<uint32_t>(&near);
    if (__builtin_fabs(static_cast<double>(near)) > __builtin_fabs(v)) --bits;  // towards zero
    bits |= 1u;
    return static_cast<double>(load<float>(&bits));
}

CENOTE_ONCE void write_part(DType type, char* row, Doubles v, int64_t n) {
    double part[kDoubles];
    store(part, v);
    if (type == DType::f16 || type == DType::bf16)
        for (int64_t k = 0; k < n; ++k) part[k] = rounded_to_odd(part[k]);
    store_row(type, row, part, n);
}

CENOTE_INLINE inline void write_doubles(DType type, char* row, int64_t i, int64_t n, Doubles v) {
    v = quiet<double>(v);
    if (i + kDoubles <= n) {
        if (type == DType::f32)
            return store(row + i * 4, __builtin_convertvector(v, typename VecOf<float, kVectorBytes / 2>::type));
        if (type == DType::f64) return store(row + i * 8, v);
    }
    write_part(type, row + i * size_of(type), v, least(kDoubles, n - i));
}

// The weight of an element but for the factor of its window, and the term of the window's normaliser.
template <bool Exponential, bool Term, bool Weight>
CENOTE_INLINE inline void plain_factors(const Factors& f, Doubles x, Doubles& term, Doubles& weight,
                                        DoubleMask& plain) {
    if constexpr (Exponential)
        term = weight = plain_exponential(f, x, plain);
    else
        plain_powers(f, x, Term ? &term : nullptr, Weight ? &weight : nullptr, plain);
}

// A row of elements to the terms of normalisers and, of a sum, t to weight times t; 0 where the shifted form is needed.
// What is written after the end of a row is to be overwritten by the next one. Whether all are plain factors.
template <bool Exponential, bool Sum>
CENOTE_ONCE bool row_factors(const Factors& f, DType x_type, const char* x, DType t_type, const char* t, double* terms,
                             double* sums, int64_t n) {
    DoubleMask all = ~DoubleMask{};
    for_vectors(n, [&](int64_t i) CENOTE_INLINE {
        DoubleMask plain;
        Doubles term, weight;
        plain_factors<Exponential, true, Sum>(f, read_doubles(x_type, x, i, n), term, weight, plain);
        if constexpr (Sum) {
            const Doubles by = read_doubles(t_type, t, i, n);
            plain &= ~out_of_range(by);
            store(sums + i, plain ? Doubles(weight * by) : Doubles{});
        }
        store(terms + i, term);
        // Zeros after the end of a row may be no plain factors, which only costs time.
        all &= plain;
    });
    return !any_lane(~all);
}

// 1 for each element that needs the shifted form, or whose operand is out of range.
CENOTE_ONCE void mark_shifted(const Factors& f, double* x, const double* t, int64_t n) {
    for_vectors(n, [&](int64_t i) CENOTE_INLINE {
        DoubleMask plain;
        if (f.of.exponential)
            plain_exponential(f, at(x, i), plain);
        else
            plain_powers(f, at(x, i), nullptr, nullptr, plain);
        if (t) plain &= ~out_of_range(at(t, i));
        store(x + i, plain ? Doubles{} : of_all(1.0));
    });
}
