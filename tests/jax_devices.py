"""Every function with a derivative on several devices, and exported, against the same function on one.

A program, ``python jax_devices.py sharded,exported,explicit [NAME...]``: it needs a process of its own, because the
number of devices is fixed when JAX starts. For any version of JAX; ``explicit`` for those with sharding in types.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import cenote as cn
from jax_programs import DATA, FILTER, FUNCTIONS, IMAGE, INDICES, QUICK, with_x64

DEVICES = 2
# Functions of several arrays: the first is sharded, the others are replicated.
MIXED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "conv": (lambda x, w, b: cn.conv(x, w, bias=b, padding=1), (DATA, FILTER, np.array([0.5, -1.0]))),
    "conv_transpose": (
        lambda x, w, b: cn.conv_transpose(x, w, bias=b, stride=2),
        (DATA, FILTER[..., :1], np.array([0.5])),
    ),
    "correlate": (lambda x, k: cn.correlate(x, k, mode="same"), (IMAGE, IMAGE[:2, :2])),
    "smooth, scaled": (lambda x, beta: cn.smooth_max_pool(beta * x, (2, 2)) / beta, (IMAGE, np.array(1.5))),
    "lp, scaled": (lambda x, scale: cn.lp_pool(scale * x, (2, 2), p=3.0), (IMAGE, np.array(1.5))),
}


def sharded(f: Any, inputs: Any, output: Any) -> Any:
    """f on each of the devices' shares of its arrays."""
    mesh = Mesh(np.array(jax.devices()), ("devices",))
    if hasattr(jax, "shard_map"):
        return jax.shard_map(f, mesh=mesh, in_specs=inputs, out_specs=output)
    from jax.experimental.shard_map import shard_map

    return shard_map(f, mesh=mesh, in_specs=inputs, out_specs=output)


# The shard_map of JAX before 0.6 fails in second derivatives of its own functions too.
WITHOUT_SECOND = not hasattr(jax, "shard_map")


def order_of(name: str) -> int:
    """The order of derivatives to compare: second derivatives of one function of each family."""
    return 2 if name in QUICK and not WITHOUT_SECOND else 1


def derivatives(f: Any, *arrays: Any, order: int = 2) -> dict[str, Any]:
    """A value, and derivatives in both modes and of up to second order, with respect to all arrays."""
    every = tuple(range(len(arrays)))

    def s(*arrays: Any) -> Any:
        y = f(*arrays)
        return (y * jnp.linspace(0.5, 1.5, y.size).reshape(y.shape)).sum()

    tangents = tuple(jnp.cos(jnp.arange(a.size, dtype=a.dtype)).reshape(a.shape) for a in arrays)
    gradient = jax.grad(s, every)
    first = {"value": f(*arrays), "grad": gradient(*arrays), "jvp": jax.jvp(f, arrays, tangents)[1]}
    return first if order == 1 else first | {"forward of reverse": jax.jvp(gradient, arrays, tangents)[1]}


def compare(name: str, got: dict[str, Any], expected: dict[str, Any], rough: float = 1e-12) -> None:
    assert got.keys() == expected.keys()
    for what, value in got.items():
        leaves = zip(jax.tree.leaves(value), jax.tree.leaves(expected[what]), strict=True)
        for mine, real in leaves:
            assert np.any(real == real)
            np.testing.assert_allclose(mine, real, rtol=rough, atol=rough, err_msg=f"{name}: {what}")


def stacked(x: Any) -> Any:
    return jnp.stack([x * (1 + i / 8) for i in range(DEVICES)])


def check_sharded(name: str) -> None:
    """shard_map: of a batch each device has a part; and every device has all of it."""
    f, x = FUNCTIONS[name]
    each = jax.vmap(f)
    batch = stacked(x)
    order = order_of(name)
    parts, copies = sharded(each, (P("devices"),), P("devices")), sharded(each, (P(),), P())

    def every(x: Any) -> Any:
        return derivatives(each, x, order=order), derivatives(parts, x, order=order), derivatives(copies, x, order=1)

    expected, of_parts, of_copies = jax.jit(every)(batch)
    compare(f"{name}, sharded", of_parts, expected)
    compare(f"{name}, replicated", of_copies, {what: expected[what] for what in of_copies})


