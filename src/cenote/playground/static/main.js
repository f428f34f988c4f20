// The page: the state, what the server answers for it, and what the user does.
// @ts-check

import * as code from "./code.js";
import * as form from "./form.js";
import * as grid from "./grid.js";
import * as inspect from "./inspect.js";
import * as paste from "./paste.js";
import * as player from "./player.js";
import * as server from "./server.js";
import { edit, ravel, read, request, unravel, withOperation, write } from "./state.js";

/** @typedef {import("./grid.js").Place} Place */

const TYPING = 200; // milliseconds without a key before a text is sent
const LEGEND = [
  ["seen", "in the window"], ["chosen", "selected"], ["tied", ""], ["omitted", "NaN, left out"],
  ["padding", "padding"], ["overhang", "beyond the padding"],
];
const MISFIT_LEGEND = [
  ["seen", "where it would lie"], ["omitted", "without a partner"], ["padding", "padding"], ["overhang", "not there"],
];
const FLOW_LEGEND = [["seen", "in the window"], ["flow", "gets a part of the gradient"], ["padding", "padding"]];

/** @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T} */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`there is no ${id}`);
  return found;
}

const arrays = element("arrays", HTMLElement);
const editor = element("editor", HTMLFormElement);
const field = element("edit", HTMLInputElement);
const live = element("live", HTMLElement);

/** @type {import("./state.js").Fields} */
let fields;
let state = read(location.hash);
/** @type {import("./server.js").Answer | null} */
let answer = null;
/** What the mouse or the keyboard is on. @type {Place | null} */
let hover = null;
let typing = 0;
let restored = false; // by going back or forward: not by typing, which keeps what is in the field

// ---------------------------------------------------------------------------------------------------- the state

/** @param {Record<string, string>} changes @param {{ask?: boolean, push?: boolean}} [how] */
function change(changes, { ask = true, push = true } = {}) {
  state = { ...state, ...changes };
  const address = write(state, fields.operations[state.op]);
  if (address !== location.hash) history[push ? "pushState" : "replaceState"](null, "", address);
  if (ask) load();
  else show();
}

async function load() {
  document.body.setAttribute("aria-busy", "true");
  form.show(state, fields, fieldChanged, restored);
  showSettings();
  try {
    const found = await server.explain(request(state));
    if (!found) return;
    answer = found;
    complain(found.problem ?? found.gradient?.problem ?? "");
    document.body.classList.remove("empty");
    draw();
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
    arrays.classList.add("stale");
  }
  if (!typing) document.body.setAttribute("aria-busy", "false");
}

/** @param {string} name @param {string} text */
function fieldChanged(name, text) {
  window.clearTimeout(typing);
  const known = fields.operations[state.op].fields.find((f) => f.name === name);
  const pause = known?.control === "text" ? TYPING : 0;
  typing = window.setTimeout(() => {
    typing = 0;
    change({ [name]: text });
  }, pause);
  document.body.setAttribute("aria-busy", "true");
}

/** @param {string} message */
function complain(message) {
  const place = element("error", HTMLElement);
  place.textContent = message;
  place.hidden = !message;
  form.blame(message);
}

// --------------------------------------------------------------------------------------------------- what is drawn

