// Quotients of 128-bit integers by doubles, rounded once.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/geometry.hpp"

namespace cenote {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

// A finite nonzero divisor as ±mantissa · 2^exponent, with an odd integer as mantissa.
struct WholeDivisor {
    uint64_t mantissa;
    int exponent;
    bool negative;

    explicit WholeDivisor(double by) {
        const double fraction = std::frexp(std::fabs(by), &exponent);
        mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
        exponent -= 53;
        const int zeros = __builtin_ctzll(mantissa);
        mantissa >>= zeros;
        exponent += zeros;
        negative = by < 0;
    }
};

inline int digits(UnsignedWide v) {
    const uint64_t high = static_cast<uint64_t>(v >> 64), low = static_cast<uint64_t>(v);
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

// The nearest integer, ties to even, or anything beyond ±2^65 if the quotient is. |sum| < 2^120.
__attribute__((noinline)) inline Wide rounded_quotient(Wide sum, const WholeDivisor& by) {
    constexpr Wide huge = Wide{1} << 66;
    const bool negative = (sum < 0) != by.negative;
    UnsignedWide top = sum < 0 ? -static_cast<UnsignedWide>(sum) : static_cast<UnsignedWide>(sum), bottom = by.mantissa;
    if (by.exponent < 0) {
        if (top && digits(top) - by.exponent > 119) return negative ? -huge : huge;  // 2^119 / 2^53
        top <<= top ? -by.exponent : 0;
    } else if (by.exponent > 0) {
        if (digits(bottom) + by.exponent > 126) return 0;  // the divisor is far more than twice the sum
        bottom <<= by.exponent;
    }
    const UnsignedWide quotient = top / bottom, rest = top % bottom, other = bottom - rest;
    const Wide found = static_cast<Wide>(quotient) + (rest > other || (rest == other && quotient % 2));
    return negative ? -found : found;
}

// The quotient rounded to odd: rounding the result again, to fewer than 53 bits, gives the same as rounding the exact
// quotient. |sum| < 2^120.
__attribute__((noinline)) inline double odd_quotient(Wide sum, const WholeDivisor& by) {
    if (sum == 0) return by.negative ? -0.0 : 0.0;
    const bool negative = (sum < 0) != by.negative;
    const UnsignedWide top = sum < 0 ? -static_cast<UnsignedWide>(sum) : static_cast<UnsignedWide>(sum);
    UnsignedWide quotient = top / by.mantissa, rest = top % by.mantissa;
    int exponent = -by.exponent;
    while (digits(quotient) < 54) {  // 64 more bits at a time
        quotient = quotient << 64 | (rest << 64) / by.mantissa;
        rest = (rest << 64) % by.mantissa;
        exponent -= 64;
    }
    const int dropped = digits(quotient) - 53;
    const UnsignedWide kept = quotient >> dropped;
    const bool inexact = rest != 0 || kept << dropped != quotient;
    const double found = std::ldexp(static_cast<double>(static_cast<uint64_t>(kept | inexact)), exponent + dropped);
    return negative ? -found : found;
}

// sum / by as result number i, rounded once, clipped if that is an integer; NaN, or 0 as an integer, where `by` is 0
// (convert_rows.cpp).
void write_exact(DType to, char* out, int64_t i, Wide sum, double by);

}  // namespace cenote
