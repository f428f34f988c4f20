// What the server answers, and how it is asked: of several questions the last one counts.
// @ts-check

/** @typedef {[string, string?, number?]} Term  text, kind, cell */
/** @typedef {{number: number, step: number, first: number, axis: number}} Line */
/** @typedef {{name: string, shape: number[], rows: Line | null, columns: Line,
 *   panels: {label: string, first: number}[], elements: number[]}} Grid */
/** @typedef {number | string} Value */
/** @typedef {{shape: number[], dtype: string, values: Value[]}} ArrayData */
/** @typedef {{index: number[], cells: number[], taps: number[], chosen: number | null, selected: number[],
 *   omitted: number[], formula: Term[], remarks: string[]}} Window */
/** @typedef {{problem: string | null, g: ArrayData, dx: ArrayData, dw?: ArrayData, db?: ArrayData,
 *   flows: {parts: [number, Value][], formula: Term[]}[], sums: Record<string, Term[]>}} Gradient */
/** @typedef {{library: string, code: string | null, note: string}} Program */
/** @typedef {{op: string, call: string, text: string[], problem: string | null, x: ArrayData, w: ArrayData | null,
 *   b: ArrayData | null, y: ArrayData | null, grids: Record<string, Grid>, code: Program[], windows: Window[],
 *   misfit: [string, number, string][], gradient: Gradient | null}} Answer */

/** @type {AbortController | null} */
let running = null;

/** @param {string} name @param {Record<string, string>} state @param {AbortSignal} [signal] */
function post(name, state, signal) {
  const headers = { "Content-Type": "application/json" };
  return fetch(name, { method: "POST", headers, body: JSON.stringify(state), signal });
}

/** The message of an answer that is not what was asked for. @param {Response} response */
async function problem(response) {
  const body = await response.json().catch(() => ({}));
  return new Error(body.error ?? `the server answers ${response.status}`);
}

/**
 * The answer for a state, or null if another question was asked meanwhile.
 * @param {Record<string, string>} state @returns {Promise<Answer | null>}
 */
export async function explain(state) {
  running?.abort();
  const mine = (running = new AbortController());
  try {
    const response = await post("explain", state, mine.signal);
    if (!response.ok) throw await problem(response);
    const answer = await response.json();
    return mine === running ? answer : null;
  } catch (error) {
    if (mine !== running) return null;
    if (error instanceof TypeError) throw new Error("The server is gone. Start `cenote playground` again.");
    throw error;
  }
}

/** @param {Record<string, string>} state @returns {Promise<string>} */
export async function svg(state) {
  const response = await post("svg", state);
  if (!response.ok) throw await problem(response);
  return response.text();
}

/** @returns {Promise<import("./state.js").Fields>} */
export async function fields() {
  const response = await fetch("fields.json");
  if (!response.ok) throw await problem(response);
  return response.json();
}
