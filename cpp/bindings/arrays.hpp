// NumPy arrays: allocation of results, and views.
#pragma once

#include <nanobind/nanobind.h>

namespace cenote {

// Imports NumPy's C API. Must run before the functions below.
void load_numpy();

// np.empty(shape, dtype) for a tuple and a np.dtype, with its axes in memory in the order `order`, from the outermost
// to the innermost; null for C order. Large arrays are allocated from the buffer cache.
nanobind::object new_array_in(nanobind::handle shape, nanobind::handle dtype, const int* order);
inline nanobind::object new_array(nanobind::handle shape, nanobind::handle dtype) {
    return new_array_in(shape, dtype, nullptr);
}

// The memory of an np.ndarray (not of a subclass: view_array then returns false). Valid as long as the array exists.
struct ArrayView {
    char* data;
    int ndim;
    const intptr_t *shape, *strides;  // strides in bytes
    PyObject* dtype;                  // borrowed
    bool aligned;
};
bool view_array(nanobind::handle array, ArrayView& view);

// A NumPy array that is a view of memory in C order, which the caller keeps alive.
nanobind::object new_view(void* data, int64_t ndim, const int64_t* shape, nanobind::handle dtype, bool writable);

}  // namespace cenote
