// The transpose of weighted sums over windows that do not overlap: each element is in one window, so its weight is
// computed once and stays in registers until the window's total is known.

// The sum of v[0 … k-1] in the order of RowKernels::reduce: pairs, pairs of pairs, …, and an odd one out joins what is
// left of it. Overwrites them.
CENOTE_INLINE inline Doubles sum_tree(Doubles* v, int64_t k) {
    if (k == 2) return v[0] + v[1];
    if (k == 3) return (v[0] + v[1]) + v[2];
    for (; k > 1; k = (k + 1) / 2) {
        for (int64_t i = 0; i + 1 < k; i += 2) v[i / 2] = v[i] + v[i + 1];
        if (k % 2) v[k / 2] = v[k - 1];
    }
    return v[0];
}

// The total of a window whose terms are in the order of the passes, the first pass innermost. Overwrites them.
CENOTE_INLINE inline Doubles sum_window(Doubles* terms, const DisjointWindows& w) {
    for (int64_t n = w.taps, q = 0; n > 1; ++q) {
        const int64_t k = w.k[q];
        if (k == 1) continue;
        int64_t sums = 0;
        for (int64_t i = 0; i < n; i += k) terms[sums++] = sum_tree(terms + i, k);
        n = sums;
    }
    return terms[0];
}

// Even and odd elements of two vectors, and back.
template <int... I>
CENOTE_INLINE inline void split_pairs(Doubles a, Doubles b, Doubles& even, Doubles& odd, Seq<I...>) {
    even = __builtin_shufflevector(a, b, (2 * I)...);
    odd = __builtin_shufflevector(a, b, (2 * I + 1)...);
}

CENOTE_INLINE inline void write_or_stream(DType type, char* row, int64_t i, int64_t n, Doubles v, bool streaming) {
    if (!streaming) return write_doubles(type, row, i, n, v);
    v = quiet<double>(v);
    if (type == DType::f32)
        store_streaming(row + i * 4, __builtin_convertvector(v, typename VecOf<float, kVectorBytes / 2>::type));
    else
        store_streaming(row + i * 8, v);
}

// The factors of elements and windows.
struct ExponentialWeights {
    static CENOTE_INLINE inline void of(const Factors& f, Doubles x, Doubles& term, Doubles& weight,
                                        DoubleMask& plain) {
        term = weight = plain_exponential(f, x, plain);
    }
    static CENOTE_INLINE inline Doubles normalize(Doubles v, Doubles total) {
        const DoubleMask none = total == 0.0;
        return none ? Doubles{} : v / (none ? of_all(1.0) : total);
    }
};
// Of the Euclidean norm, whose weights are x/y: the same bits as plain_powers.
struct EuclideanWeights {
    static CENOTE_INLINE inline void of(const Factors& f, Doubles x, Doubles& term, Doubles& weight,
                                        DoubleMask& plain) {
        const Doubles size = magnitude(x);
        plain = ((size >= f.least) | (size == 0.0)) & (size <= f.most);
        term = x * x;
        weight = x;
    }
    static CENOTE_INLINE inline Doubles normalize(Doubles v, Doubles total) {
        const DoubleMask none = total == 0.0;
        return none ? Doubles{} : v * (1.0 / sqrt_fp64(none ? of_all(1.0) : total));
    }
};

// Whether all vectors of results are whole and aligned.
inline bool can_stream(const DisjointWindows& w) {
    if (!w.streaming || (w.type != DType::f32 && w.type != DType::f64) || w.n % kDoubles) return false;
    const int64_t width = size_of(w.type);
    for (int64_t t = 0; t < w.reads; ++t)
        if (!vector_aligned(w.out + w.read[t].offset * width, w.x_step * width)) return false;
    return true;
}

// Rows of windows; with Pairs the windows of a row have two neighbouring elements each along it, otherwise a window is
// a row of lanes. Returns whether all factors are in range: otherwise the results are not used.
template <class W, bool Pairs>
CENOTE_ONCE bool disjoint_rows(const Factors& given, const DisjointWindows& w) {
    const Factors f = given;  // a copy: stores cannot alias it
    constexpr int apart = Pairs ? 2 : 1;
    const int64_t x_width = size_of(w.x_type), width = size_of(w.type), n = w.n;
    const bool streaming = can_stream(w);
    DoubleMask all = ~DoubleMask{};
    for (int64_t row = 0; row < w.rows; ++row) {
        const char *x = w.x + row * w.x_step * x_width, *g = w.g + row * w.g_step * width;
        char* out = w.out + row * w.x_step * width;
        for (int64_t begin = 0; begin < n; begin += kDoubles) {
            // The last vector overlaps the one before it.
            const int64_t i = n < kDoubles ? 0 : min(begin, n - kDoubles);
            Doubles term[kDisjointTaps], weight[kDisjointTaps];
            const auto take = [&](int64_t tap, Doubles v) CENOTE_INLINE {
                DoubleMask plain;
                W::of(f, v, term[tap], weight[tap], plain);
                all &= plain;
            };
            for (int64_t t = 0; t < w.reads; ++t) {
                const DisjointWindows::Read& r = w.read[t];
                if (!r.present) {
                    for (int c = 0; c < apart; ++c) term[r.tap + c * w.pair_step] = Doubles{};
                    continue;
                }
                const char* from = x + r.offset * x_width;
                if constexpr (Pairs) {
                    Doubles even, odd;
                    split_pairs(read_doubles(w.x_type, from, 2 * i, 2 * n),
                                read_doubles(w.x_type, from, 2 * i + kDoubles, 2 * n), even, odd,
                                typename MakeSeq<kDoubles>::type{});
                    take(r.tap, even);
                    take(r.tap + w.pair_step, odd);
                } else {
                    take(r.tap, read_doubles(w.x_type, from, i, n));
                }
            }
            const Doubles by = read_doubles(w.type, g, i, n), total = sum_window(term, w) + w.pads;
            all &= ~out_of_range(by);
            const Doubles scaled = W::normalize(by, total);
            for (int64_t t = 0; t < w.reads; ++t) {
                const DisjointWindows::Read& r = w.read[t];
                if (!r.present) continue;
                char* to = out + r.offset * width;
                // Adding 0 clears the sign of a zero, as in spread_row_by.
                const Doubles v = weight[r.tap] * scaled + 0.0;
                if constexpr (Pairs) {
                    Doubles low, high;
                    interleave(v, Doubles(weight[r.tap + w.pair_step] * scaled + 0.0), low, high,
                               typename MakeSeq<kDoubles>::type{});
                    write_or_stream(w.type, to, 2 * i, 2 * n, low, streaming);
                    write_or_stream(w.type, to, 2 * i + kDoubles, 2 * n, high, streaming);
                } else {
                    write_or_stream(w.type, to, i, n, v, streaming);
                }
            }
        }
    }
    if (streaming) fence_stores();
    return !any_lane(~all);
}

