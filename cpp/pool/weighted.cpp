#include "pool/weighted.hpp"

#include <memory>
#include <new>

#include "pool/tiling.hpp"
#include "runtime/buffer_cache.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

struct ReturnBuffer {
    void operator()(double* data) const { return_buffer(data); }
};
using Doubles = std::unique_ptr<double, ReturnBuffer>;

Doubles take_doubles(int64_t n) {
    auto* data = static_cast<double*>(take_buffer(static_cast<size_t>(n) * sizeof(double)));
    if (!data) throw std::bad_alloc();
    return Doubles(data);
}

// The number of elements or results, whichever is larger.
int64_t work_of(const PoolSchedule& job, int64_t batch) {
    int64_t elements = batch * job.lanes;
    for (int q = 0; q < job.rank; ++q) elements *= max(job.axis[q].o, job.axis[q].n);
    return elements;
}

int divide_into_tasks(PoolSchedule& job, int64_t batch) {
    const int64_t elements = work_of(job, batch);
    Workload work{batch, elements, threads_for(elements)};
    divide_into_planes(job, work);
    return work.threads;
}

using WeightedTask = void (*)(const WeightedJob&, int64_t task, Arena* arena);

struct Stage {
    const WeightedJob& job;
    WeightedTask task;
};

void run_stage(const WeightedJob& job, WeightedTask task, int64_t tasks, int threads) {
    const Stage stage{job, task};
    parallel_for(
        tasks, threads,
        [](const void* context, int64_t i, Arena* arena) {
            const Stage& stage = *static_cast<const Stage*>(context);
            stage.task(stage.job, i, arena);
        },
        &stage);
}

// The transposed problem: from one double per window, dense in the order of x, to one result per element.
PoolProblem transposed(const WeightedProblem& p, const double* x) {
    PoolProblem r = p.windows;
    r.x = reinterpret_cast<const char*>(x);
    r.y = p.out;
    r.in = DType::f64;
    r.out = p.t_type;
    r.prologue = Prologue::none;
    r.epilogue = Epilogue::sum;
    for (int w = 0; w < r.rank; ++w) {
        r.axis[w] = p.axis[w];
        r.shape[r.position[w]] = p.axis[w].n;
    }
    int64_t bytes = sizeof(double);
    for (int i = r.ndim - 1; i >= 0; --i) {
        r.stride[r.order[i]] = bytes;
        bytes *= r.shape[r.order[i]];
    }
    return r;
}

}  // namespace

void weighted(const WeightedProblem& p) {
    const auto owner = std::make_unique<WeightedJob>();
    WeightedJob& job = *owner;
    job.rows = level_in_use().pool.weighted;
    job.t = p.t;
    job.t_type = p.t_type;
    PoolProblem r = p.windows;
    r.work = DType::f64;
    r.reduce = Reduce::sum;
    r.prologue = p.weights.exponential ? Prologue::exponential : Prologue::power;
    r.epilogue = p.weights.exponential ? Epilogue::logarithm : Epilogue::root;
    r.physical_padding = false;
    r.out = p.out ? DType::f64 : p.t_type;
    int64_t count = 1;  // windows
    for (int i = 0; i < r.ndim; ++i) {
        int64_t n = r.shape[i];
        for (int w = 0; w < r.rank; ++w)
            if (r.position[w] == i) n = r.axis[w].o;
        count *= n;
    }
    int64_t batch;
    Doubles scaled, pivot, rest;
    if (p.out) {
        scaled = take_doubles(count);
        r.y = reinterpret_cast<char*>(scaled.get());
    }
    if (!make_schedule(r, job.windows, batch)) return;
    int threads = divide_into_tasks(job.windows, batch);
    job.factors = job.rows->factors_of(p.weights, job.windows.window_elements);
    if (!p.out) return run_stage(job, &weighted_sum_tile, job.windows.tasks, threads);
    int shifted = 0;
    job.shifted = &shifted;
    run_stage(job, &weighted_windows_tile, job.windows.tasks, threads);
    if (shifted) {
        pivot = take_doubles(count);
        rest = take_doubles(count);
        job.pivot = pivot.get();
        job.rest = rest.get();
        run_stage(job, &weighted_windows_tile, job.windows.tasks, threads);
    }
    if (!make_schedule(transposed(p, scaled.get()), job.elements, batch)) return;
    threads = divide_into_tasks(job.elements, batch);
    run_stage(job, &weighted_elements_tile, job.elements.tasks, threads);
}

}  // namespace cenote
