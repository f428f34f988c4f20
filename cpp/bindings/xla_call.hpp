// Ops inside of programs that XLA compiles: see xla_call.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace cenote {

void define_xla_call(nanobind::module_& m);

}  // namespace cenote
