// Conversion of rows of totals to any result dtype, rounded once. To integers: to nearest, ties to even, clipped, NaN
// to 0. Compiled once, for the baseline of the architecture: the kernels where this matters convert in registers
// (kernels/direct_uint.inl).
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// 64-bit integers are unsigned if the flag says so, whatever their type.
void convert_row(DType to, char* out, const float* row, int64_t n, bool is_unsigned);
void convert_row(DType to, char* out, const double* row, int64_t n, bool is_unsigned);
void convert_row(DType to, char* out, const int64_t* row, int64_t n, bool is_unsigned);
void convert_row(DType to, char* out, const uint64_t* row, int64_t n, bool is_unsigned);

// sums[i] / by, or / (by * along[i]): the exact quotient, rounded once. Sums are integers of magnitude below 2^52.
void write_quotients(DType to, char* out, const double* sums, const double* along, double by, int64_t n);

}  // namespace cenote
