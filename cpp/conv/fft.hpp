// Convolution by overlap-save: what the forward form and the derivative by the filter share.
//
// One or two axes are transformed (Fourier axes); the others are either walked through (one tap) or multiplied tap by
// tap in the frequency domain. A block of a Fourier axis is n elements of the source, which give n - k + 1 results.
// With a dilation, the residues modulo the dilation are signals of their own; with a stride, all results are computed
// and some are stored.
//
// A transform is that of a matrix of n1 × n2: along its columns, transposed, along the columns again. Of two axes they
// are rows and columns; a single axis of n1·n2 elements is cut into rows, and twiddle factors come in between.
// Frequencies stay in the order in which this leaves them.
//
// Two blocks are transformed at once, one as the real part and one as the imaginary part: filters are real, so they
// stay apart. Everything is computed in double, whose error, spread over a block, is far below that of a direct sum in
// float.
#pragma once

#include <memory>

#include "conv/plan.hpp"
#include "runtime/cpu.hpp"

namespace cenote {

// The blocks of a Fourier axis.
struct FftAxis {
    size_t axis;               // in the plan
    int64_t n, useful;         // elements and results of a block
    int64_t dense;             // results at a stride of 1
    int64_t residues, blocks;  // signals, and blocks of each
    int64_t count() const { return residues * blocks; }
};

FftAxis cut_axis(const ConvPlan& p, size_t axis, int64_t n);

// One block along its axis.
struct Segment {
    int64_t element, next;  // the source element of element 0, and from one element to the next
    int64_t first, every;   // elements that are results: first + q·every
    int64_t results;        // how many
    int64_t u, u_step;      // result q is that of window u + q·u_step
};

constexpr int64_t kFftAside = 8;  // rows a power of two apart would share their places in the cache

struct FftTables {
    int64_t n1, n2;
    bool line;
    std::vector<double> turns1, turns2, twiddles;
};

std::shared_ptr<const FftTables> fft_tables(int64_t n1, int64_t n2, bool line);

// Which axes are transformed, in blocks of which size.
struct FftChoice {
    bool line;
    FftAxis rows, columns;  // of a line only columns
    double cost;            // in products of a direct sum in double
};

struct Fft {
    explicit Fft(const ConvPlan& plan) : p(plan) {}
    const ConvPlan& p;
    const ConvKernels* work;  // of double
    const FftKernels* kernels;
    bool line;
    FftAxis rows, columns;
    int64_t n1, n2, pitch1, pitch2;
    int64_t size;                        // doubles of one part of a spectrum
    std::vector<size_t> walked, tapped;  // axes that are not transformed: with one tap, and with more
    int64_t blocks, pairs;               // of all images
    int64_t planes, out_planes, taps;    // of the tapped axes: source elements, results, taps
    int64_t filters;                     // real filters of a group
    std::shared_ptr<const FftTables> tables;

    double scale() const { return 1.0 / static_cast<double>(n1 * n2); }
    int64_t spectrum_bytes() const { return 2 * size * static_cast<int64_t>(sizeof(double)); }
};

struct Matrix {
    double *re, *im;
};

// Memory for spectra. Large blocks are those of large results, which are kept: page faults would cost as much as the
// transforms.
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

// False if direct sums or Winograd's cost less. `filter`: for the derivative by the filter.
bool choose_fft(const ConvPlan& p, bool filter, FftChoice& choice);
Fft lay_out_fft(const ConvPlan& p, const FftChoice& choice);

// fft_transform.cpp
Matrix take_matrix(const Fft& f, Arena* arena);
static inline Matrix spectrum_at(const Fft& f, double* spectra, int64_t index) {
    double* const at = spectra + index * 2 * f.size;
    return {at, at + f.size};
}
void forward_fft(const Fft& f, Matrix from, Matrix spectrum);    // `from` is overwritten
void inverse_fft(const Fft& f, Matrix spectrum, Matrix result);  // `spectrum` is overwritten

// Where block `index` is: windows along walked axes, and its segments.
struct BlockAt {
    Segment rows, columns;
    int64_t walked;  // the index along the walked axes
};
BlockAt block_at(const Fft& f, int64_t index);

// Real channel `channel` (of all groups) of the source, of a pair of blocks, in plane `plane` of the tapped axes.
void source_spectrum(const Fft& f, int64_t pair, int64_t plane, int64_t channel, Matrix held, Matrix spectrum);
// The same of the results: those of the blocks, and zeros.
void result_spectrum(const Fft& f, int64_t pair, int64_t plane, int64_t channel, Matrix held, Matrix spectrum);
// Real filter `index` of a group: of tap `tap` of the tapped axes, for channel `in` to `out`, and of its `part`.
void filter_spectrum(const Fft& f, int64_t group, int64_t index, Matrix held, Matrix spectrum);
static inline int64_t filter_index(const Fft& f, int64_t tap, int64_t in, int64_t out, int64_t part) {
    const ConvPlan& p = f.p;
    return ((out * f.taps + tap) * (p.reduce / p.parts) + in) * p.parts + part;
}
// Store the results of one block; false if one of them is not finite.
bool store_block(const Fft& f, int64_t index, int64_t plane, int64_t channel, double* from);
// Store a filter.
bool store_filter(const Fft& f, int64_t group, int64_t index, double* from);

// The plane of the source that tap `tap` of the tapped axes sees from plane `plane` of the results; -1 for padding.
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

// The derivative by the filter; false if it has to be computed directly.
bool run_fft_filter(const ConvPlan& p);

}  // namespace cenote
