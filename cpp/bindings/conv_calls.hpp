// Convolution calls and their cache: see conv_calls.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace cenote {

void define_conv_calls(nanobind::module_& m);

}  // namespace cenote
