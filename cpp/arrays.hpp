// New arrays for results.
#pragma once

#include <nanobind/nanobind.h>

namespace cenote {

// Before the first array; throws what importing NumPy did.
void load_numpy();

// np.empty(shape, dtype) of a tuple and a np.dtype. A large one is made in memory that is kept (pages.hpp).
nanobind::object new_array(nanobind::handle shape, nanobind::handle dtype);

}  // namespace cenote
