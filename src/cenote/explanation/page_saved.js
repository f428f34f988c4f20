// @ts-check
"use strict";
// The picture that is saved: the elements and marks of the page, with the texts around them.
/** Where the formula stands, and how much room it has. @typedef {{left: number, top: number, line: number, most: number, lines: number}} Room */

const Saved = (() => {
  /** Lines of text as SVG, in the room that there is. @param {string[]} lines @param {Room} room */
  function words(lines, room) {
    const out = [""];
    for (const line of lines) {
      for (const word of line.split(" ")) {
        const last = out[out.length - 1];
        if (last && last.length + word.length < room.most) out[out.length - 1] = `${last} ${word}`;
        else if (last) out.push(word);
        else out[out.length - 1] = word;
      }
      out.push("");
    }
    const all = out.filter(Boolean), shown = all.slice(0, room.lines);
    if (all.length > shown.length && shown.length) shown.push(`${shown.pop()} …`);
    return shown.map((text, i) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", "text");
      element.setAttribute("class", "formula");
      element.setAttribute("x", String(room.left));
      element.setAttribute("y", String(room.top + i * room.line));
      element.textContent = text;
      return new XMLSerializer().serializeToString(element);
    }).join("");
  }

  /**
   * @param {string} shell the picture without elements @param {Iterable<Element>} elements @param {string} overlay
   * @param {string} description
   */
  function picture(shell, elements, overlay, description) {
    const found = new DOMParser().parseFromString(shell, "image/svg+xml");
    const one = (/** @type {string} */ selector) => /** @type {Element} */ (found.querySelector(selector));
    for (const element of elements) {
      const copied = /** @type {Element} */ (found.importNode(element, true));
      for (const attribute of ["role", "tabindex", "aria-label", "aria-pressed"]) copied.removeAttribute(attribute);
      one(".elements").append(copied);
    }
    one(".overlay").innerHTML = overlay;
    if (description) one("desc").textContent = description;
    found.documentElement.setAttribute("aria-label", `${one("title").textContent}. ${one("desc").textContent}`);
    return new XMLSerializer().serializeToString(found);
  }

  return { words, picture };
})();
