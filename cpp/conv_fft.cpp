// Large filters on single channels: overlapping squares of the source are multiplied by the filter's spectrum.
//
// Two squares are transformed at once, one as the real part and one as the imaginary part: the filter is real, so they
// stay apart. Everything is done in double, whose error, spread over a square, is far below that of a direct sum in
// float; and squares with results that are not finite are made anew by direct sums, as in conv_winograd.cpp.

#include <cmath>
#include <cstring>

#include "conv_forward.hpp"
#include "cpu.hpp"
#include "parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kLeastTaps = 24 * 24, kLeastPixels = 96 * 96, kLargest = 512;

struct Spectrum {
    Forward direct;
    const Plan& p = direct.plan;
    const ConvKernels* kernels;    // of double
    int64_t n, pitch;              // of a square
    int64_t rows, columns;         // results of a square
    int64_t down, across, planes;  // squares of a plane; planes
    int64_t group;
    std::vector<double> turns;
    Memory filter;  // its spectrum, transposed
};

struct Square {
    double *re, *im;
};

Square take_square(const Spectrum& f, Arena* arena) {
    const int64_t bytes = f.n * f.pitch * static_cast<int64_t>(sizeof(double));
    return {static_cast<double*>(arena_take(arena, bytes)), static_cast<double*>(arena_take(arena, bytes))};
}

void transform(const Spectrum& f, Square s, bool inverse) {
    f.kernels->fft({s.re, s.im, f.pitch, f.n, f.n, f.turns.data(), inverse});
}

void transpose(const Spectrum& f, Square from, Square to) {
    constexpr int64_t kSide = 32;  // in pieces that stay in the cache
    const int64_t width = sizeof(double);
    for (int part = 0; part < 2; ++part) {
        double *a = part ? from.im : from.re, *b = part ? to.im : to.re;
        for (int64_t i = 0; i < f.n; i += kSide)
            for (int64_t j = 0; j < f.n; j += kSide)
                f.kernels->load({DType::f64, reinterpret_cast<char*>(a + i * f.pitch + j), width, f.pitch * width,
                                 b + j * f.pitch + i, f.pitch, 1, kSide, kSide});
    }
}

// A row of numbers of the array's dtype.
void read_row(DType type, const char* from, int64_t stride, double* to, int64_t count) {
    if (type == DType::f64)
        for (int64_t i = 0; i < count; ++i) std::memcpy(to + i, from + i * stride, sizeof(double));
    else
        for (int64_t i = 0; i < count; ++i) {
            float value;
            std::memcpy(&value, from + i * stride, sizeof(float));
            to[i] = value;
        }
}

bool write_row(DType type, char* to, int64_t stride, const double* from, int64_t count, double scale, double bias) {
    double strange = 0;  // NaN when one is not finite
    for (int64_t i = 0; i < count; ++i) {
        const double value = from[i] * scale + bias;
        if (type == DType::f64) {
            std::memcpy(to + i * stride, &value, sizeof(double));
            strange += value - value;
        } else {
            const auto narrow = static_cast<float>(value);
            std::memcpy(to + i * stride, &narrow, sizeof(float));
            strange += static_cast<double>(narrow - narrow);
        }
    }
    return strange == 0;
}

// The spectrum of the filter, transposed as the squares are when they meet it.
void transform_filter(const void* context, int64_t, Arena* arena) {
    const auto& f = *static_cast<const Spectrum*>(context);
    const Plan& p = f.p;
    const PlanAxis &outer = p.axes[p.axes.size() - 2], &inner = p.axes.back();
    Square s = take_square(f, arena);
    const auto bytes = static_cast<size_t>(f.n * f.pitch) * sizeof(double);
    std::memset(s.re, 0, bytes);
    std::memset(s.im, 0, bytes);
    const char* w = p.w + f.group * p.w_group;
    for (int64_t t = 0; t < outer.k; ++t)
        read_row(p.part, w + t * outer.w_stride, inner.w_stride, s.re + t * f.pitch, inner.k);
    auto* const spectrum = reinterpret_cast<double*>(f.filter.get());
    Square to{spectrum, spectrum + f.n * f.pitch};
    transform(f, s, false);
    transpose(f, s, to);
    transform(f, to, false);
}

