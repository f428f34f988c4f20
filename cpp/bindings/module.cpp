// The module as Python sees it: read arrays through the buffer protocol, release the GIL, run.
//
// Arguments come checked from the Python side (window.py, arrays.py); what is checked here again is only what
// would otherwise read or write memory that is not ours.

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
#include "bindings/immutable.hpp"
#include "bindings/trace.hpp"
#include "bindings/unlocked.hpp"
#include "conv/conv.hpp"
#include "pool/gather_scatter.hpp"
#include "pool/schedule.hpp"
#include "runtime/buffer_cache.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace nb = nanobind;
using namespace cenote;

namespace {

// The pooled axes of a window laid on a shape: made once per geometry and kept on the Python side.
struct Axes {
    std::vector<int64_t> shape;  // of the array
    std::vector<Axis> axis;
    std::vector<int> position;
    std::vector<std::vector<int64_t>> lists;  // the bins of adaptive pooling

    explicit Axes(std::vector<int64_t> of) : shape(std::move(of)) {}

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

// The geometry of a call: x's memory, the axes laid on it, the memory order of the results. How many results.
int64_t lay(PoolProblem& r, const Axes& axes, const Buffer& x, nb::handle order) {
    r.ndim = x.ndim();
    r.rank = static_cast<int>(axes.axis.size());
    if (r.ndim > kMaxDims) throw std::invalid_argument("too many axes");
    for (int i = 0; i < r.ndim; ++i) {
        r.shape[i] = x.shape(i);
        r.stride[i] = x.stride(i);
        r.order[i] = order.is_none() ? i : nb::cast<int>(order[i]);
    }
    for (int w = 0; w < r.rank; ++w) {
        r.axis[w] = axes.axis[w];
        r.position[w] = axes.position[w];
        if (r.position[w] < 0 || r.position[w] >= r.ndim || r.axis[w].n != r.shape[r.position[w]])
            throw std::invalid_argument("the geometry is not this array's");
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

ArgmaxFormat argmax_format_of(int64_t itemsize) {
    switch (itemsize) {
        case 1: return ArgmaxFormat::offset8;
        case 2: return ArgmaxFormat::offset16;
        case 4: return ArgmaxFormat::offset32;
        default: return ArgmaxFormat::index;
    }
}

// All of a call but the arrays: made once for a geometry, a dtype and the options, and kept on the Python side.
struct PoolPlan {
    nb::object held;  // `axes` lives as long as this
    const Axes* axes;
    Operation operation;

    PoolPlan(nb::object laid, int in, int work, int out, bool swap, int reduce, int prepare, int finish, bool omit,
             bool include_pad, nb::handle pad_value, nb::handle divisor, double parameter)
        : held(laid), axes(nb::cast<const Axes*>(laid)), operation{} {
        Operation& r = operation;
        r.in = static_cast<DType>(in);
        r.work = static_cast<DType>(work);
        r.out = static_cast<DType>(out);
        r.swap = swap;
        r.reduce = static_cast<Reduce>(reduce);
        r.prologue = static_cast<Prologue>(prepare);
        r.epilogue = static_cast<Epilogue>(finish);
        r.omit = omit;
        r.include_pad = include_pad;
        r.physical_padding = !pad_value.is_none();
        if (r.physical_padding) r.pad_value = nb::cast<double>(pad_value);
        r.by_divisor = !divisor.is_none();
        if (r.by_divisor) r.divisor = nb::cast<double>(divisor);
        r.beta = r.power = parameter;
    }

    void run_on(const Buffer& x, const Buffer& y, const Buffer* argmax, nb::handle order) const {
        PoolProblem r;
        static_cast<Operation&>(r) = operation;
        const int64_t size = lay(r, *axes, x, order);
        if (x.itemsize() != size_of(r.in) || y.bytes() != size * size_of(r.out))
            throw std::invalid_argument("the result is not this geometry's");
        r.y = static_cast<char*>(y.data());
        if (argmax) {
            if (argmax->bytes() != size * argmax->itemsize())
                throw std::invalid_argument("the argmax array is not this geometry's");
            r.argmax = argmax->data();
            r.argmax_format = argmax_format_of(argmax->itemsize());
        }
        call("pool", x.shape(), [&] { return algorithm_of(r); }, [&] { run(r); });
    }

    void run_with(nb::handle x, nb::handle y, nb::handle argmax, nb::handle order) const {
        const Buffer from(x, false), to(y, true);
        if (argmax.is_none()) return run_on(from, to, nullptr, order);
        const Buffer where(argmax, true);
        run_on(from, to, &where, order);
    }
};

// The same arguments once more: small calls cost little more than their work. What is remembered is what was given,
// type by type (2 is not 2.0), with the shape and dtype of the array, and the recipe that came of it.
class CallCache {
 public:
    explicit CallCache(nb::object array_type) : array_type_(array_type) {}

    void insert(nb::handle x, nb::object given, nb::object recipe, nb::object out_shape, nb::object out_dtype) {
        if (Py_TYPE(x.ptr()) != reinterpret_cast<PyTypeObject*>(array_type_.ptr()) || !is_immutable(given.ptr()))
            return;
        Entry entry{given,    nb::borrow(x.attr("dtype")), recipe, nb::cast<const PoolPlan*>(recipe), out_shape,
                    out_dtype};
        const nb::ft_lock_guard lock(mutex_);
        // The oldest one leaves with `entry`, after the lock: what is freed with it may run other code.
        if (entries_.size() == kKept) {
            std::swap(entries_.front(), entry);
            std::rotate(entries_.begin(), entries_.begin() + 1, entries_.end());
        } else {
            entries_.push_back(std::move(entry));
        }
    }

    nb::object lookup(nb::handle x, nb::handle given) const {
        if (Py_TYPE(x.ptr()) != reinterpret_cast<PyTypeObject*>(array_type_.ptr())) return nb::none();
        for (size_t i = kKept;;) {
            const Entry entry =
                find(given, i);  // a copy: making an array may run other code, which may insert into this
            if (!entry.recipe) return nb::none();
            const Buffer from(x, false);
            if (!fits(*entry.recipe->axes, from) || x.attr("dtype").ptr() != entry.dtype.ptr()) continue;
            nb::object y = new_array(entry.out_shape, entry.out_dtype);
            entry.recipe->run_on(from, Buffer(y, true), nullptr, nb::none());
            return y;
        }
    }

 private:
    static constexpr size_t kKept = 16;
    struct Entry {
        nb::object given, dtype, held;
        const PoolPlan* recipe = nullptr;
        nb::object out_shape, out_dtype;
    };

    // The last entry before number `i` that was given the same; `i` becomes its number. Comparing numbers and strings
    // runs no other code.
    Entry find(nb::handle given, size_t& i) const {
        const nb::ft_lock_guard lock(mutex_);
        if (i > entries_.size()) i = entries_.size();
        while (i-- > 0)
            if (is_same(entries_[i].given.ptr(), given.ptr())) return entries_[i];
        return {};
    }

    // Whether x has the shape that the axes were laid on, in C order.
    static bool fits(const Axes& axes, const Buffer& x) {
        if (static_cast<size_t>(x.ndim()) != axes.shape.size()) return false;
        int64_t stride = x.itemsize();
        for (int i = x.ndim() - 1; i >= 0; --i) {
            const int64_t n = axes.shape[static_cast<size_t>(i)];
            if (x.shape(i) != n || (n > 1 && x.stride(i) != stride)) return false;
            stride *= n;
        }
        return true;
    }

    nb::object array_type_;
    mutable nb::ft_mutex mutex_;  // without a GIL; with one it is none
    std::vector<Entry> entries_;
};

// y[window] = x[winner], or x = 0 and x[winner] += y[window]; x is then in one piece of memory.
void move_chosen(const Axes& axes, nb::handle x, nb::handle y, nb::handle argmax, nb::handle order, bool backwards) {
    PoolProblem r;
    static_cast<Operation&>(r) = Operation{};
    const Buffer cells(x, backwards), values(y, !backwards), where(argmax, false);
    const int64_t size = lay(r, axes, cells, order);
    if (cells.itemsize() != values.itemsize() || values.bytes() != size * values.itemsize() ||
        where.bytes() != size * where.itemsize() || where.itemsize() > 4 ||
        (cells.itemsize() != 4 && cells.itemsize() != 8))
        throw std::invalid_argument("cells, values and argmax offsets do not agree");
    r.in = r.work = r.out = cells.itemsize() == 4 ? DType::f32 : DType::f64;
    r.reduce = Reduce::max;
    r.y = static_cast<char*>(values.data());
    r.argmax = where.data();
    r.argmax_format = argmax_format_of(where.itemsize());
    if (backwards)
        call(
            "backward", cells.shape(), [&] { return scatter_algorithm(r, cells.bytes()); },
            [&] { scatter(r, cells.bytes()); });
    else
        call("forward", cells.shape(), [] { return "gather"; }, [&] { gather(r); });
}

void put_values(nb::handle out, nb::handle values, nb::handle index, int64_t planes) {
    const Buffer to(out, true), from(values, false), at(index, false);
    const int64_t width = to.itemsize(), items = from.bytes() / width, cells = to.bytes() / width;
    if (planes <= 0 || from.itemsize() != width || at.bytes() != items * 8 || items % planes || cells % planes)
        throw std::invalid_argument("values, indices and result do not agree");
    const int64_t per_plane = items / planes, plane_size = cells / planes;
    call(
        "unpool", from.shape(), [] { return "scatter"; },
        [&] { put(to.data(), from.data(), at.data(), planes, per_plane, plane_size, width); });
}

ConvArray conv_array(const Buffer& b, const std::vector<int64_t>& shape, int64_t width) {
    ConvArray a{static_cast<char*>(b.data()), {}};
    if (b.ndim() != static_cast<int>(shape.size()) || b.itemsize() != width)
        throw std::invalid_argument("an array does not fit the geometry");
    for (int i = 0; i < b.ndim(); ++i) {
        if (b.shape(i) != shape[i]) throw std::invalid_argument("an array does not fit the geometry");
        a.stride[i] = b.stride(i);
    }
    return a;
}

// Sums and products of these stay far inside of 64 bits.
int64_t moderate(int64_t value, int64_t lowest) {
    if (value < lowest || value > int64_t{1} << 46) throw std::invalid_argument("a size is out of range");
    return value;
}

void conv(int form, nb::handle x, nb::handle w, nb::handle y, nb::handle bias, nb::handle axes, int64_t groups,
          int in_type) {
    ConvProblem r{};
    if (form < 0 || form > 2 || in_type <= 0 || in_type > static_cast<int>(DType::c128) || groups < 1)
        throw std::invalid_argument("no such convolution");
    r.form = static_cast<Form>(form);
    r.type = static_cast<DType>(in_type);
    const Buffer bx(x, form == 1), bw(w, form == 2), by(y, form == 0);
    r.groups = groups;
    r.rank = bw.ndim() - 2;
    if (r.rank < 0 || bw.ndim() > kMaxDims || bx.ndim() != bw.ndim())
        throw std::invalid_argument("an array does not fit the geometry");
    r.batch = bx.shape(0);
    r.in = bw.shape(r.rank);
    r.out = bw.shape(r.rank + 1) / groups;
    std::vector<int64_t> of_x{r.batch}, of_y{r.batch}, of_w;
    int q = 0;
    for (nb::handle item : axes) {
        if (q == r.rank) throw std::invalid_argument("too many axes");
        ConvAxis& a = r.axis[q++];
        a.n = moderate(nb::cast<int64_t>(item[0]), 0);
        a.o = moderate(nb::cast<int64_t>(item[1]), 0);
        a.k = moderate(nb::cast<int64_t>(item[2]), 0);
        a.s = moderate(nb::cast<int64_t>(item[3]), 1);
        a.d = moderate(nb::cast<int64_t>(item[4]), 1);
        a.low = moderate(nb::cast<int64_t>(item[5]), -(int64_t{1} << 46));
        int64_t reach;
        if (__builtin_mul_overflow(a.o, a.s, &reach) || __builtin_mul_overflow(a.k, a.d, &reach) ||
            a.o * a.s > int64_t{1} << 61 || a.k * a.d > int64_t{1} << 61)
            throw std::invalid_argument("a size is out of range");
        of_x.push_back(a.n);
        of_y.push_back(a.o);
        of_w.push_back(a.k);
    }
    if (q != r.rank) throw std::invalid_argument("too few axes");
    of_x.push_back(groups * r.in);
    of_y.push_back(groups * r.out);
    of_w.push_back(r.in);
    of_w.push_back(groups * r.out);
    const int64_t width = size_of(r.type);
    r.x = conv_array(bx, of_x, width);
    r.y = conv_array(by, of_y, width);
    r.w = conv_array(bw, of_w, width);
    const auto run = [&] { call("conv", bx.shape(), [&] { return conv_method_of(r); }, [&] { convolve(r); }); };
    if (bias.is_none()) return run();
    const Buffer bb(bias, false);
    r.bias_stride = conv_array(bb, {form == 1 ? of_x.back() : of_y.back()}, width).stride[0];
    r.bias = static_cast<const char*>(bb.data());
    run();
}

}  // namespace

NB_MODULE(_core, m) {
    load_numpy();
    watch_interrupts();
    // A daemon thread that is still in a call when Python ends holds what the call uses: no leak to report to
    // users.
    nb::set_leak_warnings(false);
    nb::class_<Axes>(m, "Axes")
        .def(nb::init<std::vector<int64_t>>(), nb::arg("shape"))
        .def("add", &Axes::add, nb::arg("position"), nb::arg("n"), nb::arg("o"), nb::arg("k"), nb::arg("s"),
             nb::arg("d"), nb::arg("low"), nb::arg("high"), nb::arg("starts"), nb::arg("lengths"),
             nb::arg("spread_stride"), nb::arg("spread_taps"), nb::arg("spread_low"));
    nb::class_<PoolPlan>(m, "PoolPlan")
        .def(nb::init<nb::object, int, int, int, bool, int, int, int, bool, bool, nb::handle, nb::handle, double>(),
             nb::arg("axes"), nb::arg("in_type"), nb::arg("work_type"), nb::arg("out_type"), nb::arg("swap"),
             nb::arg("reduce"), nb::arg("prologue"), nb::arg("epilogue"), nb::arg("omit"), nb::arg("include_pad"),
             nb::arg("pad_value").none(), nb::arg("divisor").none(), nb::arg("parameter"))
        .def("run", &PoolPlan::run_with, nb::arg("x"), nb::arg("y"), nb::arg("argmax").none(), nb::arg("order").none());
    nb::class_<CallCache>(m, "CallCache")
        .def(nb::init<nb::object>(), nb::arg("array_type"))
        .def("insert", &CallCache::insert, nb::arg("x"), nb::arg("given"), nb::arg("plan"), nb::arg("out_shape"),
             nb::arg("out_dtype"))
        .def("lookup", &CallCache::lookup, nb::arg("x").none(), nb::arg("given"));
    m.def("move", &move_chosen, nb::arg("axes"), nb::arg("x"), nb::arg("y"), nb::arg("argmax"), nb::arg("order").none(),
          nb::arg("backwards"));
    m.def("put", &put_values, nb::arg("out"), nb::arg("values"), nb::arg("index"), nb::arg("planes"));
    define_conv_calls(m);
    m.def("convolve", &conv, nb::arg("form"), nb::arg("x"), nb::arg("w"), nb::arg("y"), nb::arg("bias").none(),
          nb::arg("axes"), nb::arg("groups"), nb::arg("in_type"));
    m.def(
        "set_limits",
        [](int64_t bytes_per_tile, int64_t cells_per_thread, int64_t streaming_bytes) {
            set_limits(bytes_per_tile, cells_per_thread, streaming_bytes);
            set_conv_limits(bytes_per_tile, cells_per_thread);
        },
        nb::arg("bytes_per_tile"), nb::arg("cells_per_thread"), nb::arg("streaming_bytes"));
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
    m.def("set_verbose", [](bool on) { verbose.store(on); }, nb::arg("on"));
    m.def("set_fft", &set_fft, nb::arg("mode"));
    m.def("empty", &new_array, nb::arg("shape"), nb::arg("dtype"));
    m.def("cached_bytes", &cached_bytes);
    m.def("cache_limit", &cache_limit);
    m.def("set_cache_limit", &set_cache_limit, nb::arg("bytes"));
    m.def("num_threads", &num_threads);
    m.def("set_num_threads", &set_num_threads, nb::arg("n"));
    m.def("level", [] { return std::string(level_in_use().name); });
    m.def("use_level", &use_level, nb::arg("name"));
    m.def("levels", [] {
        std::vector<std::string> names;
        for (const Level& level : levels())
            if (level.supported()) names.emplace_back(level.name);
        return names;
    });
}
