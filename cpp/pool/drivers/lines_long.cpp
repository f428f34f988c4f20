// Lines with large windows: log-step and pairwise reduction.
#include <utility>

#include "pool/drivers/lines.hpp"

namespace cenote {

// Measured for max of float32 at stride 1: as fast as the direct method at k = 9.
bool log_step_pays(const Axis& a) {
    if (a.starts || a.k < 9) return false;
    const int levels = 63 - __builtin_clzll(static_cast<uint64_t>(a.k));
    return a.k > a.s * (levels + 3);
}

// Two steps at once, from Sₘ to S₄ₘ, halve the reads and writes. A sum combines the powers of two that make up k, one
// base-4 digit at a time; a maximum combines overlapping parts. `sums` has room for the line; so has `spare`, which is
// given if a stride is to be undone at the end.
void windows_by_log_step(const Line& p, Planes in, Planes out, int64_t run, Planes sums, Planes spare) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    const bool together = spare.v || (a.s == 1 && p.out_stride == run);
    const Planes results = spare.v ? spare : out;
    const int64_t positions = spare.v ? (p.count - 1) * a.s + 1 : p.count;
    const auto each_window = [&](auto reduce_at) {  // calls reduce_at(out, position in the line, elements)
        if (together) return reduce_at(results, int64_t{0}, positions * run);
        for (int64_t j = 0; j < p.count; ++j) reduce_at(p.ahead(out, j * p.out_stride), j * a.s * run, run);
    };
    const int64_t apart = a.d * run;
    int64_t taps = 1, length = line_length(a, p.count), done = 0;
    Planes part = in;  // Sₘ for m = taps
    const auto fourfold = [&] {
        length -= 3 * taps * a.d;
        count_done(done, length * run);
        op.parts[2](sums, part, {{0, taps, 2 * taps, 3 * taps}, apart, p.weight}, length * run);
        part = sums;
        taps *= 4;
    };
    if (op.summed) {
        bool started = false;
        Planes lone{nullptr, nullptr};  // the last tap, read in place when the next digit is added
        const auto collect = [&](int64_t digit, int64_t first) {
            each_window([&](Planes to, int64_t position, int64_t n) {
                const Planes from = p.ahead(part, position + first * apart);
                const Planes rest = lone.v ? p.ahead(lone, position) : started ? to : from;
                op.digit[lone.v || started][digit - 1](to, from, taps * apart, rest, n);
            });
            started = true;
            lone = {nullptr, nullptr};
        };
        for (;; fourfold()) {
            const int64_t rest = a.k / taps;
            if (taps == 1 && rest % 4 == 1 && rest > 1)
                lone = p.ahead(in, (a.k - 1) * apart);
            else if (rest % 4)
                collect(rest % 4, rest / 4 * 4 * taps);
            if (rest < 4) break;
            if (rest < 8) {
                collect(4, 0);
                break;
            }
        }
    } else {
        while (4 * taps < a.k) fourfold();
        // Overlapping parts do not change a maximum.
        const int64_t count = ceil_div(a.k, taps), last = a.k - taps;
        const Parts two{{0, last}, apart, p.weight}, three{{0, taps, last}, apart, p.weight};
        const Parts four{{0, taps, 2 * taps, last}, apart, p.weight};
        each_window([&](Planes to, int64_t position, int64_t n) {
            op.parts[count - 2](to, p.ahead(part, position), count == 2 ? two : count == 3 ? three : four, n);
        });
    }
    if (spare.v) {
        op.every_nth(out.v, spare.v, p.count, a.s, run);
        if (op.two_planes) op.every_nth(out.w, spare.w, p.count, a.s, run);
    }
}

// ------------------------------------------------------------------------------------------- pairwise reduction

// Reduces k elements to one by combining neighbours repeatedly. a and b are working memory for k/2 + 1 elements.
static void pairwise(const Line& p, Planes out, Planes elements, int64_t k, int64_t weight, int64_t offset, Planes a,
                     Planes b) {
    const RowKernels& op = *p.op;
    for (; k > 8; weight *= 2) {
        const int64_t pairs = k / 2;
        op.stride_2[0](a, elements, pairs, weight);
        if (k & 1) op.copy(p.ahead(a, pairs), p.ahead(elements, k - 1), 1);
        elements = a;
        std::swap(a, b);
        k = pairs + (k & 1);
    }
    Planes rows[8];
    char* lone[8];
    for (int64_t t = 0; t < k; ++t) {
        rows[t] = p.ahead(elements, t);
        lone[t] = rows[t].v;
    }
    op.reduce_one(out, op.two_planes ? static_cast<const void*>(rows) : lone, 0, k, k, weight, offset);
}

void windows_pairwise(const Line& p, Planes in, Planes out, bool together, Planes a, Planes b, Planes tops) {
    const RowKernels& op = *p.op;
    const Axis& axis = *p.axis;
    if (together) {  // adjacent windows are halved together while k is even
        Planes elements = p.ahead(in, window_start(axis, p.j0) - p.c0);
        int64_t k = axis.k, weight = p.weight;
        for (; k % 2 == 0; k /= 2, weight *= 2) {
            if (k == 2 && p.out_stride == 1) return op.stride_2[0](out, elements, p.count, weight);
            op.stride_2[0](a, elements, p.count * (k / 2), weight);
            elements = a;
            std::swap(a, b);
        }
        for (int64_t j = 0; j < p.count; ++j)
            pairwise(p, p.ahead(out, j * p.out_stride), p.ahead(elements, j * k), k, weight, 0, a, b);
        return;
    }
    for (int64_t j = 0; j < p.count; ++j) {
        const Span real = real_taps(axis, p.j0 + j);
        const int64_t k = real.end - real.begin, offset = real.begin * p.weight;
        if (k == 0 ||
            (op.summed && k < taps_of(axis, p.j0 + j))) {  // a clipped window keeps the shape of the full tree
            windows_one_by_one(p, in, out, j, j + 1);
            continue;
        }
        const Planes elements = p.ahead(in, window_start(axis, p.j0 + j) + real.begin - p.c0);
        const Planes result = p.ahead(out, j * p.out_stride);
        if (k <= kBlock) {
            pairwise(p, result, elements, k, p.weight, offset, a, b);
            continue;
        }
        const int64_t blocks = ceil_div(k, kBlock);
        for (int64_t i = 0, done = 0; i < blocks; ++i) {
            pairwise(p, p.ahead(tops, i), p.ahead(elements, i * kBlock), min(kBlock, k - i * kBlock), p.weight, 0, a,
                     b);
            count_done(done, kBlock);
        }
        // Blocks of blocks: two levels are enough for 2^26 elements, and beyond that the working memory is small
        // compared to x.
        pairwise(p, result, tops, blocks, p.weight * kBlock, offset, p.ahead(tops, blocks), p.ahead(tops, 2 * blocks));
    }
}

}  // namespace cenote
