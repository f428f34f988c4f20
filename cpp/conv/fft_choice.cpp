// When overlap-save costs less than direct sums: which axes are transformed, and in blocks of which size.

#include <atomic>
#include <cmath>

#include "conv/direct.hpp"
#include "conv/fft.hpp"

namespace cenote {

namespace {

// Costs in products of a direct sum in double precision on one channel, measured with AVX-512.
constexpr double kPerStep = 2.6,
                 kPerElement = 22;  // per number of a transform: for each of log2 n steps, and in addition
constexpr double kPerProduct = 14;  // per product of two numbers of spectra
constexpr double kFarElements = 1 << 17, kFarCost = 30;  // in addition, for transforms that do not fit into the cache
constexpr double kCall = 10000;
constexpr double kMatrixCost = 0.65, kFilterCost = 1.4;  // per product
constexpr int64_t kMatrix = 32, kFilterChannels = 16, kWinogradChannels = 16, kWinogradTaps = 1024;
constexpr int64_t kLeastTaps = 48, kLeastLine = 256, kLeastSide = 16, kMostSide = 2048,
                  kMostElements = int64_t{1} << 22;
constexpr int64_t kMostBytes = int64_t{64}
                               << 20;  // of the filter spectra of a group, and of the source spectra of a pair

std::atomic<FftMode> forced_mode{FftMode::automatic};  // for tests

double cost_of(const ConvPlan& p, const FftChoice& c) {
    const double n = static_cast<double>(c.columns.n * (c.line ? 1 : c.rows.n));
    double blocks = static_cast<double>(c.columns.count() * (c.line ? 1 : c.rows.count()));
    double planes = 1, out_planes = 1, taps = 1;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        const ConvPlanAxis& a = p.axes[q];
        if (q == c.columns.axis || (!c.line && q == c.rows.axis)) continue;
        const auto windows = static_cast<double>(a.u.end - a.u.begin);
        if (a.k == 1) {
            blocks *= windows;
        } else {
            planes *= static_cast<double>(a.n);
            out_planes *= windows;
            taps *= static_cast<double>(a.k);
        }
    }
    const double pairs = std::ceil(blocks / 2), reduce = static_cast<double>(p.reduce),
                 out = static_cast<double>(p.out);
    const double filters = taps * reduce * out / p.parts;
    if ((filters > planes * reduce ? filters : planes * reduce) * n * 16 > static_cast<double>(kMostBytes)) return -1;
    const double transforms = filters + pairs * (planes * reduce + out_planes * out);
    const double element = kPerStep * std::log2(n) + kPerElement + (n > kFarElements ? kFarCost : 0);
    return static_cast<double>(p.groups) * n *
           (transforms * element + pairs * out_planes * taps * reduce * out * kPerProduct);
}

void consider(const ConvPlan& p, FftChoice c, FftChoice& best) {
    c.cost = cost_of(p, c);
    if (c.cost >= 0 && (best.cost < 0 || c.cost < best.cost)) best = c;
}

// body(axis) for all block sizes that an axis may have.
template <class F>
void for_sizes(const ConvPlan& p, size_t axis, int64_t first, int64_t last, F body) {
    const ConvPlanAxis& a = p.axes[axis];
    for (int64_t n = first; n <= last; n *= 2) {
        if (n < a.k + a.k / 8) continue;
        const FftAxis divided = divide_axis(p, axis, n);
        body(divided);
        if (divided.blocks == 1) return;
    }
}

}  // namespace

void set_fft(FftMode mode) { forced_mode.store(mode, std::memory_order_relaxed); }

bool choose_fft(const ConvPlan& p, bool filter, FftChoice& best) {
    const FftMode mode = forced_mode.load(std::memory_order_relaxed);
    const bool automatic = mode == FftMode::automatic;
    if (mode == FftMode::never || (p.taps < kLeastTaps && automatic) || p.part < DType::f16) return false;
    for (const ConvPlanAxis& a : p.axes)
        if (a.phases.size() != 1 || a.out_step != 1 || static_cast<int64_t>(a.phases[0].taps.size()) != a.k ||
            a.k == 0 || a.u.end <= a.u.begin || a.n == 0)
            return false;
    if (p.groups == 0 || p.reduce == 0 || p.out == 0) return false;
    double direct = static_cast<double>(p.pixels) * static_cast<double>(p.taps) *
                    static_cast<double>(p.groups * p.reduce * p.out) / (p.part == DType::f64 ? 1 : 2);
    // Direct sums over many channels are matrix products; Winograd saves a part of them.
    if (filter)
        direct *= p.out >= kFilterChannels ? kMatrixCost : kFilterCost;
    else if (p.reduce * p.out >= kMatrix)
        direct *= kMatrixCost;
    if (!filter && p.reduce >= kWinogradChannels && p.taps <= kWinogradTaps && winograd_pays(p)) direct *= kMatrixCost;
    if (direct < kCall && automatic) return false;
    best.cost = -1;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        if (p.axes[q].k == 1) continue;
        for_sizes(p, q, kLeastLine, kMostElements,
                  [&](const FftAxis& line) { consider(p, {true, {}, line, 0}, best); });
        for (size_t r = 0; r < q; ++r) {
            if (p.axes[r].k == 1) continue;
            for_sizes(p, r, kLeastSide, kMostSide, [&](const FftAxis& rows) {
                for_sizes(p, q, kLeastSide, kMostSide,
                          [&](const FftAxis& columns) { consider(p, {false, rows, columns, 0}, best); });
            });
        }
    }
    return best.cost >= 0 && (mode == FftMode::always || best.cost + kCall < direct);
}

}  // namespace cenote
