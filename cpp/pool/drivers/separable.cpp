#include "pool/drivers/separable.hpp"

#include "pool/drivers/lines.hpp"

// A tile has its pooled axes in memory order, with rows of lanes innermost. Along the axis of a pass it consists of
// lines. Which method reduces a line depends on the geometry only, and all methods give the same bits.

namespace cenote {

namespace {

enum class Method { one_by_one, in_a_row, pixels, log_step, van_herk, pairwise, transposed };

constexpr int64_t kLineBytes = 96 * 1024;  // of a line that every step reads again
constexpr int64_t kVanHerk = 6;            // taps from which van Herk is faster than one by one
// Line batches: the overhead of a line is that of reducing a few vectors of it, and its tail goes element by element.
// So short lines are copied one after the other, sharing the padding between them, and reduced as one line; windows
// that straddle two lines are dropped.
constexpr int64_t kShortLine = 256;    // bytes up to which a line is short
constexpr int64_t kBatchLines = 64;    // lines at a time, at most
constexpr int64_t kBatchBytes = 8192;  // per batch, so that it stays in the L1 cache with its sums and results

struct LineBatch {
    int64_t count;   // lines per batch; 1: no batches
    int64_t apart;   // elements from the start of one line to that of the next
    Planes results;  // of a batch
};

struct PassPlan {
    Method method;
    bool copied;         // the line is copied together with its padding
    bool split_clipped;  // clipped windows are reduced one by one
    bool together;       // adjacent windows are reduced pairwise at once
    Margins at;          // where the real elements of the line are
    int64_t chunk;       // elements of each run per step
    Planes line, sums;   // working memory
    Planes spare;
    Planes* phases;
    Span transposed;
    LineBatch batch;
};

// How much of a run to process at a time: about `bytes`, and an odd number of cache lines. If rows are a power of two
// apart, loads wait for stores to other rows whose addresses alias (13×13 over 256 lanes: 35 vs. 8 ms).
int64_t odd_lines(int64_t run, int64_t width, int64_t bytes) {
    if (run * width < 128) return run;
    const int64_t lines = min(run * width / 64, max(bytes / 64, 3));
    return run * width % 128 == 64 && lines == run * width / 64 ? run : (lines - (lines % 2 == 0)) * 64 / width;
}

// In narrower runs it is bound by latency (13×13 on planes of 20×20: 2.3 ms, 1.9 by log-step).
bool van_herk_pays(const Line& p) {
    const Axis& a = *p.axis;
    if (!p.op->van_herk || a.starts || a.d > 1) return false;
    return a.k >= kVanHerk && a.k >= 2 * a.s && p.count >= 4 && p.run * p.op->width >= kVanHerkBytes;
}

LineBatch batch_lines(const Line& p, int64_t lines, int64_t length, const Margins& at, Arena* arena) {
    const int64_t width = p.op->width * p.run;
    const int64_t apart = at.middle + max(at.before, at.after);  // the padding between two lines serves both
    LineBatch batch{1, apart, {nullptr, nullptr}};
    if (lines == 1 || p.axis->s > 1 || p.in_stride != p.run || p.out_stride != p.run || length * width > kShortLine)
        return batch;
    batch.count = max(1, min(min(lines, kBatchLines), kBatchBytes / (apart * width)));
    if (batch.count > 1) batch.results = take_planes(*p.op, arena, ((batch.count - 1) * apart + p.count) * p.run, true);
    return batch;
}

void fill_padding(const RowKernels& op, Planes line, int64_t n) {
    if (op.two_planes && !line.w)
        op.fill_padding(line, n);
    else
        op.fill_identity(line, n);
}

PassPlan plan_pass(const Line& p, int64_t lines, bool has_second, Arena* arena) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    const int64_t width = op.width;
    const bool dense_in = p.in_stride == p.run, dense = dense_in && p.out_stride == p.run;
    PassPlan plan{};
    plan.method = Method::one_by_one;
    plan.chunk = p.run;
    plan.batch.count = 1;
    if (op.summed && !op.two_planes && a.spread_stride && dense && p.run * width < 256 && a.spread_stride <= 64) {
        plan.transposed = interior_transposed(a, p.j0, p.count);
        if (plan.transposed.end > plan.transposed.begin) {
            plan.method = Method::transposed;
            plan.line = take_planes(op, arena, p.count * p.run, false);
        }
        return plan;
    }
    // Adjacent windows are halved together as long as the size is even; for a power of two down to the results.
    plan.together = p.run == 1 && dense_in && a.d == 1 && !a.starts && a.s == a.k && a.k % 2 == 0 && a.k <= kBlock &&
                    p.count > 1 && p.interior.begin == 0 && p.interior.end == p.count;
    const bool power_of_two = plan.together && p.out_stride == 1 && a.k > 2 && (a.k & (a.k - 1)) == 0;
    if (power_of_two ||
        (p.run == 1 && dense_in && a.d == 1 && a.k >= kPairwise && (a.starts || a.s >= a.k || p.count == 1))) {
        plan.method = Method::pairwise;
        const int64_t half = (plan.together ? p.count * a.k : min(a.k, kBlock)) / 2 + 1;
        plan.line = take_planes(op, arena, half, true);
        plan.sums = take_planes(op, arena, half, true);
        plan.spare = take_planes(op, arena, 3 * ceil_div(a.k, kBlock) + 1, true);
        return plan;
    }
    if (a.starts || (a.k - 1) * a.d > 2 * a.n + 64) return plan;  // copying a line that is mostly padding does not pay

