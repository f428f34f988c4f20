"""The rows of the benchmarks: what is computed, vs. which libraries, and the goals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from conv_work import Conv
from work import Case

THREADS = 2

# What is measured, section by section, and what --section takes.
SECTIONS = {
    "forward": "networks, forward",
    "vjp": "networks, value and VJP",
    "windows": "large windows, and how time grows with them",
    "images": "images",
    "dtypes": "other dtypes, per byte moved",
    "smooth": "smooth maximum and p-norm",
    "order": "medians and modes",
    "conv": "convolution, forward",
    "conv vjp": "convolution, value and VJP of data and filters",
    "conv small": "convolution on small planes",
    "conv other": "transposed convolution, other ranks, large filters",
    "conv long": "long filters on one channel of 48,000 samples",
    "options": "options vs. the plain case with as many outputs",
    "calls": "one call on 4×4 data",
    "memory": "peak memory beyond arguments and results",
    "threads": f"{THREADS} threads vs. one",
    "package": "the package",
}


@dataclass(frozen=True)
class Goal:
    """``ahead``: of the best peer, that many times; ``ahead of torch``: of that one. ``copy``: that share of a copy's
    speed. ``ratio``: at most that many times the base case, ``per byte`` moved if so named. ``speedup``: that many
    times as fast as one thread. ``memory``, ``size``, ``import``: at most that many MiB, MB, ms."""

    kind: str
    bound: float


@dataclass(frozen=True)
class Row:
    section: str
    name: str
    case: Case | Conv | None = None
    peers: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    base: Case | None = None
    mean: str | None = None  # the geometric mean that it counts in

    @property
    def key(self) -> str:
        return f"{self.section}: {self.name}"

    @property
    def times_the_bytes(self) -> float:
        """How many times as many bytes it moves as its base case."""
        return self.case.bytes_moved / self.base.bytes_moved if self.case and self.base else 1.0


AHEAD = Goal("ahead", 1.0)
FIRST = ("torch", "jax", "onnxruntime")
LAST = ("torch", "jax")
LAYOUTS = {"first": "channels first", "last": "channels last"}

BATCH, EIGHT, DEEP = (32, 64, 112, 112), (8, 64, 112, 112), (8, 256, 20, 20)
PLANES, VOLUME, SIGNAL, IMAGE = (1, 8, 512, 512), (4, 32, 32, 64, 64), (32, 64, 16000), (4096, 4096)

# The second value says whether the memory is what limits it, so that a copy is the measure.
NETWORKS: dict[str, tuple[Case, bool]] = {
    "max 2×2, 32×64×112×112": (Case("max", BATCH, (2, 2)), True),
    "max 3×3 s2 p1, 32×64×112×112": (Case("max", BATCH, (3, 3), stride=2, padding=1), True),
    "avg 2×2, 32×64×112×112": (Case("avg", BATCH, (2, 2)), True),
    "avg 3×3 s1 p1, 8×64×112×112": (Case("avg", EIGHT, (3, 3), stride=1, padding=1), False),
    "max 13×13 s1 p6, 8×256×20×20": (Case("max", DEEP, (13, 13), stride=1, padding=6), False),
    "max 31×31 s1, 1×8×512×512": (Case("max", PLANES, (31, 31), stride=1), False),
    "avg 31×31 s1, 1×8×512×512": (Case("avg", PLANES, (31, 31), stride=1), False),
    "max 2×2×2, 4×32×32×64×64": (Case("max", VOLUME, (2, 2, 2)), True),
    "max 3 s2, 32×64×16000": (Case("max", SIGNAL, (3,), stride=2), True),
}
DERIVATIVES = (
    "max 2×2, 32×64×112×112",
    "max 3×3 s2 p1, 32×64×112×112",
    "avg 2×2, 32×64×112×112",
    "avg 3×3 s1 p1, 8×64×112×112",
    "max 2×2×2, 4×32×32×64×64",
    "max 3 s2, 32×64×16000",
)


def forward() -> Iterator[Row]:
    for name, (case, memory_bound) in NETWORKS.items():
        for layout, words in LAYOUTS.items():
            peers: tuple[str, ...] = FIRST if layout == "first" else LAST
            peers += ("opencv",) if max(case.window) > 13 else ()  # its kind of work
            goals = (AHEAD, Goal("copy", 0.8)) if memory_bound else (AHEAD,)
            yield Row("forward", f"{name}, {words}", replace(case, layout=layout), peers, goals, mean="forward")


def vjp() -> Iterator[Row]:
    for name in DERIVATIVES:
        case, memory_bound = NETWORKS[name]
        for layout, words in LAYOUTS.items():
            goals = (AHEAD, Goal("copy", 0.6)) if memory_bound else (AHEAD,)
            work = replace(case, layout=layout, mode="vjp")
            yield Row("vjp", f"{name}, {words}", work, LAST, goals, mean="vjp")


def windows() -> Iterator[Row]:
    for op in ("max", "min", "avg", "sum", "smooth_max"):
        wide, narrow = (Case(op, (2048, 2048), (k, k), stride=1) for k in (63, 3))
        yield Row("windows", f"{op} 63×63 vs. 3×3, s1, 2048²", wide, (), (Goal("ratio", 2.5),), narrow)
    for op, dtype in (("max", "uint8"), ("max", "float32"), ("avg", "float32")):
        case = Case(op, IMAGE, (31, 31), stride=1, dtype=dtype)
        yield Row("windows", f"{op} 31×31 s1 of {dtype}, 4096²", case, ("opencv", "scipy"), (AHEAD,), mean="forward")


def images() -> Iterator[Row]:
    for dtype in ("uint8", "uint16", "float32"):
        for op in ("max", "avg"):
            peers: tuple[str, ...] = ("numpy", "skimage")
            peers += ("opencv",) if op == "avg" else ("torch",) if dtype != "uint16" else ()
            listed = (op, dtype) in (("max", "uint8"), ("avg", "float32"))
            case = Case(op, IMAGE, (2, 2), dtype=dtype)
            goals = (AHEAD, Goal("copy", 0.7))
            yield Row("images", f"{op} 2×2 of {dtype}, 4096²", case, peers, goals, mean="forward" if listed else None)
    # What is not in the table that the goals come from, and what people do with pictures.
    everybody = ("numpy", "skimage", "opencv")
    for dtype in ("uint8", "uint16", "float32"):
        yield Row("images", f"avg 4×4 of {dtype}, 4096²", Case("avg", IMAGE, (4, 4), dtype=dtype), everybody, (AHEAD,))
    for dtype in ("uint8", "float32"):
        for op, k in (("max", 2), ("avg", 2), ("avg", 4)):
            case = Case(op, (2048, 2048, 3), (k, k), dtype=dtype, axes=(0, 1))
            others = everybody[: 3 if op == "avg" else 2]
            yield Row("images", f"{op} {k}×{k} of {dtype}, 2048²×3", case, others, (AHEAD,))
    # The average as an image again: what a pyramid is made of.
    for dtype in ("uint8", "uint16"):
        for k in (2, 4, 8):
            case = Case("avg", IMAGE, (k, k), dtype=dtype, result=dtype)
            yield Row("images", f"avg {k}×{k} of {dtype} to {dtype}, 4096²", case, ("opencv",), (AHEAD,))
    colours = Case("avg", (2048, 2048, 3), (2, 2), dtype="uint8", axes=(0, 1), result="uint8")
    yield Row("images", "avg 2×2 of uint8 to uint8, 2048²×3", colours, ("opencv",), (AHEAD,))
    volume = Case("avg", (256, 512, 512), (2, 2, 2), dtype="uint8", result="uint8")
    goal = Goal("ahead", 1.3)
    yield Row("images", "avg 2×2×2 of uint8 to uint8, 256×512×512", volume, ("tinybrain",), (goal,))


DTYPES = ("float64", "float16", "bfloat16", *(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")))


def dtypes() -> Iterator[Row]:
    """As many bytes as the base case moves: where an array ends up in memory is not the dtype's doing."""
    shape = (16, 64, 112, 112)
    for what, case in {
        "max 2×2": Case("max", shape, (2, 2)),
        "avg 2×2": Case("avg", shape, (2, 2)),
        "max 3×3 s1": Case("max", shape, (3, 3), stride=1),
    }.items():
        for dtype in DTYPES:
            other = replace(case, dtype=dtype)
            other = replace(other, shape=(round(shape[0] * case.bytes_moved / other.bytes_moved), *shape[1:]))
            yield Row("dtypes", f"{what} of {dtype} vs. float32", other, (), (Goal("ratio per byte", 1.3),), case)


