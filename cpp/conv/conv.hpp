// Convolution and its two adjoints: from a problem to running tasks.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

enum class Form : uint8_t { conv, input, filter };

struct ConvAxis {
    int64_t n, o, k, s, d, low;  // as in Axis
};

// An array of the problem, with strides in bytes.
struct ConvArray {
    char* data;
    int64_t stride[kMaxDims];
};

// x (batch, *n, groups·in), w (*k, in, groups·out), y (batch, *o, groups·out): one of them is the result.
struct ConvProblem {
    Form form;
    DType type;
    ConvArray x, w, y;
    const char* bias;  // one value per channel of the result, or null
    int64_t bias_stride;
    int rank;
    ConvAxis axis[kMaxDims];
    int64_t batch, groups, in, out;  // channels per group
};

void convolve(const ConvProblem& problem);
// The name of the method that convolve() would use (registry.cpp).
const char* conv_method_of(const ConvProblem& problem);

// Like set_limits() for pooling.
void set_conv_limits(int64_t bytes_per_tile, int64_t elements_per_thread);
// For tests: use overlap-save where it costs less, never, or wherever it is possible.
enum class FftMode : uint8_t { automatic, never, always };
void set_fft(FftMode mode);

}  // namespace cenote
