"""One page with every window computed beforehand: no network, no Python, a few lines of JavaScript."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any
from xml.sax.saxutils import quoteattr

from .calls import Call
from .formula import place
from .layout import CAPTION, CELL, LEFT, TOP
from .scene import Scene
from .shapes import labels_of_slice
from .style import DARK, LIGHT, css, variables
from .svg import cell_svg, label_svg, marks_svg, plain


def resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def steps_of(scene: Scene) -> list[dict[str, Any]]:
    """Of every window: its name, its formula and remarks, and the marks to draw on the slices of arrays."""
    return [
        {
            "name": "" if overlay.window is None else place("y", overlay.window.index),
            "lines": [line for line in overlay.lines if line],
            "marks": {
                f"{grid.name}{i}": text
                for grid in scene.grids
                for i in range(grid.slices)
                if (text := marks_svg(overlay, grid, i))
            },
        }
        for overlay in scene.overlays
    ]


def panels(scene: Scene, view: str) -> str:
    """The arrays of a scene, each slice a picture of its own, which wraps on a small screen. Its last group is empty:
    the script draws the marks of a window there."""
    out = [f'<div class="panels" data-view="{view}" role="group" aria-label={quoteattr(scene.description)}>']
    for grid in scene.grids:
        out.append(f'<figure><figcaption>{escape(grid.caption)}</figcaption><div class="slices">')
        for i in range(grid.slices):
            x, y = grid.slice_corner(i)
            top = y - TOP - (CAPTION if grid.has_slices else 0)
            box = x - LEFT - 2, top, grid.slice_width + 6, y - top + max(grid.rows, 1) * CELL + 4
            cells = [c for c in scene.cells if c.array == grid.name and grid.slice_of(c.index) == i]
            name = quoteattr(grid.slice_names()[i] if grid.has_slices else grid.name)
            out += [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="cenote" viewBox="{" ".join(map(plain, box))}" '
                f'width="{plain(box[2])}" role="group" aria-label={name}>',
                *map(label_svg, labels_of_slice(grid, i)),
                *(cell_svg(cell, scene.step_of(cell)) for cell in cells),
                f'<g class="overlay" data-marks="{grid.name}{i}"></g></svg>',
            ]
        out.append("</div></figure>")
    return "\n".join([*out, "</div>"])


def legend(scenes: dict[str, Scene]) -> str:
    found = {kind: words for scene in scenes.values() for kind, words in scene.legend}
    items = "".join(f"<li><span class='swatch {kind}'></span>{escape(words)}</li>" for kind, words in found.items())
    return f'<ul class="legend" aria-label="Legend">{items}</ul>'


def page(call: Call, scenes: dict[str, Scene], text: str) -> str:
    """The page of a call; ``scenes`` are its views by name: "values", and "gradient" where there is a derivative."""
    data = {view: steps_of(scene) for view, scene in scenes.items()}
    # "</script>" in a text would end the script
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    values = scenes["values"]
    notices = "".join(f"<p>{escape(line)}</p>" for line in (*values.left_out, *values.notices))
    theme = (
        f":root{{{variables(LIGHT)}color-scheme:light dark}}"
        f"@media (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    )
    return resource("page.html").format(
        title=escape(values.title),
        call=escape(call.text),
        css=theme + css() + resource("page.css"),
        pictures="\n".join(panels(scene, view) for view, scene in scenes.items()),
        views="" if len(scenes) < 2 else VIEWS,
        controls="" if not data["values"] or call.y is None else CONTROLS.format(last=len(data["values"]) - 1),
        legend=legend(scenes),
        text=escape(text),
        notices=notices,
        data=embedded,
        script=resource("page.js"),
    )


VIEWS = """<fieldset class="views"><legend>Show</legend>
<label><input type="radio" name="view" value="values" checked> values</label>
<label><input type="radio" name="view" value="gradient"> gradient</label></fieldset>"""
CONTROLS = """<div class="controls">
<button type="button" id="back" aria-label="Previous window">&#9664;</button>
<button type="button" id="play" aria-pressed="false">Play</button>
<button type="button" id="next" aria-label="Next window">&#9654;</button>
<label class="slide">Window <input type="range" id="slider" min="0" max="{last}" value="0"></label>
<span id="pin" role="status"></span>
</div>"""
