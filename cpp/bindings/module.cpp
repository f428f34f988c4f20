// The Python module: reads arrays through the buffer protocol, releases the GIL, runs the core.
//
// Arguments were checked on the Python side (arguments/, geometry/). Only what could make the core access memory out of
// bounds is checked again.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/buffer.hpp"
#include "bindings/conv_calls.hpp"
#include "bindings/enums.hpp"
#include "bindings/immutable.hpp"
#include "bindings/plans.hpp"
#include "bindings/trace.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/xla_call.hpp"
#include "conv/conv.hpp"
#include "pool/gather_scatter.hpp"
#include "pool/schedule.hpp"
#include "pool/weighted.hpp"
#include "runtime/buffer_cache.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace nb = nanobind;
using namespace cenote;

namespace {

// A cache from the arguments of a call to its plan, so that repeated calls on small arrays cost little more than the
// computation. The key is the arguments by value and type (2 is not 2.0) and the shape and dtype of the array.
class CallCache {
 public:
    explicit CallCache(nb::object array_type) : array_type_(array_type) {}

    void insert(nb::handle x, nb::object given, nb::object plan, nb::object out_shape, nb::object out_dtype) {
        if (Py_TYPE(x.ptr()) != reinterpret_cast<PyTypeObject*>(array_type_.ptr()) || !is_immutable(given.ptr()))
            return;
        Entry entry{given, nb::borrow(x.attr("dtype")), plan, nb::cast<const PoolPlan*>(plan), out_shape, out_dtype};
        const nb::ft_lock_guard lock(mutex_);
        // `entry` takes the oldest one along: freeing it may run other code, so that happens after the lock is
        // released.
        if (entries_.size() == kCapacity) {
            std::swap(entries_.front(), entry);
            std::rotate(entries_.begin(), entries_.begin() + 1, entries_.end());
        } else {
            entries_.push_back(std::move(entry));
        }
    }

    void clear() {
        std::vector<Entry> gone;  // destroyed after the lock is released
        const nb::ft_lock_guard lock(mutex_);
        std::swap(gone, entries_);
    }

    nb::object lookup(nb::handle x, nb::handle given) const {
        if (Py_TYPE(x.ptr()) != reinterpret_cast<PyTypeObject*>(array_type_.ptr())) return nb::none();
        for (size_t i = kCapacity;;) {
            // A copy: creating an array may run other code, which may insert into this cache.
            const Entry entry = find(given, i);
            if (!entry.plan) return nb::none();
            const Buffer from(x, false);
            int axes[kMaxDims];
            const int* order = nullptr;
            if (!fits(*entry.plan->axes, from, nullptr)) {
                order = memory_order(x, axes);
                if (!order || !fits(*entry.plan->axes, from, order)) continue;
            }
            if (x.attr("dtype").ptr() != entry.dtype.ptr()) continue;
            nb::object y = new_array_in(entry.out_shape, entry.out_dtype, order);
            entry.plan->run_on(from, Buffer(y, true), nullptr, order);
            return y;
        }
    }

 private:
    static constexpr size_t kCapacity = 16;
    struct Entry {
        nb::object given, dtype, plan_object;
        const PoolPlan* plan = nullptr;
        nb::object out_shape, out_dtype;
    };

    // The last entry before index `i` with the same arguments; `i` becomes its index. Comparing numbers and strings
    // runs no user code.
    Entry find(nb::handle given, size_t& i) const {
        const nb::ft_lock_guard lock(mutex_);
        if (i > entries_.size()) i = entries_.size();
        while (i-- > 0)
            if (is_same(entries_[i].given.ptr(), given.ptr())) return entries_[i];
        return {};
    }

    // Whether x has the shape of the geometry and is dense in memory with its axes in this order; null for C order.
    static bool fits(const Axes& axes, const Buffer& x, const int* order) {
        if (static_cast<size_t>(x.ndim()) != axes.shape.size()) return false;
        int64_t stride = x.itemsize();
        for (int i = x.ndim() - 1; i >= 0; --i) {
            const int at = order ? order[i] : i;
            const int64_t n = axes.shape[static_cast<size_t>(at)];
            if (x.shape(at) != n || (n > 1 && x.stride(at) != stride)) return false;
            stride *= n;
        }
        return true;
    }

    // The axes from the outermost in memory to the innermost, as memory_order of core/buffers.py; null if an axis is
    // reversed, broadcast or empty. Buffers do not tell the strides of axes of length 1.
    static const int* memory_order(nb::handle x, int* axes) {
        ArrayView view;
        if (!view_array(x, view) || view.ndim > kMaxDims) return nullptr;
        for (int i = 0; i < view.ndim; ++i) {
            if (view.strides[i] <= 0 || view.shape[i] == 0) return nullptr;
            int at = i;  // insertion keeps the order of equal strides
            for (; at > 0 && view.strides[axes[at - 1]] < view.strides[i]; --at) axes[at] = axes[at - 1];
            axes[at] = i;
        }
        return axes;
    }

