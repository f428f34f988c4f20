"""Pictures as plain text, for a terminal."""

from __future__ import annotations

from .faults import MEANINGS
from .layout import Grid
from .scene import GRADIENTS, KINDS, Scene

# What stands around a value, by the mark on it.
AROUND = {
    "seen": "()", "pad": "()", "hang": "()", "tap": "()", "omitted": "//", "tied": "{}",
    "chosen": "[]", "middle": "[]", "flow": "[]", "out": "[]",
}  # fmt: skip
# In pictures of what does not fit.
AROUND_FAULTS = {"channels": {"hang": "//"}, "groups": {"hang": "//"}, "size": {"hang": "{}"}}
WORDS = {"()": "in the window", "//": "NaN, omitted"}
BLANKS = {"padding": ".", "overhang": "x", "cropped": "-"}  # in the place of a value


def picture(scene: Scene) -> str:
    """The first window of a scene as lines of text."""
    marks = {(m.array, m.index): m.role for overlay in scene.overlays[:1] for m in overlay.marks}
    lines = []
    for grid in scene.grids:
        lines += [grid.caption, *panel(scene, grid, marks), ""]
    lines += [line for overlay in scene.overlays[:1] for line in overlay.lines if line not in ("", GRADIENTS)]
    return "\n".join([*lines, *scene.left_out, legend(scene, set(marks.values()))]).strip("\n")


def panel(scene: Scene, grid: Grid, marks: dict[tuple[str, tuple[int, ...]], str]) -> list[str]:
    texts: dict[int, list[str]] = {}
    for cell in (c for c in scene.cells if c.array == grid.name):
        around = around_marks(scene).get(marks.get((cell.array, cell.index), ""), "  ")
        value = cell.text or BLANKS.get(cell.role, "")
        texts.setdefault(grid.slice_of(cell.index), []).append(f"{around[0]}{value}{around[1]}")
    width = max((len(text) for group in texts.values() for text in group), default=0)
    lines = []
    for number, name in enumerate(grid.slice_names() if grid.has_slices else [""]):
        group = [text.rjust(width) for text in texts.get(number, [])]
        if name:
            lines.append(f"  {name}")
        rows = (group[i : i + grid.columns] for i in range(0, len(group), max(grid.columns, 1)))
        lines += [("  " + " ".join(row)).rstrip() for row in rows]
    return lines


def around_marks(scene: Scene) -> dict[str, str]:
    fault = scene.call.fault
    return AROUND if fault is None else AROUND | AROUND_FAULTS.get(fault.subject, {})


def legend(scene: Scene, kinds: set[str]) -> str:
    meanings, around = scene.meanings, around_marks(scene)
    fault = None if scene.call.fault is None else scene.call.fault.subject
    if fault in AROUND_FAULTS:
        words: dict[str, str] = {}
        for kind, meaning in MEANINGS[fault].items():
            if kind in kinds:
                words[around[kind]] = " or ".join(filter(None, (words.get(around[kind]), meaning)))
    else:
        chosen = [words for kind, words in meanings.items() if kind in kinds and around[kind] == "[]" and kind != "out"]
        words = WORDS | {"[]": " and ".join([*chosen, "its output"]), "{}": meanings["tied"]}
    used = {around[kind] for kind in kinds}
    found = [f"{pair} {meaning}" for pair, meaning in words.items() if pair in used]
    cells = {cell.role for cell in scene.cells if not cell.text}
    beyond = "not there" if fault in AROUND_FAULTS else "beyond the end"
    found += [f"{blank} {KINDS.get(kind, beyond)}" for kind, blank in BLANKS.items() if kind in cells]
    return ", ".join(found)
