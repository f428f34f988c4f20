#include "pool/schedule.hpp"

#include <cstring>
#include <memory>
#include <stdexcept>

#include "pool/registry.hpp"
#include "pool/tiling.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

// Removes taps that fall on padding in every window. A maximum does not depend on them, and without them offsets stay
// small however large the padding is. A sum keeps them, because their number determines its summation tree.
void drop_padding_taps(Axis& a) {
    if (a.starts || a.o == 0 || a.n == 0) return;
    const int64_t begin = max(0, ceil_div(a.low - (a.o - 1) * a.s, a.d));
    const int64_t end = min(a.k, floor_div(a.n - 1 + a.low, a.d) + 1);
    if (end <= begin) return;
    a.k = end - begin;
    a.low -= begin * a.d;
}

// Argmax offsets are kept in lanes as wide as the values: small types with large windows are widened.
DType wide_enough(DType work, int64_t elements) {
    const int64_t width = size_of(work);
    if (width == 8 || elements <= int64_t{1} << (8 * width - (width == 4))) return work;
    const bool huge = elements > int64_t{1} << 31;
    switch (work) {
        case DType::f32: return DType::f64;
        case DType::boolean: return DType::i64;
        case DType::i32:
        case DType::u32: return DType::i64;
        default: return huge ? DType::i64 : DType::i32;
    }
}

// Max and min of integers compare ordered keys (Operation::key), for which few types suffice: unsigned for 8 bits and
// signed for 64 bits, which AVX2 has instructions for. For an argmax, narrow integers are widened, because its offsets
// are kept in lanes as wide as the values.
void use_ordered_keys(PoolSchedule& job) {
    const int64_t width = size_of(job.work);
    DType canonical = job.work;
    if (width == 1) canonical = job.argmax ? DType::i32 : DType::u8;
    if (width == 2 && job.argmax) canonical = DType::i32;
    if (width == 4) canonical = DType::i32;
    if (width == 8) canonical = DType::i64;
    const bool same_width = size_of(canonical) == size_of(job.in) && job.in != DType::boolean;
    const auto is_signed = [](DType t) {
        return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64;
    };
    const uint64_t all = ~uint64_t{0} >> (64 - 8 * size_of(canonical));
    if (same_width && is_signed(job.in) != is_signed(canonical)) job.key = all / 2 + 1;
    if (job.reduce == Reduce::min) job.key ^= all;
    job.reduce = Reduce::max;
    job.work = canonical;
    if (same_width) job.in = job.out = canonical;
}

// Sums of small integers fit into a narrower type exactly, of which a vector holds more.
DType narrow_enough(DType in, DType work, int64_t elements) {
    if (work != DType::i64 && work != DType::f64) return work;
    switch (in) {
        case DType::boolean:
        case DType::i8:
        case DType::u8: return elements <= 128 ? DType::i16 : elements <= (1 << 23) ? DType::i32 : work;
        case DType::i16:
        case DType::u16: return elements <= (1 << 15) ? DType::i32 : work;
        default: return work;
    }
}

// The type of the ordered keys of medians and modes (order.hpp).
DType key_type(DType in) {
    switch (size_of(in)) {
        case 1: return DType::u8;
        case 2: return DType::u16;
        case 4: return DType::u32;
        default: return DType::u64;
    }
}

// With physical padding the padded array takes the place of the array.
void make_padding_real(Axis& a) {
    a.n += a.low + a.high;
    a.low = a.high = 0;
}

}  // namespace

Conversion conversion_of(const Operation& r) {
    if (is_order(r.reduce)) return Conversion::none;  // its kernels write any dtype
    const bool same_float = r.out == r.in && !is_integer(r.in);
    if (r.reduce != Reduce::sum)
        return r.prologue == Prologue::none || same_float || r.out == r.work ? Conversion::none : Conversion::rounded;
    if (r.prologue != Prologue::none)
        return same_float || r.out == DType::f32 || r.out == DType::f64 ? Conversion::none : Conversion::rounded;
    if (!is_integer(r.in)) return same_float || r.out == r.work ? Conversion::none : Conversion::rounded;
    if (r.epilogue == Epilogue::average) return r.out == DType::f64 ? Conversion::none : Conversion::exact;
    return r.out == (is_unsigned(r.in) ? DType::u64 : DType::i64) ? Conversion::none : Conversion::rounded;
}

