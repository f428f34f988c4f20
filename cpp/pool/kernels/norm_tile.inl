// Separable smooth max and Lp pooling, in single precision where that suffices, otherwise in double precision.

// The largest or smallest element of each window, in the layout of the totals.
inline const double* bounds(bool largest, const PoolSchedule& job, const PoolTile& b, const View& in, int64_t size,
                            Arena* arena) {
    const View bound = run_passes(*CENOTE_ROWS::max_rows(DType::f64, largest), job, b, in, nullptr, arena);
    const double* found = reinterpret_cast<const double*>(bound.base.v);
    if (bound.base.v != in.base.v) return found;
    double* copy =
        take<double>(arena, size);  // without a pass these are the elements themselves, which are about to change
    in_parts(size, [&](int64_t from, int64_t n) { copy_row(copy + from, found + from, n); });
    return copy;
}

// Reduces a tile in double precision; write(row of results, offset in the totals, index in y, n).
template <class F>
inline void reduce_fp64(const PoolSchedule& job, const PoolTile& b, Arena* arena, F write) {
    const View in = loaded_tile<double>(job, b, 0, arena);
    const int64_t size = tile_elements<double>(job, b);
    const bool exponential = job.prologue == Prologue::exponential;
    const bool minimum = exponential && job.beta < 0;
    double* v = reinterpret_cast<double*>(in.base.v);
    bool in_range = true;
    in_parts(size, [&](int64_t from, int64_t n) {
        if (!exponential) absolute(v + from, n);
        in_range = in_range &&
                   (exponential ? exponents_in_range(v + from, n, job.beta) : powers_in_range(v + from, n, job.power));
    });
    // Neither a smooth max nor a norm is below the largest element. For powers 1 and 2 rounding guarantees that.
    const double* bound = nullptr;
    if (exponential || (job.power != 1.0 && job.power != 2.0)) bound = bounds(!minimum, job, b, in, size, arena);
    double* row = take<double>(arena, b.count[job.rank - 1] * b.lanes);
    const auto finish = [&](const View& totals, int64_t offset, int64_t y, int64_t n) {
        const auto* exponents = reinterpret_cast<const double*>(totals.base.w);
        const double* found = reinterpret_cast<const double*>(totals.base.v) + offset;
        if (exponents) {
            copy_row(row, found, n);
            wide_epilogue(job, row, exponents + offset, n);
        } else {
            plain_epilogue(job, row, found, n);
        }
        if (bound && minimum)
            for (int64_t i = 0; i < n; ++i) row[i] = row[i] > bound[offset + i] ? bound[offset + i] : row[i];
        else if (bound)
            for (int64_t i = 0; i < n; ++i) row[i] = row[i] < bound[offset + i] ? bound[offset + i] : row[i];
        quiet_row(row, row, n);
        write(row, offset, y, n);
    };
    if (in_range) {
        in_parts(size, [&](int64_t from, int64_t n) {
            if (exponential)
                plain_exponentials(v + from, n, job.beta);
            else
                plain_powers(v + from, n, job.power);
        });
        const View totals = run_passes(*CENOTE_ROWS::sum_rows(DType::f64), job, b, in, nullptr, arena);
        for_result_rows(job, b, totals.stride,
                        [&](const int64_t*, int64_t offset, int64_t y, int64_t n) { finish(totals, offset, y, n); });
        return;
    }
    View wide = in;
    double* exponents = take<double>(arena, size);
    wide.base.w = bytes(exponents);
    in_parts(size, [&](int64_t from, int64_t n) { wide_terms(job, v + from, exponents + from, n); });
    const View totals = run_passes(row_kernels<WideSum>, job, b, wide, nullptr, arena);
    for_result_rows(job, b, totals.stride,
                    [&](const int64_t*, int64_t offset, int64_t y, int64_t n) { finish(totals, offset, y, n); });
}

inline void norm_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    const PoolTile b = locate(job, task);
    const auto write = [&](const auto* row, int64_t y, int64_t n) {
        char* to = job.y + y * size_of(job.out);
        if (job.convert != Conversion::none) return convert_row(job.out, to, row, n, false);
        store_row(job.out, to, row, n);
    };
    // For inputs of float32 and less, results are rounded to float32 first, whatever they were computed in.
    const bool single = job.convert != Conversion::none && !is_integer(job.in) && job.in != DType::f64;
    const auto store_doubles = [&](double* row, int64_t, int64_t y, int64_t n) {
        for (int64_t i = 0; i < n && single; ++i) row[i] = static_cast<float>(row[i]);
        write(row, y, n);
    };
    if (!fp32_suffices(job)) return reduce_fp64(job, b, arena, store_doubles);
    const Fp32Totals s = reduce_fp32(job, b, arena);
    const Norm norm = norm_of(job);
    float* row = take<float>(arena, b.count[job.rank - 1] * b.lanes);
    const auto finish = [&](int64_t offset, int64_t n) {
        copy_row(row, reinterpret_cast<const float*>(s.totals.base.v) + offset, n);
        fp32_epilogue(norm, row, s.bound ? s.bound + offset : nullptr, n);
    };
    if (!s.out_of_range) {
        for_result_rows(job, b, s.totals.stride, [&](const int64_t*, int64_t offset, int64_t y, int64_t n) {
            finish(offset, n);
            write(row, y, n);
        });
        return;
    }
    reduce_fp64(job, b, arena, [&](double* precise, int64_t offset, int64_t y, int64_t n) {
        finish(offset, n);
        for (int64_t i = 0; i < n; ++i) precise[i] = s.out_of_range[offset + i] > 0.0f ? precise[i] : row[i];
        store_doubles(precise, offset, y, n);
    });
}
