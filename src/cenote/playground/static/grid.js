// Arrays as tables, a panel for each slice. One cell of a panel takes part in the tab order, arrow keys move it.
// @ts-check

/** @typedef {import("./server.js").Grid} Grid */
/** @typedef {import("./server.js").Value} Value */
/** @typedef {{array: string, cell: number}} Place */
/** @typedef {{array: string, title: string, grid: Grid, values: Value[], editable: boolean, shaded: boolean,
 *   symbol: string, padding: string}} Drawn */

const PADDING = -1;

/** Cells of what is drawn now, by array and number. @type {Map<string, HTMLTableCellElement>} */
const cells = new Map();
/** @type {Place[]} */
let marked = [];

/** @param {Place} place */
const key = (place) => `${place.array} ${place.cell}`;

/** @param {Place} place */
export const find = (place) => cells.get(key(place));

/** A value for a cell: as it is in six characters, or in three digits, and one behind the point. @param {Value} value */
export function brief(value) {
  const number = asNumber(value);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (Number.isInteger(number) && Math.abs(number) < 1e5) return Object.is(number, -0) ? "-0" : String(number);
  const exact = String(number);
  const plain = exact.length > 6 && Math.abs(number) >= 100 ? number.toFixed(1) : exact;
  if (plain.length <= 6 && plain.includes(".") && !plain.includes("e")) return plain;
  for (const digits of [3, 2, 1]) {
    const rounded = number.toPrecision(digits);
    if (/^-?\d+\.0+$/.test(rounded) && rounded.length <= 6) return rounded; // 6.0002 is not 6
    const text = rounded.replace("e+", "e").replace(/(\.\d*?)0+($|e)/, "$1$2").replace(/\.($|e)/, "$1");
    if (text.length <= 6) return text;
  }
  return number.toExponential(0).replace("e+", "e");
}

/** A value in full, for a label or a field. An integer that no double holds is a text. @param {Value} value */
export function full(value) {
  if (typeof value === "string" && /^-?\d+$/.test(value)) return value;
  const number = asNumber(value);
  if (Object.is(number, -0)) return "-0.0";
  return Number.isNaN(number) ? "nan" : Number.isFinite(number) ? String(number) : number > 0 ? "inf" : "-inf";
}

/** @param {Value} value */
export const asNumber = (value) => (typeof value === "number" ? value : Number(value));

/** @param {HTMLElement} place @param {Drawn[]} arrays */
export function draw(place, arrays) {
  const had = document.activeElement instanceof HTMLElement ? document.activeElement.dataset : {};
  cells.clear();
  marked = [];
  place.replaceChildren(...arrays.map(drawArray));
  const again = had.array ? find({ array: had.array, cell: Number(had.cell) }) : null;
  if (again) focus(again);
}

/** @param {Drawn} drawn */
function drawArray(drawn) {
  const section = document.createElement("section");
  section.className = "array";
  section.dataset.array = drawn.array;
  const title = document.createElement("h2");
  title.textContent = drawn.title;
  const panels = document.createElement("div");
  const longest = Math.max(0, ...drawn.values.map((v) => brief(v).length));
  panels.className = `panels ${longest > 4 ? "tiny" : longest > 2 ? "small" : ""}`;
  panels.classList.toggle("many", drawn.grid.panels.length > 3);
  const most = Math.max(0, ...drawn.values.map((v) => Math.abs(asNumber(v))).filter(Number.isFinite));
  panels.append(...drawn.grid.panels.map((panel) => drawPanel(drawn, panel, most)));
  section.append(title, panels);
  if (!drawn.values.length) section.append("no elements");
  return section;
}

/** @param {Drawn} drawn @param {{label: string, first: number}} panel @param {number} most */
function drawPanel(drawn, panel, most) {
  const { rows, columns } = drawn.grid;
  const figure = document.createElement("figure");
  const table = document.createElement("table");
  table.setAttribute("role", "grid");
  const label = panel.label.replace(drawn.grid.name, drawn.symbol);
  table.setAttribute("aria-label", label || drawn.title);
  table.style.setProperty("--columns", String(columns.number + 1));
  const head = table.createTHead().insertRow();
  head.append(corner());
  for (let j = 0; j < columns.number; j++) head.append(header(columns.first + j, "col"));
  const body = table.createTBody();
  for (let i = 0; i < (rows?.number ?? 1); i++) {
    const row = body.insertRow();
    row.append(rows ? header(rows.first + i, "row") : corner());
    for (let j = 0; j < columns.number; j++) {
      const cell = panel.first + i * (rows?.step ?? 0) + j * columns.step;
      row.append(drawCell(drawn, cell, most));
    }
  }
  const first = body.querySelector('td[role="gridcell"].real');
  if (first instanceof HTMLElement) first.tabIndex = 0;
  figure.append(table);
  if (label) {
    const caption = document.createElement("figcaption");
    caption.textContent = label;
    figure.prepend(caption);
  }
  return figure;
}