bool make_schedule(const PoolProblem& r, PoolSchedule& job, int64_t& batch) {
    static_cast<Operation&>(job) = r;
    job.scatters = false;
    job.planar = true;
    job.key = 0;

    // The window axis of each array axis, and the strides of the result, which is dense in the given order.
    int window_axis[kMaxDims];
    for (int i = 0; i < r.ndim; ++i) window_axis[i] = -1;
    for (int w = 0; w < r.rank; ++w) window_axis[r.position[w]] = w;
    int64_t y_stride[kMaxDims], size = 1;
    for (int i = r.ndim - 1; i >= 0; --i) {
        const int dim = r.order[i];
        y_stride[dim] = size;
        size *= window_axis[dim] < 0 ? r.shape[dim] : r.axis[window_axis[dim]].o;
    }
    if (size == 0) return false;
    job.results = size;
    int64_t elements = 1;
    for (int i = 0; i < r.ndim; ++i) elements *= r.shape[i];
    job.streaming = pays_to_stream(elements * size_of(job.in), size * size_of(job.out));

    // Trailing axes that are not pooled become lanes, as far as they are contiguous with each other in x.
    int dims = r.ndim;
    job.lanes = 1;
    job.lane_stride = 0;
    while (dims > 0 && window_axis[r.order[dims - 1]] < 0) {
        const int dim = r.order[dims - 1];
        if (r.shape[dim] != 1) {
            if (job.lanes == 1)
                job.lane_stride = r.stride[dim];
            else if (r.stride[dim] != job.lane_stride * job.lanes)
                break;
            job.lanes *= r.shape[dim];
        }
        --dims;
    }

    int position_of[kMaxDims];  // window axis → position in memory order
    job.rank = job.outer = 0;
    batch = 1;
    for (int i = 0; i < dims; ++i) {
        const int dim = r.order[i], w = window_axis[dim];
        if (w < 0) {
            if (r.shape[dim] == 1) continue;
            batch *= r.shape[dim];
            job.planar &= job.rank == 0;
            const int last = job.outer - 1;
            const bool joins = i > 0 && window_axis[r.order[i - 1]] < 0 && last >= 0 &&
                               job.outer_x[last] == r.stride[dim] * r.shape[dim] &&
                               job.outer_y[last] == y_stride[dim] * r.shape[dim];
            if (joins) {
                job.outer_size[last] *= r.shape[dim];
                job.outer_x[last] = r.stride[dim];
                job.outer_y[last] = y_stride[dim];
                continue;
            }
            job.outer_size[job.outer] = r.shape[dim];
            job.outer_x[job.outer] = r.stride[dim];
            job.outer_y[job.outer++] = y_stride[dim];
            continue;
        }
        Axis a = r.axis[w];
        job.pad_low[job.rank] = r.physical_padding ? a.low : 0;
        job.real_n[job.rank] = a.n;
        if (r.physical_padding) make_padding_real(a);
        if (r.reduce != Reduce::sum) drop_padding_taps(a);
        job.axis[job.rank] = a;
        job.x_stride[job.rank] = r.stride[dim];
        job.y_stride[job.rank] = y_stride[dim];
        position_of[w] = job.rank++;
    }

    // A sum reduces the first window axis first, a maximum the last one: that finds the first of equal elements in
    // row-major order.
    int64_t weight = 1, plane = 1;
    for (int w = r.rank - 1; w >= 0; --w) {
        const int q = position_of[w];
        job.pass[r.reduce == Reduce::sum ? w : r.rank - 1 - w] = q;
        job.weight[q] = weight;
        job.plane[q] = plane;
        weight *= job.axis[q].k;
        plane *= r.axis[w].n;
    }

    job.window_elements = weight;
    const bool order = is_order(job.reduce);
    if (order) job.work = key_type(job.in);
    if (job.argmax && !order) job.work = wide_enough(job.work, weight);
    if (job.reduce != Reduce::sum && !order && is_integer(job.in) && job.prologue == Prologue::none)
        use_ordered_keys(job);
    if (job.reduce == Reduce::sum && job.prologue == Prologue::none) job.work = narrow_enough(job.in, job.work, weight);

    // float16 and bfloat16 compare as ordered int16 keys; an argmax uses float32, whose lanes have room for its offset.
    const bool half = job.in == DType::f16 || job.in == DType::bf16;
    if (half && job.out == job.in && job.reduce != Reduce::sum && !order && job.prologue == Prologue::none &&
        !job.argmax)
        job.work = DType::i16;

    const int64_t width = size_of(job.in);
    job.direct = job.in == job.work && !order && !job.key && !job.swap && job.prologue == Prologue::none &&
                 reinterpret_cast<uintptr_t>(job.x) % width == 0 &&
                 (job.lanes > 1 ? job.lane_stride : job.x_stride[job.rank - 1]) == width;
    for (int q = 0; q < job.rank; ++q) job.direct &= job.x_stride[q] % width == 0;
    for (int i = 0; i < job.outer; ++i) job.direct &= job.outer_x[i] % width == 0;
    return true;
}

