// Smooth maxima and norms in single precision, for results of float32 and less.
//
// A window is computed so when all its cells are moderate, and in double precision otherwise: never by what else is in
// its tile, so that a result does not depend on how an array is cut. Single precision costs a unit or two in the last
// place of the larger of the result and 1/β, and has twice the lanes, a shorter series and half the bytes.

constexpr float kSingleExponent = 40.0f;                   // |βx|: exp(40)·2^63 is a float
constexpr float kSingleLeast = 1e-7f, kSingleMost = 1e7f;  // |x|: so is its fourth power, times
constexpr int64_t kSingleCells = int64_t{1} << 20;

inline bool single_will_do(const Job& job) {
    if (job.out == DType::f64 || (job.in != DType::f32 && job.in != DType::f16 && job.in != DType::bf16)) return false;
    if (job.window_cells > kSingleCells) return false;
    if (job.prepare == Prepare::power)
        return job.power == 1.0 || job.power == 2.0 || job.power == 3.0 || job.power == 4.0;
    // A smaller β would lose the cells in the 1 of exp(βx) = 1 + βx + …
    const double size = job.beta < 0 ? -job.beta : job.beta;
    return size >= 0.25 && size <= 1e6;
}

// exp(t) for |t| <= 40.
template <class V>
inline V exp_single(V t) {
    using I = typename Beside<V, int32_t>::type;
    const V shifted = t * 1.44269504f + 12582912.0f;  // 1.5·2^23: the whole number is in the low bits
    const V e = shifted - 12582912.0f;
    const V r = (t - e * 0.693145751953125f) - e * 1.428606765330187e-06f;
    V p = splat<V>(1.9841270e-04f);
    p = p * r + 1.3888889e-03f;
    p = p * r + 8.3333333e-03f;
    p = p * r + 4.1666667e-02f;
    p = p * r + 1.6666667e-01f;
    p = p * r + 0.5f;
    const V f = ((p * r) * r + r) + 1.0f;
    I bits, whole;
    __builtin_memcpy(&bits, &f, sizeof(V));
    __builtin_memcpy(&whole, &shifted, sizeof(V));
    bits += (whole - 0x4b400000) * (1 << 23);
    V out;
    __builtin_memcpy(&out, &bits, sizeof(V));
    return out;
}

// log(v) for a positive normal v.
template <class V>
inline V log_single(V v) {
    using I = typename Beside<V, int32_t>::type;
    I bits;
    __builtin_memcpy(&bits, &v, sizeof(V));
    const I whole = (bits - 0x3f3504f3) >> 23;  // sqrt(1/2)
    const I mantissa = bits - whole * (1 << 23);
    V m;
    __builtin_memcpy(&m, &mantissa, sizeof(V));
    V e;
    if constexpr (IsVector<V>::value)
        e = __builtin_convertvector(whole, V);
    else
        e = static_cast<float>(whole);
    const V s = (m - 1.0f) / (m + 1.0f), z = s * s;
    V p = splat<V>(1.0f / 9);
    p = p * z + 1.0f / 7;
    p = p * z + 1.0f / 5;
    p = p * z + 1.0f / 3;
    return e * 0.693145751953125f + (s * 2.0f + (s * (z * (p * 2.0f)) + e * 1.428606765330187e-06f));
}

// Which cells are moderate, as zeros in `wild`, if it is there; whether all are. The terms of those that are not are 1.
inline bool single_terms(const Job& job, const float* x, float* terms, float* wild, int64_t n) {
    const float beta = static_cast<float>(job.beta);
    using Wide = typename Lane<float, kVectorBytes>::V;
    using Bits = typename Beside<Wide, int32_t>::type;
    Bits bad{};
    int32_t bad_tail = 0;
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V v = load<V>(x + i), one = splat<V>(1.0f), zero = splat<V>(0.0f);
        const auto give = [&](auto moderate, V term) {
            store(terms + i, moderate ? term : one);
            if (wild) store(wild + i, moderate ? zero : one);
            if constexpr (sizeof(V) == kVectorBytes)
                bad |= ~moderate;
            else if constexpr (IsVector<V>::value)
                for (int k = 0; k < decltype(lane)::count; ++k) bad_tail |= ~moderate[k];
            else
                bad_tail |= !moderate;
        };
        if (job.prepare == Prepare::exponential) {
            const V t = v * beta;
            const auto moderate = (t >= -kSingleExponent) & (t <= kSingleExponent);
            give(moderate, exp_single(V(moderate ? t : zero)));
        } else {
            const auto moderate = (v == 0.0f) | ((v >= kSingleLeast) & (v <= kSingleMost));
            const V square = v * v;
            give(moderate, job.power == 1.0   ? v
                           : job.power == 2.0 ? square
                           : job.power == 3.0 ? V(square * v)
                                              : V(square * square));
        }
    });
    for (int k = 0; k < Lane<float, kVectorBytes>::count; ++k) bad_tail |= bad[k];
    return bad_tail == 0;
}

