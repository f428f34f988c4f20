"""Threads, SIMD level and buffer cache of the compiled core."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

import numpy as np

from . import _core, threadpool
from .arguments.errors import BadType, BadValue, describe_type, format_value, public
from .threadpool import MOST_THREADS

KEPT, MOST_KEPT = 256, 2**20  # MiB in the buffer cache


def usable_cpus() -> int:
    """The CPUs that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def number_from_environment(name: str, text: str, what: str, least: int, most: int) -> int | None:
    """The number that the variable is set to; None, with a warning, if it is none."""
    if text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most:
        return int(text)
    whole = os.environ[name].strip()
    warnings.warn(f"{name}={whole!r} is not {what} from {least} to {most}: ignored", RuntimeWarning, stacklevel=3)
    return None


def threads_from_environment() -> int:
    for name in ("CENOTE_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        # OpenMP allows a list, one entry per nesting level: the first one is ours.
        first = text.partition(",")[0].strip()
        found = number_from_environment(name, first, "a number of threads", 1, MOST_THREADS)
        if found is not None:
            return found
    return usable_cpus()


def kept_from_environment() -> int:
    """The limit of the buffer cache, in MiB."""
    text = os.environ.get("CENOTE_KEPT_MIB", "").strip()
    found = number_from_environment("CENOTE_KEPT_MIB", text, "a number of MiB", 0, MOST_KEPT) if text else None
    return KEPT if found is None else found


def checked_threads(n: object) -> int:
    if isinstance(n, (bool, np.timedelta64)) or not isinstance(n, (int, np.integer)):
        raise BadType(f"n={format_value(n)}: an int from 1 to {MOST_THREADS} is needed, not {describe_type(n)}")
    if not 1 <= n <= MOST_THREADS:
        raise BadValue(f"n={format_value(n)}: a number of threads from 1 to {MOST_THREADS} is needed")
    return int(n)


@public
def set_num_threads(n: int) -> None:
    """Set the number of threads that a call may use, for the whole process.

    Parameters
    ----------
    n : int
        Number of threads, from 1 to 1024.

    See Also
    --------
    num_threads : Set it for a block of code.
    get_num_threads : The current number.

    Notes
    -----
    Results do not depend on it. It starts as ``CENOTE_NUM_THREADS``, else ``OMP_NUM_THREADS``, else the number of
    usable CPUs.

    Examples
    --------
    >>> import cenote as cn
    >>> cn.set_num_threads(cn.get_num_threads())
    """
    _core.set_num_threads(checked_threads(n))


def get_num_threads() -> int:
    """Number of threads that a call may use.

    Returns
    -------
    int
        Number of threads: 1 inside a task of dask, which keeps the CPUs busy itself.

    See Also
    --------
    set_num_threads : Set it.
    num_threads : Set it for a block of code.

    Examples
    --------
    >>> import cenote as cn
    >>> cn.get_num_threads() >= 1
    True
    """
    return _core.num_threads()


@public
def num_threads(n: int) -> contextlib.AbstractContextManager[None]:
    """Context manager that sets the number of threads, and restores it on exit.

    Parameters
    ----------
    n : int
        Number of threads, from 1 to 1024.

    Returns
    -------
    context manager
        It acts on the whole process while the block runs.

    See Also
    --------
    set_num_threads : Set it for good.
    get_num_threads : The current number.

    Examples
    --------
    >>> import cenote as cn
    >>> with cn.num_threads(1):
    ...     cn.get_num_threads()
    1
    """
    return _limited(checked_threads(n))


@contextlib.contextmanager
def _limited(n: int) -> Iterator[None]:
    before = _core.set_num_threads(n)
    try:
        yield
    finally:
        _core.set_num_threads(before)


def config() -> dict[str, str]:
    """What :func:`show_config` prints."""
    import platform  # slow to import, and seldom needed, all of these
    from importlib import metadata

    from .backends.jax.start import describe as describe_jax
    from .backends.torch import describe as describe_torch

    return {
        "cenote": metadata.version("cenote"),
        "SIMD level": f"{_core.level()} (this CPU can run: {', '.join(_core.levels())})",
        "threads": f"{_core.num_threads()} ({usable_cpus()} CPUs usable)",
        "buffer cache": f"up to {_core.cache_limit() >> 20} MiB of freed results",
        "NumPy": np.__version__,
        "JAX": describe_jax(),
        "torch": describe_torch(),
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
    }


def show_config() -> None:
    """Print the version, SIMD level, number of threads, and the limit of the buffer cache.

    See Also
    --------
    which_kernel : Algorithm that would serve a call.
    get_num_threads : Number of threads.

    Examples
    --------
    >>> import cenote as cn
    >>> cn.show_config()  # doctest: +ELLIPSIS
    cenote ...
    SIMD level ...
    threads ...
    """
    lines = config()
    width = max(map(len, lines))
    for name, value in lines.items():
        print(f"{name:<{width}}  {value}")


def start() -> None:
    """Read the environment, once, when the package is imported."""
    _core.set_num_threads(threads_from_environment())
    _core.set_cache_limit(kept_from_environment() << 20)
    _core.set_verbose(os.environ.get("CENOTE_VERBOSE", "").strip() not in ("", "0"))
    threadpool.start()
    level = os.environ.get("CENOTE_SIMD", "").strip().lower()
    if level and not _core.use_level(level):
        raise ImportError(f"CENOTE_SIMD={level!r}: this build on this CPU has {', '.join(_core.levels())}")


start()
