"""Arrays of other libraries where they cannot take part: as tangents and cotangents, and in functions of NumPy."""

from __future__ import annotations

from typing import Any

from ..backends.dispatch import dispatch


def mixture(x: Any, like: Any, name: str, of: str) -> str | None:
    """Why ``x`` cannot belong to ``like``, an array of another library, or of NumPy for None: arrays of a library that
    has derivatives of its own are not converted silently."""
    library = dispatch(x)
    if library is dispatch(like) or not (hasattr(library, "own_derivatives") or hasattr(library, "trace")):
        return None
    what = "a NumPy array" if like is None else f"a {dispatch(like).name} array"
    convert = f"{name}.numpy(force=True)" if library.name == "torch" else f"np.asarray({name})"
    return f"{name} is a {library.name} array, {of} is {what}: write {convert}"


def refusal(x: object) -> str:
    """Why an array cannot take part in a function that knows NumPy arrays only."""
    library = type(x).__module__.partition(".")[0]
    return (
        f"inside of vjp, jvp, linearize and grad a {library} array takes part in functions of cenote, arithmetic, "
        "elementwise functions, sums, matrix products, reshape and transpose only: do the rest outside, or with NumPy "
        "arrays"
    )
