// Smooth max and Lp norms of large overlapping windows on planes, in single precision: strips that are processed as in
// column_strips_max.inl and column_strips_sum.inl. Every element is raised to its power once.
//
// A smooth max is never below the largest element of its window. The logarithm of a sum of many terms is mostly above
// all elements of all windows of a row, and then no bound is needed: the largest elements are only computed from the
// first row on where that does not hold. 63×63 of 2048², two threads: 8.0 → 6.4 ms.

// Rows of windows that contain an element out of range.
struct OutOfRangeRows {
    static constexpr int kMaxRanges = 16;
    Span rows[kMaxRanges];
    int count = 0;

    // The windows that contain row r of the strip.
    void add(int64_t r, int64_t k, int64_t windows) {
        const Span seen{max(0, r - k + 1), min(windows, r + 1)};
        if (count > 0 && (seen.begin <= rows[count - 1].end || count == kMaxRanges))
            rows[count - 1].end = seen.end;
        else
            rows[count++] = seen;
    }
};

// Some rows of a strip as a schedule of their own, for separable_norm.
inline PoolSchedule rows_of(const PoolSchedule& job, const PoolTile& b, Span rows, int64_t tall, int64_t wide) {
    PoolSchedule part = job;
    part.outer = 0;
    part.x = b.x;
    part.y = job.y + (b.y + rows.begin * job.y_stride[0]) * size_of(job.out);
    part.lane_tile = b.lanes;
    part.lane_tiles = part.tasks = 1;
    const int64_t first[2] = {b.j0[0] + rows.begin, b.j0[1]}, count[2] = {rows.end - rows.begin, b.count[1]};
    for (int q = 0; q < 2; ++q) {
        part.axis[q].low -= first[q];
        part.axis[q].o = count[q];
        part.tile[q] = min(count[q], q == 0 ? tall : max(1, wide / b.lanes));
        part.tasks *= part.tiles[q] = ceil_div(count[q], part.tile[q]);
    }
    return part;
}

// Elements to exponentials, like fp32_terms; `extreme` is the largest or smallest element of the row.
template <class C>
CENOTE_ONCE bool raise_exponents(const Norm& inputs, const float* x, float* terms, float& extreme, int64_t n) {
    const Norm norm = inputs;  // a copy: stores cannot alias it
    using L = Lane<float, kVectorBytes>;
    RegOf<C, typename L::V> all = C::template empty<typename L::V>();
    RegOf<C, float> alone = C::template empty<float>();
    BitsOf<typename L::V> bad{};
    uint32_t bad_alone = 0;
    for_lanes_overlapping<float>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V v = load<V>(x + i);
        const BitsOf<V> mark = exponent_out_of_range(v, norm.most);
        store(terms + i, mark == 0u ? exp2_fp32(v, norm.base) : splat<V>(1.0f));
        if constexpr (sizeof(V) == kVectorBytes) {
            all = C::combine(all, {v});
            bad |= mark;
        } else if constexpr (IsVector<V>::value) {
            for (int k = 0; k < decltype(lane)::count; ++k) {
                alone = C::combine(alone, {v[k]});
                bad_alone |= mark[k];
            }
        } else {
            alone = C::combine(alone, {v});
            bad_alone |= mark;
        }
    });
    for (int k = 0; k < L::count; ++k) {
        alone = C::combine(alone, {all.v[k]});
        bad_alone |= bad[k];
    }
    extreme = alone.v;
    return bad_alone == 0;
}

// The epilogue of a row of totals; returns the result that is closest to the elements.
template <bool Lowest>
CENOTE_ONCE float log_row_epilogue(const Norm& inputs, float* row, int64_t n) {
    const Norm norm = inputs;  // a copy: stores cannot alias it
    using L = Lane<float, kVectorBytes>;
    const float none = Lowest ? -__builtin_inff() : __builtin_inff();
    typename L::V all = splat<typename L::V>(none);
    float nearest = none;
    const auto nearer = [](auto a, auto b) CENOTE_INLINE { return (Lowest ? b > a : b < a) ? b : a; };
    for_lanes<float>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V top = splat<V>(-none), y = log_epilogue<Lowest>(norm, load<V>(row + i), top);
        store(row + i, y);
        if constexpr (sizeof(V) == kVectorBytes)
            all = nearer(all, y);
        else if constexpr (IsVector<V>::value)
            for (int k = 0; k < decltype(lane)::count; ++k) nearest = nearer(nearest, y[k]);
        else
            nearest = nearer(nearest, y);
    });
    for (int k = 0; k < L::count; ++k) nearest = nearer(nearest, all[k]);
    return nearest;
}