// Totals of third and fourth powers: the root in double precision, which in single would cost several units.
inline void roots_of_single(const Job& job, float* row, const float* bound, int64_t n) {
    double held[64];
    for (int64_t from = 0; from < n; from += 64) {
        const int64_t some = least(64, n - from);
        for (int64_t i = 0; i < some; ++i) held[i] = static_cast<double>(row[from + i]);
        finish_wide(job, held, nullptr, some);
        for (int64_t i = 0; i < some; ++i) {
            const float root = static_cast<float>(held[i]);
            row[from + i] = root < bound[from + i] ? bound[from + i] : root;
        }
    }
}

// Rows of totals to results; never beyond the extreme cell of the window.
inline void finish_single(const Job& job, float* row, const float* bound, int64_t n) {
    if (job.finish == Finish::root && job.power > 2.0) return roots_of_single(job, row, bound, n);
    const float beta = static_cast<float>(job.beta), empty = -__builtin_inff() / beta;
    const bool least_wanted = job.beta < 0;
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V total = load<V>(row + i);
        if (job.finish == Finish::logarithm) {
            const V safe = total > 0.0f ? total : splat<V>(1.0f);
            const V y = total > 0.0f ? V(log_single(safe) / beta) : splat<V>(empty), b = load<V>(bound + i);
            store(row + i, (least_wanted ? y > b : y < b) ? b : y);
        } else if (job.power == 2.0) {
            if constexpr (IsVector<V>::value) {
                V root;
                for (int k = 0; k < decltype(lane)::count; ++k) root[k] = __builtin_sqrtf(total[k]);
                store(row + i, root);
            } else {
                store(row + i, __builtin_sqrtf(total));
            }
        } else {
            store(row + i, total);
        }
    });
}

struct Single {
    View<Sum<float>> totals;
    const float* bound;  // laid out as the totals
    const float* wild;   // likewise: above 0 where a cell is not moderate; null: nowhere
};

template <class C>
inline const float* passed(const Job& job, const Box& b, const View<Sum<float>>& in, float* cells, Arena* arena) {
    View<C> view;
    for (int q = 0; q < job.rank; ++q) view.stride[q] = in.stride[q];
    view.base = {cells, nullptr};
    return run_passes<C>(job, b, view, nullptr, arena).base.v;
}

inline Single in_single(const Job& job, const Box& b, Arena* arena) {
    Single s{};
    const View<Sum<float>> in = brought_in<Sum<float>>(job, b, arena);
    const int64_t size = tile_cells<float>(job, b);
    const bool exponential = job.prepare == Prepare::exponential;
    if (!exponential) absolute(in.base.v, size);
    View<Sum<float>> terms = in;
    terms.base = {take<float>(arena, size), nullptr};
    if (!single_terms(job, in.base.v, terms.base.v, nullptr, size)) {
        float* wild = take<float>(arena, size);
        single_terms(job, in.base.v, terms.base.v, wild, size);
        s.wild = passed<Pick<float, true, false>>(job, b, in, wild, arena);
    }
    s.totals = run_passes<Sum<float>>(job, b, terms, nullptr, arena);
    if (exponential || job.power > 2.0)  // squares and magnitudes see to that by themselves
        s.bound = exponential && job.beta < 0 ? passed<Pick<float, false, false>>(job, b, in, in.base.v, arena)
                                              : passed<Pick<float, true, false>>(job, b, in, in.base.v, arena);
    return s;
}
