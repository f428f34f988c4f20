// The beginning of every unit. A unit is compiled once per SIMD level, with that level's flags: CMakeLists.txt
// generates a source that includes targets/LEVEL.hpp, which defines CENOTE_LEVEL (the namespace), CENOTE_ROWS (the
// level whose row kernels it uses) and CENOTE_VECTOR_BYTES, and one of the files here.
//
// Units must not instantiate anything from the standard library: see core/geometry.hpp.

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "core/geometry.hpp"
#include "pool/convert_rows.hpp"
#include "pool/drivers/separable.hpp"
#include "runtime/levels.hpp"

// For functions that process whole rows: the call costs nothing there, and inlined copies cost build time.
#define CENOTE_ONCE __attribute__((noinline))