// Bounded: results are bounded by the largest elements of their windows. Otherwise the strip ends at the first row
// where they might have to be.
template <class C, bool Lowest, bool Bounded>
void norm_strip_of(const PoolSchedule& job, int64_t task, Arena* arena) {
    using S = Sum<float>;
    const PoolTile b = locate(job, task);
    const Norm norm = norm_of(job);
    const bool guessed = !Bounded && norm.logarithm, bounded = !guessed && (norm.logarithm || norm.power > 2);
    const StripRows<float> rows(job, b, arena);
    const StripResults<float> results(job, b, job.out == DType::f32, arena);
    const int64_t k = job.axis[0].k, all = b.count[0] + k - 1, n = b.count[1] * b.lanes;
    SumColumns<S> sums(k, rows.n, arena);
    const SumAlongRow<S> along(job.axis[1].k, b.lanes, n, arena);
    MaxColumns<C> maxima(bounded ? k : 1, bounded ? job.axis[1].k : 1, bounded ? n : 1, b.lanes, arena);
    const int64_t size = kStepRows * sums.pitch + SumAlongRow<S>::overread();
    float* terms = take<float>(arena, size);
    float* bounds = take<float>(arena, bounded ? kStepRows * n : 0);
    const int64_t seen = k + kStepRows;  // rows of elements: those of a window, and of the next step
    float* extremes = take<float>(arena, seen);
    fill_accumulators<C>({extremes, nullptr}, seen);
    fill_accumulators<S>({terms, nullptr}, size);
    const float* inputs[kStepRows];
    for (int64_t r = 0; r < kStepRows; ++r) inputs[r] = terms + r * sums.pitch;
    OutOfRangeRows out_of_range;
    const auto raise = [&](int64_t r) {
        float* to = terms + r % kStepRows * sums.pitch;
        float& extreme = extremes[r % seen];
        extreme = C::absent();
        fill_accumulators<S>({to, nullptr}, sums.pitch);
        if (rows.real(r)) {
            rows.copy_padded(r, rows.line, C::absent());
            const float* x = rows.line + rows.before;
            const bool in_range = guessed ? raise_exponents<C>(norm, x, to + rows.before, extreme, rows.inside)
                                          : fp32_terms(norm, x, to + rows.before, nullptr, rows.inside);
            if (!in_range) out_of_range.add(r, k, b.count[0]);
        }
        if (bounded)
            maxima.next(rows.real(r) ? rows.line : nullptr, bounds + r % kStepRows * n, rows.at(r + 1), rows.at(r + 1));
    };
    // Whether all results of a row of windows are beyond all elements of these windows and of the next step.
    const auto beyond = [&](float nearest) {
        bool all_beyond = true;
        for (int64_t t = 0; t < seen; ++t) all_beyond &= Lowest ? nearest <= extremes[t] : nearest >= extremes[t];
        return all_beyond;
    };
    int64_t done = b.count[0];
    for (int64_t r = 0; r < min(kStepRows, all); ++r) raise(r);
    for (int64_t from = 0; from < all && done == b.count[0]; from += kStepRows) {
        const int64_t count = min(kStepRows, all - from);
        sums.next(inputs, terms, count);
        for (int64_t r = 0; r < count; ++r) {
            if (const int64_t j = from + r - k + 1; j >= 0) {
                float* to = results.row(j);
                const Later later{rows.at(from + kStepRows + r + 1), results.at(j + 1)};
                along.row(terms + r * sums.pitch, to, later, [](auto v) CENOTE_INLINE { return v; });
                if (!guessed) {
                    fp32_epilogue(norm, to, bounded ? bounds + r * n : nullptr, n);
                } else if (!beyond(log_row_epilogue<Lowest>(norm, to, n))) {
                    done = j;
                    break;
                }
                results.store(j);
            }
            if (from + kStepRows + r < all) raise(from + kStepRows + r);
        }
    }
    for (int i = 0; i < out_of_range.count; ++i) {
        const PoolSchedule part = rows_of(job, b, out_of_range.rows[i], 32, 128);
        for (int64_t t = 0; t < part.tasks; ++t) {
            arena_rewind(arena);
            separable_norm_tile(part, t, arena);
        }
    }
    if constexpr (!Bounded)
        if (done < b.count[0]) {
            arena_rewind(arena);
            norm_strip_of<C, Lowest, true>(rows_of(job, b, {done, b.count[0]}, INT64_MAX, INT64_MAX), 0, arena);
        }
}

inline void norm_strip(const PoolSchedule& job, int64_t task, Arena* arena) {
    if (job.prologue == Prologue::exponential && job.beta < 0)
        return norm_strip_of<FiniteMaxReducer<float, false>, true, false>(job, task, arena);
    norm_strip_of<FiniteMaxReducer<float, true>, false, false>(job, task, arena);
}
