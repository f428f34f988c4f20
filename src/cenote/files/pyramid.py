"""OME-Zarr image pyramids: the array itself, then each level pooled from the one before.

Work goes on in ``OUT.zarr.partial``: the options of the run, a journal of the blocks that are done, and the levels in
``image.zarr``, which has no metadata of an image until all of them are there. Then it is moved to its place. A chunk is
a file that zarr renames into place, so after a kill every block that the journal lacks is computed again, and the
result has the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cenote

from ..dtypes import is_bool, is_exact, is_float
from ..ops.base import Spec
from ..ops.elementwise import Cast
from .atomic import check_place, move, names_of_users, remove
from .base import FileError, Layout, Source, needs
from .formats import FULL, open_source, split_zarr
from .interrupts import deferred
from .lazy import FileArray, Pending
from .ngff import axes_of, default_levels, image_attributes
from .run_folder import (
    COMPLETE,
    Journal,
    begin,
    check_same,
    is_complete,
    is_of_run,
    manifest_of,
    options_of,
    remove_run,
)
from .streaming import Ranges, plan_blocks, stream
from .zarr_files import ZarrSource, ZarrTarget, brief, check_folder, create_array, node_at

METADATA = {"zarr.json", ".zgroup", ".zattrs", ".zmetadata"}  # of a group, in either format of zarr
Progress = Callable[..., AbstractContextManager[Callable[[Ranges], None]]]


@dataclass(frozen=True)
class Options:
    """What the bytes of a pyramid depend on: a resumed run must have the same."""

    input: str
    levels: int | None
    op: str
    window: Any
    format: str
    axes: str | None
    pixel_size: tuple[float, ...] | None
    unit: str | None
    chunks: tuple[int, ...] | None


@dataclass(frozen=True)
class PyramidPlan:
    """Everything that follows from the options and the input."""

    axes: str
    order: tuple[int, ...]  # of the input's axes
    window: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    pixel_size: tuple[float, ...]


def build(
    options: Options,
    out: str,
    progress: Progress,
    *,
    threads: int,
    resume: bool,
    overwrite: bool,
    scheduler: str | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Write the pyramid; returns the shapes of its levels."""
    place = split_zarr(out)
    if place is None or place[1]:
        raise FileError(f"{out}: a pyramid is a folder of its own whose name ends with .zarr")
    path = place[0]
    partial = path.with_name(f"{path.name}.partial")
    with names_of_users(out, partial, partial.with_suffix(".finished")):
        replaced = partial / "replaced.zarr"
        if replaced.exists() and not path.exists():  # a kill came between the last two renames
            replaced.rename(path)
        before = clean_up(partial, path)
        if before is not None and resume:
            if before:
                check_same(before, manifest_of(asdict(options)))
            return shapes_of(path)
        check_place(path, overwrite)
        check_replaced(path)
        with closing(turned(open_source(options.input), options)) as source:
            plan = plan_pyramid(options, source)
            if partial.exists() and not is_of_run(partial):
                raise FileError(f"{partial} is not the folder of an unfinished pyramid: move it or remove it first")
            if partial.exists() and not resume and not overwrite:
                raise FileError(f"{partial} holds an unfinished run: --resume continues it, --overwrite begins anew")
            try:
                of_run = {**asdict(options), "shape": source.shape, "dtype": str(source.dtype), "shapes": plan.shapes}
                with begin(partial, of_run, resume) as journal:
                    write_levels(options, plan, source, partial / "image.zarr", journal, progress, threads, scheduler)
                    with deferred():
                        finish(partial, path, options, plan, journal, overwrite)
            except BaseException as error:
                if not resume:
                    remove(partial)
                if isinstance(error, OSError) and error.errno in FULL:
                    raise FileError(f"{out} cannot be written: {error.strerror}") from None
                raise
    return plan.shapes


def finish(partial: Path, path: Path, options: Options, plan: PyramidPlan, journal: Journal, overwrite: bool) -> None:
    """All levels are written: make an image of them and move it to its place."""
    image, replaced = partial / "image.zarr", partial / "replaced.zarr"
    write_metadata(image, options, plan, path.stem)
    journal.record(COMPLETE)
    journal.close()
    if path.is_dir():  # what is replaced goes with the folder of the run, also if a kill comes in between
        path.rename(replaced)
    try:
        move(image, path, overwrite)
    except BaseException:
        if replaced.exists() and not path.exists():
            replaced.rename(path)
        raise
    clean_up(partial, path)


