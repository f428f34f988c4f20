"""Pictures of ``explain`` read back: which squares, texts and marks an SVG has, and where."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from cenote.explanation import style

SVG = "{http://www.w3.org/2000/svg}"


def index_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


class Picture:
    """An SVG, read back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = ET.fromstring(text)
        self.cells: dict[str, dict[tuple[int, ...], tuple[float, float, str, str]]] = {"x": {}, "w": {}, "y": {}}
        for group in self.root.iter(f"{SVG}g"):
            classes = group.get("class", "").split()
            if classes[:1] == ["cell"] and group.get("data-index") is not None:
                (rect,) = group.iter(f"{SVG}rect")
                texts = [t.text or "" for t in group.iter(f"{SVG}text")]
                kind = classes[2] if len(classes) > 2 else "real"
                place = float(rect.get("x", "")), float(rect.get("y", ""))
                index = index_of(group.get("data-index", ""))
                assert index not in self.cells[classes[1]], "an element is drawn twice"
                self.cells[classes[1]][index] = (*place, "".join(texts), kind)

    def marks(self, overlay: ET.Element | None = None) -> dict[str, dict[tuple[int, ...], str]]:
        """The mark on each element, by array: found by the place where it is drawn."""
        root = next(g for g in self.root.iter(f"{SVG}g") if g.get("class") == "overlay") if overlay is None else overlay
        places = {(x, y): (a, i) for a, cells in self.cells.items() for i, (x, y, _, _) in cells.items()}
        found: dict[str, dict[tuple[int, ...], str]] = {"x": {}, "w": {}, "y": {}}
        for rect in root.iter(f"{SVG}rect"):
            classes = rect.get("class", "").split()
            if classes[:1] == ["mark"]:
                inset = style.STROKES[classes[1]][2] / 2
                array, index = places[float(rect.get("x", "")) - inset, float(rect.get("y", "")) - inset]
                found[array][index] = classes[1]
        return found

    @property
    def words(self) -> str:
        return " ".join(t.text or "" for t in self.root.iter(f"{SVG}text"))
