"""Learn the sharpness of a smooth maximum: a layer with one parameter, β, fitted by gradient descent.

Needs: cenote and NumPy
Run:   python examples/learn_beta.py

The data were pooled with a β that the layer does not know. `smooth_max_pool` takes β as a plain number, so a β with a
derivative has to scale its input: smooth_max(x; β) = smooth_max(β·x; 1) / β.
"""

from __future__ import annotations

import argparse

import numpy as np

import cenote as cn


def layer(x: np.ndarray, log_beta: cn.Tensor) -> cn.Tensor:
    beta = np.exp(log_beta)  # positive, whatever the parameter is
    return cn.smooth_max_pool(x * beta, (2, 2)) / beta


def learn(true_beta: float = 4.0, steps: int = 200, rate: float = 0.3, seed: int = 0) -> float:
    """The β that gradient descent finds."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((16, 24, 24))
    target = cn.smooth_max_pool(x, (2, 2), beta=true_beta) + 0.01 * rng.standard_normal((16, 12, 12))
    log_beta = cn.Tensor(0.0)  # β = 1
    for step in range(steps):
        loss = ((layer(x, log_beta) - target) ** 2).mean()
        loss.backward()
        log_beta.data -= rate * log_beta.grad
        if step % max(1, steps // 10) == 0 or step == steps - 1:
            print(f"step {step:4}   loss {loss.item():.6f}   β {np.exp(log_beta.data):.4f}")
    return float(np.exp(log_beta.data))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--beta", type=float, default=4.0, help="β of the data")
    options = parser.parse_args()
    found = learn(options.beta, options.steps)
    print(f"β of the data {options.beta}, learned β = {found:.4f}")
