// @ts-check
"use strict";
// The elements in the pictures of the page: finding them, marking them, writing on them.
/** An element: its array, x or y, and its index, "1,2". @typedef {{array: string, key: string}} Place */

const Elements = (() => {
  const CELL = 40; // width and height of an element
  const pictures = [...document.querySelectorAll(".panels")];

  /** All that can be pinned. */
  const shown = () => /** @type {SVGGElement[]} */ (pictures.flatMap((p) => {
    return [...p.querySelectorAll(".y[data-window], .x[data-index]:not(.padding, .overhang)")];
  }));
  /** @param {string} name @returns {Element} */
  const picture = (name) => /** @type {Element} */ (pictures.find((p) => p.getAttribute("data-view") === name));
  /** @param {string} view @param {string} array @returns {SVGGElement[]} */
  const all = (view, array) => [...picture(view).querySelectorAll(`.${array}[role="button"]`)].map((c) => /** @type {SVGGElement} */ (c));
  /** @param {Element} cell @returns {Place} */
  const placeOf = (cell) => ({ array: cell.classList.contains("x") ? "x" : "y", key: cell.getAttribute("data-index") ?? "" });
  /** @param {string} view @param {Place} place @returns {SVGGElement | null} */
  const find = (view, place) => picture(view).querySelector(`.${place.array}[role="button"][data-index="${place.key}"]`);
  /** @param {Place} place */
  const name = (place) => `${place.array}[${place.key.replaceAll(",", ", ")}]`;
  /** @param {Place | null} a @param {Place | null} b */
  const same = (a, b) => a !== null && b !== null && a.array === b.array && a.key === b.key;

  /** @param {Element | null} cell @param {string} kind */
  function mark(cell, kind) {
    const box = cell?.querySelector("rect")?.cloneNode();
    if (!cell || !(box instanceof Element)) return;
    box.setAttribute("class", `mark ${kind}`);
    cell.closest("svg")?.querySelector(".overlay")?.append(box);
  }

  /** Small numbers below the values, in the place of those that are there. @param {string} view @param {[string, number][]} numbers */
  function notes(view, numbers) {
    for (const note of picture(view).querySelectorAll(".overlay .note")) note.remove();
    for (const [key, number] of numbers) {
      const cell = find(view, { array: "x", key });
      const box = cell?.querySelector("rect");
      if (!cell || !box) continue;
      const note = document.createElementNS("http://www.w3.org/2000/svg", "text");
      note.setAttribute("class", "note");
      note.setAttribute("x", String(Number(box.getAttribute("x")) + CELL / 2));
      note.setAttribute("y", String(Number(box.getAttribute("y")) + CELL - 4));
      note.textContent = Numbers.signed(number);
      cell.closest("svg")?.querySelector(".overlay")?.append(note);
    }
  }

  /** Scroll rows that are wider than the screen to what is marked on them. @param {string} view */
  function reveal(view) {
    for (const slices of picture(view).querySelectorAll(".slices")) {
      const room = slices.getBoundingClientRect();
      for (const overlay of slices.querySelectorAll(".overlay")) {
        const marks = overlay.getBoundingClientRect();
        if (marks.width && (marks.left < room.left || marks.right > room.right)) {
          slices.scrollLeft += marks.left - room.left - CELL / 2;
          break;
        }
      }
    }
  }

  /** Another value. @param {SVGGElement} cell @param {string} words */
  function write(cell, words) {
    const text = cell.querySelector("text");
    if (!text || text.textContent === words) return;
    const size = Math.min(14, (CELL - 5) / (0.6 * words.length));
    const top = Number(cell.querySelector("rect")?.getAttribute("y"));
    text.textContent = words;
    text.setAttribute("font-size", String(size));
    text.setAttribute("y", String(top + CELL / 2 + size * 0.36));
  }

  /** The element beside another, in the direction of an arrow key. @param {string} view @param {Place} place @param {number} dx @param {number} dy */
  function beside(view, place, dx, dy) {
    const from = find(view, place)?.querySelector("rect")?.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const cell of from ? all(view, place.array) : []) {
      const to = /** @type {Element} */ (cell.querySelector("rect")).getBoundingClientRect();
      const x = to.x - /** @type {DOMRect} */ (from).x, y = to.y - /** @type {DOMRect} */ (from).y;
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (along < 1) continue;
      const cost = along + 4 * aside;
      if (cost < least) [best, least] = [cell, cost];
    }
    return best && placeOf(best);
  }

  return { pictures, shown, picture, all, find, placeOf, name, same, mark, notes, write, beside, reveal };
})();
