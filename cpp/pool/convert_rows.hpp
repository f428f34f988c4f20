// Rows of totals to results of any dtype, rounded once. To an integer: to nearest, ties to even, clipped to its range,
// NaN to 0. Compiled once, for the baseline of the architecture: the kernels of small integers that are worth more have
// it in themselves (kernels/direct_uint.inl).
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// Integers of 64 bits are signed or not as the flag says, whatever their type.
void convert_row(DType to, char* out, const float* row, int64_t n, bool is_unsigned);
void convert_row(DType to, char* out, const double* row, int64_t n, bool is_unsigned);
void convert_row(DType to, char* out, const int64_t* row, int64_t n, bool is_unsigned);
void convert_row(DType to, char* out, const uint64_t* row, int64_t n, bool is_unsigned);

// sums[i] / by, or / (by * along[i]): the exact quotient, rounded once. Sums are whole and below 2^52 in size.
void write_quotients(DType to, char* out, const double* sums, const double* along, double by, int64_t n);

}  // namespace cenote
