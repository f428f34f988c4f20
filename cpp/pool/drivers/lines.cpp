#include "pool/drivers/lines.hpp"

#include <cstring>
#include <utility>

namespace cenote {

namespace {

// Faster than a call of memcpy for a few vectors; the last one overlaps the one before.
void copy_bytes(char* out, const char* in, int64_t n) {
    if (n >= 16 && n <= 256) {
        for (int64_t i = 0; i + 16 <= n; i += 16) std::memcpy(out + i, in + i, 16);
        std::memcpy(out + n - 16, in + n - 16, 16);
        return;
    }
    std::memcpy(out, in, static_cast<size_t>(n));
}

void set_row(const Line& p, int64_t t, Planes row) {
    if (p.op->two_planes)
        static_cast<Planes*>(p.rows)[t] = row;
    else
        static_cast<char**>(p.rows)[t] = row.v;
}

// Rows for `count` taps, `step` elements apart.
void set_rows(const Line& p, Planes first, int64_t count, int64_t step) {
    step *= p.op->width;
    if (p.op->two_planes) {
        auto* rows = static_cast<Planes*>(p.rows);
        for (int64_t t = 0; t < count; ++t) rows[t] = {first.v + t * step, first.w ? first.w + t * step : nullptr};
    } else {
        auto* rows = static_cast<char**>(p.rows);
        for (int64_t t = 0; t < count; ++t) rows[t] = first.v + t * step;
    }
}

// A sum of many rows, read in memory order: eight at a time are added in registers, and a binary counter of rows holds
// the pending subtrees. The summation tree is that of RowKernels::reduce.
void sum_tall(const Line& p, Planes out, int64_t count) {
    constexpr int kLevels = 60;
    const RowKernels& op = *p.op;
    const int64_t row = kTallRun * op.width;
    auto** rows = static_cast<char**>(p.rows);
    int64_t done = 0;
    for (int64_t from = 0; from < p.run; from += kTallRun) {
        const int64_t n = min(kTallRun, p.run - from), blocks = count / 8, rest = count % 8, bytes = n * op.width;
        char* pending[kLevels];
        char* part = p.tall;
        int levels = 0;  // that have been allocated
        const auto add_to = [&](char* earlier) {
            op.reduce_two({part, nullptr}, {earlier, nullptr}, {part, nullptr}, n, 0);
        };
        for (int64_t b = 0; b < blocks; ++b) {
            op.reduce({part, nullptr}, rows + 8 * b, 0, 8, 8, n, 0);
            count_done(done, 8 * n);
            int level = 0;
            for (; b >> level & 1; ++level) add_to(pending[level]);
            if (level == levels) pending[levels++] = p.tall + (level + 1) * row;
            std::swap(part, pending[level]);
        }
        bool started = rest > 0;
        if (rest) op.reduce({part, nullptr}, rows + 8 * blocks, 0, rest, rest, n, 0);
        for (int level = 0; level < levels; ++level) {
            if (!(blocks >> level & 1)) continue;
            if (started)
                add_to(pending[level]);
            else
                copy_bytes(part, pending[level], bytes);
            started = true;
        }
        copy_bytes(out.v + from * op.width, part, bytes);
        for (int64_t t = 0; t < count; ++t) rows[t] += bytes;
    }
}

// The same for a maximum, which needs no working memory: the result so far is combined with the next rows.
void max_tall(const Line& p, Planes out, int64_t count) {
    const RowKernels& op = *p.op;
    auto* const* rows = static_cast<char* const*>(p.rows);
    int64_t total = 0;
    for (int64_t from = 0; from < p.run; from += kTallRun) {
        const int64_t n = min(kTallRun, p.run - from), bytes = from * op.width;
        char* some[8];
        for (int64_t done = 0; done < count;) {
            int64_t k = 0;
            if (done > 0) some[k++] = out.v + bytes;
            while (k < 8 && done < count) some[k++] = rows[done++] + bytes;
            op.reduce({out.v + bytes, nullptr}, some, 0, k, k, n, 0);
            count_done(total, k * n);
        }
    }
}

// A window of single elements, `step` apart, from tap `begin` on: block by block, with checkpoints between them. Blocks
// start at multiples of their size, a power of two, which preserves the tree of a sum.
void reduce_long(const Line& p, Planes out, Planes first, int64_t step, int64_t begin, int64_t count, int64_t taps) {
    const RowKernels& op = *p.op;
    const int64_t blocks_before = begin / kBlock, end = begin + count;
    int64_t blocks = 0;
    for (int64_t from = begin, done = 0; from < end; ++blocks) {
        const int64_t n = min(end, (blocks_before + blocks + 1) * kBlock) - from;
        set_rows(p, p.ahead(first, (from - begin) * step), n, step);
        op.reduce_one(p.ahead(p.tops, blocks), p.rows, from % kBlock, n, n, p.weight, 0);
        count_done(done, n);
        from += n;
    }
    set_rows(p, p.tops, blocks, 1);
    const int64_t all = blocks + (count < taps);  // whether there is padding
    op.reduce_one(out, p.rows, blocks_before, blocks, all, p.weight * kBlock, 0);
}

// RowKernels::reduce of p.rows: part by part if rows are long, with checkpoints between them.
void reduce_run(const Line& p, Planes out, int64_t begin, int64_t count, int64_t taps, int64_t n) {
    const RowKernels& op = *p.op;
    if (count * n <= kCheckpointElements) return op.reduce(out, p.rows, begin, count, taps, n, p.weight);
    const int64_t most = max(kCheckpointElements / count, kTallRun);
    for (int64_t from = 0; from < n; from += most) {
        op.reduce(p.ahead(out, from), p.rows, begin, count, taps, min(most, n - from), p.weight);
        checkpoint();
        for (int64_t t = 0; t < count; ++t) {
            if (op.two_planes)
                set_row(p, t, p.ahead(static_cast<Planes*>(p.rows)[t], most));
            else
                static_cast<char**>(p.rows)[t] += most * op.width;
        }
    }
}

}  // namespace

void windows_one_by_one(const Line& p, Planes in, Planes out, int64_t from, int64_t to) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    int64_t done = 0;
    for (int64_t j = from; j < to; ++j) {
        // Only clipped windows compute their taps: the divisions would cost as much as a small window.
        const bool all_real = j >= p.interior.begin && j < p.interior.end;
        const int64_t taps = taps_of(a, p.j0 + j);
        const Span real = all_real ? Span{0, taps} : real_taps(a, p.j0 + j);
        const int64_t count = real.end - real.begin, step = a.d * p.in_stride;
        const Planes first = p.ahead(in, (window_start(a, p.j0 + j) - p.c0 + real.begin * a.d) * p.in_stride);
        const Planes result = p.ahead(out, j * p.out_stride);
        if (p.tops.v && count > kBlock) {
            reduce_long(p, result, first, step, real.begin, count, taps);
            continue;
        }
        set_rows(p, first, count, step);
        if (p.run == 1)
            op.reduce_one(result, p.rows, real.begin, count, taps, p.weight, 0);
        else if (op.summed && !op.two_planes && p.tall && count == taps && count > kTall)
            sum_tall(p, result, count);
        else if (!op.summed && !op.two_planes && count > kTall)
            max_tall(p, result, count);
        else
            reduce_run(p, result, real.begin, count, taps, p.run);
        count_done(done, count * p.run);
    }
}

