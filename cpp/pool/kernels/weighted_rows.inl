// The row kernels of weighted sums (pool/weighted.hpp).

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

// The vector from element i on of a row of n elements, with zeros after its end.
CENOTE_INLINE inline Doubles read_doubles(DType type, const char* row, int64_t i, int64_t n) {
    if (i + kDoubles <= n) {
        if (type == DType::f32) return read<float, Lane<double, kVectorBytes>>(row + i * 4);
        if (type == DType::f64) return load<Doubles>(row + i * 8);
    }
    double part[kDoubles] = {};
    load_row(type, part, row + i * size_of(type), size_of(type), min(kDoubles, n - i), false);
    return at(part, 0);
}

// Rounds to the nearest odd float, so that converting it to float16 or bfloat16 rounds as if directly from the double.
inline double rounded_to_odd(double v) {
    const float near = static_cast<float>(v);
    if (static_cast<double>(near) == v || v - v != 0.0) return v;
    uint32_t bits = load<uint32_t>(&near);
    if (__builtin_fabs(static_cast<double>(near)) > __builtin_fabs(v)) --bits;  // truncate
    bits |= 1u;
    return static_cast<double>(load<float>(&bits));
}

CENOTE_ONCE void write_part(DType type, char* row, Doubles v, int64_t n) {
    double part[kDoubles];
    store(part, quiet<double>(v));
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
    write_part(type, row + i * size_of(type), v, min(kDoubles, n - i));
}

// The weight of an element without the factor of its window, and its term in the window's normaliser.
template <bool Exponential, bool Term, bool Weight>
CENOTE_INLINE inline void plain_factors(const Factors& f, Doubles x, Doubles& term, Doubles& weight,
                                        DoubleMask& plain) {
    if constexpr (Exponential)
        term = weight = plain_exponential(f, x, plain);
    else
        plain_powers(f, x, Term ? &term : nullptr, Weight ? &weight : nullptr, plain);
}

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
        // Zeros after the end of a row may count as out of range, which only costs time.
        all &= plain;
    });
    return !any_lane(~all);
}

CENOTE_ONCE bool row_terms(const Factors& f, DType x_type, const char* x, DType t_type, const char* t, double* terms,
                           double* sums, int64_t n) {
    const auto run = f.of.exponential ? (t ? &row_factors<true, true> : &row_factors<true, false>)
                                      : (t ? &row_factors<false, true> : &row_factors<false, false>);
    return run(f, x_type, x, t_type, t, terms, sums, n);
}

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

CENOTE_ONCE bool normalize_row(const Factors& f, const double* all_totals, const double* all_marks, DType type,
                               const char* v, bool in_range, DType out_type, char* out, int64_t n) {
    const char *totals = reinterpret_cast<const char*>(all_totals), *marks = reinterpret_cast<const char*>(all_marks);
    DoubleMask any{};
    for_vectors(n, [&](int64_t i) CENOTE_INLINE {
        const Doubles by = read_doubles(type, v, i, n), total = read_doubles(DType::f64, totals, i, n);
        DoubleMask shifted = in_range ? DoubleMask{} : out_of_range(by);
        if (marks) shifted |= read_doubles(DType::f64, marks, i, n) != 0.0;
        any |= shifted;
        write_doubles(out_type, out, i, n, shifted ? Doubles{} : normalized(f, by, total));
    });
    return any_lane(any);
}

template <bool Exponential>
inline void spread_row_by(const Factors& f, DType x_type, const char* x, const char* totals, DType type, char* out,
                          int64_t n) {
    for_vectors(n, [&](int64_t i) CENOTE_INLINE {
        DoubleMask plain;
        Doubles term, weight;
        plain_factors<Exponential, false, true>(f, read_doubles(x_type, x, i, n), term, weight, plain);
        // Adding 0 clears the sign of a zero: an element in no window is +0, whatever part of the array is computed.
        write_doubles(type, out, i, n, Doubles(weight * read_doubles(DType::f64, totals, i, n) + 0.0));
    });
}

CENOTE_ONCE void spread_row(const Factors& f, DType x_type, const char* x, const char* totals, DType type, char* out,
                            int64_t n) {
    if (f.of.exponential) return spread_row_by<true>(f, x_type, x, totals, type, out, n);
    spread_row_by<false>(f, x_type, x, totals, type, out, n);
}

CENOTE_ONCE void store_rounded(DType type, char* to, const double* from, int64_t n) {
    for_vectors(n, [&](int64_t i) {
        write_doubles(type, to, i, n, read_doubles(DType::f64, reinterpret_cast<const char*>(from), i, n));
    });
}