    nb::object array_type_;
    mutable nb::ft_mutex mutex_;  // a no-op in builds with a GIL
    std::vector<Entry> entries_;
};

// Gather, y[window] = x[argmax], or with `backwards` scatter-add: x = 0, x[argmax] += y[window], for a dense x.
void move_selected(const Axes& axes, nb::handle x, nb::handle y, nb::handle argmax, nb::handle order, bool backwards) {
    PoolProblem r;
    static_cast<Operation&>(r) = Operation{};
    const Buffer elements(x, backwards), values(y, !backwards), where(argmax, false);
    set_moves(r, set_geometry(r, axes, elements, order), elements, values, where);
    if (backwards)
        call(
            "backward", elements.shape(), [&] { return scatter_algorithm(r, elements.bytes()); },
            [&] { scatter(r, elements.bytes()); });
    else
        call("forward", elements.shape(), [] { return "gather"; }, [&] { gather(r); });
}

// Whether an array is dense in the memory order of the problem.
bool is_dense(const PoolProblem& r, const Buffer& x) {
    int64_t stride = x.itemsize();
    for (int i = r.ndim - 1; i >= 0; --i) {
        if (r.shape[r.order[i]] > 1 && x.stride(r.order[i]) != stride) return false;
        stride *= r.shape[r.order[i]];
    }
    return true;
}

// Σ weight·t over each window; with `transposed` axes the transpose of that map, where t has one value per window.
void weigh(const Axes& axes, nb::handle transposed, bool exponential, double parameter, double q, bool odd,
           nb::handle pad_value, nb::handle x, nb::handle t, nb::handle out, DType x_type, DType t_type,
           nb::handle order) {
    WeightedProblem p{};
    Weights& w = p.weights;
    w.exponential = exponential;
    w.odd = odd;
    w.beta = w.p = parameter;
    w.q = q;
    w.pads = !pad_value.is_none();
    if (w.pads) w.pad_value = nb::cast<double>(pad_value);
    const Buffer elements(x, false), operand(t, false), result(out, true);
    const int64_t windows = set_geometry(p.windows, axes, elements, order);
    const bool spread = !transposed.is_none();
    const auto fits = [](DType type, const Buffer& array) {
        return type >= DType::f16 && type <= DType::f64 && array.itemsize() == size_of(type);
    };
    if (!fits(x_type, elements) || !fits(t_type, operand) || !fits(t_type, result) || !is_dense(p.windows, elements))
        throw std::invalid_argument("an array does not have its dtype's item size, or x is not dense");
    const int64_t size = elements.bytes() / elements.itemsize();
    if (operand.bytes() != (spread ? windows : size) * operand.itemsize() ||
        result.bytes() != (spread ? size : windows) * result.itemsize())
        throw std::invalid_argument("the arrays do not match the geometry");
    p.windows.in = x_type;
    p.t = static_cast<const char*>(operand.data());
    p.t_type = t_type;
    p.windows.y = static_cast<char*>(result.data());
    if (spread) {
        const auto& back = nb::cast<const Axes&>(transposed);
        if (back.axis.size() != axes.axis.size())
            throw std::invalid_argument("the transpose does not match the geometry");
        for (size_t i = 0; i < axes.axis.size(); ++i) {
            p.axis[i] = back.axis[i];
            if (back.position[i] != axes.position[i] || back.axis[i].n != axes.axis[i].o ||
                back.axis[i].o != axes.axis[i].n)
                throw std::invalid_argument("the transpose does not match the geometry");
        }
        p.out = p.windows.y;
    }
    call("weighted", elements.shape(), [&] { return weighted_algorithm(p); }, [&] { weighted(p); });
}

void put_values(nb::handle out, nb::handle values, nb::handle index, int64_t planes) {
    const Buffer to(out, true), from(values, false), at(index, false);
    const int64_t width = to.itemsize(), items = from.bytes() / width, elements = to.bytes() / width;
    if (planes <= 0 || from.itemsize() != width || at.bytes() != items * 8 || items % planes || elements % planes)
        throw std::invalid_argument("values, indices and result do not agree");
    const int64_t per_plane = items / planes, plane_size = elements / planes;
    call(
        "unpool", from.shape(), [] { return "scatter"; },
        [&] { put(to.data(), from.data(), at.data(), planes, per_plane, plane_size, width); });
}

}  // namespace