function draw() {
  if (!answer) return;
  arrays.classList.remove("stale");
  const gradient = answer.gradient?.problem === null ? answer.gradient : null;
  const shape = (/** @type {string} */ name) => `(${answer?.grids[name].shape.join(", ")}${answer?.grids[name].shape.length === 1 ? "," : ""})`;
  /** @type {import("./grid.js").Drawn[]} */
  const drawn = [];
  const titles = { x: "Input x", w: "Filters w", b: "Bias b", y: "Result y" };
  const slopes = { x: "Gradient dx", w: "Gradient dw", b: "Gradient db", y: "Cotangent g" };
  for (const array of /** @type {const} */ (["x", "w", "b", "y"])) {
    const values = answer[array];
    if (!values || !answer.grids[array]) continue;
    const slope = gradient && { x: gradient.dx, w: gradient.dw, b: gradient.db, y: gradient.g }[array];
    const symbol = !slope ? array : array === "y" ? "g" : `d${array}`;
    drawn.push({
      array, symbol, grid: answer.grids[array], values: (slope ?? values).values,
      title: `${slope ? slopes[array] : titles[array]} ${shape(array)}`,
      editable: slope ? array === "y" : array !== "y", shaded: Boolean(slope), padding: slope ? "" : "·",
    });
  }
  grid.draw(arrays, drawn);
  element("sizes", HTMLElement).replaceChildren(...answer.text.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
  element("call", HTMLElement).textContent = `y = ${answer.call}`;
  document.title = `${answer.op} · cenote playground`;
  showLegend(answer.problem !== null ? MISFIT_LEGEND : gradient ? FLOW_LEGEND : LEGEND);
  showCode();
  show();
}

/** What of the state is not a field of the form. */
function showSettings() {
  document.documentElement.dataset.theme = state.theme ?? "";
  element("theme", HTMLSelectElement).value = state.theme ?? "";
  for (const input of document.querySelectorAll('input[name="view"]')) {
    const radio = /** @type {HTMLInputElement} */ (input);
    radio.checked = radio.value === (state.view ?? "values");
  }
  element("reset", HTMLButtonElement).disabled = !fields.edits.some((name) => state[name]);
}

/** @param {string[][]} entries */
function showLegend(entries) {
  const windows = answer?.windows ?? [];
  /** @type {Record<string, () => boolean>} */
  const used = {
    chosen: () => windows.some((w) => w.chosen !== null),
    tied: () => windows.some((w) => w.selected.length > (w.chosen === null ? 0 : 1)),
    omitted: () => windows.some((w) => w.omitted.length) || Boolean(answer?.misfit.some(([, , mark]) => mark === "omitted")),
    padding: () => Boolean(arrays.querySelector("td.padding")),
    overhang: () => Boolean(arrays.querySelector("td.overhang")),
  };
  const here = entries.filter(([mark]) => used[mark]?.() ?? true);
  element("legend", HTMLElement).replaceChildren(...here.map(([mark, text]) => {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = `swatch ${mark}`;
    item.append(swatch, text || tied());
    return item;
  }));
}

/** What an element is that the result is taken from, and that is not the one selected. */
function tied() {
  if (answer?.op === "median_pool") return "decides the result";
  return state.ties === "split" ? "ties, shares the gradient equally" : "equal to the result";
}

/** The pinned cell, if it is there. @returns {Place | null} */
function pinned() {
  const [array, ...index] = (state.pin ?? "").split(".");
  const found = answer && Object.hasOwn(answer.grids, array) ? answer.grids[array] : null; // not "constructor"
  if (!found) return null;
  const flat = ravel(index.map(Number), found.shape);
  return flat < 0 ? null : { array, cell: found.elements.indexOf(flat) };
}

/** @param {Place | null} place */
function pin(place) {
  const known = place && answer?.grids[place.array];
  const flat = known ? known.elements[place.cell] : -1;
  const text = known && flat >= 0 ? [place.array, ...unravel(flat, known.shape)].join(".") : "";
  change({ pin: text }, { ask: false, push: false });
  const description = text && answer && place ? inspect.describe(answer, place) : null;
  live.textContent = description && !player.isPlaying() ? `Pinned. ${inspect.spoken(description)}` : text ? "" : "Unpinned.";
}

/** Marks, formula, editor and slider: what follows the mouse and the pin. */
function show() {
  if (!answer) return;
  const fixed = pinned();
  const place = hover ?? fixed;
  grid.mark(place ? inspect.marks(answer, place) : answer.misfit.map(([array, cell, mark]) => ({ array, cell, mark })));
  grid.select(fixed);
  const description = place && inspect.describe(answer, place);
  const formula = element("formula", HTMLElement);
  if (description) inspect.show(formula, description);
  else formula.textContent = "Point at an element, or go to one with the keyboard, to see what it is made of.";
  element("unpin", HTMLElement).classList.toggle("absent", !fixed);
  showEditor(fixed);
  const at = fixed?.array === "y" ? fixed.cell : null;
  player.show(answer.windows.length, at, at === null ? "" : `y[${answer.windows[at].index.join(", ")}]`);
}

function showCode() {
  const chosen = (/** @type {string} */ library) => {
    change({ code: library }, { ask: false, push: false });
    showCode();
  };
  if (answer) code.show(answer.code, state.code ?? "", chosen);
}

/** The array that a cell's value is changed in, if it can be. @param {Place | null} place */
function editable(place) {
  const cell = place && grid.find(place);
  if (!place || !cell || !cell.classList.contains("real") || cell.getAttribute("aria-readonly")) return null;
  return place.array === "y" ? "g" : place.array;
}

/** @param {Place | null} place */
function showEditor(place) {
  const name = editable(place);
  editor.classList.toggle("absent", !name); // its room is kept: cells must not move under a double click
  if (!place || !name || !answer) return;
  const { shape, elements } = answer.grids[place.array];
  const flat = elements[place.cell];
  const values = name === "g" ? answer.gradient?.g : answer[/** @type {"x" | "w" | "b"} */ (name)];
  element("edit-label", HTMLElement).textContent = `${name}[${unravel(flat, shape).join(", ")}] =`;
  if (restored || document.activeElement !== field) field.value = grid.full(values?.values[flat] ?? NaN);
}

// ---------------------------------------------------------------------------------------------------- what is done

/** @param {EventTarget | null} target @returns {Place | null} */
function placeOf(target) {
  const cell = target instanceof Element ? target.closest("td[data-cell]") : null;
  return cell instanceof HTMLElement ? { array: cell.dataset.array ?? "", cell: Number(cell.dataset.cell) } : null;
}

/** @param {string} [start] what was typed already */
function beginEdit(start) {
  if (editor.classList.contains("absent")) return;
  field.focus();
  if (start === undefined) field.select();
  else field.value = start;
}

function setUpArrays() {
  arrays.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    hover = placeOf(event.target);
    show();
  });
  arrays.addEventListener("pointerleave", () => {
    hover = null;
    show();
  });
  arrays.addEventListener("focusin", (event) => {
    hover = /** @type {Element} */ (event.target).matches(":focus-visible") ? placeOf(event.target) : hover;
    show();
  });
  arrays.addEventListener("focusout", () => {
    hover = null;
    show();
  });
  arrays.addEventListener("click", (event) => {
    const place = placeOf(event.target);
    const cell = place && grid.find(place);
    if (!place || !cell?.classList.contains("real")) return;
    player.stop();
    grid.focus(cell);
    hover = null;
    pin(place);
  });
  arrays.addEventListener("dblclick", () => beginEdit());
  arrays.addEventListener("paste", pasted);
  arrays.addEventListener("keydown", keyed);
}

