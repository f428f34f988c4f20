"""Hessian-vector products without the Hessian: forward mode over reverse mode.

Needs: cenote and NumPy
Run:   python examples/hessian_vector.py

The loss is that of a small network with a smooth pooling layer. Its Hessian has as many rows as there are parameters,
but a product with a vector costs about two gradients. Power iteration finds the direction of largest curvature.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import cenote as cn


def make_loss(seed: int = 0) -> tuple[Any, np.ndarray]:
    """A loss as a function of one vector of parameters, and where to look at it."""
    rng = np.random.default_rng(seed)
    x, target = rng.standard_normal((8, 6, 6)), rng.standard_normal((8, 3))

    def loss(w: Any) -> Any:
        hidden = np.tanh(x @ w[:36].reshape(6, 6))
        pooled = cn.smooth_max_pool(hidden, (2, 2), beta=3.0).reshape(8, 9)
        return ((pooled @ w[36:].reshape(9, 3) - target) ** 2).mean()

    return loss, 0.5 * rng.standard_normal(63)


def hessian_vector(f: Any, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """H(w)·v: the derivative of the gradient along v."""
    return cn.jvp(cn.grad(f), (w,), (v,))[1]  # type: ignore[no-any-return]


def largest_curvature(f: Any, w: np.ndarray, steps: int = 50) -> tuple[float, np.ndarray]:
    v = np.ones_like(w) / np.sqrt(w.size)
    curvature = 0.0
    for step in range(steps):
        product = hessian_vector(f, w, v)
        curvature = float(v @ product)
        v = product / np.linalg.norm(product)
        if step % max(1, steps // 10) == 0 or step == steps - 1:
            print(f"step {step:3}   curvature along the direction {curvature:.8f}")
    return curvature, v


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    f, w = make_loss()
    curvature, v = largest_curvature(f, w, options.steps)
    step = 1e-4
    by_differences = (f(w + step * v) - 2 * f(w) + f(w - step * v)) / step**2
    print(f"largest curvature {curvature:.6f}, by finite differences {by_differences:.6f}")
