// The shifted form of weights (weighted.hpp): what the drivers of weighted sums share.
#pragma once

#include "pool/tile.hpp"
#include "pool/weighted.hpp"

namespace cenote {

// A row of results and the tile of elements that its windows see.
struct RowOfWindows {
    const PoolSchedule& job;
    const PoolTile& b;
    const int64_t* stride;  // of the elements
    ResultRows rows;
    const int64_t* row;
};

// Working memory of a row, taken when a tile first needs it.
struct ShiftRow {
    double *x = nullptr, *t, *parts, *totals, *pivot, *rest;

    void take_once(Arena* arena, int64_t n);
};

// A row of doubles with room for a vector after its end.
double* take_row(Arena* arena, int64_t n);

// The pivots and rests of those windows of a row that are marked, into r. `x` are the elements of the tile. Whether the
// row was worth doing tap by tap.
bool shift_row(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* marks, const ShiftRow& r);

// Σ weight·t over those windows of a row that are marked, into r.totals.
void sum_shifted(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* t, const double* marks,
                 const ShiftRow& r);

// Adds Σ weight·g over the windows that take the shifted form to `sums` of a row of elements x. Pivots and rests begin
// at the first window of the tile.
void spread_shifted(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* pivot,
                    const double* rest, double* sums, const ShiftRow& r);

}  // namespace cenote
