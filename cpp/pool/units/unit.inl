// What every unit of kernels begins with. A unit is compiled once per SIMD level, with that level's flags:
// CMakeLists.txt generates a source that includes targets/LEVEL.hpp, which defines CENOTE_LEVEL (the namespace),
// CENOTE_ROWS (the level whose row kernels it uses) and CENOTE_VECTOR_BYTES, and one of the files here.
//
// Nothing from the standard library may be instantiated in a unit: see geometry.hpp.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "core/geometry.hpp"
#include "pool/convert_rows.hpp"
#include "pool/drivers/separable.hpp"
#include "runtime/levels.hpp"

// For functions that work on whole rows: a call costs nothing there, a copy at each call costs build time.
#define CENOTE_ONCE __attribute__((noinline))