// ---------------------------------------------------------------------------------- the line with its padding

Margins margins(const LinePass& p) {
    const int64_t length = line_length(*p.axis, p.count), first = window_start(*p.axis, p.j0) - p.c0;
    const int64_t before = min(max(0, -first), length), from = max(0, first);
    const int64_t middle = max(0, min(p.elements - from, length - before));
    return {before, from, middle, length - before - middle};
}

void copy_line(const RowKernels& op, Planes line, Planes in, const Margins& m, int64_t stride, int64_t run) {
    const int64_t width = op.width, pieces = stride == run ? 1 : m.middle;
    const int64_t size = (stride == run ? m.middle * run : run) * width;
    for (int64_t i = 0; i < pieces; ++i) {
        const int64_t to = m.before * run * width + i * size, from = (m.from + i) * stride * width;
        copy_bytes(line.v + to, in.v + from, size);
        if (in.w) copy_bytes(line.w + to, in.w + from, size);
    }
}

// ----------------------------------------------------------------- all windows of a line, none of them clipped

bool by_stride_2(const Axis& a, int64_t run) { return a.s == 2 && a.d == 1 && run == 1 && a.k >= 2 && a.k <= 4; }

// Reducing at stride 1 and then keeping every s-th result moves fewer elements one by one (max 5×5 of 4096² of uint8,
// one thread: 1.5 ms by phases, 0.75 so).
bool from_every_element(const RowKernels& op, const Axis& a) {
    return a.s > 4 && a.k > 1 && a.k * (op.summed ? 1 : 2) <= op.lanes;
}

void windows_in_a_row(const Line& p, Planes in, Planes out, int64_t count, Planes* phases, Planes every) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    const int64_t width = op.width;
    if (every.v) {
        set_rows(p, in, a.k, a.d);
        op.reduce(every, p.rows, 0, a.k, a.k, (count - 1) * a.s + 1, p.weight);
        op.every_nth(out.v, every.v, count, a.s, 1);
        if (op.two_planes) op.every_nth(out.w, every.w, count, a.s, 1);
        return;
    }
    if (by_stride_2(a, p.run)) return op.stride_2[a.k - 2](out, in, count, p.weight);
    if (a.s == 1) {
        set_rows(p, in, a.k, a.d * p.run);
    } else {
        const int64_t deep = count + (a.k - 1) * a.d / a.s, length = line_length(a, count);
        for (int64_t r = 0; r < a.s; ++r) {
            if (!phases[r].v) continue;
            const int64_t depth =
                r + (deep - 1) * a.s < length ? deep : deep - 1;  // the last phases may be one shorter
            op.every_nth(phases[r].v, in.v + r * p.run * width, depth, a.s, p.run);
            if (in.w) op.every_nth(phases[r].w, in.w + r * p.run * width, depth, a.s, p.run);
        }
        for (int64_t t = 0; t < a.k; ++t) {
            Planes row = p.ahead(phases[t * a.d % a.s], t * a.d / a.s * p.run);
            if (!in.w) row.w = nullptr;
            set_row(p, t, row);
        }
    }
    reduce_run(p, out, 0, a.k, a.k, count * p.run);
}

