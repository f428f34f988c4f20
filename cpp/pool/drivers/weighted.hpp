// The shifted form of weights (pool/weighted.hpp), shared by the drivers of weighted sums and their transpose.
#pragma once

#include "pool/tile.hpp"
#include "pool/weighted.hpp"

namespace cenote {

// A row of results and the tile of elements that its windows cover.
struct RowOfWindows {
    const PoolSchedule& job;
    const PoolTile& b;
    const int64_t* stride;  // of the elements
    ResultRows rows;
    const int64_t* row;
};

// Working memory for a row, allocated when a tile first needs it.
struct ShiftRow {
    double *x = nullptr, *t, *parts, *totals, *pivot, *rest;

    void take_once(Arena* arena, int64_t n);
};

// A row of doubles with kVectorRoom after its end.
double* take_row(Arena* arena, int64_t n);

// The pivots and rests of the marked windows of a row, into r. `x` are the elements of the tile. Returns whether the
// row was computed tap by tap.
bool shift_row(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* marks, const ShiftRow& r);

// Σ weight·t over the marked windows of a row, into r.totals.
void sum_shifted(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* t, const double* marks,
                 const ShiftRow& r);

// Adds Σ weight·g over the windows in shifted form to `sums` of a row of elements x. `pivot` and `rest` start at the
// first window of the tile.
void spread_shifted(const WeightedJob& job, const RowOfWindows& w, const double* x, const double* pivot,
                    const double* rest, double* sums, const ShiftRow& r);

}  // namespace cenote
