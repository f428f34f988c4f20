// The filter gradient: a correlation of the source with the cotangent, summed over blocks in the frequency domain. With
// x₁ + i·x₂ and y₁ + i·y₂ for a pair of blocks, the real part of the product with the conjugate is the sum of both
// correlations.

#include <atomic>

#include "conv/fft.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

constexpr int64_t kSpectraBytes = int64_t{16} << 20;  // of source and cotangent at a time
constexpr int64_t kChunk = 256;                       // numbers of each spectrum per task

// Several groups at a time with all pairs of blocks, or one group with some of them.
struct FftFilterRun {
    const Fft& f;
    Span groups, pairs;
    double *sources, *cotangents, *sums;
    std::atomic<bool>* finite;

    int64_t pair_count() const { return pairs.end - pairs.begin; }
};

void spectrum_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftFilterRun*>(context);
    const Fft& f = r.f;
    const ConvPlan& p = f.p;
    const int64_t sources = f.planes * p.reduce, cotangents = f.out_planes * p.out;
    const int64_t unit = task / (sources + cotangents), pair = r.pairs.begin + unit % r.pair_count();
    const int64_t group = r.groups.begin + unit / r.pair_count();
    int64_t rest = task % (sources + cotangents);
    if (rest < sources)
        return source_spectrum(f, pair, rest / p.reduce, group * p.reduce + rest % p.reduce, take_matrix(f, arena),
                               spectrum_at(f, r.sources, unit * sources + rest));
    rest -= sources;
    result_spectrum(f, pair, rest / p.out, group * p.out + rest % p.out, take_matrix(f, arena),
                    spectrum_at(f, r.cotangents, unit * cotangents + rest));
}

// Numbers at … at+count-1 of one filter's spectrum.
void sum_filter(const FftFilterRun& r, int64_t group, int64_t index, int64_t at, int64_t count) {
    const Fft& f = r.f;
    const ConvPlan& p = f.p;
    const int64_t part = index % p.parts, in = index / p.parts % (p.reduce / p.parts);
    const int64_t tap = index / p.reduce % f.taps, out = index / p.reduce / f.taps;
    const Matrix sum = spectrum_at(f, r.sums, group * f.filters + index);
    bool first = r.pairs.begin == 0;
    for (int64_t i = 0; i < r.pair_count() * f.out_planes; ++i) {
        const int64_t unit = group * r.pair_count() + i / f.out_planes, plane = i % f.out_planes;
        const int64_t source = source_of(f, plane, tap);
        if (source < 0) continue;
        // (re, re) - (im, im), or (re, im) + (im, re)
        for (int64_t n = 0; n < p.parts; ++n) {
            const Matrix x = spectrum_at(f, r.sources, (unit * f.planes + source) * p.reduce + in * p.parts + n);
            const Matrix y =
                spectrum_at(f, r.cotangents, (unit * f.out_planes + plane) * p.out + out * p.parts + (n ^ part));
            f.kernels->product({sum.re + at, sum.im + at, x.re + at, x.im + at, y.re + at, y.im + at, count,
                                first                 ? 0
                                : n == 1 && part == 0 ? -1
                                                      : 1});
            first = false;
        }
    }
    for (int64_t j = at; first && j < at + count; ++j) sum.re[j] = sum.im[j] = 0;  // all taps are on padding
}

// A range of frequencies of all filters. The order of a sum is that of the pairs, whatever the number of threads.
void sum_task(const void* context, int64_t task, Arena*) {
    const auto& r = *static_cast<const FftFilterRun*>(context);
    const int64_t at = task * kChunk, count = min(kChunk, r.f.size - at);
    for (int64_t group = 0; group < r.groups.end - r.groups.begin; ++group)
        for (int64_t index = 0; index < r.f.filters; ++index) sum_filter(r, group, index, at, count);
}

void filter_task(const void* context, int64_t task, Arena* arena) {
    const auto& r = *static_cast<const FftFilterRun*>(context);
    const Matrix result = take_matrix(r.f, arena);
    inverse_fft(r.f, spectrum_at(r.f, r.sums, task), result);
    if (!store_filter(r.f, r.groups.begin + task / r.f.filters, task % r.f.filters, result.re))
        r.finite->store(false, std::memory_order_relaxed);
}

}  // namespace

bool run_fft_filter(const ConvPlan& p) {
    FftChoice choice;
    if (!choose_fft(p, true, choice)) return false;
    const Fft f = plan_fft(p, choice);
    const int threads = conv_threads(choice.cost);
    std::atomic<bool> finite{true};
    const int64_t bytes = f.spectrum_bytes(), sources = f.planes * p.reduce, cotangents = f.out_planes * p.out;
    const int64_t pairs = max(1, min(f.pairs, kSpectraBytes / ((sources + cotangents) * bytes)));
    const int64_t group = pairs * (sources + cotangents) + f.filters;  // spectra per group
    const int64_t groups = pairs < f.pairs ? 1 : max(1, min(p.groups, kSpectraBytes / (group * bytes)));
    const Spectra spectra(groups * group * bytes);
    FftFilterRun r{f, {0, 0}, {0, 0}, spectra.get(), nullptr, nullptr, &finite};
    r.cotangents = r.sources + groups * pairs * sources * 2 * f.size;
    r.sums = r.cotangents + groups * pairs * cotangents * 2 * f.size;
    for (int64_t g = 0; g < p.groups; g += groups) {
        r.groups = {g, min(g + groups, p.groups)};
        const int64_t some = r.groups.end - g;
        for (int64_t pair = 0; pair < f.pairs; pair += pairs) {
            r.pairs = {pair, min(pair + pairs, f.pairs)};
            parallel_for(some * r.pair_count() * (sources + cotangents), threads, &spectrum_task, &r);
            parallel_for(ceil_div(f.size, kChunk), threads, &sum_task, &r);
        }
        parallel_for(some * f.filters, threads, &filter_task, &r);
        if (!finite.load(std::memory_order_relaxed)) return false;  // NaN would spread to taps that do not touch it
    }
    return true;
}

}  // namespace cenote
