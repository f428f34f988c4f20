#include "bindings/arrays.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstring>

#include "core/geometry.hpp"
#include "runtime/buffer_cache.hpp"

namespace nb = nanobind;

namespace cenote {

namespace {

// NumPy allocates an array's memory with the handler that is set at that time (NEP 49) and frees it with the same one,
// so the array owns its memory like any other.

void* allocate(void*, size_t bytes) { return take_buffer(bytes); }

void release(void*, void* data, size_t) {
    if (data) return_buffer(data);
}

void* allocate_zeros(void*, size_t count, size_t width) {
    size_t bytes;
    if (__builtin_mul_overflow(count, width, &bytes)) return nullptr;
    void* data = take_buffer(bytes);
    return data ? std::memset(data, 0, bytes) : nullptr;
}

void* reallocate(void*, void* data, size_t bytes) {
    void* moved = take_buffer(bytes);
    if (!moved || !data) return moved;
    const size_t before = buffer_size(data);
    std::memcpy(moved, data, before < bytes ? before : bytes);
    return_buffer(data);
    return moved;
}

PyDataMem_Handler handler = {"cenote", 1, {nullptr, allocate, allocate_zeros, reallocate, release}};
PyObject* capsule = nullptr;

// In its scope, arrays are allocated from the buffer cache.
class UseBufferCache {
 public:
    UseBufferCache() : before_(PyDataMem_SetHandler(capsule)) {
        if (!before_) throw nb::python_error();
    }
    UseBufferCache(const UseBufferCache&) = delete;
    ~UseBufferCache() {
        // Restoring the handler must not clear an exception raised by the allocation.
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        Py_XDECREF(PyDataMem_SetHandler(before_));
        Py_DECREF(before_);
        PyErr_Restore(type, value, trace);
    }

 private:
    PyObject* before_;
};

nb::object make(Py_ssize_t ndim, npy_intp* shape, npy_intp* strides, nb::handle dtype) {
    auto* descr =
        reinterpret_cast<PyArray_Descr*>(dtype.inc_ref().ptr());  // the reference is consumed, even on failure
    PyObject* array =
        PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(ndim), shape, strides, nullptr, 0, nullptr);
    if (!array) throw nb::python_error();
    return nb::steal(array);
}

}  // namespace

void load_numpy() {
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
    if (!capsule) throw nb::python_error();
}

nb::object new_array_in(nb::handle shape, nb::handle dtype, const int* order) {
    if (!PyTuple_Check(shape.ptr()) || !PyArray_DescrCheck(dtype.ptr()))
        throw nb::type_error("a tuple and a np.dtype are needed");
    const Py_ssize_t ndim = PyTuple_Size(shape.ptr());
    if (ndim > NPY_MAXDIMS) throw nb::value_error("too many axes");
    npy_intp sizes[NPY_MAXDIMS];
    const auto* of = reinterpret_cast<PyArray_Descr*>(dtype.ptr());
    double bytes = static_cast<double>(PyDataType_ELSIZE(of));  // a double cannot overflow; NumPy refuses sizes that do
    for (Py_ssize_t i = 0; i < ndim; ++i) {
        sizes[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape.ptr(), i));
        if (sizes[i] == -1 && PyErr_Occurred()) throw nb::python_error();
        bytes *= static_cast<double>(sizes[i]);
    }
    npy_intp strides[NPY_MAXDIMS], *given = nullptr;
    if (order && bytes < 1e18) {  // NumPy refuses larger ones
        npy_intp stride = PyDataType_ELSIZE(of);
        for (Py_ssize_t i = ndim - 1; i >= 0; --i) {
            strides[order[i]] = stride;
            stride *= sizes[order[i]];
        }
        given = strides;
    }
    if (bytes < static_cast<double>(kLargeResult)) return make(ndim, sizes, given, dtype);
    const UseBufferCache here;
    return make(ndim, sizes, given, dtype);
}

bool view_array(nb::handle array, ArrayView& view) {
    if (!PyArray_CheckExact(array.ptr())) return false;
    auto* a = reinterpret_cast<PyArrayObject*>(array.ptr());
    view = {
        static_cast<char*>(PyArray_DATA(a)),           PyArray_NDIM(a),          PyArray_DIMS(a), PyArray_STRIDES(a),
        reinterpret_cast<PyObject*>(PyArray_DESCR(a)), PyArray_ISALIGNED(a) != 0};
    return true;
}

nb::object new_view(void* data, int64_t ndim, const int64_t* shape, nb::handle dtype, bool writable) {
    static char nothing[16];  // an array without elements may come without an address
    if (!PyArray_DescrCheck(dtype.ptr())) throw nb::type_error("a np.dtype is needed");
    if (ndim < 0 || ndim > NPY_MAXDIMS) throw nb::value_error("too many axes");
    npy_intp sizes[NPY_MAXDIMS];
    std::copy_n(shape, ndim, sizes);
    auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.inc_ref().ptr());  // stolen by the next line
    PyObject* view =
        PyArray_NewFromDescr(&PyArray_Type, descr, static_cast<int>(ndim), sizes, nullptr, data ? data : nothing,
                             writable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, nullptr);
    if (!view) throw nb::python_error();
    return nb::steal(view);
}

}  // namespace cenote