def check_mixed(name: str) -> None:
    """shard_map: of the first array each device has a part, of the others all."""
    f, (x, *others) = MIXED[name]
    each = jax.vmap(f, in_axes=(0, *[None] * len(others)))
    arrays = (stacked(x), *map(jnp.asarray, others))
    order = 1 if WITHOUT_SECOND else 2
    expected = jax.jit(lambda *a: derivatives(each, *a, order=order))(*arrays)
    whole = sharded(each, (P("devices"), *[P()] * len(others)), P("devices"))
    compare(name, jax.jit(lambda *a: derivatives(whole, *a, order=order))(*arrays), expected)


def check_unpool() -> None:
    """Values of a part with indices that every device has, and the other way round."""
    y, indices = stacked(np.arange(1.0, 5.0).reshape(2, 2)), jnp.stack([jnp.asarray(INDICES)] * DEVICES)

    def f(y: Any, indices: Any) -> Any:
        return cn.max_unpool(y, indices, (2, 2), output_shape=(3, 4))

    expected = f(y, indices)
    np.testing.assert_array_equal(
        sharded(jax.vmap(f, (0, None)), (P("devices"), P()), P("devices"))(y, indices[0]), f(y, indices)
    )
    whole = sharded(f, (P("devices"), P("devices")), P("devices"))
    np.testing.assert_array_equal(whole(y, indices), expected)
    for mine, real in zip(jax.grad(lambda y: (whole(y, indices) * expected).sum())(y), y, strict=True):
        np.testing.assert_array_equal(mine, real)


def check_jit_of_sharded() -> None:
    """Without shard_map a sharded array is gathered first."""
    mesh = Mesh(np.array(jax.devices()), ("devices",))
    x = stacked(IMAGE)
    placed = jax.device_put(x, NamedSharding(mesh, P("devices")))
    assert len(placed.sharding.device_set) == DEVICES

    def f(x: Any) -> Any:
        return jax.value_and_grad(lambda x: cn.max_pool(x, (2, 2), stride=1).sum())(x)

    for way in (f, jax.jit(f)):
        for mine, real in zip(way(placed), f(x), strict=True):
            np.testing.assert_array_equal(mine, real)


def check_explicit(name: str) -> None:
    """Shardings in types, on a mesh with an explicit axis."""
    f, x = FUNCTIONS[name]
    each = jax.vmap(f)
    batch = stacked(x)
    expected = jax.jit(lambda x: derivatives(each, x))(batch)
    mesh = jax.make_mesh((DEVICES,), ("devices",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        placed = jax.device_put(batch, NamedSharding(mesh, P("devices")))
        compare(f"{name}, explicit", jax.jit(lambda x: derivatives(each, x))(placed), expected)


def check_exported(name: str) -> None:
    """Written as bytes and read again."""
    from jax import export

    f, x = FUNCTIONS[name]
    program = jax.jit(lambda x: derivatives(f, x, order=2 if name in QUICK else 1))
    allowed = [export.DisabledSafetyCheck.custom_call("cenote_op")]
    data = export.export(program, disabled_checks=allowed)(jax.ShapeDtypeStruct(x.shape, np.float64)).serialize()
    compare(f"{name}, exported", export.deserialize(data).call(x), program(x))


CHECKS = {"sharded": check_sharded, "exported": check_exported, "explicit": check_explicit}


def main(which: str, *names: str) -> None:
    jax.config.update("jax_disable_most_optimizations", True)  # most of the time is the compiler's
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"  # read when JAX starts its devices
    chosen = names or tuple(FUNCTIONS)
    with with_x64(True):
        for what in which.split(","):
            for name in chosen:
                CHECKS[what](name)
            print(f"{what}: {len(chosen)}")
        if "sharded" in which:
            assert len(jax.devices()) == DEVICES
            for name in MIXED:
                check_mixed(name)
            check_unpool()
            check_jit_of_sharded()


if __name__ == "__main__":
    main(*sys.argv[1:])
