// Convolution by overlap-save: what convolution and the filter gradient share.
//
// One or two axes are transformed (Fourier axes). The others are looped over if they have one tap; otherwise they are
// multiplied tap by tap in the frequency domain. A block of a Fourier axis has n source pixels, which give n - k + 1
// results. With a dilation, the residues modulo the dilation are separate signals; with a stride, all results are
// computed and some are stored.
//
// A transform is that of an n1 × n2 matrix: along its columns, transposed, along the columns again. For two axes these
// are rows and columns; a single axis of n1·n2 pixels is divided into rows, with twiddle factors in between.
// Frequencies stay in the resulting order.
//
// Two blocks are transformed at once, one as the real and one as the imaginary part: filters are real, so they do not
// mix. Everything is computed in double precision, whose error, spread over a block, is far below that of a direct sum
// in single precision.
#pragma once

#include <memory>

#include "conv/plan.hpp"
#include "runtime/cpu.hpp"

namespace cenote {

// The blocks of a Fourier axis.
struct FftAxis {
    size_t axis;               // in the plan
    int64_t n, useful;         // source pixels and results of a block
    int64_t dense;             // results at stride 1
    int64_t residues, blocks;  // signals, and blocks per signal
    int64_t count() const { return residues * blocks; }
};

FftAxis divide_axis(const ConvPlan& p, size_t axis, int64_t n);

// One block along its axis.
struct Segment {
    int64_t element, next;  // the source pixel of element 0, and the distance to the next
    int64_t first, every;   // the elements that are results: first + q·every
    int64_t results;        // number of results
    int64_t u, u_step;      // result q belongs to window u + q·u_step
};

constexpr int64_t kFftPadding = 8;  // rows a power of two apart would map to the same cache sets

struct FftTables {
    int64_t n1, n2;
    bool line;
    std::vector<double> roots1, roots2, twiddles;
};

std::shared_ptr<const FftTables> fft_tables(int64_t n1, int64_t n2, bool line);

// Which axes are transformed, and in blocks of which size.
struct FftChoice {
    bool line;
    FftAxis rows, columns;  // a line has columns only
    double cost;            // in products of a direct sum in double precision
};

struct Fft {
    explicit Fft(const ConvPlan& plan) : p(plan) {}
    const ConvPlan& p;
    const ConvKernels* work;  // kernels for double precision
    const FftKernels* kernels;
    bool line;
    FftAxis rows, columns;
    int64_t n1, n2, pitch1, pitch2;
    int64_t size;                        // doubles in one part of a spectrum
    std::vector<size_t> looped, tapped;  // axes that are not transformed: with one tap, and with several
    int64_t blocks, pairs;               // over all looped axes
    int64_t planes, out_planes, taps;    // of the tapped axes: source pixels, results, taps
    int64_t filters;                     // real filters per group
    std::shared_ptr<const FftTables> tables;

    double scale() const { return 1.0 / static_cast<double>(n1 * n2); }
    int64_t spectrum_bytes() const { return 2 * size * static_cast<int64_t>(sizeof(double)); }
};

struct Matrix {
    double *re, *im;
};

// Memory for spectra. Large blocks come from the buffer cache: page faults would cost as much as the transforms.
class Spectra {
 public:
    explicit Spectra(int64_t bytes);
    Spectra(const Spectra&) = delete;
    Spectra& operator=(const Spectra&) = delete;
    ~Spectra();
    double* get() const { return data_; }

 private:
    Memory small_;
    double* data_;
    bool large_;
};

// False if direct sums or Winograd cost less. `filter`: for the filter gradient.
bool choose_fft(const ConvPlan& p, bool filter, FftChoice& choice);
Fft plan_fft(const ConvPlan& p, const FftChoice& choice);

// fft_transform.cpp
Matrix take_matrix(const Fft& f, Arena* arena);
static inline Matrix spectrum_at(const Fft& f, double* spectra, int64_t index) {
    double* const at = spectra + index * 2 * f.size;
    return {at, at + f.size};
}
void forward_fft(const Fft& f, Matrix from, Matrix spectrum);    // `from` is overwritten
void inverse_fft(const Fft& f, Matrix spectrum, Matrix result);  // `spectrum` is overwritten

// The position of block `index`: along the looped axes, and its segments.
struct BlockAt {
    Segment rows, columns;
    int64_t looped;  // the index along the looped axes
};
BlockAt block_at(const Fft& f, int64_t index);

// The spectrum of real channel `channel` (of all groups) of the source, for a pair of blocks, in plane `plane` of the
// tapped axes.
void source_spectrum(const Fft& f, int64_t pair, int64_t plane, int64_t channel, Matrix buffer, Matrix spectrum);
// The same for the results of the blocks, zero elsewhere.
void result_spectrum(const Fft& f, int64_t pair, int64_t plane, int64_t channel, Matrix buffer, Matrix spectrum);
// The spectrum of real filter `index` of a group: of tap `tap` of the tapped axes, from channel `in` to `out`, its
// `part`.
void filter_spectrum(const Fft& f, int64_t group, int64_t index, Matrix buffer, Matrix spectrum);
static inline int64_t filter_index(const Fft& f, int64_t tap, int64_t in, int64_t out, int64_t part) {
    const ConvPlan& p = f.p;
    return ((out * f.taps + tap) * (p.reduce / p.parts) + in) * p.parts + part;
}
// Stores the results of one block; false if any is not finite.
bool store_block(const Fft& f, int64_t index, int64_t plane, int64_t channel, double* from);
// Stores a filter; false if any of its values is not finite.
bool store_filter(const Fft& f, int64_t group, int64_t index, double* from);

// The plane of the source under tap `tap` of the tapped axes for plane `plane` of the results; -1 for padding.
static inline int64_t source_of(const Fft& f, int64_t plane, int64_t tap) {
    int64_t source = 0, unit = 1;
    for (size_t i = f.tapped.size(); i-- > 0;) {
        const ConvPlanAxis& a = f.p.axes[f.tapped[i]];
        const int64_t windows = a.u.end - a.u.begin;
        const int64_t element = (a.u.begin + plane % windows) * a.step + a.phases[0].taps[tap % a.k].offset;
        if (element < 0 || element >= a.n) return -1;
        source += element * unit;
        unit *= a.n;
        tap /= a.k;
        plane /= windows;
    }
    return source;
}

// The filter gradient; false if it has to be computed directly.
bool run_fft_filter(const ConvPlan& p);

}  // namespace cenote
