// The only file that knows Python: read arrays through the buffer protocol, release the GIL, run.
//
// Arguments come checked from the Python side (window.py, arrays.py); what is checked here again is only what
// would otherwise read or write memory that is not ours.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cpu.hpp"
#include "parallel.hpp"
#include "pool.hpp"

namespace nb = nanobind;
using namespace cenote;

namespace {

// A NumPy array's memory, held for the time of a call.
class Buffer {
 public:
    Buffer(nb::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_STRIDES | PyBUF_WRITABLE : PyBUF_STRIDES))
            throw nb::python_error();
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { PyBuffer_Release(&view_); }

    void* data() const { return view_.buf; }
    int ndim() const { return view_.ndim; }
    int64_t shape(int i) const { return view_.shape[i]; }
    int64_t stride(int i) const { return view_.strides[i]; }
    int64_t itemsize() const { return view_.itemsize; }
    int64_t bytes() const { return view_.len; }

 private:
    Py_buffer view_;
};

// The pooled axes of a window laid on a shape: made once per geometry and kept on the Python side.
struct Axes {
    std::vector<Axis> axis;
    std::vector<int> position;
    std::vector<std::vector<int64_t>> lists;  // the bins of adaptive pooling

    void add(int at, int64_t n, int64_t o, int64_t k, int64_t s, int64_t d, int64_t low, int64_t high,
             std::vector<int64_t> starts, std::vector<int64_t> lengths) {
        Axis a{n, o, k, s, d, low, high, nullptr, nullptr};
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

int64_t out_size(const Request& r) {
    int64_t size = 1;
    for (int i = 0; i < r.ndim; ++i) {
        int64_t n = r.shape[i];
        for (int w = 0; w < r.rank; ++w)
            if (r.position[w] == i) n = r.axis[w].o;
        size *= n;
    }
    return size;
}

void pool(const Axes& axes, nb::handle x, nb::handle y, nb::handle index, nb::handle order, int in, int work, int out,
          bool swap, int reduce, int prepare, int finish, bool omit, bool include_pad, nb::handle pad_value,
          nb::handle divisor, double parameter) {
    Request r;
    const Buffer from(x, false), to(y, true);
    r.ndim = from.ndim();
    r.rank = static_cast<int>(axes.axis.size());
    if (r.ndim > kMaxDims) throw std::invalid_argument("too many axes");
    r.in = static_cast<DType>(in);
    r.work = static_cast<DType>(work);
    r.out = static_cast<DType>(out);
    for (int i = 0; i < r.ndim; ++i) {
        r.shape[i] = from.shape(i);
        r.stride[i] = from.stride(i);
        r.order[i] = i;
    }
    if (!order.is_none())
        for (int i = 0; i < r.ndim; ++i) r.order[i] = nb::cast<int>(order[i]);
    for (int w = 0; w < r.rank; ++w) {
        r.axis[w] = axes.axis[w];
        r.position[w] = axes.position[w];
        if (r.position[w] < 0 || r.position[w] >= r.ndim || r.axis[w].n != r.shape[r.position[w]])
            throw std::invalid_argument("the geometry is not this array's");
    }
    const int64_t size = out_size(r);
    if (from.itemsize() != size_of(r.in) || to.bytes() != size * size_of(r.out))
        throw std::invalid_argument("the result is not this geometry's");
    r.x = from.data();
    r.y = to.data();
    r.swap = swap;
    r.reduce = static_cast<Reduce>(reduce);
    r.prepare = static_cast<Prepare>(prepare);
    r.finish = static_cast<Finish>(finish);
    r.omit = omit;
    r.include_pad = include_pad;
    r.physical_padding = !pad_value.is_none();
    if (r.physical_padding) r.pad_value = nb::cast<double>(pad_value);
    r.by_divisor = !divisor.is_none();
    if (r.by_divisor) r.divisor = nb::cast<double>(divisor);
    r.beta = r.power = parameter;

    if (index.is_none()) {
        r.index = nullptr;
        nb::gil_scoped_release unlocked;
        run(r);
        return;
    }
    const Buffer where(index, true);
    if (where.bytes() != size * 8) throw std::invalid_argument("the indices are not this geometry's");
    r.index = static_cast<int64_t*>(where.data());
    nb::gil_scoped_release unlocked;
    run(r);
}

void scatter_values(nb::handle out, nb::handle values, nb::handle index, int64_t planes) {
    const Buffer to(out, true), from(values, false), at(index, false);
    const int64_t width = to.itemsize(), items = from.bytes() / width, cells = to.bytes() / width;
    if (planes <= 0 || from.itemsize() != width || at.bytes() != items * 8 || items % planes || cells % planes)
        throw std::invalid_argument("values, indices and result do not agree");
    const int64_t per_plane = items / planes, plane_size = cells / planes;
    const auto* where = static_cast<const int64_t*>(at.data());
    nb::gil_scoped_release unlocked;
    for (int64_t i = 0; i < items; ++i)
        if (where[i] < -1 || where[i] >= plane_size) throw std::invalid_argument("an index is outside of the result");
    scatter(to.data(), from.data(), where, planes, per_plane, plane_size, width);
}

}  // namespace

NB_MODULE(_core, m) {
    nb::class_<Axes>(m, "Axes")
        .def(nb::init<>())
        .def("add", &Axes::add, nb::arg("position"), nb::arg("n"), nb::arg("o"), nb::arg("k"), nb::arg("s"),
             nb::arg("d"), nb::arg("low"), nb::arg("high"), nb::arg("starts"), nb::arg("lengths"));
    m.def("pool", &pool, nb::arg("axes"), nb::arg("x"), nb::arg("y"), nb::arg("index").none(), nb::arg("order").none(),
          nb::arg("in_type"), nb::arg("work_type"), nb::arg("out_type"), nb::arg("swap"), nb::arg("reduce"),
          nb::arg("prepare"), nb::arg("finish"), nb::arg("omit"), nb::arg("include_pad"), nb::arg("pad_value").none(),
          nb::arg("divisor").none(), nb::arg("parameter"));
    m.def("scatter", &scatter_values, nb::arg("out"), nb::arg("values"), nb::arg("index"), nb::arg("planes"));
    m.def("set_limits", &set_limits, nb::arg("bytes_per_tile"), nb::arg("cells_per_thread"));
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
