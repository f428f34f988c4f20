// Smooth max and Lp norms in single precision, for results of float32 and less, by separable passes. A tile that
// contains a window out of range is also computed in double precision.

// The terms of elements; 1 for those out of range, which are marked in `out_of_range` with ones if it is given. Returns
// whether all are in range.
inline bool fp32_terms(const Norm& given, const float* x, float* terms, float* out_of_range, int64_t n) {
    using Wide = typename Lane<float, kVectorBytes>::V;
    const Norm norm = given;  // a copy: stores cannot alias it
    BitsOf<Wide> bad{};
    uint32_t bad_tail = 0;
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V v = load<V>(x + i), one = splat<V>(1.0f), zero = splat<V>(0.0f);
        const BitsOf<V> mark = norm.logarithm ? exponent_out_of_range(v, norm.most) : power_out_of_range(v);
        const V term = norm.logarithm ? exp2_fp32(v, norm.base) : powered(v, norm.power);
        store(terms + i, mark == 0u ? term : one);
        if (out_of_range) store(out_of_range + i, mark == 0u ? zero : one);
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

// The epilogue of rows of totals.
inline void fp32_epilogue(const Norm& given, float* row, const float* bound, int64_t n) {
    const Norm norm = given;  // a copy: stores cannot alias it
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V top = bound ? load<V>(bound + i) : splat<V>(0.0f);
        store(row + i, fp32_result(norm, load<V>(row + i), top));
    });
}

struct Fp32Totals {
    View totals;
    const float* bound;         // in the layout of the totals
    const float* out_of_range;  // also: positive where a window has an element out of range; null if there is none
};

inline const float* run_passes_on(const RowKernels& op, const PoolSchedule& job, const PoolTile& b, View view,
                                  float* elements, Arena* arena) {
    view.base = {bytes(elements), nullptr};
    return reinterpret_cast<const float*>(run_passes(op, job, b, view, nullptr, arena).base.v);
}

inline Fp32Totals reduce_fp32(const PoolSchedule& job, const PoolTile& b, Arena* arena) {
    Fp32Totals s{};
    const Norm norm = norm_of(job);
    const View in = loaded_tile<float>(job, b, 0, arena);
    float* elements = reinterpret_cast<float*>(in.base.v);
    const int64_t size = tile_elements<float>(job, b);
    const bool exponential = job.prologue == Prologue::exponential;
    if (!exponential) absolute(elements, size);
    View terms = in;
    float* powers = take<float>(arena, size);
    terms.base = {bytes(powers), nullptr};
    const RowKernels& max = *CENOTE_ROWS::max_rows(DType::f32, true);
    if (!fp32_terms(norm, elements, powers, nullptr, size)) {
        float* out_of_range = take<float>(arena, size);
        fp32_terms(norm, elements, powers, out_of_range, size);
        s.out_of_range = run_passes_on(max, job, b, in, out_of_range, arena);
    }
    s.totals = run_passes(*CENOTE_ROWS::sum_rows(DType::f32), job, b, terms, nullptr, arena);
    if (exponential || job.power > 2.0)  // for powers 1 and 2 rounding guarantees the bound
        s.bound = run_passes_on(exponential && job.beta < 0 ? *CENOTE_ROWS::max_rows(DType::f32, false) : max, job, b,
                                in, elements, arena);
    return s;
}