/** Where there is no index: not a cell of the grid. */
function corner() {
  const cell = document.createElement("td");
  cell.setAttribute("role", "none");
  return cell;
}

/** @param {number} index @param {"row" | "col"} scope */
function header(index, scope) {
  const cell = document.createElement("th");
  cell.scope = scope;
  cell.textContent = String(index);
  return cell;
}

/** @param {Drawn} drawn @param {number} number @param {number} most */
function drawCell(drawn, number, most) {
  const cell = document.createElement("td");
  const element = drawn.grid.elements[number];
  cell.setAttribute("role", "gridcell");
  cell.dataset.array = drawn.array;
  cell.dataset.cell = String(number);
  cells.set(key({ array: drawn.array, cell: number }), cell);
  if (element < 0) {
    cell.className = element === PADDING ? "padding" : "overhang";
    cell.textContent = element === PADDING ? drawn.padding : "";
    cell.setAttribute("aria-label", element === PADDING ? "padding" : "beyond the padding");
    return cell;
  }
  const value = drawn.values[element];
  cell.className = "real";
  cell.tabIndex = -1;
  cell.dataset.element = String(element);
  cell.textContent = brief(value);
  cell.setAttribute("aria-selected", "false");
  if (!drawn.editable) cell.setAttribute("aria-readonly", "true");
  cell.setAttribute("aria-label", `${drawn.symbol}[${indexOf(drawn.grid, element).join(", ")}] = ${full(value)}`);
  if (drawn.shaded && most > 0) {
    const share = asNumber(value) / most;
    cell.classList.add(share < 0 ? "negative" : "positive");
    cell.style.setProperty("--share", `${Math.round(Math.min(1, Math.abs(share) || 0) * 100)}%`);
  }
  return cell;
}

/** @param {Grid} grid @param {number} element */
function indexOf(grid, element) {
  const index = [];
  for (const n of [...grid.shape].reverse()) {
    index.unshift(element % n);
    element = Math.floor(element / n);
  }
  return index;
}

/** @param {HTMLElement} cell */
export function focus(cell) {
  for (const other of cell.closest("table")?.querySelectorAll('[tabindex="0"]') ?? []) {
    /** @type {HTMLElement} */ (other).tabIndex = -1;
  }
  cell.tabIndex = 0;
  cell.focus();
}

/** The cell that a key leads to, past the padding. @param {HTMLTableCellElement} cell @param {string} pressed */
export function neighbour(cell, pressed) {
  const row = /** @type {HTMLTableRowElement} */ (cell.parentElement);
  const rows = /** @type {HTMLTableSectionElement} */ (row.parentElement).rows;
  const real = [...row.cells].filter((c) => c.classList.contains("real"));
  const at = real.indexOf(cell);
  if (pressed === "ArrowRight") return real[at + 1];
  if (pressed === "ArrowLeft") return real[at - 1];
  if (pressed === "Home") return real[0];
  if (pressed === "End") return real.at(-1);
  const step = pressed === "ArrowDown" ? 1 : pressed === "ArrowUp" ? -1 : 0;
  const next = step ? rows[[...rows].indexOf(row) + step]?.cells[cell.cellIndex] : undefined;
  return next?.classList.contains("real") ? next : undefined;
}

/** Replace all marks. @param {(Place & {mark: string})[]} marks */
export function mark(marks) {
  for (const place of marked) {
    const cell = find(place);
    cell?.classList.remove("seen", "chosen", "tied", "omitted", "target", "flow");
    cell?.removeAttribute("aria-current");
  }
  marked = marks;
  for (const place of marks) {
    const cell = find(place);
    cell?.classList.add(place.mark);
    if (place.mark === "target") cell?.setAttribute("aria-current", "true");
  }
}

/** Scroll rows that are wider than the screen to what is marked on them. */
export function reveal() {
  /** @type {Map<Element, DOMRect[]>} */
  const boxes = new Map();
  for (const place of marked) {
    const cell = find(place), figure = cell?.closest("figure");
    if (cell && figure) boxes.set(figure, [...(boxes.get(figure) ?? []), cell.getBoundingClientRect()]);
  }
  for (const [figure, marks] of boxes) {
    const room = figure.getBoundingClientRect();
    const left = Math.min(...marks.map((box) => box.left)), right = Math.max(...marks.map((box) => box.right));
    if (left < room.left || right > room.right) figure.scrollLeft += left - room.left - marks[0].width / 2;
  }
}

/** @param {Place | null} place */
export function select(place) {
  for (const cell of cells.values()) {
    if (cell.getAttribute("aria-selected") === "true") cell.setAttribute("aria-selected", "false");
  }
  if (place) find(place)?.setAttribute("aria-selected", "true");
}