def smooth() -> Iterator[Row]:
    """Derivatives have no bound in the goals: they are to be ahead."""
    for what, case in {
        "smooth max 2×2": Case("smooth_max", EIGHT, (2, 2)),
        "smooth max 3×3 s1": Case("smooth_max", EIGHT, (3, 3), stride=1),
        "lp p=2, 2×2": Case("lp", EIGHT, (2, 2)),
        "lp p=3, 3×3 s1": Case("lp", EIGHT, (3, 3), stride=1, p=3.0),
    }.items():
        for layout, words in LAYOUTS.items():
            work = replace(case, layout=layout)
            name = f"{what}, 8×64×112×112, {words}"
            yield Row("smooth", name, work, LAST, (Goal("ahead", 5.0),))
            yield Row("smooth", f"{name}, value + VJP", replace(work, mode="vjp"), LAST, (AHEAD,))


def order() -> Iterator[Row]:
    """Medians as pictures again, of the windows that lie inside, and labels halved along each axis."""
    plane, small = (2048, 2048), (512, 512)
    for k, goal in ((3, 1.0), (5, 1.0), (7, 3.0), (15, 3.0), (31, 3.0), (63, 3.0)):
        case = Case("median", plane, (k, k), stride=1, dtype="uint8", result="uint8")
        yield Row("order", f"median {k}×{k} s1 of uint8, 2048²", case, ("opencv",), (Goal("ahead", goal),))
    for dtype in ("uint16", "float32"):
        for k in (3, 5):
            case = Case("median", plane, (k, k), stride=1, dtype=dtype, result=dtype)
            yield Row("order", f"median {k}×{k} s1 of {dtype}, 2048²", case, ("opencv",), (AHEAD,))
    for k in (3, 5, 15):
        case = Case("median", small, (k, k), stride=1)
        goal50 = (Goal("ahead", 50.0),)
        yield Row("order", f"median {k}×{k} s1 of float32, 512²", case, ("scipy",), goal50)
    for labels in ("blocks", "noise"):
        for dtype in ("uint8", "uint16", "uint32", "uint64"):
            case = Case("mode", (128, 256, 256), (2, 2, 2), dtype=dtype, labels=labels)
            peers = ("tinybrain", "tensorstore")
            yield Row("order", f"mode 2×2×2 of {dtype}, {labels}, 128×256×256", case, peers, (Goal("ahead", 3.0),))


