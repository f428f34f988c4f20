// Plans: the geometry of a call and what it computes, built once and cached on the Python side.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/buffer.hpp"
#include "bindings/trace.hpp"
#include "pool/schedule.hpp"

namespace cenote {

// The pooled axes of a window on an array of a given shape.
struct Axes {
    std::vector<int64_t> shape;  // of the array
    std::vector<Axis> axis;
    std::vector<int> position;
    std::vector<std::vector<int64_t>> lists;  // the bins of adaptive pooling

    explicit Axes(std::vector<int64_t> of) : shape(std::move(of)) {}
    Axes(const Axes& of) : shape(of.shape) {
        for (size_t i = 0; i < of.axis.size(); ++i) {
            const Axis& a = of.axis[i];
            const auto copy = [&a](const int64_t* list) {
                return list ? std::vector<int64_t>(list, list + a.o) : std::vector<int64_t>();
            };
            add(of.position[i], a.n, a.o, a.k, a.s, a.d, a.low, a.high, copy(a.starts), copy(a.lengths),
                a.spread_stride, a.spread_taps, a.spread_low);
        }
    }
    Axes& operator=(const Axes&) = delete;

    void add(int at, int64_t n, int64_t o, int64_t k, int64_t s, int64_t d, int64_t low, int64_t high,
             std::vector<int64_t> starts, std::vector<int64_t> lengths, int64_t spread_stride, int64_t spread_taps,
             int64_t spread_low) {
        Axis a{n, o, k, s, d, low, high, nullptr, nullptr, spread_stride, spread_taps, spread_low};
        if (!starts.empty()) {
            lists.push_back(std::move(starts));
            a.starts = lists.back().data();
            lists.push_back(std::move(lengths));
            a.lengths = lists.back().data();
        }
        axis.push_back(a);
        position.push_back(at);
    }
};

// Fills in the geometry of a call (x's memory, the pooled axes, results in C order) and returns the number of results.
template <class Array>
int64_t set_geometry(PoolProblem& r, const Axes& axes, const Array& x) {
    r.ndim = x.ndim();
    r.rank = static_cast<int>(axes.axis.size());
    if (r.ndim > kMaxDims) throw std::invalid_argument("too many axes");
    for (int i = 0; i < r.ndim; ++i) {
        r.shape[i] = x.shape(i);
        r.stride[i] = x.stride(i);
        r.order[i] = i;
    }
    for (int w = 0; w < r.rank; ++w) {
        r.axis[w] = axes.axis[w];
        r.position[w] = axes.position[w];
        if (r.position[w] < 0 || r.position[w] >= r.ndim || r.axis[w].n != r.shape[r.position[w]])
            throw std::invalid_argument("the geometry does not match the array");
    }
    int64_t size = 1;
    for (int i = 0; i < r.ndim; ++i) {
        int64_t n = r.shape[i];
        for (int w = 0; w < r.rank; ++w)
            if (r.position[w] == i) n = r.axis[w].o;
        size *= n;
    }
    r.x = static_cast<const char*>(x.data());
    return size;
}

// The same with the results in the memory order `order`: a sequence of axes, or None for C order.
inline int64_t set_geometry(PoolProblem& r, const Axes& axes, const Buffer& x, nanobind::handle order) {
    const int64_t size = set_geometry(r, axes, x);
    if (!order.is_none())
        for (int i = 0; i < r.ndim; ++i) r.order[i] = nanobind::cast<int>(order[i]);
    return size;
}
inline int64_t set_geometry(PoolProblem& r, const Axes& axes, const Buffer& x, const int* order) {
    const int64_t size = set_geometry(r, axes, x);
    if (order)
        for (int i = 0; i < r.ndim; ++i) r.order[i] = order[i];
    return size;
}

inline ArgmaxFormat argmax_format_of(int64_t itemsize) {
    switch (itemsize) {
        case 1: return ArgmaxFormat::offset8;
        case 2: return ArgmaxFormat::offset16;
        case 4: return ArgmaxFormat::offset32;
        default: return ArgmaxFormat::index;
    }
}

// Fills in the results of a call: dense arrays, `argmax` null unless it is asked for.
template <class Array>
void set_results(PoolProblem& r, int64_t size, int64_t itemsize, const Array& y, const Array* argmax) {
    if (itemsize != size_of(r.in) || y.bytes() != size * size_of(r.out))
        throw std::invalid_argument("the result does not match the geometry");
    r.y = static_cast<char*>(y.data());
    if (argmax) {
        const int64_t planes = r.reduce == Reduce::median ? 2 : 1;
        if (argmax->bytes() != planes * size * argmax->itemsize())
            throw std::invalid_argument("the argmax array does not match the geometry");
        r.argmax = argmax->data();
        r.argmax_format = argmax_format_of(argmax->itemsize());
    }
}

// Fills in a gather or a scatter-add: the elements, a value for each window, and the argmax offsets.
template <class Array>
void set_moves(PoolProblem& r, int64_t size, const Array& x, const Array& values, const Array& argmax) {
    if (x.itemsize() != values.itemsize() || values.bytes() != size * values.itemsize() ||
        argmax.bytes() != size * argmax.itemsize() || argmax.itemsize() > 4 || (x.itemsize() != 4 && x.itemsize() != 8))
        throw std::invalid_argument("elements, values and argmax offsets do not agree");
    r.in = r.work = r.out = x.itemsize() == 4 ? DType::f32 : DType::f64;
    r.reduce = Reduce::max;
    r.y = static_cast<char*>(values.data());
    r.argmax = argmax.data();
    r.argmax_format = argmax_format_of(argmax.itemsize());
}

// Everything about a call except its arrays.
struct PoolPlan {
    nanobind::object axes_object;  // keeps `axes` alive
    const Axes* axes;
    Operation operation;

    PoolPlan(nanobind::object geometry, DType in, DType work, DType out, bool swap, Reduce reduce, Prologue prologue,
             Epilogue epilogue, bool omit, bool include_pad, nanobind::handle pad_value, nanobind::handle divisor,
             double parameter)
        : axes_object(geometry), axes(nanobind::cast<const Axes*>(geometry)), operation{} {
        Operation& r = operation;
        r.in = in;
        r.work = work;
        r.out = out;
        r.swap = swap;
        r.reduce = reduce;
        r.prologue = prologue;
        r.epilogue = epilogue;
        r.omit = omit;
        r.include_pad = include_pad;
        r.physical_padding = !pad_value.is_none();
        if (r.physical_padding) r.pad_value = nanobind::cast<double>(pad_value);
        r.by_divisor = !divisor.is_none();
        if (r.by_divisor) r.divisor = nanobind::cast<double>(divisor);
        r.beta = r.power = parameter;
        r.convert = conversion_of(r);
    }

    template <class Order>  // as of set_geometry
    void run_on(const Buffer& x, const Buffer& y, const Buffer* argmax, Order order) const {
        PoolProblem r;
        static_cast<Operation&>(r) = operation;
        const int64_t size = set_geometry(r, *axes, x, order);
        set_results(r, size, x.itemsize(), y, argmax);
        call("pool", x.shape(), [&] { return algorithm_of(r); }, [&] { run(r); });
    }

    void run_with(nanobind::handle x, nanobind::handle y, nanobind::handle argmax, nanobind::handle order) const {
        const Buffer from(x, false), to(y, true);
        if (argmax.is_none()) return run_on(from, to, nullptr, order);
        const Buffer where(argmax, true);
        run_on(from, to, &where, order);
    }
};

}  // namespace cenote
