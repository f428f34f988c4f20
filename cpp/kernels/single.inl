// Smooth maxima and norms in single precision, for results of float32 and less.
//
// Pass by pass; a tile with a window that is not moderate is computed in double precision too.

// Which cells are moderate, as zeros in `wild`, if it is there; whether all are. The terms of those that are not are 1.
inline bool single_terms(const Norm& given, const float* x, float* terms, float* wild, int64_t n) {
    using Wide = typename Lane<float, kVectorBytes>::V;
    const Norm norm = given;  // which no store can change
    BitsOf<Wide> bad{};
    uint32_t bad_tail = 0;
    for_lanes<float>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        const V v = load<V>(x + i), one = splat<V>(1.0f), zero = splat<V>(0.0f);
        const BitsOf<V> mark = norm.logarithm ? wild_exponent(v, norm.most) : wild_power(v);
        const V term = norm.logarithm ? power_single(v, norm.base) : powered(v, norm.power);
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
    const Norm norm = norm_of(job);
    const View<Sum<float>> in = brought_in<Sum<float>>(job, b, arena);
    const int64_t size = tile_cells<float>(job, b);
    const bool exponential = job.prepare == Prepare::exponential;
    if (!exponential) absolute(in.base.v, size);
    View<Sum<float>> terms = in;
    terms.base = {take<float>(arena, size), nullptr};
    if (!single_terms(norm, in.base.v, terms.base.v, nullptr, size)) {
        float* wild = take<float>(arena, size);
        single_terms(norm, in.base.v, terms.base.v, wild, size);
        s.wild = passed<Pick<float, true, false>>(job, b, in, wild, arena);
    }
    s.totals = run_passes<Sum<float>>(job, b, terms, nullptr, arena);
    if (exponential || job.power > 2.0)  // squares and magnitudes see to that by themselves
        s.bound = exponential && job.beta < 0 ? passed<Pick<float, false, false>>(job, b, in, in.base.v, arena)
                                              : passed<Pick<float, true, false>>(job, b, in, in.base.v, arena);
    return s;
}