def options() -> Iterator[Row]:
    """The base case is the plain one with as many outputs: its array is as large as that takes."""
    limit = (Goal("ratio", 1.5),)
    for op in ("max", "avg"):
        tiles, dense = Case(op, EIGHT, (2, 2)), Case(op, EIGHT, (3, 3), stride=1)
        halves = Case(op, (8, 64, 113, 113), (3, 3), stride=2)
        pairs = {
            "dilation 2, 3×3 s1": (replace(dense, shape=(8, 64, 114, 114), dilation=2), dense),
            "dilation 2, 2×2 s2": (replace(tiles, shape=(8, 64, 113, 113), dilation=2, stride=2), tiles),
            "padding 1, 3×3 s1": (replace(dense, padding=1), replace(dense, shape=(8, 64, 114, 114))),
            "padding 1, 2×2": (replace(tiles, padding=1), replace(tiles, shape=(8, 64, 114, 114))),
            "ceil_mode, 3×3 s2": (replace(halves, shape=EIGHT, ceil_mode=True), halves),
            "axes in the middle, 2×2": (replace(tiles, shape=(8, 112, 112, 64), axes=(1, 2)), tiles),
            "axes in the middle, 3×3 s1": (replace(dense, shape=(8, 112, 112, 64), axes=(1, 2)), dense),
            "axes first, 2×2": (replace(tiles, shape=(112, 112, 8, 64), axes=(0, 1)), tiles),
            'nan="omit", none there, 2×2': (replace(tiles, nan="omit"), tiles),
            'nan="omit", none there, 3×3 s1': (replace(dense, nan="omit"), dense),
            'nan="omit", 1 % NaN, 2×2': (replace(tiles, nan="omit", nans=0.01), tiles),
            'nan="omit", 1 % NaN, 3×3 s1': (replace(dense, nan="omit", nans=0.01), dense),
        }
        if op == "max":
            pairs["indices, 2×2"] = (replace(tiles, indices=True), tiles)
            pairs["indices, 3×3 s1"] = (replace(dense, indices=True), dense)
            pairs["indices, 3×3 s2 p1"] = (
                replace(halves, shape=EIGHT, padding=1, indices=True),
                replace(halves, shape=EIGHT, padding=1),
            )
        for what, (case, base) in pairs.items():
            yield Row("options", f"{op}, {what}", case, (), limit, base)


