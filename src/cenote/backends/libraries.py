"""The backends that come with the package, each of which registers itself. A new one has a line here."""

from . import dask as _dask  # noqa: F401
from . import jax as _jax  # noqa: F401
from . import tensor as _tensor  # noqa: F401
from . import torch as _torch  # noqa: F401
from . import xarray as _xarray  # noqa: F401
