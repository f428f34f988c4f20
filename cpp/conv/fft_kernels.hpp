// The kernels of a SIMD level for overlap-save, all in double precision: plain data and function pointers only (see
// core/geometry.hpp).
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// Fourier transforms along the first axis of n × lanes complex numbers, n a power of two. `roots` has n/2 cosines and
// n/2 sines of the angles 2π·j/n. `twiddles`, if not null, has n × pitch cosines and as many sines, by which the
// numbers are multiplied after a forward and before an inverse transform.
struct FftColumns {
    double* re;
    double* im;
    int64_t pitch, n, lanes;
    const double* roots;
    const double* twiddles;
    bool inverse;
};

// out = a·conj(b) for sum = 0; out += a·conj(b) for 1; out -= a·conj(b) for -1
struct SpectrumProduct {
    double* re;
    double* im;
    const double* re_a;
    const double* im_a;
    const double* re_b;
    const double* im_b;
    int64_t count;
    int sum;
};

// row = row·scale + bias
struct FftResults {
    double* row;
    int64_t count;
    double scale, bias, limit;
};

struct FftKernels {
    void (*columns)(const FftColumns&);
    void (*product)(const SpectrumProduct&);
    bool (*results)(const FftResults&);  // returns whether all are below the limit
};

}  // namespace cenote