/** @param {KeyboardEvent} event */
function keyed(event) {
  const place = placeOf(event.target);
  const cell = place && grid.find(place);
  if (!place || !cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = grid.neighbour(cell, event.key);
  if (next) grid.focus(next);
  else if (event.key === "Escape") pin(null);
  else if (event.key === " " || (event.key === "Enter" && !editable(place))) pin(place);
  else if (event.key === "Enter" || event.key === "F2" || /^[-\d.ni]$/.test(event.key)) {
    if (!editable(place)) return;
    hover = null;
    pin(place);
    beginEdit(event.key.length === 1 ? event.key : undefined);
  } else if (!/^(Arrow|Home|End)/.test(event.key)) return;
  event.preventDefault();
}

/** @param {ClipboardEvent} event */
function pasted(event) {
  const place = placeOf(event.target);
  const cell = place && grid.find(place);
  const name = editable(place);
  if (!place || !cell || !name || !answer) return;
  event.preventDefault();
  const { shape } = answer.grids[place.array];
  let edits = state[name] ?? "";
  for (const [to, text] of paste.targets(cell, paste.rows(event.clipboardData?.getData("text") ?? ""))) {
    edits = edit(edits, unravel(Number(to.dataset.element), shape), text);
  }
  change({ [name]: edits });
}

function setUpEditor() {
  const back = () => {
    const place = pinned();
    const cell = place && grid.find(place);
    if (cell) grid.focus(cell);
  };
  editor.addEventListener("submit", (event) => {
    event.preventDefault();
    const place = pinned();
    const name = editable(place);
    if (!place || !name || !answer) return;
    const index = unravel(answer.grids[place.array].elements[place.cell], answer.grids[place.array].shape);
    const text = field.value.trim(); // going back to the cell shows its old value again
    back();
    change({ [name]: edit(state[name] ?? "", index, text) });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    back();
    show();
  });
}

function setUpButtons() {
  element("theme", HTMLSelectElement).addEventListener("change", (event) => {
    state.theme = /** @type {HTMLSelectElement} */ (event.target).value;
    document.documentElement.dataset.theme = state.theme;
    change({}, { ask: false, push: false });
  });
  for (const input of document.querySelectorAll('input[name="view"]')) {
    input.addEventListener("change", () => change({ view: /** @type {HTMLInputElement} */ (input).value }));
  }
  element("skip", HTMLButtonElement).addEventListener("click", () => {
    const first = arrays.querySelector('td[tabindex="0"]');
    if (first instanceof HTMLElement) grid.focus(first);
  });
  element("reset", HTMLButtonElement).addEventListener("click", () => {
    change(Object.fromEntries(fields.edits.map((name) => [name, ""])));
  });
  element("unpin", HTMLButtonElement).addEventListener("click", () => pin(null));
  element("form", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
  element("copy", HTMLButtonElement).addEventListener("click", () => code.copy(code.current(), "Copied."));
  element("copy-link", HTMLButtonElement).addEventListener("click", () => code.copy(location.href, "Link copied."));
  element("svg", HTMLButtonElement).addEventListener("click", save);
}

async function save() {
  try {
    const text = await server.svg({ ...request(state), pin: state.pin ?? "" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    link.download = `cenote-${state.op}.svg`;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error));
  }
}

async function start() {
  fields = await server.fields();
  form.setUp(fields, (op) => {
    player.stop();
    state = withOperation(state, op, fields);
    change({});
  });
  player.setUp((output) => {
    pin({ array: "y", cell: output });
    grid.reveal();
  });
  setUpArrays();
  setUpEditor();
  setUpButtons();
  window.addEventListener("popstate", () => {
    state = read(location.hash);
    restored = true;
    load().finally(() => (restored = false));
  });
  if (window.matchMedia("(max-width: 48rem)").matches) element("arguments", HTMLDetailsElement).open = false;
  change({}, { push: false });
}

start().catch((error) => complain(error.message));
