// Convolution and its adjoint with respect to the input by overlap-save, see fft.hpp.
//
// Blocks with results that are not finite are recomputed by direct sums, as in winograd.cpp: an infinite element
// affects only the windows that contain it.

#include "conv/fft.hpp"

#include <atomic>

#include "conv/direct.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kFilterBytes = int64_t{64} << 20,
                  kUnitBytes = int64_t{16} << 20;  // of spectra that are in memory at a time
constexpr int64_t kChunk = 256;  // numbers of each spectrum per task, so that those of all channels stay in the cache
constexpr int64_t kFusedUnits = 2;  // a single unit is faster in two tasks, together with its filter

// A unit is a pair of blocks of a group; some units are computed at a time.
struct FftRun {
    const Fft& f;
    Span groups, units;
    bool fused;           // one source spectrum per result: a single task from source to results
    int64_t new_filters;  // filter spectra that are still to be computed
    double *filters, *sources, *sums;
    std::atomic<uint8_t>* nonfinite;  // per unit: set if a result is not finite

    int64_t group_of(int64_t unit) const { return unit / f.pairs; }
    Matrix filter(int64_t group, int64_t index) const {
        return spectrum_at(f, filters, (group - groups.begin) * f.filters + index);
    }
};

// Filter spectra, then source spectra.
void spectrum_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftRun*>(context);
    const Fft& f = r.f;
    const Matrix buffer = take_matrix(f, arena);
    if (task < r.new_filters)
        return filter_spectrum(f, r.groups.begin + task / f.filters, task % f.filters, buffer,
                               spectrum_at(f, r.filters, task));
    task -= r.new_filters;
    const int64_t each = f.planes * f.p.reduce, unit = r.units.begin + task / each, rest = task % each;
    source_spectrum(f, unit % f.pairs, rest / f.p.reduce, r.group_of(unit) * f.p.reduce + rest % f.p.reduce, buffer,
                    spectrum_at(f, r.sources, task));
}

// A range of frequencies of all results.
void product_task(const void* context, int64_t task, Arena*) {
    const auto& r = *static_cast<const FftRun*>(context);
    const Fft& f = r.f;
    const ConvPlan& p = f.p;
    const int64_t at = task * kChunk, count = min(kChunk, f.size - at);
    for (int64_t i = 0; i < (r.units.end - r.units.begin) * f.out_planes * p.out; ++i) {
        const int64_t out = i % p.out, plane = i / p.out % f.out_planes, unit = i / p.out / f.out_planes;
        const int64_t group = r.group_of(r.units.begin + unit);
        const Matrix sum = spectrum_at(f, r.sums, i);
        bool first = true;
        for (int64_t tap = 0; tap < f.taps; ++tap) {
            const int64_t source = source_of(f, plane, tap);
            for (int64_t in = 0; source >= 0 && in < p.reduce; ++in) {
                const Matrix x = spectrum_at(f, r.sources, (unit * f.planes + source) * p.reduce + in);
                const int64_t part = (in % p.parts) ^ (out % p.parts);
                const Matrix w = r.filter(group, filter_index(f, tap, in / p.parts, out / p.parts, part));
                const int sign = in % p.parts > out % p.parts ? -1 : 1;
                f.kernels->product(
                    {sum.re + at, sum.im + at, x.re + at, x.im + at, w.re + at, w.im + at, count, first ? 0 : sign});
                first = false;
            }
        }
        for (int64_t j = at; first && j < at + count; ++j) sum.re[j] = sum.im[j] = 0;  // padding only
    }
}

void result_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftRun*>(context);
    const Fft& f = r.f;
    const ConvPlan& p = f.p;
    const int64_t out = task % p.out, plane = task / p.out % f.out_planes;
    const int64_t unit = r.units.begin + task / p.out / f.out_planes, group = r.group_of(unit), pair = unit % f.pairs;
    const Matrix result = take_matrix(f, arena);
    if (r.fused) {
        const Matrix sum = take_matrix(f, arena), w = r.filter(group, 0);
        source_spectrum(f, pair, 0, group, result, sum);
        f.kernels->product({sum.re, sum.im, sum.re, sum.im, w.re, w.im, f.size, 0});
        inverse_fft(f, sum, result);
    } else {
        inverse_fft(f, spectrum_at(f, r.sums, task), result);
    }
    bool finite = true;
    for (int i = 0; i < 2 && 2 * pair + i < f.blocks; ++i)
        finite &= store_block(f, 2 * pair + i, plane, group * p.out + out, i ? result.im : result.re);
    if (!finite) r.nonfinite[unit].store(1, std::memory_order_relaxed);
}