    const int64_t length = line_length(a, p.count);
    const bool clipped = p.interior.begin > 0 || p.interior.end < p.count;
    if (van_herk_pays(p)) {
        plan.method = Method::van_herk;
        plan.line = take_planes(op, arena, a.k * kVanHerkBytes / width, false);
        plan.sums = take_planes(op, arena, kVanHerkBytes / width, false);
        op.fill_identity(plan.sums, kVanHerkBytes / width);
        return plan;
    }
    plan.at = margins(p);
    // Long runs are fast one window at a time; for single elements it pays to undo a stride.
    if (log_step_pays(a)) {
        plan.method = Method::log_step;
        plan.chunk = odd_lines(p.run, width, kLineBytes / length);
        if (a.s > 1 && p.out_stride == p.run && p.run * width < 64)
            plan.spare = take_planes(op, arena, length * p.run, true);
        plan.copied = clipped || p.in_stride != p.run || plan.chunk != p.run;
    } else if (pixels_pay(p)) {
        plan.method = Method::pixels;
        plan.line = take_planes(op, arena, pixel_room(p), has_second);
        plan.sums = take_planes(op, arena, pixel_room(p), true);
        return plan;
    } else if (dense && (a.s == 1 || (a.s <= 64 && p.run == 1))) {
        // For long runs copying does not pay: clipped windows are reduced one by one.
        plan.split_clipped = clipped && p.run * width >= 256;
        if (plan.split_clipped && p.interior.begin >= p.interior.end) return plan;
        plan.method = Method::in_a_row;
        if (plan.split_clipped) return plan;
        plan.copied = clipped;
        if (from_every_element(op, a)) {
            plan.spare = take_planes(op, arena, length, true);
        } else if (a.s > 1 && !by_stride_2(a, p.run)) {
            plan.phases = static_cast<Planes*>(take_bytes(arena, a.s * static_cast<int64_t>(sizeof(Planes))));
            const int64_t deep = p.count + (a.k - 1) * a.d / a.s;
            for (int64_t r = 0; r < a.s; ++r) plan.phases[r] = {nullptr, nullptr};
            for (int64_t t = 0; t < a.k; ++t) {
                Planes& phase = plan.phases[t * a.d % a.s];
                if (!phase.v) phase = take_planes(op, arena, deep * p.run, has_second);
            }
        }
    } else {
        return plan;
    }
    plan.batch = batch_lines(p, lines, length, plan.at, arena);
    plan.copied |= plan.batch.count > 1;
    const int64_t room = (plan.batch.count - 1) * plan.batch.apart + length;
    if (plan.method == Method::log_step) plan.sums = take_planes(op, arena, room * plan.chunk, true);
    if (plan.copied) {
        plan.line = take_planes(op, arena, room * plan.chunk, has_second);
        fill_padding(op, plan.line, (plan.batch.count > 1 ? room : plan.at.before) * plan.chunk);
        fill_padding(op, p.ahead(plan.line, (length - plan.at.after) * plan.chunk), plan.at.after * plan.chunk);
    }
    return plan;
}

void run_line(const Line& p, const PassPlan& plan, Planes in, Planes out) {
    const RowKernels& op = *p.op;
    const Axis& a = *p.axis;
    switch (plan.method) {
        case Method::one_by_one: return windows_one_by_one(p, in, out, 0, p.count);
        case Method::in_a_row: {
            if (plan.split_clipped) {
                const int64_t first = window_start(a, p.j0 + p.interior.begin) - p.c0;
                windows_one_by_one(p, in, out, 0, p.interior.begin);
                windows_in_a_row(p, p.ahead(in, first * p.run), p.ahead(out, p.interior.begin * p.run),
                                 p.interior.end - p.interior.begin, nullptr, {});
                return windows_one_by_one(p, in, out, p.interior.end, p.count);
            }
            if (plan.copied) copy_line(op, plan.line, in, plan.at, p.in_stride, p.run);
            const Planes elements = plan.copied ? plan.line : p.ahead(in, plan.at.from * p.run);
            return windows_in_a_row(p, elements, out, p.count, plan.phases, plan.spare);
        }
        case Method::pixels: return windows_of_pixels(p, in, out, plan.line, plan.sums);
        case Method::log_step:
            for (int64_t i = 0; i < p.run; i += plan.chunk) {
                const int64_t run = min(plan.chunk, p.run - i);
                if (plan.copied && p.run % plan.chunk && (i == 0 || run < plan.chunk)) {
                    // The last chunk is shorter, so its padding is elsewhere; the next line starts with a full one.
                    fill_padding(op, plan.line, plan.at.before * run);
                    const int64_t end = plan.at.before + plan.at.middle;
                    fill_padding(op, p.ahead(plan.line, end * run), plan.at.after * run);
                }
                if (plan.copied) copy_line(op, plan.line, p.ahead(in, i), plan.at, p.in_stride, run);
                const Planes elements = plan.copied ? plan.line : p.ahead(in, plan.at.from * p.run);
                windows_by_log_step(p, elements, p.ahead(out, i), run, plan.sums, plan.spare);
            }
            return;
        case Method::van_herk: return op.van_herk(p, in.v, out.v, plan.line.v, plan.sums.v);
        case Method::pairwise: return windows_pairwise(p, in, out, plan.together, plan.line, plan.sums, plan.spare);
        case Method::transposed:
            windows_one_by_one(p, in, out, 0, plan.transposed.begin);
            windows_transposed(p, in, out, plan.transposed, plan.line.v);
            return windows_one_by_one(p, in, out, plan.transposed.end, p.count);
    }
}

}  // namespace

