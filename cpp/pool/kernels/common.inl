// What all pooling kernels are built on, in order of dependency. Included into the unnamed namespace of a unit:
// internal linkage obeys the one-definition rule, and lets the compiler inline what a unit calls only once.

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "simd/vector.inl"

#include "simd/math.inl"

#include "simd/reducers.inl"

#include "simd/convert.inl"

#include "pool/kernels/row_reduce.inl"

#include "pool/kernels/log_step.inl"

#include "pool/kernels/van_herk.inl"

#include "pool/kernels/strided_pixels.inl"

#include "pool/kernels/row_kernels.inl"

#include "pool/kernels/prologue.inl"

#include "pool/kernels/separable_tile.inl"
