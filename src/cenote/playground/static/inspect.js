// What there is to say about one element: which cells belong to it, and its formula.
// @ts-check

import { full } from "./grid.js";
import { unravel } from "./state.js";

/** @typedef {import("./server.js").Answer} Answer */
/** @typedef {import("./server.js").Term} Term */
/** @typedef {import("./grid.js").Place} Place */
/** @typedef {Place & {mark: string}} Mark */
/** @typedef {{name: string, terms: Term[], remarks: string[]}} Description */

/** @type {WeakMap<Answer, Map<number, number[]>>} */
const known = new WeakMap();

/** For each cell of x the windows that see it. @param {Answer} answer @returns {Map<number, number[]>} */
function sightings(answer) {
  const found = known.get(answer);
  if (found) return found;
  /** @type {Map<number, number[]>} */
  const out = new Map();
  answer.windows.forEach((window, i) => {
    for (const cell of window.cells) {
      const before = out.get(cell);
      if (before) before.push(i);
      else out.set(cell, [i]);
    }
  });
  known.set(answer, out);
  return out;
}

/** The cells that belong to one. @param {Answer} answer @param {Place} place @returns {Mark[]} */
export function marks(answer, place) {
  const target = { ...place, mark: "target" };
  if (place.array === "y") return [...marksOfOutput(answer, place.cell), target];
  if (place.array === "x") return [...marksOfInput(answer, place.cell), target];
  return [target];
}

/** @param {Answer} answer @param {number} output @returns {Mark[]} */
function marksOfOutput(answer, output) {
  const window = answer.windows[output];
  if (!window) return [];
  /** @param {string} array @param {string} mark */
  const as = (array, mark) => (/** @type {number} */ cell) => ({ array, cell, mark });
  const out = [...window.cells.map(as("x", "seen")), ...window.taps.map(as("w", "seen"))];
  const flow = answer.gradient?.flows?.[output];
  if (flow) return [...out, ...flow.parts.map(([cell]) => ({ array: "x", cell, mark: "flow" }))];
  out.push(...window.selected.map(as("x", "tied")), ...window.omitted.map(as("x", "omitted")));
  if (window.chosen !== null) out.push({ array: "x", cell: window.chosen, mark: "chosen" });
  return out;
}

/** @param {Answer} answer @param {number} cell @returns {Mark[]} */
function marksOfInput(answer, cell) {
  const windows = sightings(answer).get(cell) ?? [];
  /** @type {Mark[]} */
  const out = windows.map((i) => ({ array: "y", cell: i, mark: "seen" }));
  const flows = answer.gradient?.flows;
  for (const i of windows) {
    const taken = flows ? flows[i].parts.some(([to]) => to === cell) : answer.windows[i].chosen === cell;
    if (taken) out.push({ array: "y", cell: i, mark: flows ? "flow" : "chosen" });
  }
  return out;
}

/** @param {number[]} index */
const written = (index) => `[${index.join(", ")}]`;

/** The name of an element, and its formula. @param {Answer} answer @param {Place} place @returns {Description | null} */
export function describe(answer, place) {
  const grid = answer.grids[place.array];
  const element = grid?.elements[place.cell];
  if (!grid || element === undefined) return null;
  if (element < 0) return { name: element === -1 ? "padding" : "beyond the padding", terms: [], remarks: [] };
  const index = written(unravel(element, grid.shape));
  const gradient = answer.gradient?.problem === null ? answer.gradient : null;
  if (place.array === "y") {
    const window = answer.windows[element];
    if (!gradient) return { name: `y${index}`, terms: [[" = "], ...window.formula], remarks: window.remarks };
    const value = full(gradient.g.values[element]);
    return { name: `g${index}`, terms: [[` = ${value}: `], ...gradient.flows[element].formula], remarks: [] };
  }
  if (place.array === "x") {
    if (gradient) return { name: `dx${index}`, terms: [[" = "], ...gradient.sums[String(place.cell)]], remarks: [] };
    return { name: `x${index}`, terms: [[` = ${full(answer.x.values[element])}`]], remarks: [seenBy(answer, place.cell)] };
  }
  const [values, derivative] = place.array === "w" ? [answer.w, gradient?.dw] : [answer.b, gradient?.db];
  const value = full((derivative ?? values)?.values[element] ?? NaN);
  const sum = derivative ? ["The sum over all outputs that it takes part in."] : [];
  return { name: `${derivative ? "d" : ""}${place.array}${index}`, terms: [[` = ${value}`]], remarks: sum };
}

/** @param {Answer} answer @param {number} cell */
function seenBy(answer, cell) {
  const windows = sightings(answer).get(cell) ?? [];
  if (!windows.length) return "No window sees it.";
  const names = windows.slice(0, 12).map((i) => `y${written(answer.windows[i].index)}`);
  const more = windows.length > names.length ? ` and ${windows.length - names.length} more` : "";
  const chosen = windows.filter((i) => answer.windows[i].chosen === cell);
  const by = chosen.length ? ` Chosen by ${chosen.length === windows.length ? "all" : chosen.length} of them.` : "";
  return `Seen by ${windows.length === 1 ? "one window" : `${windows.length} windows`}: ${names.join(", ")}${more}.${by}`;
}

/** @param {HTMLElement} place @param {Description} description */
export function show(place, description) {
  const name = document.createElement("strong");
  name.textContent = description.name;
  const terms = description.terms.map(([text, kind]) => {
    const span = document.createElement("span");
    span.textContent = text;
    if (kind) span.className = `term ${kind}`;
    return span;
  });
  const line = document.createElement("p");
  line.append(name, ...terms);
  const remarks = description.remarks.map((text) => {
    const note = document.createElement("p");
    note.className = "hint";
    note.textContent = text;
    return note;
  });
  place.replaceChildren(line, ...remarks);
}

/** The same as one text, for those who listen. @param {Description} description */
export function spoken(description) {
  return [description.name + description.terms.map(([text]) => text).join(""), ...description.remarks].join(". ");
}
