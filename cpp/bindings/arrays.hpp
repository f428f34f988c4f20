// New arrays for results.
#pragma once

#include <nanobind/nanobind.h>

namespace cenote {

// Before the first array; throws what importing NumPy did.
void load_numpy();

// np.empty(shape, dtype) of a tuple and a np.dtype. A large one is made in memory that is kept (buffer_cache.hpp).
nanobind::object new_array(nanobind::handle shape, nanobind::handle dtype);

// An array of NumPy's own type as it lies in memory; valid as long as the array is. False for anything else.
struct ArrayView {
    char* data;
    int ndim;
    const intptr_t *shape, *strides;  // strides in bytes
    PyObject* dtype;                  // borrowed
    bool aligned;
};
bool view_array(nanobind::handle array, ArrayView& view);

}  // namespace cenote
