"""Pictures as plain text, for a terminal."""

from __future__ import annotations

from .layout import Grid
from .scene import GRADIENTS, KINDS, Scene

# What stands around a value, by the mark on it.
AROUND = {
    "seen": "()", "pad": "()", "hang": "()", "tap": "()", "omitted": "//", "tied": "{}",
    "chosen": "[]", "middle": "[]", "flow": "[]", "out": "[]",
}  # fmt: skip
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
        around = AROUND.get(marks.get((cell.array, cell.index), ""), "  ")
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


def legend(scene: Scene, kinds: set[str]) -> str:
    meanings = scene.meanings
    chosen = [words for kind, words in meanings.items() if kind in kinds and AROUND[kind] == "[]" and kind != "out"]
    words = WORDS | {"[]": " and ".join([*chosen, "its output"]), "{}": meanings["tied"]}
    used = {AROUND[kind] for kind in kinds}
    found = [f"{pair} {meaning}" for pair, meaning in words.items() if pair in used]
    cells = {cell.role for cell in scene.cells}
    found += [f"{blank} {KINDS.get(kind, 'beyond the end')}" for kind, blank in BLANKS.items() if kind in cells]
    return ", ".join(found)