// ------------------------------------------------------------------------------------------------ strided pixels

bool pixels_pay(const Line& p) {
    const Axis& a = *p.axis;
    return !a.starts && a.s > 1 && a.k <= kPixelTaps && p.run > 1 && p.in_stride == p.run && p.out_stride == p.run &&
           p.run * p.op->width <= kMaxPixelBytes;
}

// Pixels of less than 16 bytes are stored together with garbage after them, which the next pixel overwrites. The last
// windows of a line are therefore computed in a buffer.
static int64_t last_windows(const Line& p) {
    const int64_t wide = kPixelBytes / p.op->width;
    return p.run >= wide ? 0 : min(p.interior.end - p.interior.begin, ceil_div(wide, p.run));
}

int64_t pixel_room(const Line& p) {
    const int64_t last = last_windows(p);  // unclipped windows, so no longer than the line
    return last > 0 ? line_length(*p.axis, last) * p.run + kPixelBytes / p.op->width : 0;
}

void windows_of_pixels(const Line& p, Planes in, Planes out, Planes elements, Planes results) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    const int64_t count = p.interior.end - p.interior.begin, step = a.s * p.run, apart = a.d * p.run, width = op.width;
    windows_one_by_one(p, in, out, 0, min(p.interior.begin, p.count));
    if (count > 0) {
        const auto reduce = op.pixels[a.k == 2 ? 0 : a.k == 3 ? 1 : 2];
        const int64_t last = last_windows(p), others = count - last;
        const Planes from = p.ahead(in, (window_start(a, p.j0 + p.interior.begin) - p.c0) * p.run);
        const Planes to = p.ahead(out, p.interior.begin * p.run);
        reduce(to, from, others, step, apart, a.k, p.run, p.weight);
        if (last) {
            const int64_t n = line_length(a, last) * p.run * width;
            copy_bytes(elements.v, from.v + others * step * width, n);
            if (from.w) copy_bytes(elements.w, from.w + others * step * width, n);
            reduce(results, {elements.v, from.w ? elements.w : nullptr}, last, step, apart, a.k, p.run, p.weight);
            const Planes end = p.ahead(to, others * p.run);
            copy_bytes(end.v, results.v, last * p.run * width);
            if (end.w) copy_bytes(end.w, results.w, last * p.run * width);
        }
    }
    windows_one_by_one(p, in, out, max(p.interior.begin, p.interior.end), p.count);
}

// ---------------------------------------------------------------------------------- transposes of strided windows

Span interior_transposed(const Axis& a, int64_t j0, int64_t count) {
    const int64_t most_taps = ceil_div(a.spread_taps, a.spread_stride);
    int64_t begin = max(j0, most_taps * a.spread_stride - 1 - a.spread_low);
    const int64_t end = min(j0 + count, a.n * a.spread_stride - a.spread_low);
    begin = min(begin, j0 + count);
    return {begin - j0, max(begin, end) - j0};
}

void windows_transposed(const Line& p, Planes in, Planes out, Span interior, char* buffer) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    const int64_t stride = a.spread_stride, run = p.run, all = interior.end - interior.begin, width = op.width;
    const bool interleaved = stride == 2 && run == 1;
    const char* even = nullptr;
    for (int64_t phase = 0; phase < min(stride, all); ++phase) {
        const int64_t c = interior.begin + phase;
        const int64_t from = p.j0 + c + a.spread_low, last = from / stride;  // the last window that contains element c
        const int64_t taps = from % stride < a.spread_taps ? (a.spread_taps - 1 - from % stride) / stride + 1 : 0;
        const int64_t count = (interior.end - c + stride - 1) / stride;
        const Planes first = p.ahead(in, (last - taps + 1 - p.c0) * run);
        set_rows(p, first, taps, run);
        // A single window's value is read in place.
        const char* total = taps == 1 ? first.v : buffer;
        if (taps != 1) op.reduce({buffer, nullptr}, p.rows, 0, taps, taps, count * run, p.weight);
        char* to = out.v + c * run * width;
        if (interleaved && phase == 0) {
            even = total;
            buffer += count * width;
        } else if (interleaved) {
            op.interleave(out.v + interior.begin * width, even, total, count);
            if (all % 2)
                std::memcpy(out.v + (interior.end - 1) * width, even + count * width, static_cast<size_t>(width));
        } else if (run == 1 && width == 4) {
            for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * stride * 4, total + i * 4, 4);
        } else if (run == 1 && width == 8) {
            for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * stride * 8, total + i * 8, 8);
        } else {
            for (int64_t i = 0; i < count; ++i)
                copy_bytes(to + i * stride * run * width, total + i * run * width, run * width);
        }
    }
    if (interleaved && all == 1) std::memcpy(out.v + interior.begin * width, even, static_cast<size_t>(width));
}

}  // namespace cenote
