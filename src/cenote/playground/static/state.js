// The state of the page: texts by name, all of them in the address after the #.
// @ts-check

/** @typedef {Record<string, string>} State */
/** @typedef {{name: string, label: string, control: string, default: string, help: string, choices: string[]}} Field */
/** @typedef {{family: string, fields: Field[]}} Operation */
/** @typedef {{operations: Record<string, Operation>, edits: string[]}} Fields */

/** What the page shows under an address without a state. @type {State} */
export const START = { op: "max_pool", shape: "7,7", window: "3,3", stride: "2" };

/** Parameters that the page keeps to itself. */
export const PAGE = ["pin", "theme", "code"];

/** @param {string} hash @returns {State} */
export function read(hash) {
  /** @type {State} */
  const state = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, ...rest] = part.split("=");
    if (!name) continue;
    try {
      state[decodeURIComponent(name)] = decodeURIComponent(rest.join("=").replaceAll("+", " "));
    } catch {
      // A broken %-sequence: that part of the address means nothing.
    }
  }
  return Object.keys(state).length ? { op: START.op, ...state } : { ...START };
}

/** @param {string} text */
function encode(text) {
  return encodeURIComponent(text).replace(/%(2C|3A|3B)/g, decodeURIComponent);
}

/** The address of a state, without what is the default. @param {State} state @param {Operation | undefined} operation */
export function write(state, operation) {
  const defaults = Object.fromEntries((operation?.fields ?? []).map((field) => [field.name, field.default]));
  const shown = Object.entries(state).filter(([name, text]) => {
    return name === "op" || (name === "view" ? text !== "values" : text !== (defaults[name] ?? ""));
  });
  return "#" + shown.map(([name, text]) => `${encode(name)}=${encode(text)}`).join("&");
}

/** What the server is sent. @param {State} state */
export function request(state) {
  return Object.fromEntries(Object.entries(state).filter(([name]) => !PAGE.includes(name)));
}

/** The state with another operation: it keeps what the new one has too. @param {State} state @param {string} op @param {Fields} fields */
export function withOperation(state, op, fields) {
  const next = fields.operations[op];
  const same = next?.family === fields.operations[state.op]?.family;
  const known = new Set([...(next?.fields ?? []).map((field) => field.name), "view", "theme", "code"]);
  if (same) for (const name of fields.edits) known.add(name);
  else known.delete("shape");
  const kept = Object.entries(state).filter(([name]) => known.has(name) && name !== "dtype");
  return { op, ...Object.fromEntries(kept) };
}

/** ``1.2:7;0.0:nan`` with one element set. @param {string} edits @param {number[]} index @param {string} text */
export function edit(edits, index, text) {
  const place = index.join(".");
  const others = edits.split(";").filter((part) => part && part.split(":")[0] !== place);
  return [...others, `${place}:${text}`].join(";");
}

/** @param {number} flat @param {number[]} shape @returns {number[]} */
export function unravel(flat, shape) {
  const index = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index.unshift(flat % shape[axis]);
    flat = Math.floor(flat / shape[axis]);
  }
  return index;
}

/** The flat index, or -1 outside of the shape. @param {number[]} index @param {number[]} shape */
export function ravel(index, shape) {
  if (index.length !== shape.length) return -1;
  let flat = 0;
  for (let axis = 0; axis < shape.length; axis++) {
    if (!(index[axis] >= 0 && index[axis] < shape[axis])) return -1;
    flat = flat * shape[axis] + index[axis];
  }
  return flat;
}