CONVOLUTIONS: dict[str, Conv] = {
    "3×3 64→64, 8×56×56": Conv((8, 64, 56, 56), 64, (3, 3), padding=1),
    "3×3 256→256, 8×14×14": Conv((8, 256, 14, 14), 256, (3, 3), padding=1),
    "7×7 s2 3→64, 8×224×224": Conv((8, 3, 224, 224), 64, (7, 7), stride=2, padding=3),
    "1×1 256→64, 16×56×56": Conv((16, 256, 56, 56), 64, (1, 1)),
    "depthwise 3×3 128, 16×56×56": Conv((16, 128, 56, 56), 128, (3, 3), padding=1, depthwise=True),
    "3×3 dilation 2 64→64, 8×56×56": Conv((8, 64, 56, 56), 64, (3, 3), padding=2, dilation=2),
    "5×5 16→32, 16×28×28": Conv((16, 16, 28, 28), 32, (5, 5), padding=2),
}
FAST = ("3×3 64→64, 8×56×56", "3×3 256→256, 8×14×14")  # fewer multiplications than the direct sum has would do
LEARNT = ("3×3 64→64, 8×56×56", "7×7 s2 3→64, 8×224×224", "1×1 256→64, 16×56×56", "depthwise 3×3 128, 16×56×56")


def conv() -> Iterator[Row]:
    for name, case in CONVOLUTIONS.items():
        for layout, words in LAYOUTS.items():
            goals = (AHEAD, Goal("ahead of torch", 1.3)) if name in FAST and layout == "last" else (AHEAD,)
            peers = FIRST if layout == "first" else LAST
            yield Row("conv", f"{name}, {words}", replace(case, layout=layout), peers, goals, mean="conv")


def conv_vjp() -> Iterator[Row]:
    for name in LEARNT:
        for layout, words in LAYOUTS.items():
            case = replace(CONVOLUTIONS[name], layout=layout, mode="vjp")
            goal = Goal("ahead", 5.0) if case.depthwise else AHEAD
            yield Row("conv vjp", f"{name}, {words}", case, ("torch",), (goal,), mean="conv vjp")


SMALL_PLANES: dict[str, Conv] = {
    "3×3 512→512, 8×7×7": Conv((8, 512, 7, 7), 512, (3, 3), padding=1),
    "3×3 256→256, 8×7×7": Conv((8, 256, 7, 7), 256, (3, 3), padding=1),
    "3×3 s2 256→512, 8×14×14": Conv((8, 256, 14, 14), 512, (3, 3), stride=2, padding=1),
    "3×3 512→512, 8×4×4": Conv((8, 512, 4, 4), 512, (3, 3), padding=1),
    "3×3 512→512, 1×7×7": Conv((1, 512, 7, 7), 512, (3, 3), padding=1),
}


def conv_small() -> Iterator[Row]:
    """The last stages of a network: the filters are larger than the data."""
    for name, case in SMALL_PLANES.items():
        for layout, words in LAYOUTS.items():
            work, peers = replace(case, layout=layout), FIRST if layout == "first" else LAST
            yield Row("conv small", f"{name}, {words}", work, peers, (AHEAD,))
            if name == "3×3 512→512, 8×7×7":
                pulled = replace(work, mode="vjp")
                yield Row("conv small", f"{name}, {words}, value + VJP", pulled, ("torch",), (AHEAD,))


def conv_other() -> Iterator[Row]:
    """With one channel there is one layout. Libraries without a transform are left out for the largest filter."""
    upwards = Conv((16, 64, 28, 28), 32, (4, 4), stride=2, padding=1, op="conv_transpose")
    for name, case in {
        "transposed 4×4 s2 p1 64→32, 16×28×28": upwards,
        "1-D 9 64→64, 8×4096": Conv((8, 64, 4096), 64, (9,), padding=4),
        "3-D 3×3×3 32→32, 8×16×16×16": Conv((8, 32, 16, 16, 16), 32, (3, 3, 3), padding=1),
    }.items():
        for layout, words in LAYOUTS.items():
            peers = FIRST if layout == "first" else LAST
            yield Row("conv other", f"{name}, {words}", replace(case, layout=layout), peers, (AHEAD,))
    large, huge = Conv((4, 1, 512, 512), 1, (64, 64)), Conv((1, 1, 2048, 2048), 1, (127, 127))
    yield Row("conv other", "64×64 on one channel, 4×512×512", large, (*FIRST, "opencv", "scipy"), (AHEAD,))
    yield Row("conv other", "127×127 on one channel, 2048²", huge, ("opencv", "scipy"), (AHEAD,))


