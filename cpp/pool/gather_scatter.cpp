#include "pool/gather_scatter.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "pool/registry.hpp"
#include "pool/tiling.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

struct GatherContext {
    const PoolSchedule& job;
    std::vector<int64_t> along;     // byte offset of each window of a row
    std::vector<int64_t> distance;  // byte offset of each tap in its window; only for small windows
};

int64_t decode(const PoolSchedule& job, int64_t offset) {
    int64_t bytes = 0;
    for (int q = 0; q < job.rank; ++q)
        bytes += offset / job.weight[q] % job.axis[q].k * job.axis[q].d * job.x_stride[q];
    return bytes;
}

// A row of windows: along the innermost axis, or the lanes of one window.
template <class T, class O>
void gather_row(const void* context, int64_t task, Arena*) {
    const GatherContext& g = *static_cast<const GatherContext*>(context);
    const PoolSchedule& job = g.job;
    const char* x = job.x;
    int64_t y = 0;
    for (int q = (job.lanes > 1 ? job.rank : job.rank - 1) - 1; q >= 0; --q) {
        const int64_t j = task % job.axis[q].o;
        x += window_start(job.axis[q], j) * job.x_stride[q];
        y += j * job.y_stride[q];
        task /= job.axis[q].o;
    }
    for (int i = job.outer - 1; i >= 0; --i) {
        x += task % job.outer_size[i] * job.outer_x[i];
        y += task % job.outer_size[i] * job.outer_y[i];
        task /= job.outer_size[i];
    }
    T* values = reinterpret_cast<T*>(job.y) + y;
    const O* argmax = static_cast<const O*>(job.argmax) + y;
    const size_t n = g.along.size();
    for (size_t i = 0; i < n; ++i) {
        if (argmax[i] == static_cast<O>(~O{0})) {
            values[i] = T{0};
            continue;
        }
        const int64_t offset = static_cast<int64_t>(argmax[i]);
        const int64_t bytes = g.distance.empty() ? decode(job, offset) : g.distance[static_cast<size_t>(offset)];
        std::memcpy(values + i, x + g.along[i] + bytes, sizeof(T));
    }
}

template <class T>
Body gatherer(ArgmaxFormat argmax_format) {
    switch (argmax_format) {
        case ArgmaxFormat::offset8: return &gather_row<T, uint8_t>;
        case ArgmaxFormat::offset16: return &gather_row<T, uint16_t>;
        default: return &gather_row<T, uint32_t>;
    }
}

// Whether the pooled axes and the lanes are contiguous in memory.
bool is_contiguous(const PoolSchedule& job) {
    int64_t size = size_of(job.work);
    if (job.lanes > 1) {
        if (job.lane_stride != size) return false;
        size *= job.lanes;
    }
    for (int q = job.rank - 1; q >= 0; --q) {
        if (job.x_stride[q] != size) return false;
        size *= job.axis[q].n;
    }
    return true;
}

}  // namespace

void gather(const PoolProblem& problem) {
    PoolSchedule job;
    int64_t batch;
    if (!make_schedule(problem, job, batch)) return;
    GatherContext g{job, {}, {}};
    const int last = job.rank - 1;
    const bool lanes = job.lanes > 1;
    g.along.resize(static_cast<size_t>(lanes ? job.lanes : job.axis[last].o));
    for (size_t i = 0; i < g.along.size(); ++i) {
        const auto j = static_cast<int64_t>(i);
        g.along[i] = lanes ? j * job.lane_stride : window_start(job.axis[last], j) * job.x_stride[last];
    }
    if (job.window_elements <= 4096) {
        g.distance.resize(static_cast<size_t>(job.window_elements));
        for (int64_t i = 0; i < job.window_elements; ++i) g.distance[static_cast<size_t>(i)] = decode(job, i);
    }
    int64_t rows = batch;
    for (int q = 0; q < (lanes ? job.rank : last); ++q) rows *= job.axis[q].o;
    parallel_for(rows, threads_for(rows * static_cast<int64_t>(g.along.size())),
                 job.work == DType::f32 ? gatherer<float>(job.argmax_format) : gatherer<double>(job.argmax_format), &g);
}

namespace {

// The schedule of a backward pass; false if there are no windows.
bool make_backward_schedule(const PoolProblem& problem, int64_t bytes, PoolSchedule& job, Workload& work) {
    if (!make_schedule(problem, job, work.batch)) return false;
    job.scatters = true;
    job.streaming = pays_to_stream(0, bytes);
    job.direct = is_contiguous(job);
    work.elements = bytes / size_of(job.work);
    work.threads = threads_for(work.elements);
    return true;
}

}  // namespace

void scatter(const PoolProblem& problem, int64_t bytes) {
    PoolSchedule job;
    Workload work;
    char* x = const_cast<char*>(problem.x);
    const bool windows = make_backward_schedule(problem, bytes, job, work);
    int64_t done = 0;
    if (!windows || !job.direct) zero_bytes(x, bytes, done);
    if (!windows) return;
    const TaskFn kernel = choose_algorithm(problem, job, work).kernel;
    run_tasks(job, kernel, work.threads);
}

const char* scatter_algorithm(const PoolProblem& problem, int64_t bytes) {
    PoolSchedule job;
    Workload work;
    return make_backward_schedule(problem, bytes, job, work) ? choose_algorithm(problem, job, work).name : "empty";
}

namespace {

constexpr int64_t kPutChunk = int64_t{1} << 20;

struct Put {
    char* out;
    const char* values;
    const char* index;  // int64, not necessarily aligned
    int64_t per_plane, plane_size;
};

// Each index is read once, where it is checked and used: another thread may be writing to the array.
template <int64_t Width>
void put_items(char* out, const char* values, const char* index, int64_t n, int64_t elements) {
    for (int64_t i = 0; i < n; ++i) {
        int64_t at;
        std::memcpy(&at, index + i * 8, 8);
        if (at < 0 || at >= elements) {
            if (at == -1) continue;
            throw std::invalid_argument("an index is outside of the result");
        }
        std::memcpy(out + at * Width, values + i * Width, Width);
    }
}

template <int64_t Width>
void put_plane(const void* context, int64_t plane, Arena*) {
    const Put& p = *static_cast<const Put*>(context);
    char* to = p.out + plane * p.plane_size * Width;
    for (int64_t done = 0; done < p.per_plane; done += kPutChunk) {
        if (done) checkpoint();
        const int64_t from = plane * p.per_plane + done;
        put_items<Width>(to, p.values + from * Width, p.index + from * 8, min(kPutChunk, p.per_plane - done),
                         p.plane_size);
    }
}

Body putter(int64_t width) {
    switch (width) {
        case 1: return &put_plane<1>;
        case 2: return &put_plane<2>;
        case 4: return &put_plane<4>;
        case 8: return &put_plane<8>;
        case 16: return &put_plane<16>;
        default: throw std::invalid_argument("items of this size cannot be put");
    }
}

}  // namespace

void put(void* out, const void* values, const void* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width) {
    const Put all{static_cast<char*>(out), static_cast<const char*>(values), static_cast<const char*>(index), per_plane,
                  plane_size};
    parallel_for(planes, threads_for(planes * per_plane), putter(width), &all);
}

}  // namespace cenote