template <class T>
using Narrow = typename Lane<T, kDoubles* static_cast<int>(sizeof(T))>::V;
template <class T>
CENOTE_INLINE inline Doubles widen(const T* p) {
    return __builtin_convertvector(load<Narrow<T>>(p), Doubles);
}

// The same for windows of four elements, none of them padding, and one dtype: the common case, all in registers.
template <class T, class W, bool Pairs>
CENOTE_ONCE bool rows_of_four(const Factors& given, const DisjointWindows& w) {
    const Factors f = given;
    constexpr int reads = Pairs ? 2 : 4;
    const int64_t n = w.n;
    const bool streaming = can_stream(w);
    const auto write = [&](T* p, Doubles v) CENOTE_INLINE {
        store_or_stream(p, __builtin_convertvector(quiet<double>(v), Narrow<T>), streaming);
    };
    const bool along_first = Pairs && w.pair_step == 1;
    int64_t offset[reads];
    for (int t = 0; t < reads; ++t) offset[t] = w.read[t].offset;
    DoubleMask all = ~DoubleMask{};
    for (int64_t row = 0; row < w.rows; ++row) {
        const T* x = reinterpret_cast<const T*>(w.x) + row * w.x_step;
        const T* g = reinterpret_cast<const T*>(w.g) + row * w.g_step;
        T* out = reinterpret_cast<T*>(w.out) + row * w.x_step;
        for (int64_t begin = 0; begin < n; begin += kDoubles) {
            const int64_t i = min(begin, n - kDoubles);  // the last vector overlaps the one before it
            Doubles v[4], term[4], weight[4];
            each<reads>(reads, [&](int64_t t) CENOTE_INLINE {
                if constexpr (Pairs)
                    split_pairs(widen(x + offset[t] + 2 * i), widen(x + offset[t] + 2 * i + kDoubles), v[t], v[t + 2],
                                typename MakeSeq<kDoubles>::type{});
                else
                    v[t] = widen(x + offset[t] + i);
            });
            each<4>(4, [&](int64_t t) CENOTE_INLINE {
                DoubleMask plain;
                W::of(f, v[t], term[t], weight[t], plain);
                all &= plain;
            });
            const Doubles by = widen(g + i);
            all &= ~out_of_range(by);
            const Doubles total =
                along_first ? (term[0] + term[2]) + (term[1] + term[3]) : (term[0] + term[1]) + (term[2] + term[3]);
            const Doubles scaled = W::normalize(by, Doubles(total + w.pads));
            each<4>(4, [&](int64_t t) CENOTE_INLINE { weight[t] = weight[t] * scaled + 0.0; });
            each<reads>(reads, [&](int64_t t) CENOTE_INLINE {
                if constexpr (Pairs) {
                    Doubles low, high;
                    interleave(weight[t], weight[t + 2], low, high, typename MakeSeq<kDoubles>::type{});
                    write(out + offset[t] + 2 * i, low);
                    write(out + offset[t] + 2 * i + kDoubles, high);
                } else {
                    write(out + offset[t] + i, weight[t]);
                }
            });
        }
    }
    if (streaming) fence_stores();
    return !any_lane(~all);
}

template <class W>
bool spread_by(const Factors& f, const DisjointWindows& w) {
    if (w.taps == 4 && !w.clipped && w.n >= kDoubles && w.x_type == w.type) {
        if (w.type == DType::f32)
            return w.pairs ? rows_of_four<float, W, true>(f, w) : rows_of_four<float, W, false>(f, w);
        if (w.type == DType::f64)
            return w.pairs ? rows_of_four<double, W, true>(f, w) : rows_of_four<double, W, false>(f, w);
    }
    return w.pairs ? disjoint_rows<W, true>(f, w) : disjoint_rows<W, false>(f, w);
}

CENOTE_ONCE bool spread_disjoint(const Factors& f, const DisjointWindows& w) {
    return f.of.exponential ? spread_by<ExponentialWeights>(f, w) : spread_by<EuclideanWeights>(f, w);
}
