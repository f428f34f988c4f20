#include "move.hpp"

#include <cstring>
#include <vector>

#include "parallel.hpp"

namespace cenote {

namespace {

struct Moving {
    const Job& job;
    Move direction;
    std::vector<int64_t> distance;  // of each offset from the window's first cell, in bytes of x; small windows only
};

int64_t decode(const Job& job, int64_t offset) {
    int64_t bytes = 0;
    for (int q = 0; q < job.rank; ++q)
        bytes += offset / job.weight[q] % job.axis[q].k * job.axis[q].d * job.x_stride[q];
    return bytes;
}

// One repetition: all windows over one position of the outer axes. Only one task touches its cells, so that they
// can be added to in order.
template <class T, class O>
void move_plane(const Moving& m, int64_t task) {
    const Job& job = m.job;
    char* x = const_cast<char*>(job.x);
    int64_t y = 0;
    for (int i = job.outer - 1; i >= 0; --i) {
        x += task % job.outer_size[i] * job.outer_x[i];
        y += task % job.outer_size[i] * job.outer_y[i];
        task /= job.outer_size[i];
    }
    const bool lanes = job.lanes > 1;
    const int depth = lanes ? job.rank : job.rank - 1, last = job.rank - 1;
    const int64_t n = lanes ? job.lanes : job.axis[last].o;
    T* values = reinterpret_cast<T*>(job.y);
    const O* winners = static_cast<const O*>(job.winners);
    const int64_t known = static_cast<int64_t>(m.distance.size());

    int64_t at[kMaxDims] = {};
    for (;;) {
        char* row = x;
        int64_t out = y;
        for (int q = 0; q < depth; ++q) {
            row += first_cell(job.axis[q], at[q]) * job.x_stride[q];
            out += at[q] * job.y_stride[q];
        }
        for (int64_t i = 0; i < n; ++i) {
            const O offset = winners[out + i];
            char* cell = row + (lanes ? i * job.lane_stride : first_cell(job.axis[last], i) * job.x_stride[last]);
            if (offset == static_cast<O>(~O{0})) {
                if (m.direction == Move::gather) values[out + i] = T{0};
                continue;
            }
            const int64_t o = static_cast<int64_t>(offset);
            cell += o < known ? m.distance[static_cast<size_t>(o)] : decode(job, o);
            if (m.direction == Move::gather) {
                std::memcpy(values + out + i, cell, sizeof(T));
            } else {
                *reinterpret_cast<T*>(cell) += values[out + i];
            }
        }
        int q = depth - 1;
        for (; q >= 0; --q) {
            if (++at[q] < job.axis[q].o) break;
            at[q] = 0;
        }
        if (q < 0) return;
    }
}

template <class T>
void move_planes(const Moving& m, int64_t planes, int threads) {
    const auto each = [](auto run) {
        return [](const void* context, int64_t task, Arena*) {
            decltype(run)::call(*static_cast<const Moving*>(context), task);
        };
    };
    struct Small {
        static void call(const Moving& m, int64_t task) { move_plane<T, uint8_t>(m, task); }
    };
    struct Middle {
        static void call(const Moving& m, int64_t task) { move_plane<T, uint16_t>(m, task); }
    };
    struct Large {
        static void call(const Moving& m, int64_t task) { move_plane<T, uint32_t>(m, task); }
    };
    switch (m.job.report) {
        case Report::offset8: return parallel_for(planes, threads, each(Small{}), &m);
        case Report::offset16: return parallel_for(planes, threads, each(Middle{}), &m);
        default: return parallel_for(planes, threads, each(Large{}), &m);
    }
}

}  // namespace

void move(const Request& request, Move direction) {
    Job job;
    int64_t batch;
    if (!lay_out(request, job, batch)) return;
    Moving m{job, direction, {}};
    if (job.window_cells <= 4096) {
        m.distance.resize(static_cast<size_t>(job.window_cells));
        for (int64_t i = 0; i < job.window_cells; ++i) m.distance[static_cast<size_t>(i)] = decode(job, i);
    }
    int64_t windows = batch * job.lanes;
    for (int q = 0; q < job.rank; ++q) windows *= job.axis[q].o;
    if (request.work == DType::f32)
        move_planes<float>(m, batch, threads_for(windows));
    else
        move_planes<double>(m, batch, threads_for(windows));
}

namespace {

template <int64_t Width>
void put_items(char* out, const char* values, const int64_t* index, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
        if (index[i] >= 0) std::memcpy(out + index[i] * Width, values + i * Width, Width);
}

struct Put {
    char* out;
    const char* values;
    const int64_t* index;
    int64_t per_plane, plane_size, width;
};

}  // namespace

void put(void* out, const void* values, const int64_t* index, int64_t planes, int64_t per_plane, int64_t plane_size,
         int64_t width) {
    const Put all{static_cast<char*>(out), static_cast<const char*>(values), index, per_plane, plane_size, width};
    const auto one_plane = [](const void* context, int64_t plane, Arena*) {
        const Put& p = *static_cast<const Put*>(context);
        char* to = p.out + plane * p.plane_size * p.width;
        const char* from = p.values + plane * p.per_plane * p.width;
        const int64_t* at = p.index + plane * p.per_plane;
        switch (p.width) {
            case 1: return put_items<1>(to, from, at, p.per_plane);
            case 2: return put_items<2>(to, from, at, p.per_plane);
            case 4: return put_items<4>(to, from, at, p.per_plane);
            case 8: return put_items<8>(to, from, at, p.per_plane);
            default: return put_items<16>(to, from, at, p.per_plane);
        }
    };
    parallel_for(planes, threads_for(planes * per_plane), one_plane, &all);
}

}  // namespace cenote