def check_replaced(path: Path) -> None:
    """A pyramid replaces an image or an array. Another group, with all that is in it, is the user's to remove."""
    zarr = needs("zarr", "zarr", "files")
    node = node_at(zarr, path)
    check_folder(path, node)
    if isinstance(node, zarr.Group):
        levels = levels_in(node.attrs.asdict())
        own = METADATA | {Path(level).parts[0] for level in levels}
        others = sorted(entry.name for entry in path.iterdir() if entry.name not in own)
        if others:
            which = "is an image, and also" if levels else "is a group that is no image, and"
            raise FileError(f"{path} {which} holds {brief(others)}: remove it yourself")


def levels_in(attributes: Mapping[str, Any]) -> list[str]:
    """The paths of the arrays that an image's metadata name."""
    try:
        found = attributes.get("multiscales") or attributes.get("ome", {}).get("multiscales", ())
        return [str(dataset["path"]) for image in found for dataset in image.get("datasets", ()) if dataset["path"]]
    except (AttributeError, KeyError, TypeError):  # anybody may have written them
        return []


def clean_up(partial: Path, path: Path) -> dict[str, Any] | None:
    """Remove the folder of a run whose image is in its place; returns the options of that run, if there was one. A kill
    may have come between the last rename and the end of the removal."""
    rest = partial.with_suffix(".finished")
    if path.exists() and is_complete(partial) and not (partial / "image.zarr").exists() and not rest.exists():
        partial.rename(rest)
    if not is_complete(rest):  # a folder of the user's may have that name
        return None
    options = options_of(rest)
    remove_run(rest)
    return options if path.exists() else None


def shapes_of(path: Path) -> tuple[tuple[int, ...], ...]:
    group = needs("zarr", "zarr", "files").open_group(str(path), mode="r")
    return tuple(array.shape for _, array in sorted(group.arrays(), key=lambda item: int(item[0])))


# ------------------------------------------------------------------------------------------------------ plan


def turned(source: Source, options: Options) -> TransposedSource:
    """The input with its axes in OME-Zarr's order, t c z y x: a colour picture has its colours in front."""
    names = options.axes or axes_of(source)
    if len(names) != len(source.shape):
        raise FileError(f"--axes {names} names {len(names)} axes, {options.input} has {len(source.shape)}")
    if sorted(set(names) & set("tczyx")) != sorted(names) or "y" not in names or "x" not in names:
        raise FileError(f"--axes {names}: letters of t, c, z, y and x are needed, each once, y and x among them")
    order = tuple(sorted(range(len(names)), key=lambda i: "tczyx".index(names[i])))
    return TransposedSource(source, order, names)


class TransposedSource:
    picture: tuple[int, int] | None = None

    def __init__(self, source: Source, order: tuple[int, ...], names: str) -> None:
        self.source, self.order, self.names = source, order, names
        self.axes = "".join(names[i] for i in order)
        self.shape = tuple(source.shape[i] for i in order)
        self.dtype, self.format, self.attributes = source.dtype, source.format, source.attributes
        chunks = source.chunks
        self.chunks = None if chunks is None else tuple(chunks[i] for i in order)
        self.dims: tuple[str, ...] | None = tuple(self.axes)

    def read(self, part: tuple[slice, ...]) -> Any:
        inner = [slice(None)] * len(part)
        for slice_, i in zip(part, self.order, strict=True):
            inner[i] = slice_
        return self.source.read(tuple(inner)).transpose(self.order)

    def close(self) -> None:
        self.source.close()


def plan_pyramid(options: Options, source: TransposedSource) -> PyramidPlan:
    axes, shape = source.axes, source.shape
    window = window_of(options.window, axes, source.order)
    if not (is_exact(source.dtype) or is_float(source.dtype)):
        raise FileError(f"{options.input} has dtype {source.dtype}: a pyramid needs bool, integers or floats")
    if 0 in shape:
        raise FileError(f"{options.input} has shape {shape}: a pyramid needs at least one element")
    if options.chunks is not None and (len(options.chunks) != len(axes) or min(options.chunks) < 1):
        given = ",".join(map(str, options.chunks))
        raise FileError(f"--chunks {given}: one size of at least 1 for each of the axes {axes} is needed")
    sizes = options.pixel_size or (1.0,) * len(axes)
    if len(sizes) != len(axes) or not all(0 < s < float("inf") for s in sizes):
        raise FileError(f"--pixel-size needs one positive number for each of the axes {source.names}")
    shapes = [shape]
    levels = options.levels or default_levels(shape, window)
    for level in range(1, levels):
        new = cenote.output_shape(shapes[-1], window, ceil_mode=True)
        if new == shapes[-1]:
            raise FileError(
                f"--levels {levels}: level {level} would be as large as level {level - 1}, {'×'.join(map(str, new))}"
            )
        shapes.append(new)
    return PyramidPlan(axes, source.order, window, tuple(shapes), tuple(sizes[i] for i in source.order))


