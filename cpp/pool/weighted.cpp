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

int64_t elements_of(const PoolProblem& p) {
    int64_t n = 1;
    for (int i = 0; i < p.ndim; ++i) n *= p.shape[i];
    return n;
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

// All of a job that does not need memory. False if there are no windows.
bool make_job(const WeightedProblem& p, WeightedJob& job, int64_t& batch) {
    job.rows = level_in_use().pool.weighted;
    job.t = p.t;
    job.t_type = p.t_type;
    job.out = p.out;
    PoolProblem r = p.windows;
    r.work = DType::f64;
    r.reduce = Reduce::sum;
    r.prologue = p.weights.exponential ? Prologue::exponential : Prologue::power;
    r.epilogue = p.weights.exponential ? Epilogue::logarithm : Epilogue::root;
    r.physical_padding = false;
    r.out = p.out ? DType::f64 : p.t_type;
    if (!make_schedule(r, job.windows, batch)) return false;
    job.factors = job.rows->factors_of(p.weights, job.windows.window_elements);
    return true;
}

// The transpose in two stages, through one double per window.
void spread_in_stages(const WeightedProblem& p, WeightedJob& job, int threads) {
    const Doubles scaled = take_doubles(job.windows.results);
    job.windows.y = reinterpret_cast<char*>(scaled.get());
    if (!*job.shifted) run_stage(job, &weighted_windows_tile, job.windows.tasks, threads);
    Doubles pivot, rest;
    if (*job.shifted) {
        pivot = take_doubles(job.windows.results);
        rest = take_doubles(job.windows.results);
        job.pivot = pivot.get();
        job.rest = rest.get();
        run_stage(job, &weighted_windows_tile, job.windows.tasks, threads);
    }
    int64_t batch;
    if (!make_schedule(transposed(p, scaled.get()), job.elements, batch)) return;
    threads = divide_into_tasks(job.elements, batch);
    run_stage(job, &weighted_elements_tile, job.elements.tasks, threads);
}

}  // namespace

void weighted(const WeightedProblem& p) {
    const auto owner = std::make_unique<WeightedJob>();
    WeightedJob& job = *owner;
    int64_t batch;
    if (!make_job(p, job, batch)) return;
    const int threads = divide_into_tasks(job.windows, batch);
    if (!p.out) return run_stage(job, &weighted_sum_tile, job.windows.tasks, threads);
    int shifted = 0;
    job.shifted = &shifted;
    if (suits_disjoint(job)) {
        const int64_t elements = elements_of(p.windows);
        job.streaming = pays_to_stream(elements * size_of(p.windows.in), elements * size_of(p.t_type));
        run_stage(job, &weighted_disjoint_tile, job.windows.tasks, threads);
        if (!shifted) return;
    }
    spread_in_stages(p, job, threads);
}

const char* weighted_algorithm(const WeightedProblem& p) {
    if (!p.out) return "weighted_sum";
    const auto job = std::make_unique<WeightedJob>();
    int64_t batch;
    return make_job(p, *job, batch) && suits_disjoint(*job) ? "weighted_disjoint" : "weighted_spread";
}

}  // namespace cenote