// Where square `index` begins: windows on the last two axes, and the others in `tile`.
void place(const Spectrum& f, int64_t index, Tile& tile) {
    const Plan& p = f.p;
    const int axes = static_cast<int>(p.axes.size());
    tile.u.resize(axes);
    tile.chunk.resize(axes);
    const int64_t size[2] = {f.rows, f.columns}, count[2] = {f.down, f.across};
    for (int q = axes - 1; q >= 0; --q) {
        const PlanAxis& a = p.axes[q];
        tile.chunk[q] = {0, a.k};
        const bool inside = q >= axes - 2;
        const int64_t steps = inside ? count[q - (axes - 2)] : a.u.end - a.u.begin;
        const int64_t width = inside ? size[q - (axes - 2)] : 1;
        const int64_t begin = a.u.begin + index % steps * width;
        tile.u[q] = {begin, least(begin + width, a.u.end)};
        index /= steps;
    }
}

void bring_in(const Spectrum& f, const Tile& tile, double* to) {
    const Plan& p = f.p;
    const int axes = static_cast<int>(p.axes.size());
    const char* source = p.source + f.group * p.source_channel;
    for (int q = 0; q < axes - 2; ++q) source += tile.u[q].begin * p.axes[q].stride;
    const PlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
    const int64_t top = tile.u[axes - 2].begin + outer.phases[0].taps[0].offset;
    const int64_t left = tile.u[axes - 1].begin + inner.phases[0].taps[0].offset;
    const int64_t begin = least(f.n, most(0, -left)), end = most(begin, least(f.n, inner.n - left));
    for (int64_t i = 0; i < f.n; ++i) {
        double* row = to + i * f.pitch;
        if (top + i < 0 || top + i >= outer.n) {
            std::memset(row, 0, static_cast<size_t>(f.n) * sizeof(double));
            continue;
        }
        std::memset(row, 0, static_cast<size_t>(begin) * sizeof(double));
        std::memset(row + end, 0, static_cast<size_t>(f.n - end) * sizeof(double));
        read_row(p.part, source + (top + i) * outer.stride + (left + begin) * inner.stride, inner.stride, row + begin,
                 end - begin);
    }
}

bool give_out(const Spectrum& f, const Tile& tile, const double* from) {
    const Plan& p = f.p;
    const int axes = static_cast<int>(p.axes.size());
    char* result = p.result + f.group * p.result_channel;
    for (int q = 0; q < axes; ++q) result += (tile.u[q].begin + p.axes[q].phases[0].out_base) * p.axes[q].out_stride;
    double bias = 0;
    if (p.bias) read_row(p.part, p.bias + f.group * p.bias_stride, 0, &bias, 1);
    const double scale = 1.0 / static_cast<double>(f.n * f.n);
    bool finite = true;
    const Span rows = tile.u[axes - 2], columns = tile.u[axes - 1];
    for (int64_t i = 0; i < rows.end - rows.begin; ++i)
        finite &= write_row(p.part, result + i * p.axes[axes - 2].out_stride, p.axes[axes - 1].out_stride,
                            from + i * f.pitch, columns.end - columns.begin, scale, bias);
    return finite;
}

void run_pair(const void* context, int64_t pair, Arena* arena) {
    const auto& f = *static_cast<const Spectrum*>(context);
    const int64_t all = f.planes * f.down * f.across;
    Square a = take_square(f, arena), b = take_square(f, arena);
    Tile tile[2];
    const int count = 2 * pair + 1 < all ? 2 : 1;
    for (int i = 0; i < count; ++i) {
        place(f, 2 * pair + i, tile[i]);
        bring_in(f, tile[i], i ? a.im : a.re);
    }
    if (count == 1) std::memset(a.im, 0, static_cast<size_t>(f.n * f.pitch) * sizeof(double));
    transform(f, a, false);
    transpose(f, a, b);
    transform(f, b, false);
    const auto* spectrum = reinterpret_cast<const double*>(f.filter.get());
    for (int64_t at = 0; at < f.n * f.pitch; at += f.pitch)
        f.kernels->fft_product({b.re + at, b.im + at, spectrum + at, spectrum + f.n * f.pitch + at, f.n});
    transform(f, b, true);
    transpose(f, b, a);
    transform(f, a, true);
    for (int i = 0; i < count; ++i) {
        if (give_out(f, tile[i], i ? a.im : a.re)) continue;
        for (int j = 0; j < count; ++j)  // both, for they share their numbers
            ForwardTask{f.direct, f.p, arena, tile[j], {f.group, f.group + 1}, {0, 1}}.run();
        return;
    }
}

