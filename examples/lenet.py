"""LeNet, the small network of the d2l book, trained from scratch on handwritten digits.

Needs: cenote, NumPy, scikit-learn (the digits) and Pillow (a plot of the loss):
       python -m pip install scikit-learn pillow
Run:   python examples/lenet.py, which takes a few seconds

Two 5x5 convolutions, each followed by 2x2 average pooling, then three dense layers, as in the book. The images are
scikit-learn's 8x8 digits, enlarged to 16x16. The activations are ReLU, which learn in seconds what takes the book's
sigmoid minutes. Gradients come from `Tensor.backward`, the optimizer is Adam.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import cenote as cn

Parameters = dict[str, cn.Tensor]
Split = tuple[np.ndarray, np.ndarray]

SHAPES = {
    "conv1": (5, 5, 1, 6),
    "conv2": (5, 5, 6, 16),
    "dense1": (2 * 2 * 16, 120),
    "dense2": (120, 84),
    "dense3": (84, 10),
}


# ------------------------------------------------------------------------------------------------- the network


def make_parameters(rng: np.random.Generator) -> Parameters:
    """Weights as Xavier has them, biases of zero."""
    out = {}
    for name, shape in SHAPES.items():
        taps = int(np.prod(shape[:-2]))
        spread = np.sqrt(6 / (taps * (shape[-2] + shape[-1])))
        out[name] = cn.Tensor(rng.uniform(-spread, spread, shape).astype(np.float32))
        out[f"{name} bias"] = cn.Tensor(np.zeros(shape[-1], np.float32))
    return out


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def logits(p: Any, x: Any) -> Any:
    """(n, 16, 16, 1) → (n, 10). ``p`` holds Tensors or arrays: with arrays nothing is recorded."""
    x = relu(cn.conv(x, p["conv1"], bias=p["conv1 bias"], padding=2))
    x = cn.avg_pool(x, (2, 2), axes=(1, 2))  # (n, 8, 8, 6)
    x = relu(cn.conv(x, p["conv2"], bias=p["conv2 bias"]))
    x = cn.avg_pool(x, (2, 2), axes=(1, 2))  # (n, 2, 2, 16)
    x = x.reshape(-1, 2 * 2 * 16)
    x = relu(x @ p["dense1"] + p["dense1 bias"])
    x = relu(x @ p["dense2"] + p["dense2 bias"])
    return x @ p["dense3"] + p["dense3 bias"]


def cross_entropy(scores: Any, labels: np.ndarray) -> Any:
    largest = scores.data.max(axis=1, keepdims=True)
    total = np.log(np.exp(scores - largest).sum(axis=1)) + largest[:, 0]
    return (total - scores[np.arange(len(labels)), labels]).mean()


def accuracy(p: Parameters, x: np.ndarray, labels: np.ndarray) -> float:
    scores = logits({name: tensor.data for name, tensor in p.items()}, x)
    return float(np.mean(scores.argmax(axis=1) == labels))


# ------------------------------------------------------------------------------------------------- the training


def load() -> tuple[Split, Split]:
    """1437 pictures to learn from and 360 that are kept away from it: 16x16, of mean 0 and deviation 1."""
    digits = load_digits()
    images = digits.images.repeat(2, axis=1).repeat(2, axis=2)[..., None]
    x, x_test, y, y_test = train_test_split(
        images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
    )
    mean, deviation = x.mean(), x.std()
    x, x_test = (((part - mean) / deviation).astype(np.float32) for part in (x, x_test))
    return (x, y), (x_test, y_test)


def batches(x: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[Split]:
    """Without end; every picture once before any is seen again, each moved by up to one pixel."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    while True:
        order = rng.permutation(len(x))
        for start in range(0, len(x) - size + 1, size):
            chosen = order[start : start + size]
            moves = rng.integers(0, 3, (size, 2))
            moved = [padded[i, r : r + 16, c : c + 16] for i, (r, c) in zip(chosen, moves, strict=True)]
            yield np.stack(moved), y[chosen]


def train(data: Split, steps: int, rate: float = 4e-3, size: int = 32, seed: int = 0) -> tuple[Parameters, list[float]]:
    """The parameters that were learned, and the loss of every step."""
    rng = np.random.default_rng(seed)
    p = make_parameters(rng)
    mean = {name: np.zeros_like(t.data) for name, t in p.items()}
    square = {name: np.zeros_like(t.data) for name, t in p.items()}
    losses: list[float] = []
    begin = time.perf_counter()
    for step, (x, labels) in zip(range(1, steps + 1), batches(*data, size, rng), strict=False):
        loss = cross_entropy(logits(p, x), labels)
        loss.backward()
        losses.append(loss.item())
        slower = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
        for name, tensor in p.items():
            mean[name] += 0.1 * (tensor.grad - mean[name])
            square[name] += 0.001 * (tensor.grad**2 - square[name])
            unbiased = mean[name] / (1 - 0.9**step), square[name] / (1 - 0.999**step)
            tensor.data -= slower * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
        show_progress(step, steps, losses[-1], time.perf_counter() - begin)
    return p, losses


def show_progress(step: int, steps: int, loss: float, seconds: float, width: int = 30) -> None:
    """A bar that grows in a terminal; elsewhere a line now and then."""
    done = width * step // steps
    line = f"[{'#' * done}{'.' * (width - done)}] step {step}/{steps}   loss {loss:.4f}   {seconds:.1f} s"
    if sys.stdout.isatty():
        print(f"\r{line}", end="\n" if step == steps else "", flush=True)
    elif step == steps or step % max(1, steps // 10) == 0:
        print(line)


# ----------------------------------------------------------------------------------------------------- the plot


def plot(losses: list[float], title: str, width: int = 680, height: int = 320) -> Image.Image:
    """The loss over the steps, on a logarithmic scale: a faint line for each step, a bright one for their average."""
    curve = np.log10(np.maximum(losses, 1e-6))
    smooth = cn.avg_pool(curve, (min(len(curve), 25),), stride=1, padding="same", count_include_pad=False)
    low, high = np.floor(curve.min()), np.ceil(curve.max() + 1e-9)
    left, top, right, bottom = 70, 50, width - 20, height - 20
    image = Image.new("RGB", (width, height), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(16)

    def row_of(value: float) -> float:
        return top + (high - value) / (high - low) * (bottom - top)

    draw.text((left, 16), f"{title}: cross entropy, {len(losses)} steps", "black", font)
    for power in np.arange(low, high + 1):
        draw.line([(left, row_of(power)), (right, row_of(power))], "lightgray")
        draw.text((left - 10, row_of(power)), f"{10.0**power:g}", "black", font, anchor="rm")
    columns = np.linspace(left, right, len(curve))
    for values, colour in ((curve, "lightblue"), (smooth, "navy")):
        draw.line([(x, row_of(y)) for x, y in zip(columns, values, strict=True)], colour, 2)
    return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--out", type=Path, default=Path("build"), help="the directory for the plot of the loss")
    options = parser.parse_args()
    (x, y), (x_test, y_test) = load()
    p, losses = train((x, y), options.steps)
    found = accuracy(p, x_test, y_test)
    print(f"accuracy on {len(x_test)} pictures that it has not seen: {100 * found:.2f} %")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "lenet-loss.png"
    plot(losses, f"LeNet, {100 * found:.2f} % right").save(path)
    print(f"the loss: {path}")


if __name__ == "__main__":
    main()
