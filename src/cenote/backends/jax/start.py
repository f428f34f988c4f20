"""Makes cenote's handler known to XLA, once, and says why where it cannot."""

from __future__ import annotations

import sys
import threading
from typing import Any, NoReturn

from ...arguments.errors import BadType
from ...core import xla
from . import handler

TARGET = "cenote_op"  # the name of the custom call
OLDEST = (0, 4, 38)  # jaxlib

lock = threading.Lock()
refusal: str | None = None  # why this jaxlib cannot be served, once that is known
started = False


def version() -> str:
    import jaxlib.version

    return str(jaxlib.version.__version__)


def check_version() -> None:
    """An error for a jaxlib without the interface that the handler needs."""
    parts = tuple(int(part) for part in version().split(".")[:3] if part.isdigit())
    if parts < OLDEST:
        raise BadType(unsupported(f"{'.'.join(map(str, OLDEST))} or newer is needed"))


def unsupported(why: str) -> str:
    return (
        f"jaxlib {version()} cannot run cenote's operations: {why}. Outside of jit, np.asarray(x) makes a NumPy array "
        "of a JAX array x"
    )


def refuse(why: str) -> NoReturn:
    """An error in this call and in every later one."""
    global refusal
    refusal = unsupported(why)
    raise RuntimeError(refusal) from None


def start() -> None:
    """Register the handler; an error if XLA refuses it, after which JAX works as before."""
    global started
    with lock:
        if started:
            return
        if refusal is not None:
            raise RuntimeError(refusal)
        check_version()
        import jax

        # Registered before XLA's backend has started, a handler that is refused would keep the backend from starting.
        jax.devices()
        handler.start()
        try:
            ffi().register_ffi_target(TARGET, xla.handler(), platform="cpu", api_version=1)
        except Exception as error:
            refuse(f"it refuses the handler ({type(error).__name__}: {error})")
        started = True


def ffi() -> Any:
    """JAX's module for foreign functions."""
    try:
        import jax.ffi as module
    except ImportError:  # before 0.5
        import jax.extend.ffi as module
    return module


def describe() -> str:
    """How JAX is served, for :func:`cenote.show_config`."""
    if "jax" not in sys.modules:
        return "not imported"
    try:
        check_version()
    except BadType as cause:
        return str(cause)
    return refusal or f"jaxlib {version()}, by a custom call of XLA's{'' if started else ' (not used yet)'}"