int64_t squares(const PlanAxis& a, int64_t n) { return ceil_div(a.u.end - a.u.begin, n - a.k + 1); }

// The side of the squares that makes the least work.
int64_t best_side(const PlanAxis& outer, const PlanAxis& inner) {
    int64_t best = 0, logarithm = 6;
    double least_cost = 0;
    for (int64_t n = 64; n <= kLargest; n *= 2, ++logarithm) {
        if (n < 2 * outer.k - 1 && n < kLargest) continue;
        if (n < outer.k || n < inner.k || (n < 2 * inner.k - 1 && n < kLargest)) continue;
        const double cost = static_cast<double>(squares(outer, n) * squares(inner, n)) *
                            static_cast<double>(n * n * logarithm) * (n > 256 ? 1.5 : 1.0);
        if (best == 0 || cost < least_cost) best = n, least_cost = cost;
    }
    return best;
}

}  // namespace

bool fft_pays(const Plan& p) {
    const size_t axes = p.axes.size();
    if (axes < 2 || p.parts != 1 || p.reduce != 1 || p.out != 1) return false;
    if (p.part != DType::f32 && p.part != DType::f64) return false;
    for (size_t q = 0; q < axes; ++q) {
        const PlanAxis& a = p.axes[q];
        if (a.step != 1 || a.out_step != 1 || a.phases.size() != 1) return false;
        if (q + 2 < axes ? a.k != 1 : a.k == 0 || a.d != 1) return false;
    }
    const PlanAxis &outer = p.axes[axes - 2], &inner = p.axes[axes - 1];
    const int64_t pixels = (outer.u.end - outer.u.begin) * (inner.u.end - inner.u.begin);
    if (outer.k * inner.k < kLeastTaps || pixels < kLeastPixels || outer.k < 8 || inner.k < 8) return false;
    const int64_t n = best_side(outer, inner);
    // A butterfly is about ten products.
    return n > 0 && static_cast<double>(squares(outer, n) * squares(inner, n) * n * n) * 100 <
                        static_cast<double>(pixels * outer.k * inner.k);
}

void run_fft(Plan& plan) {
    Spectrum f{};
    f.direct.plan = std::move(plan);
    const Plan& p = f.p;
    const PlanAxis &outer = p.axes[p.axes.size() - 2], &inner = p.axes.back();
    f.n = best_side(outer, inner);
    f.pitch = f.n + 8;  // columns of a power of two would share their places in the cache
    f.rows = f.n - outer.k + 1;
    f.columns = f.n - inner.k + 1;
    f.down = squares(outer, f.n);
    f.across = squares(inner, f.n);
    f.planes = 1;
    for (size_t q = 0; q + 2 < p.axes.size(); ++q) f.planes *= p.axes[q].u.end - p.axes[q].u.begin;
    f.kernels = level_in_use().find_conv(DType::f64);
    f.turns.resize(static_cast<size_t>(f.n));
    for (int64_t j = 0; j < f.n / 2; ++j) {
        const double angle = 2 * 3.14159265358979323846 * static_cast<double>(j) / static_cast<double>(f.n);
        f.turns[j] = std::cos(angle);
        f.turns[f.n / 2 + j] = std::sin(angle);
    }
    choose_method(f.direct, false);
    f.direct.pack_late = f.direct.lanes != Lanes::groups;
    pack_weights(f.direct);
    f.filter = Memory(2 * f.n * f.pitch * static_cast<int64_t>(sizeof(double)));
    const int64_t pairs = ceil_div(f.planes * f.down * f.across, 2);
    for (f.group = 0; f.group < p.groups; ++f.group) {
        parallel_for(1, 1, &transform_filter, &f);
        parallel_for(pairs, conv_threads(static_cast<double>(pairs * f.n * f.n) * 50), &run_pair, &f);
    }
}

}  // namespace cenote