def window_of(given: Any, axes: str, order: Sequence[int]) -> tuple[int, ...]:
    """Sizes for the axes of the levels, of sizes for those of the input."""
    if given is None:
        given = 2
    sizes = (given,) if isinstance(given, int) else given
    shown = ",".join(map(str, sizes))
    if min(sizes) < 1:
        raise FileError(f"--window {shown}: {min(sizes)} is too small, at least 1 is needed")
    if isinstance(given, int):
        return tuple(given if a in "zyx" else 1 for a in axes)
    if len(given) != len(axes):
        raise FileError(f"--window {shown}: one size for each of the {len(axes)} axes is needed")
    return tuple(given[i] for i in order)


# ----------------------------------------------------------------------------------------------------- levels


def write_levels(
    options: Options,
    plan: PyramidPlan,
    source: TransposedSource,
    image: Path,
    journal: Journal,
    progress: Progress,
    threads: int,
    scheduler: str | None,
) -> None:
    image.mkdir(exist_ok=True)
    before: Any = source
    for level in range(len(plan.shapes)):
        pending = level_of(options, plan, before, level)
        array = level_array(options, plan, source, image, level, journal)
        target = ZarrTarget(array)
        blocks = plan_blocks(pending, target.unit)
        left = len(blocks) - sum(line.startswith(f"{level} ") for line in journal.lines)
        moved = 2 * pending.dtype.itemsize * float(np.prod(plan.shapes[level], dtype=float)) / max(1, len(blocks))
        with progress(left, moved, what=f"level {level}") as done:

            def finished(ranges: Ranges, level: int = level, done: Any = done) -> None:
                journal.record(line_of(level, ranges))
                done(ranges)

            def is_done(ranges: Ranges, level: int = level) -> bool:
                return line_of(level, ranges) in journal.lines

            if scheduler is None:
                stream(pending, target, threads, blocks, finished, is_done)
            elif left:
                from .cluster import stream_on_cluster

                stream_on_cluster(scheduler, pending, target, blocks, finished, is_done)
        before = ZarrSource(array, f"{image}|{level}")


def line_of(level: int, ranges: Ranges) -> str:
    return f"{level} {' '.join(f'{a}:{b}' for a, b in ranges)}"


def level_of(options: Options, plan: PyramidPlan, before: Source, level: int) -> Pending:
    """What is computed for a level; level 0 is the input as it is."""
    x = FileArray(before)
    if level == 0:
        native = x.dtype.newbyteorder("=")
        op = Cast(x.shape, x.dtype, native)
        return Pending(op, (x,), Spec(x.shape, native))
    function = getattr(cenote, f"{options.op}_pool")
    keeps = {"dtype": x.dtype} if options.op in ("avg", "median") and not is_bool(x.dtype) else {}
    pending: Pending = function(x, plan.window, ceil_mode=True, **keeps)
    if pending.dtype != x.dtype:
        raise FileError(f"--op {options.op} of {x.dtype} gives {pending.dtype}: use max, min or mode")
    return pending


def level_array(
    options: Options, plan: PyramidPlan, source: TransposedSource, image: Path, level: int, journal: Journal
) -> Any:
    """The array of a level: created, or opened if an earlier run has created it."""
    zarr = needs("zarr", "zarr", "files")
    place = image / str(level)
    if f"created {level}" in journal.lines:
        return zarr.open_array(str(place), mode="r+")
    remove(place)
    dtype = source.dtype.newbyteorder("=")
    like = (
        source.source
        if isinstance(source.source, ZarrSource) and source.order == tuple(range(len(plan.axes)))
        else None
    )
    chunks = options.chunks
    if chunks is None and like is None and source.chunks is not None:
        chunks = source.chunks
    layout = Layout(plan.shapes[level], dtype, tuple(plan.axes), chunks, {}, like)
    with deferred():
        array = create_array(str(place), layout, 2 if options.format == "0.4" else 3, "/")
    journal.record(f"created {level}")
    return array


def write_metadata(image: Path, options: Options, plan: PyramidPlan, name: str) -> None:
    """The group's metadata, last: with it the folder is an image."""
    zarr = needs("zarr", "zarr", "files")
    attributes = image_attributes(
        options.format, plan.axes, plan.pixel_size, plan.window, len(plan.shapes), options.unit, options.op, name
    )
    group = zarr.open_group(str(image), mode="a", zarr_format=2 if options.format == "0.4" else 3)
    group.attrs.update(attributes)
    os.sync() if hasattr(os, "sync") else None