NB_MODULE(_core, m) {
    load_numpy();
    watch_interrupts();
    // A daemon thread still in a call at interpreter exit keeps the call's objects alive: not a leak to report to
    // users.
    nb::set_leak_warnings(false);
    define_enums(m);
    nb::class_<Axes>(m, "Axes")
        .def(nb::init<std::vector<int64_t>>(), nb::arg("shape"))
        .def("add", &Axes::add, nb::arg("position"), nb::arg("n"), nb::arg("o"), nb::arg("k"), nb::arg("s"),
             nb::arg("d"), nb::arg("low"), nb::arg("high"), nb::arg("starts"), nb::arg("lengths"),
             nb::arg("spread_stride"), nb::arg("spread_taps"), nb::arg("spread_low"));
    nb::class_<PoolPlan>(m, "PoolPlan")
        .def(nb::init<nb::object, DType, DType, DType, bool, Reduce, Prologue, Epilogue, bool, bool, nb::handle,
                      nb::handle, double>(),
             nb::arg("axes"), nb::arg("in_type"), nb::arg("work_type"), nb::arg("out_type"), nb::arg("swap"),
             nb::arg("reduce"), nb::arg("prologue"), nb::arg("epilogue"), nb::arg("omit"), nb::arg("include_pad"),
             nb::arg("pad_value").none(), nb::arg("divisor").none(), nb::arg("parameter"))
        .def("run", &PoolPlan::run_with, nb::arg("x"), nb::arg("y"), nb::arg("argmax").none(), nb::arg("order").none());
    nb::class_<CallCache>(m, "CallCache")
        .def(nb::init<nb::object>(), nb::arg("array_type"))
        .def("insert", &CallCache::insert, nb::arg("x"), nb::arg("given"), nb::arg("plan"), nb::arg("out_shape"),
             nb::arg("out_dtype"))
        .def("lookup", &CallCache::lookup, nb::arg("x").none(), nb::arg("given"))
        .def("clear", &CallCache::clear);
    m.def("move", &move_selected, nb::arg("axes"), nb::arg("x"), nb::arg("y"), nb::arg("argmax"),
          nb::arg("order").none(), nb::arg("backwards"));
    m.def("weighted", &weigh, nb::arg("axes"), nb::arg("transposed").none(), nb::arg("exponential"),
          nb::arg("parameter"), nb::arg("q"), nb::arg("odd"), nb::arg("pad_value").none(), nb::arg("x"), nb::arg("t"),
          nb::arg("out"), nb::arg("x_type"), nb::arg("t_type"), nb::arg("order").none());
    m.def("put", &put_values, nb::arg("out"), nb::arg("values"), nb::arg("index"), nb::arg("planes"));
    define_conv_calls(m);
    define_xla_call(m);
    m.def(
        "set_limits",
        [](int64_t bytes_per_tile, int64_t elements_per_thread, int64_t streaming_bytes) {
            set_limits(bytes_per_tile, elements_per_thread, streaming_bytes);
            set_conv_limits(bytes_per_tile, elements_per_thread);
        },
        nb::arg("bytes_per_tile"), nb::arg("elements_per_thread"), nb::arg("streaming_bytes"));
    m.def(
        "trace",
        [](nb::callable f) {
            std::vector<std::string> names;
            std::vector<std::string>* const before = std::exchange(traced_names, &names);
            try {
                f();
            } catch (...) {
                traced_names = before;
                throw;
            }
            traced_names = before;
            return names;
        },
        nb::arg("f"));
    m.def(
        "same", [](nb::handle a, nb::handle b) { return is_same(a.ptr(), b.ptr()); }, nb::arg("a").none(),
        nb::arg("b").none());
    m.def("set_verbose", [](bool on) { verbose.store(on); }, nb::arg("on"));
    m.def("set_fft", &set_fft, nb::arg("mode"));
    m.def("empty", &new_array, nb::arg("shape"), nb::arg("dtype"));
    m.def("cached_bytes", &cached_bytes);
    m.def("cache_limit", &cache_limit);
    m.def("set_cache_limit", &set_cache_limit, nb::arg("bytes"));
    m.def("num_threads", &num_threads);
    m.def("set_num_threads", &set_num_threads, nb::arg("n"));
    m.def("limit_threads", &limit_threads, nb::arg("n"));
    m.def("level", [] { return std::string(level_in_use().name); });
    m.def("use_level", &use_level, nb::arg("name"));
    m.def("levels", [] {
        std::vector<std::string> names;
        for (const Level& level : levels())
            if (level.supported()) names.emplace_back(level.name);
        return names;
    });
}
