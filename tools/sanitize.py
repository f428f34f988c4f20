"""Run the tests of the core on a build with sanitizers, each SIMD level by itself. The first argument is where it is,
others are levels: all by default.

A report ends the run: what was found and where stands above the traceback of the test."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parent.parent
# Together they go through every kernel: those of pooling and its derivatives, of convolution, of memory.
TESTS = """
kernels/core kernels/long_windows kernels/unaligned kernels/paths kernels/paths_derivatives kernels/direct
kernels/direct_tiles
kernels/line_buffer_max kernels/line_buffer_argmax kernels/line_buffer_sum kernels/line_buffer_norm
kernels/column_strips kernels/row_ends kernels/few_lanes kernels/streaming_stores kernels/conv_core
kernels/conv_paths kernels/conv_winograd kernels/conv_fft kernels/conv_small_planes kernels/order kernels/order_paths
kernels/direct_uint kernels/unpool_layouts spec/order spec/layouts spec/windows_of_nan spec/pool spec/weighted
spec/weighted_disjoint spec/filtering spec/result_dtypes
autodiff/derivatives autodiff/conv_derivatives autodiff/second_order
"""


def environment(installed: str) -> dict[str, str]:
    """Sanitizers come before all other libraries; libstdc++ with them, or they miss its exceptions."""

    def library(name: str) -> str:
        return subprocess.check_output([os.environ.get("CXX", "c++"), f"-print-file-name={name}"], text=True).strip()

    return {
        **os.environ,
        "LD_PRELOAD": " ".join(map(library, ("libasan.so", "libubsan.so", "libstdc++.so"))),
        # An abort has the traceback of the test. Python does not free all that it has at its end, and some tests ask
        # for more memory than there is.
        "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # Python's own allocator hides where a block ends
        "PYTHONPATH": os.pathsep.join([installed, *sys.path[1:]]),
        "CENOTE_TEST_SHARE": "8",
    }


def main(installed: str) -> int:
    given = environment(installed)
    # Without site there is no import hook: it would find the package that is installed in place, not this one.
    python = [sys.executable, "-S"]
    known = subprocess.check_output(
        [*python, "-c", "from cenote import _core; print(_core.__file__, *_core.levels())"], env=given, text=True
    )
    core, *levels = known.split()
    if not pathlib.Path(core).is_relative_to(installed):
        sys.exit(f"{core} is not the build in {installed}")
    files = [str(ROOT / "tests" / name.replace("/", "/test_")) + ".py" for name in TESTS.split()]
    for level in sys.argv[2:] or levels:
        start = time.monotonic()
        # Reports go to the process's own stderr, so that stays open.
        command = [*python, "-m", "pytest", "-q", "-x", "--capture=sys", "-p", "no:cacheprovider", *files]
        code = subprocess.call(command, env=given | {"CENOTE_SIMD": level}, cwd=ROOT)
        print(f"{level}: {'clean' if code == 0 else 'FAILED'}, {time.monotonic() - start:.0f} s", flush=True)
        if code:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve())))