void run_pass(const RowKernels& op, const Axis& a, int q, int rank, const int64_t* extent, int64_t lanes, int64_t j0,
              int64_t count, int64_t c0, const View& in, const View& out, int64_t weight, Arena* arena) {
    if (count == 0 || lanes == 0) return;

    // Inner axes that are contiguous on both sides are merged with the lanes; all others are looped over.
    const LinePass pass{&a,    j0,           count,         c0,    extent[q], interior_windows(a, j0, count),
                        lanes, in.stride[q], out.stride[q], weight};
    Line p{pass, &op, nullptr, nullptr, {nullptr, nullptr}};
    int inner = rank;
    while (inner - 1 > q && in.stride[inner - 1] == p.run && out.stride[inner - 1] == p.run) p.run *= extent[--inner];
    // Lines that are contiguous in memory, whose windows do not extend into the next line, are merged into one.
    int before = q;
    Axis longer = a;
    const bool tiled = !a.starts && a.low == 0 && j0 == 0 && c0 == 0 && count == a.o && count * a.s == extent[q] &&
                       (a.k - 1) * a.d < a.s && in.stride[q] == p.run && out.stride[q] == p.run;
    for (int64_t from = extent[q] * p.run, to = count * p.run;
         tiled && before > 0 && in.stride[before - 1] == from && out.stride[before - 1] == to;) {
        const int64_t more = extent[--before];
        from *= more;
        to *= more;
        longer.n *= more;
        longer.o *= more;
        p.count *= more;
        p.elements *= more;
    }
    if (before < q) {
        p.axis = &longer;
        p.interior = {0, p.count};
    }
    int64_t lines = 1;
    for (int r = 0; r < inner; ++r)
        if (r < before || r > q) lines *= extent[r];
    if (lines == 0 || p.run == 0 || p.count == 0) return;

    const int64_t taps = taps_of(a, j0) > a.k ? taps_of(a, j0) : a.k;
    const PassPlan plan = plan_pass(p, lines, in.base.w != nullptr, arena);
    // Only real elements have row pointers, unless padding is copied with the line.
    const int64_t rows = 1 + (plan.method == Method::in_a_row ? taps : min(taps, max(extent[q], 1)));
    p.rows = take_bytes(arena, rows * static_cast<int64_t>(op.two_planes ? sizeof(Planes) : sizeof(char*)));

    if (op.summed && !op.two_planes && plan.method == Method::one_by_one && taps > kTall && p.run > 1) {
        const int64_t levels = 66 - __builtin_clzll(static_cast<uint64_t>(taps));
        p.tall = static_cast<char*>(take_bytes(arena, levels * kTallRun * op.width));
    }
    if (p.run == 1 && taps > kBlock) p.tops = take_planes(op, arena, taps / kBlock + 2, true);

    int64_t at[kMaxDims];
    for (int r = 0; r < inner; ++r) at[r] = 0;
    int64_t in_offset = 0, out_offset = 0;
    const auto next_line = [&] {
        for (int r = inner - 1; r >= 0; --r) {
            if (r >= before && r <= q) continue;
            in_offset += in.stride[r];
            out_offset += out.stride[r];
            if (++at[r] < extent[r]) break;
            in_offset -= at[r] * in.stride[r];
            out_offset -= at[r] * out.stride[r];
            at[r] = 0;
        }
    };
    if (plan.batch.count == 1) {
        for (int64_t line = 0, done = 0; line < lines; ++line, next_line()) {
            run_line(p, plan, p.ahead(in.base, in_offset), p.ahead(out.base, out_offset));
            count_done(done, p.elements * p.run);
        }
        return;
    }
    const int64_t width = op.width, step = plan.batch.apart * p.run * width, windows = p.count;
    const Planes first = p.ahead(plan.line, plan.at.before * p.run), source = p.ahead(in.base, plan.at.from * p.run);
    int64_t from[kBatchLines], to[kBatchLines], position[kBatchLines];
    for (int64_t i = 0; i < plan.batch.count; ++i) position[i] = i * step;
    for (int64_t line = 0, done = 0; line < lines;) {
        int64_t n = 0;
        for (; n < plan.batch.count && line < lines; ++n, ++line, next_line()) {
            from[n] = in_offset * width;
            to[n] = out_offset * width;
        }
        const int64_t elements = plan.at.middle * p.run * width, results = windows * p.run * width;
        op.copy_lines(first.v, position, source.v, from, n, elements);
        if (in.base.w) op.copy_lines(first.w, position, source.w, from, n, elements);
        p.count = (n - 1) * plan.batch.apart + windows;
        if (plan.method == Method::log_step)
            windows_by_log_step(p, plan.line, plan.batch.results, p.run, plan.sums, plan.spare);
        else
            windows_in_a_row(p, plan.line, plan.batch.results, p.count, nullptr, {});
        op.copy_lines(out.base.v, to, plan.batch.results.v, position, n, results);
        if (op.two_planes) op.copy_lines(out.base.w, to, plan.batch.results.w, position, n, results);
        count_done(done, n * p.elements * p.run);
    }
}

