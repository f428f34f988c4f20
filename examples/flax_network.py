"""A flax network whose pooling is cenote's: one import is another, everything else stays as it is.

Needs: cenote, NumPy, JAX, flax, optax and scikit-learn
Run:   python examples/flax_network.py

A small network learns to read 1,437 pictures of handwritten digits, 8×8 pixels each. `nnx.jit` compiles a training
step: convolutions by XLA, pooling and its gradient by cenote, on XLA's own memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits

from cenote.dialects.flax import nnx as cenote_nnx

Data = tuple[Any, Any]


class Network(nnx.Module):
    """Two convolutions, each with a maximum over windows, and a linear layer."""

    def __init__(self, max_pool: Callable[..., Any], rngs: nnx.Rngs) -> None:
        self.max_pool = max_pool
        self.first = nnx.Conv(1, 16, kernel_size=(3, 3), rngs=rngs)
        self.second = nnx.Conv(16, 32, kernel_size=(3, 3), rngs=rngs)
        self.last = nnx.Linear(32 * 2 * 2, 10, rngs=rngs)

    def __call__(self, x: Any) -> Any:  # (batch, 8, 8, 1) → (batch, 10)
        x = self.max_pool(nnx.relu(self.first(x)), (2, 2), strides=(2, 2))
        x = self.max_pool(nnx.relu(self.second(x)), (2, 2), strides=(2, 2))
        return self.last(x.reshape(len(x), -1))


def loss_of(model: Network, x: Any, labels: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()


@nnx.jit
def train_step(model: Network, optimizer: nnx.Optimizer[Network], x: Any, labels: Any) -> Any:
    loss, gradient = nnx.value_and_grad(loss_of)(model, x, labels)
    optimizer.update(model, gradient)
    return loss


def load() -> tuple[Data, Data]:
    """Pictures and labels: to learn from, and to be tested on."""
    digits = load_digits()
    x = (digits.images[..., None] / 16).astype(np.float32)
    return (x[:1437], digits.target[:1437]), (x[1437:], digits.target[1437:])


def train(data: Data, steps: int, max_pool: Callable[..., Any] = cenote_nnx.max_pool) -> tuple[Network, list[float]]:
    """The trained network, and the loss of each step."""
    model = Network(max_pool, nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)
    rng = np.random.default_rng(0)
    losses = []
    for step in range(steps):
        chosen = rng.integers(0, len(data[0]), 64)
        losses.append(float(train_step(model, optimizer, data[0][chosen], data[1][chosen])))
        if step % max(1, steps // 10) == 0 or step == steps - 1:
            print(f"step {step:4}   loss {losses[-1]:.4f}")
    return model, losses


def accuracy(model: Network, x: Any, labels: Any) -> float:
    return float(jnp.mean(jax.jit(model)(x).argmax(axis=1) == labels))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    learned_from, kept_away = load()
    model, _ = train(learned_from, options.steps)
    print(f"accuracy on {len(kept_away[0])} pictures that it has not seen: {accuracy(model, *kept_away):.3f}")
