"""Windows over arrays: pooling and convolution of any rank, in any layout, right and fast."""

from .adaptive import adaptive_avg_pool, adaptive_max_pool, global_avg_pool, global_max_pool
from .autodiff import grad, jvp, linearize, value_and_grad, vjp
from .checking import check_grads
from .convolution import conv, conv_transpose
from .fold import pool, reducer
from .kernels import which_kernel
from .pooling import avg_pool, lp_pool, max_pool, min_pool, output_shape, smooth_max_pool, sum_pool
from .runtime import get_num_threads, num_threads, set_num_threads, show_config
from .tensor import Tensor
from .unpooling import max_unpool

__all__ = [
    "Tensor",
    "adaptive_avg_pool",
    "adaptive_max_pool",
    "avg_pool",
    "check_grads",
    "conv",
    "conv_transpose",
    "get_num_threads",
    "global_avg_pool",
    "global_max_pool",
    "grad",
    "jvp",
    "linearize",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "min_pool",
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
