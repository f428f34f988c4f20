// When smooth maxima and norms are computed in single precision: for results of float32 and less.
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

// A total to a result; never beyond the extreme cell of the window, `top`, where powers do not see to that themselves.
template <class V>
CENOTE_INLINE inline V finished_single(const Job& job, V total, V top) {
    if (job.finish == Finish::logarithm) {
        const float beta = static_cast<float>(job.beta);
        const V safe = total > 0.0f ? total : splat<V>(1.0f);
        const V y = total > 0.0f ? V(log_single(safe) / beta) : splat<V>(-__builtin_inff() / beta);
        return (job.beta < 0 ? y > top : y < top) ? top : y;
    }
    if (job.power == 1.0) return total;
    if (job.power == 2.0) return square_root(total);
    const V safe = total > 0.0f ? total : splat<V>(1.0f);
    const V root = job.power == 3.0 ? cube_root(safe) : square_root(square_root(safe));
    // A total that is the largest cell's alone is its power, whose root is known.
    const V square = top * top, power = job.power == 3.0 ? V(square * top) : V(square * square);
    const V y = total == power ? top : total > 0.0f ? root : total;
    return y < top ? top : y;
}
