// Convolution and its adjoint with respect to the input by overlap-save, see conv_fft.hpp.
//
// Blocks with results that are not finite are computed again by direct sums, as in conv_winograd.cpp: an infinite cell
// is seen by its own windows only.

#include "conv_fft.hpp"

#include <atomic>

#include "conv_forward.hpp"
#include "parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kFilterBytes = int64_t{64} << 20, kSourceBytes = int64_t{8} << 20;  // of spectra at a time
constexpr int64_t kChunk = 1024;  // numbers of spectra that are summed up over channels at a time

// Groups × pairs of blocks are units; some of them are computed at a time.
struct FftRun {
    const Fft& f;
    Span groups, units;
    bool fused;  // one spectrum of the source for each result: both in one task
    double *filters, *sources;
    std::atomic<uint8_t>* strange;  // of all units: results that are not finite

    int64_t group_of(int64_t unit) const { return unit / f.pairs; }
};

void filter_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftRun*>(context);
    filter_spectrum(r.f, r.groups.begin + task / r.f.filters, task % r.f.filters, take_matrix(r.f, arena),
                    spectrum_at(r.f, r.filters, task));
}

void source_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftRun*>(context);
    const Fft& f = r.f;
    const int64_t each = f.planes * f.p.reduce, unit = r.units.begin + task / each, rest = task % each;
    source_spectrum(f, unit % f.pairs, rest / f.p.reduce, r.group_of(unit) * f.p.reduce + rest % f.p.reduce,
                    take_matrix(f, arena), spectrum_at(f, r.sources, task));
}

void result_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftRun*>(context);
    const Fft& f = r.f;
    const Plan& p = f.p;
    // Units change fastest: the spectra of filters stay in the cache.
    const int64_t units = r.units.end - r.units.begin, index = task % units, unit = r.units.begin + index;
    const int64_t out = task / units % p.out, plane = task / units / p.out;
    const int64_t group = r.group_of(unit), pair = unit % f.pairs;
    const Matrix sum = take_matrix(f, arena), result = take_matrix(f, arena);
    const auto filter_of = [&](int64_t tap, int64_t in) {
        const int64_t i = filter_index(f, tap, in / p.parts, out / p.parts, (in % p.parts) ^ (out % p.parts));
        return spectrum_at(f, r.filters, (group - r.groups.begin) * f.filters + i);
    };
    if (r.fused) {
        source_spectrum(f, pair, 0, group, result, sum);
        const Matrix w = filter_of(0, 0);
        f.kernels->product({sum.re, sum.im, sum.re, sum.im, w.re, w.im, f.size, 0});
    } else {
        for (int64_t at = 0; at < f.size; at += kChunk) {
            const int64_t count = least(kChunk, f.size - at);
            bool first = true;
            for (int64_t tap = 0; tap < f.taps; ++tap) {
                const int64_t source = source_of(f, plane, tap);
                for (int64_t in = 0; source >= 0 && in < p.reduce; ++in) {
                    const Matrix x = spectrum_at(f, r.sources, (index * f.planes + source) * p.reduce + in);
                    const Matrix w = filter_of(tap, in);
                    const int sign = in % p.parts > out % p.parts ? -1 : 1;
                    f.kernels->product({sum.re + at, sum.im + at, x.re + at, x.im + at, w.re + at, w.im + at, count,
                                        first ? 0 : sign});
                    first = false;
                }
            }
            for (int64_t i = at; first && i < at + count; ++i) sum.re[i] = sum.im[i] = 0;  // padding only
        }
    }
    inverse_fft(f, sum, result);
    bool finite = true;
    for (int i = 0; i < 2 && 2 * pair + i < f.blocks; ++i)
        finite &= store_block(f, 2 * pair + i, plane, group * p.out + out, i ? result.im : result.re);
    if (!finite) r.strange[unit].store(1, std::memory_order_relaxed);
}

// The windows of a block, all results of the tapped axes, of one group.
Plan part_of(const Fft& f, int64_t group, int64_t block) {
    Plan part = f.p;
    const Plan& p = f.p;
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
    for (size_t i = f.walked.size(); i-- > 0;) {
        const Span all = p.axes[f.walked[i]].u;
        const int64_t u = all.begin + b.walked % (all.end - all.begin);
        restrict(f.walked[i], {u, u + 1});
        b.walked /= all.end - all.begin;
    }
    part.pixels = 1;
    for (const PlanAxis& a : part.axes) part.pixels *= a.u.end - a.u.begin;
    return part;
}

// Both blocks of a pair, for they share their numbers.
void compute_directly(const Fft& f, const std::vector<std::atomic<uint8_t>>& strange) {
    int64_t count = 0;
    for (const auto& s : strange) count += s.load(std::memory_order_relaxed);
    if (count == 0) return;
    if (2 * count > static_cast<int64_t>(strange.size())) return run_directly(f.p);
    for (int64_t unit = 0; unit < static_cast<int64_t>(strange.size()); ++unit) {
        if (!strange[unit].load(std::memory_order_relaxed)) continue;
        for (int64_t block = 2 * (unit % f.pairs); block < f.blocks && block < 2 * (unit % f.pairs) + 2; ++block) {
            const Plan part = part_of(f, unit / f.pairs, block);
            if (part.pixels > 0) run_directly(part);
        }
    }
}

}  // namespace

bool run_fft(const Plan& p) {
    FftChoice choice;
    if (!choose_fft(p, choice)) return false;
    const Fft f = lay_out_fft(p, choice);
    const int threads = conv_threads(choice.cost);
    std::vector<std::atomic<uint8_t>> strange(static_cast<size_t>(p.groups * f.pairs));
    const int64_t bytes = f.spectrum_bytes(), sources = f.planes * p.reduce;
    FftRun r{f, {0, 0}, {0, 0}, sources == 1 && p.out == 1 && f.taps == 1, nullptr, nullptr, strange.data()};
    const int64_t groups = most(1, least(p.groups, kFilterBytes / (f.filters * bytes)));
    const int64_t units = most(1, least(groups * f.pairs, kSourceBytes / (sources * bytes)));
    const Memory filters(groups * f.filters * bytes), held(r.fused ? 0 : units * sources * bytes);
    r.filters = reinterpret_cast<double*>(filters.get());
    r.sources = reinterpret_cast<double*>(held.get());
    for (int64_t g = 0; g < p.groups; g += groups) {
        r.groups = {g, least(g + groups, p.groups)};
        parallel_for((r.groups.end - g) * f.filters, threads, &filter_task, &r);
        const int64_t last = r.groups.end * f.pairs, step = r.fused ? last : units;
        for (int64_t unit = g * f.pairs; unit < last; unit += step) {
            r.units = {unit, least(unit + step, last)};
            const int64_t some = r.units.end - unit;
            if (!r.fused) parallel_for(some * sources, threads, &source_task, &r);
            parallel_for(some * f.out_planes * p.out, threads, &result_task, &r);
        }
    }
    compute_directly(f, strange);
    return true;
}

}  // namespace cenote