// The plan of the windows of a block, with all results of the tapped axes, for one group.
ConvPlan part_of(const Fft& f, int64_t group, int64_t block) {
    ConvPlan part = f.p;
    const ConvPlan& p = f.p;
    part.groups = 1;
    part.source += group * p.reduce / p.parts * p.source_channel;
    part.result += group * p.out / p.parts * p.result_channel;
    part.w += group * p.w_group;
    if (part.bias) part.bias += group * p.out / p.parts * p.bias_stride;
    BlockAt b = block_at(f, block);
    const auto restrict = [&](size_t axis, Span u) { part.axes[axis].u = part.axes[axis].phases[0].u = u; };
    const auto windows = [](const Segment& s) { return Span{s.u, s.u + (s.results - 1) * s.u_step + 1}; };
    restrict(f.columns.axis, windows(b.columns));
    if (!f.line) restrict(f.rows.axis, windows(b.rows));
    for (size_t i = f.looped.size(); i-- > 0;) {
        const Span all = p.axes[f.looped[i]].u;
        const int64_t u = all.begin + b.looped % (all.end - all.begin);
        restrict(f.looped[i], {u, u + 1});
        b.looped /= all.end - all.begin;
    }
    part.pixels = 1;
    for (const ConvPlanAxis& a : part.axes) part.pixels *= a.u.end - a.u.begin;
    return part;
}

// Recomputes both blocks of a pair, because they share a transform.
void compute_directly(const Fft& f, const std::vector<std::atomic<uint8_t>>& nonfinite) {
    int64_t count = 0;
    for (const auto& s : nonfinite) count += s.load(std::memory_order_relaxed);
    if (count == 0) return;
    if (2 * count > static_cast<int64_t>(nonfinite.size())) return run_directly(f.p);
    for (int64_t unit = 0; unit < static_cast<int64_t>(nonfinite.size()); ++unit) {
        if (!nonfinite[unit].load(std::memory_order_relaxed)) continue;
        for (int64_t block = 2 * (unit % f.pairs); block < f.blocks && block < 2 * (unit % f.pairs) + 2; ++block) {
            const ConvPlan part = part_of(f, unit / f.pairs, block);
            if (part.pixels > 0) run_directly(part);
        }
    }
}

}  // namespace

bool run_fft(const ConvPlan& p) {
    FftChoice choice;
    if (!choose_fft(p, false, choice)) return false;
    const Fft f = plan_fft(p, choice);
    const int threads = conv_threads(choice.cost);
    std::vector<std::atomic<uint8_t>> nonfinite(static_cast<size_t>(p.groups * f.pairs));
    const int64_t bytes = f.spectrum_bytes(), sources = f.planes * p.reduce, results = f.out_planes * p.out;
    const bool fused = sources * results * f.taps == 1 && p.groups * f.pairs >= kFusedUnits;
    const int64_t groups = max(1, min(p.groups, kFilterBytes / (f.filters * bytes)));
    const int64_t all = groups * f.pairs;
    const int64_t units = fused ? all : max(1, min(all, kUnitBytes / ((sources + results) * bytes)));
    const Spectra spectra((groups * f.filters + (fused ? 0 : units * (sources + results))) * bytes);
    FftRun r{f, {0, 0}, {0, 0}, fused, 0, spectra.get(), nullptr, nullptr, nonfinite.data()};
    r.sources = r.filters + groups * f.filters * 2 * f.size;
    r.sums = r.sources + units * sources * 2 * f.size;
    for (int64_t g = 0; g < p.groups; g += groups) {
        r.groups = {g, min(g + groups, p.groups)};
        r.new_filters = (r.groups.end - g) * f.filters;
        for (int64_t unit = g * f.pairs; unit < r.groups.end * f.pairs; unit += units) {
            r.units = {unit, min(unit + units, r.groups.end * f.pairs)};
            const int64_t some = r.units.end - unit;
            parallel_for(r.new_filters + (fused ? 0 : some * sources), threads, &spectrum_task, &r);
            if (!fused) parallel_for(ceil_div(f.size, kChunk), threads, &product_task, &r);
            parallel_for(some * results, threads, &result_task, &r);
            r.new_filters = 0;
        }
    }
    compute_directly(f, nonfinite);
    return true;
}

}  // namespace cenote