def conv_long() -> Iterator[Row]:
    """Against those that transform: torch on a busy machine varies too much to be a figure."""
    for taps in (257, 1025, 16385):
        for mode, title in (("forward", ""), ("vjp", ", value + VJP")):
            for padding, words in ((0, "valid"), (taps - 1, "full")):
                case = Conv((1, 1, 48000), 1, (taps,), padding=padding, mode=mode)
                yield Row("conv long", f"{taps:,} taps, {words}{title}", case, ("scipy", "fftconvolve"), (AHEAD,))


def calls() -> Iterator[Row]:
    for op in ("max", "avg"):
        case = Case(op, (1, 1, 4, 4), (2, 2))
        yield Row("calls", f"{op} 2×2 on 4×4", case, ("torch", "jax"), (AHEAD,))
        back = replace(case, mode="backward")
        peers = ("torch", "mygrad") if op == "max" else ("torch",)
        yield Row("calls", f"{op} 2×2 on 4×4, Tensor, sum, backward", back, peers, (AHEAD,))
    yield Row("calls", "conv 3×3 on 4×4", Conv((1, 1, 4, 4), 1, (3, 3), padding=1), ("torch", "jax"), (AHEAD,))


def memory() -> Iterator[Row]:
    """A MiB per thread; for the derivative of a maximum one byte per output more, which says where it was."""
    for layout, words in LAYOUTS.items():
        for name in ("max 2×2, 32×64×112×112", "max 3×3 s2 p1, 32×64×112×112", "avg 3×3 s1 p1, 8×64×112×112"):
            case = replace(NETWORKS[name][0], layout=layout)
            for mode, title in (("forward", "forward"), ("vjp", "value + VJP")):
                yield memory_row(f"{name}, {words}, {title}", replace(case, mode=mode))
    yield memory_row("max 31×31 s1 of float32, 4096², forward", Case("max", IMAGE, (31, 31), stride=1))
    yield memory_row("avg 31×31 s1 of float32, 4096², forward", Case("avg", IMAGE, (31, 31), stride=1))
    yield memory_row("avg 2×2 of uint8, 4096², forward", Case("avg", IMAGE, (2, 2), dtype="uint8"))
    yield memory_row("smooth max 3×3 s1, 8×64×112×112, forward", Case("smooth_max", EIGHT, (3, 3), stride=1))


def memory_row(name: str, case: Case) -> Row:
    chosen = case.mode == "vjp" and case.op in ("max", "min")
    offsets = case.output_bytes // case.output_dtype.itemsize if chosen else 0
    return Row("memory", name, case, (), (Goal("memory", THREADS + offsets / 2**20),))


def threads() -> Iterator[Row]:
    goal = (Goal("speedup", 1.8),)
    plane = Case("max", (1024, 1024), (3, 3), stride=1)
    for name, case in {
        "max 13×13 s1 p6, 8×256×20×20": NETWORKS["max 13×13 s1 p6, 8×256×20×20"][0],
        "max 3×3 s1, one plane of 1024²": plane,
        "avg 3×3 s1, one plane of 1024²": replace(plane, op="avg"),
        "max 31×31 s1, one plane of 1024²": replace(plane, window=(31, 31)),
        "avg 31×31 s1, one plane of 4096²": Case("avg", IMAGE, (31, 31), stride=1),
        "smooth max 3×3 s1, one plane of 1024²": replace(plane, op="smooth_max"),
        "max 2×2, 1×16×256×256": Case("max", (1, 16, 256, 256), (2, 2)),
    }.items():
        yield Row("threads", name, case, (), goal)


def package() -> Iterator[Row]:
    yield Row("package", "wheel, MB", None, (), (Goal("size", 3.0),))
    yield Row("package", "import after NumPy's, ms", None, (), (Goal("import", 50.0),))


def rows() -> list[Row]:
    networks = (forward, vjp, windows, images, dtypes, smooth, order, conv, conv_vjp, conv_small)
    makers = (*networks, conv_other, conv_long, options, calls, memory, threads, package)
    return [row for maker in makers for row in maker()]
