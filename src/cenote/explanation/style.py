"""Colours and strokes of pictures, in light and dark. Colours are of the Okabe-Ito palette, which people with any kind
of colour vision can tell apart; every mark also has a shape of its own."""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "muted": "#59636e", "grid": "#aab2bd", "fill": "#f6f8fa", "pad": "#e8ecf0",
    "window": "#0072b2", "chosen": "#b94700", "tied": "#8a6100", "out": "#007a5a",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "muted": "#9da7b1", "grid": "#4b5563", "fill": "#161b22", "pad": "#222a33",
    "window": "#56b4e9", "chosen": "#ff9d5c", "tied": "#f0c541", "out": "#3ddbae",
}  # fmt: skip
FONT = "ui-monospace, 'DejaVu Sans Mono', 'Cascadia Mono', Menlo, Consolas, monospace"
# Of each mark: the colour, how opaque its surface is, the width of its stroke, and its dashes.
STROKES: dict[str, tuple[str, float, float, str]] = {
    "seen": ("window", 0.14, 1.5, ""),
    "chosen": ("chosen", 0.30, 3.5, ""),
    "tied": ("tied", 0.18, 3, "5 3"),
    "middle": ("chosen", 0.30, 3.5, ""),
    "flow": ("chosen", 0.30, 3.5, ""),
    "omitted": ("muted", 0.10, 1.5, "2 3"),
    "pad": ("window", 0.14, 1.5, "2 3"),
    "hang": ("muted", 0.0, 1.5, "2 3"),
    "tap": ("window", 0.14, 2.5, ""),
    "out": ("out", 0.25, 3.5, ""),
}
SIZES = {"title": 15, "heading": 13, "slice": 12, "index": 11, "text": 13, "formula": 14, "problem": 14, "note": 10}
SPACING = {"slice": 1.5}  # between characters, where colons and commas stand side by side: x[:, :, 0]
BOLD = ("title", "heading", "formula", "problem")


def variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def css() -> str:
    """The style sheet of a picture; every rule is about ``.cenote`` alone, because pictures are put into pages."""
    rules = [
        f".cenote{{{variables(LIGHT)}font-family:{FONT};max-width:100%;height:auto}}",
        f"@media (prefers-color-scheme:dark){{.cenote{{{variables(DARK)}}}}}",
        f'[data-theme="light"] .cenote{{{variables(LIGHT)}}}',
        f'[data-theme="dark"] .cenote{{{variables(DARK)}}}',
        ".cenote .paper{fill:var(--paper)}",
        ".cenote .cell rect{fill:var(--fill);stroke:var(--grid)}",
        ".cenote .padding rect{fill:var(--pad);stroke-dasharray:2 3}",
        ".cenote .overhang rect,.cenote .cropped rect{fill:none;stroke-dasharray:2 5}",
        ".cenote text{fill:var(--ink)}",
        ".cenote .padding text,.cenote .unseen text,.cenote .index,.cenote .slice{fill:var(--muted)}",
        ".cenote .unseen text{font-style:italic}",
        ".cenote .cell text,.cenote .note{text-anchor:middle}",
        ".cenote .strike{stroke:var(--muted);stroke-width:1}",
        ".cenote .box{fill:none;stroke:var(--window);stroke-width:3.5}",
        ".cenote .link{stroke:var(--window);stroke-width:1.25;stroke-dasharray:6 4;opacity:.5}",
        ".cenote .problem{fill:var(--chosen)}",
        f".cenote .note{{font-size:{SIZES['note']}px;font-weight:600}}",
    ]
    for role, size in SIZES.items():
        weight = ";font-weight:600" if role in BOLD else ""
        spacing = f";letter-spacing:{SPACING[role]}px" if role in SPACING else ""
        rules.append(f".cenote .{role}{{font-size:{size}px{weight}{spacing}}}")
    for kind, (colour, opacity, width, dashes) in STROKES.items():
        dash = f";stroke-dasharray:{dashes}" if dashes else ""
        rules.append(
            f".cenote .{kind}{{fill:var(--{colour});fill-opacity:{opacity};stroke:var(--{colour});"
            f"stroke-width:{width}{dash}}}"
        )
    rules.append(".cenote .corner{stroke:none;fill-opacity:1}")
    return "".join(rules)