namespace {

// The number of elements that all windows together cover, at least one per window. A median or a mode looks at each of
// them once per window.
int64_t work_of(const PoolSchedule& job, int64_t batch) {
    const bool order = is_order(job.reduce);
    int64_t elements = batch * job.lanes;
    for (int q = 0; q < job.rank; ++q) {
        const Axis& a = job.axis[q];
        const int64_t seen = a.o * min(a.k, a.n);
        elements *= max(a.o, order ? seen : min(a.n, seen));
        if (elements > (int64_t{1} << 50)) break;
    }
    return elements;
}

// One axis is pooled first by all threads, and the others after it, in the order of a tile's passes, so that the result
// is the same.
void run_in_two_steps(const PoolProblem& r) {
    int64_t window = 1;
    for (int w = 0; w < r.rank; ++w) window *= r.axis[w].k;
    PoolProblem one = r, rest = r;
    const int first = r.reduce == Reduce::sum ? 0 : r.rank - 1;
    one.rank = 1;
    one.axis[0] = r.axis[first];
    one.position[0] = r.position[first];
    // Max and min of float16 and bfloat16 stay in their dtype, whose keys are ordered; only sums need the work dtype.
    const bool half = r.in == DType::f16 || r.in == DType::bf16;
    one.out = half && r.reduce != Reduce::sum ? r.in : r.work;
    if (r.convert != Conversion::none && is_unsigned(r.in) && one.out == DType::i64) one.out = DType::u64;
    one.convert = Conversion::none;
    if (r.reduce == Reduce::sum) one.epilogue = Epilogue::sum;
    rest.rank = 0;
    for (int w = 0; w < r.rank; ++w) {
        if (w == first) continue;
        rest.axis[rest.rank] = r.axis[w];
        rest.position[rest.rank++] = r.position[w];
    }
    rest.in = one.out;
    rest.swap = false;
    if (r.epilogue == Epilogue::average && !r.by_divisor) {
        rest.by_divisor = true;
        rest.divisor = static_cast<double>(window);
    }
    rest.shape[r.position[first]] = r.axis[first].o;
    int64_t bytes = size_of(one.out);
    for (int i = r.ndim - 1; i >= 0; --i) {
        rest.stride[r.order[i]] = bytes;
        bytes *= rest.shape[r.order[i]];
    }
    const std::unique_ptr<char[]> intermediate(new char[static_cast<size_t>(bytes)]);
    one.y = intermediate.get();
    rest.x = intermediate.get();
    run(one);
    run(rest);
}

}  // namespace

void run_tasks(const PoolSchedule& job, TaskFn kernel, int threads) {
    struct Context {
        const PoolSchedule& job;
        TaskFn kernel;
    } const context{job, kernel};
    parallel_for(
        job.tasks, threads,
        [](const void* with, int64_t task, Arena* arena) {
            const Context& c = *static_cast<const Context*>(with);
            c.kernel(c.job, task, arena);
        },
        &context);
}

namespace {

// False if the result is empty.
bool schedule(const PoolProblem& r, PoolSchedule& job, Workload& work) {
    if (!make_schedule(r, job, work.batch)) return false;
    work.elements = work_of(job, work.batch);
    work.threads = threads_for(work.elements);
    return true;
}

}  // namespace

void run(const PoolProblem& r) {
    PoolSchedule job;
    Workload work;
    if (!schedule(r, job, work)) return;
    const TaskFn kernel = choose_algorithm(r, job, work).kernel;
    if (!kernel) return run_in_two_steps(r);
    run_tasks(job, kernel, work.threads);
}

const char* algorithm_of(const PoolProblem& r) {
    PoolSchedule job;
    Workload work;
    return schedule(r, job, work) ? choose_algorithm(r, job, work).name : "empty";
}

}  // namespace cenote
