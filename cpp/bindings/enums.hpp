// The core's enums and limits as Python sees them: see enums.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace cenote {

void define_enums(nanobind::module_& m);

}  // namespace cenote
