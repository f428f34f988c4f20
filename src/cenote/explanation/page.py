"""One page with every window computed beforehand: no network, no Python, a few lines of JavaScript."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any
from xml.sax.saxutils import quoteattr

from .calls import Call
from .equivalents import equivalents
from .layout import CAPTION, CELL, LEFT, TOP
from .link import state_of
from .scene import ADVANCE, LINE, MARGIN, Scene
from .shapes import Overlay, labels_of_slice
from .style import DARK, LIGHT, SIZES, css, variables
from .svg import cell_svg, frame, label_svg, links_svg, marks_svg, shell, text_lines
from .svg import plain as coordinate
from .windows import Index, plain

SMALLEST = 0.6  # scale of a picture on a small screen: where that is too wide, it scrolls


def resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def steps_of(scene: Scene) -> list[dict[str, Any]]:
    """Of every window: its output, its formula and remarks, the marks to draw on the slices of arrays, the elements
    that it sees with the note on each, and what only the picture that is saved has."""
    top = frame(scene).formula
    role = "formula" if scene.call.problem is None else "problem"
    return [
        {
            "index": [] if overlay.window is None else overlay.window.index,
            "lines": [line for line in overlay.lines if line],
            "marks": {
                f"{grid.name}{i}": text
                for grid in scene.grids
                for i in range(grid.slices)
                if (text := marks_svg(overlay, grid, i))
            },
            "sees": [key_of(m.index) for m in overlay.marks if m.array == "x"],
            **gets(overlay, scene.gradient is not None),
            "links": links_svg(overlay),
            "words": "".join(text_lines(lines, role, top)),
        }
        for overlay, lines in zip(scene.overlays, scene.overlay_lines, strict=True)
    ]


def key_of(index: Index) -> str:
    return ",".join(map(str, index))


def gets(overlay: Overlay, is_asked: bool) -> dict[str, Any]:
    """What elements get of a cotangent of 1, exactly: the script multiplies it with other cotangents. Of those that are
    not drawn only their number."""
    elements = () if overlay.window is None or not is_asked else overlay.window.elements
    drawn = {mark.index for mark in overlay.marks if mark.array == "x"}
    got = [e for e in elements if e.gradient]
    here = {key_of(e.index): plain(e.gradient) for e in got if e.index in drawn}
    return {"gets": here, "more": len(got) - len(here)}


def slopes_of(scene: Scene | None) -> dict[str, Any]:
    """The gradient of the elements that are drawn, if every output has a cotangent of 1."""
    if scene is None or scene.gradient is None:
        return {}
    inside = [c.index for c in scene.cells if c.array == "x" and c.role in ("real", "unseen")]
    return {key_of(index): plain(float(scene.gradient[index])) for index in inside}


def room_of(scene: Scene) -> dict[str, float]:
    """Where the formula stands in the picture that is saved, and how many lines of how many characters it has."""
    most = int((scene.width - 2 * MARGIN) / (ADVANCE * SIZES["formula"]))
    lines = max((len(lines) for lines in scene.overlay_lines), default=0)
    return {"left": MARGIN, "top": frame(scene).formula, "line": LINE, "most": most, "lines": lines}


def panels(scene: Scene, view: str) -> str:
    """The arrays of a scene, each slice a picture of its own, which wraps on a small screen. Its last group is empty:
    the script draws the marks of a window there."""
    out = [f'<div class="panels" data-view="{view}" role="group" aria-label={quoteattr(scene.summary)}>']
    for grid in scene.grids:
        out.append(f'<figure><figcaption>{escape(grid.caption)}</figcaption><div class="slices">')
        for i in range(grid.slices):
            x, y = grid.slice_corner(i)
            top = y - TOP - (CAPTION if grid.has_slices else 0)
            box = x - LEFT - 2, top, grid.slice_width + 6, y - top + max(grid.rows, 1) * CELL + 4
            cells = [c for c in scene.cells if c.array == grid.name and grid.slice_of(c.index) == i]
            name = quoteattr(grid.slice_names()[i] if grid.has_slices else grid.caption)
            out += [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="cenote" viewBox="{" ".join(map(coordinate, box))}" '
                f'width="{coordinate(box[2])}" style="min-width:{coordinate(SMALLEST * box[2])}px" role="group" '
                f"aria-label={name}>",
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


def page(call: Call, scenes: dict[str, Scene], text: str, view: str) -> str:
    """The page of a call; ``scenes`` are its views by name: "values", and "gradient" where there is a derivative.
    It begins with ``view``."""
    values = scenes["values"]
    data = {
        "op": call.op,
        "state": state_of(call),
        "works": call.y is not None,
        "whole": call.y is not None and len(values.windows) == call.y.size,
        "start": {"view": view, "window": values.focus},
        "steps": {view: steps_of(scene) for view, scene in scenes.items()},
        "slopes": slopes_of(scenes.get("gradient")),
        "room": {view: room_of(scene) for view, scene in scenes.items()},
        "shells": {view: shell(scene) for view, scene in scenes.items()},
        "programs": equivalents(call),
    }
    # "</script>" in a text would end the script
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    notices = "".join(f"<p>{escape(line)}</p>" for line in (*values.left_out, *values.notices))
    light, dark = variables(LIGHT), variables(DARK)
    theme = (
        f":root{{{light}color-scheme:light dark}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f':root[data-theme="light"]{{{light}color-scheme:light}}:root[data-theme="dark"]{{{dark}color-scheme:dark}}'
    )
    can_point = bool(values.overlays) and call.y is not None
    return resource("page.html").format(
        title=escape(values.title),
        call=escape(call.text),
        css=theme + css() + resource("page.css"),
        pictures="\n".join(panels(scene, view) for view, scene in scenes.items()),
        views="" if len(scenes) < 2 else VIEWS,
        controls=CONTROLS.format(last=len(values.overlays) - 1) if can_point else "",
        cotangent=COTANGENT if len(scenes) > 1 and values.overlays else "",
        legend=legend(scenes),
        problem="" if call.problem is None else f'<span class="problem">{escape(call.problem)}</span>',
        why="Why the result has its size" if call.problem is None else "What the sizes are",
        text=escape("\n".join(text.splitlines()[1 if call.problem is None else 2 :])),  # what the page has elsewhere
        notices=notices,
        change=CHANGE if data["state"] else NO_CHANGE,
        keys=KEYS if can_point else "",
        data=embedded,
        script="".join(map(resource, SCRIPTS)),
    )


SCRIPTS = ("page_numbers.js", "page_cotangents.js", "page_elements.js", "page_saved.js", "page_programs.js", "page.js")
VIEWS = """<fieldset class="views"><legend>Show</legend>
<label><input type="radio" name="view" value="values" checked> values</label>
<label><input type="radio" name="view" value="gradient"> gradient</label></fieldset>"""
CONTROLS = """<div class="controls" role="group" aria-label="Windows, one after the other">
<button type="button" id="back" aria-label="Previous window">&#9664;</button>
<button type="button" id="play" aria-pressed="false">Play</button>
<button type="button" id="next" aria-label="Next window">&#9654;</button>
<label class="slide">Window <input type="range" id="slider" min="0" max="{last}" value="0"></label>
<button type="button" id="unpin" hidden>Unpin</button>
<span id="pin"></span>
</div>"""
COTANGENT = """<form id="cotangent" class="bar" hidden>
<label><span id="g-label"></span> <input id="g" size="8" autocomplete="off" aria-describedby="g-problem"></label>
<button type="button" id="g-reset" hidden>Set all to 1</button>
<span id="g-problem" role="alert"></span>
</form>"""
CHANGE = """<section aria-labelledby="change-title">
<h2 id="change-title">To change a number</h2>
<p>This page has results, no Python. With cenote installed, this opens the same call for editing:</p>
<pre><code id="playground"></code></pre>
<p class="bar"><button type="button" id="copy-playground">Copy the command</button></p>
</section>"""
NO_CHANGE = """<section aria-labelledby="change-title">
<h2 id="change-title">To change a number</h2>
<p>This page has results, no Python. <code>cenote playground</code> is for changing numbers, but it cannot show this
call: it is too large, or has an argument or a dtype that is not among the playground's fields.</p>
</section>"""
KEYS = """<p class="keys">Point at an element to see what it is made of, click an output to pin it. Keys: Tab goes
through the arrays, arrow keys from element to element, Home and End to the first and last, Enter or Space pins, Escape
unpins, P plays and stops, G changes the view.</p>"""
