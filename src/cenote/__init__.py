"""Pooling and convolution for NumPy, torch, JAX, dask and xarray, any rank and dtype: exact, differentiable, fast."""

from typing import TYPE_CHECKING

from .api.adaptive import adaptive_avg_pool, adaptive_max_pool, global_avg_pool, global_max_pool
from .api.convolution import conv, conv_transpose
from .api.filtering import convolve, correlate
from .api.fold import pool, reducer
from .api.kernels import which_kernel
from .api.norms import lp_pool, smooth_max_pool
from .api.order import median_pool, mode_pool
from .api.pooling import max_pool, min_pool, output_shape
from .api.sums import avg_pool, sum_pool
from .api.unpooling import max_unpool
from .autodiff.checking import check_grads
from .autodiff.tensor import Tensor
from .autodiff.transforms import grad, jvp, linearize, value_and_grad, vjp
from .cache import clear_cache
from .runtime import get_num_threads, num_threads, set_num_threads, show_config

__all__ = [
    "Tensor",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "check_grads",
    "clear_cache",
    "conv",
    "conv_transpose",
    "convolve",
    "correlate",
    "dialects",
    "explain",
    "get_num_threads",
    "global_avg_pool",
    "global_max_pool",
    "grad",
    "jvp",
    "linearize",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "median_pool",
    "min_pool",
    "mode_pool",
    "num_threads",
    "output_shape",
    "pool",
    "reducer",
    "set_num_threads",
    "show_config",
    "smooth_max_pool",
    "sum_pool",
    "value_and_grad",
    "vjp",
    "which_kernel",
]


if TYPE_CHECKING:
    from . import dialects
    from .explanation.explanation import explain

    __version__: str
else:  # type checkers would take any name for an attribute

    def __getattr__(name):
        if name == "dialects":
            from importlib import import_module

            return import_module(".dialects", __name__)
        if name == "explain":
            from .explanation.explanation import explain

            globals()[name] = explain
            return explain
        if name == "__version__":
            from importlib import metadata  # slow to import

            try:
                globals()[name] = metadata.version(__name__)
                return globals()[name]
            except metadata.PackageNotFoundError:
                pass
        if not name.startswith("_"):  # which tools ask for
            from .arguments.errors import hints

            raise hints().no_such_name(name, __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
