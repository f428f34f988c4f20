// Smooth maxima and norms in single precision, for results of float32 and less.
//
// Pass by pass; a tile with a window that is not moderate is computed in double precision too.

// Which elements are moderate, as zeros in `wild`, if it is there; whether all are. The terms of those that are not
// are 1.
inline bool single_terms(const Norm& given, const float* x, float* terms, float* wild, int64_t n) {
    using Wide = typename Lane<float, kVectorBytes>::V;
    const Norm norm = given;  // which no store can change
    BitsOf<Wide> bad{};
    uint32_t bad_tail = 0;
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V v = load<V>(x + i), one = splat<V>(1.0f), zero = splat<V>(0.0f);
        const BitsOf<V> mark = norm.logarithm ? wild_exponent(v, norm.most) : wild_power(v);
        const V term = norm.logarithm ? exp2_fp32(v, norm.base) : powered(v, norm.power);
        store(terms + i, mark == 0u ? term : one);
        if (wild) store(wild + i, mark == 0u ? zero : one);
        if constexpr (sizeof(V) == kVectorBytes)
            bad |= mark;
        else if constexpr (IsVector<V>::value)
            for (int k = 0; k < decltype(lane)::count; ++k) bad_tail |= mark[k];
        else
            bad_tail |= mark;
    });
    for (int k = 0; k < Lane<float, kVectorBytes>::count; ++k) bad_tail |= bad[k];
    return bad_tail == 0;
}

// Rows of totals to results.
inline void finish_single(const Norm& given, float* row, const float* bound, int64_t n) {
    const Norm norm = given;  // which no store can change
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V top = bound ? load<V>(bound + i) : splat<V>(0.0f);
        store(row + i, finished_single(norm, load<V>(row + i), top));
    });
}

struct Single {
    View totals;
    const float* bound;  // laid out as the totals
    const float* wild;   // likewise: above 0 where an element is not moderate; null: nowhere
};

inline const float* passed(const RowKernels& op, const PoolSchedule& job, const PoolTile& b, View view, float* elements,
                           Arena* arena) {
    view.base = {bytes(elements), nullptr};
    return reinterpret_cast<const float*>(run_passes(op, job, b, view, nullptr, arena).base.v);
}

inline Single in_single(const PoolSchedule& job, const PoolTile& b, Arena* arena) {
    Single s{};
    const Norm norm = norm_of(job);
    const View in = brought_in<float>(job, b, 0, arena);
    float* elements = reinterpret_cast<float*>(in.base.v);
    const int64_t size = tile_elements<float>(job, b);
    const bool exponential = job.prologue == Prologue::exponential;
    if (!exponential) absolute(elements, size);
    View terms = in;
    float* powers = take<float>(arena, size);
    terms.base = {bytes(powers), nullptr};
    const RowKernels& max = *CENOTE_ROWS::max_rows(DType::f32, true);
    if (!single_terms(norm, elements, powers, nullptr, size)) {
        float* wild = take<float>(arena, size);
        single_terms(norm, elements, powers, wild, size);
        s.wild = passed(max, job, b, in, wild, arena);
    }
    s.totals = run_passes(*CENOTE_ROWS::sum_rows(DType::f32), job, b, terms, nullptr, arena);
    if (exponential || job.power > 2.0)  // squares and magnitudes see to that by themselves
        s.bound = passed(exponential && job.beta < 0 ? *CENOTE_ROWS::max_rows(DType::f32, false) : max, job, b, in,
                         elements, arena);
    return s;
}