View run_passes(const RowKernels& op, const PoolSchedule& job, const PoolTile& tile, const View& first,
                const View* last, Arena* arena, bool outermost_first) {
    int64_t extent[kMaxDims];
    int passes = 0;
    for (int q = 0; q < job.rank; ++q) {
        extent[q] = tile.elements[q];
        passes += !is_identity(job.axis[q]);
    }
    View buffers[2];  // views are large: only the last one is copied
    const View* in = &first;
    for (int i = 0; i < job.rank; ++i) {
        const int q = outermost_first ? i : job.pass[i];
        if (is_identity(job.axis[q])) continue;
        const View* out = last;
        const int64_t before = extent[q];
        extent[q] = tile.count[q];
        if (--passes > 0 || !last) {
            View& buffer = buffers[passes % 2];
            buffer.base = take_planes(op, arena, contiguous_strides(job.rank, extent, tile.lanes, buffer.stride), true);
            out = &buffer;
        }
        extent[q] = before;
        run_pass(op, job.axis[q], q, job.rank, extent, tile.lanes, tile.j0[q], tile.count[q], tile.c0[q], *in, *out,
                 job.weight[q], arena);
        extent[q] = tile.count[q];
        in = out;
    }
    View result;
    result.base = in->base;
    for (int q = 0; q < job.rank; ++q) result.stride[q] = in->stride[q];
    return result;
}

}  // namespace cenote
