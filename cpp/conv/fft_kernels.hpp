// What a SIMD level offers to convolution by Fourier transforms, all in double: plain data and function pointers only
// (see geometry.hpp).
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// Fourier transforms along the first axis of n × lanes complex numbers, n a power of two; `turns` has n/2 cosines and
// n/2 sines of the angles 2π·j/n. `twiddles`, if not null, are n × pitch cosines and as many sines, by which the
// numbers are multiplied after a transform and before an inverse one.
struct FftColumns {
    double* re;
    double* im;
    int64_t pitch, n, lanes;
    const double* turns;
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
    bool (*results)(const FftResults&);  // false if one of them is not less than the limit
};

}  // namespace cenote
