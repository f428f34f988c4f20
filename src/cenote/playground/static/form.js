// The form of the arguments, built from the table that the server sends.
// @ts-check

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Field} Field */
/** @typedef {import("./state.js").Fields} Fields */

const operation = /** @type {HTMLSelectElement} */ (document.getElementById("op"));
const place = /** @type {HTMLElement} */ (document.getElementById("fields"));
let shown = "";

/** @param {Fields} fields @param {(op: string) => void} chosen */
export function setUp(fields, chosen) {
  operation.replaceChildren(...Object.keys(fields.operations).map((name) => new Option(name, name)));
  operation.addEventListener("change", () => chosen(operation.value));
}

/** Show the fields of an operation with the texts of the state: the one that is typed in too, if ``restored``.
 * @param {State} state @param {Fields} fields @param {(name: string, text: string) => void} changed @param {boolean} restored */
export function show(state, fields, changed, restored) {
  operation.value = state.op;
  const known = fields.operations[state.op]?.fields ?? [];
  if (shown !== state.op) {
    place.replaceChildren(...known.map((field) => build(field, changed)));
    shown = state.op;
  }
  for (const field of known) {
    const input = /** @type {HTMLInputElement} */ (document.getElementById(`field-${field.name}`));
    const text = state[field.name] ?? field.default;
    if (field.control === "flag") input.checked = text === "1";
    else if (restored || input !== document.activeElement || field.control === "choice") input.value = text;
  }
}

/** @param {Field} field @param {(name: string, text: string) => void} changed */
function build(field, changed) {
  const id = `field-${field.name}`;
  const label = document.createElement("label");
  label.htmlFor = id;
  label.textContent = field.label;
  const input = control(field);
  input.id = id;
  input.dataset.name = field.name;
  const row = document.createElement("div");
  row.className = `field ${field.control}`;
  row.append(label, input);
  if (field.help) {
    const help = document.createElement("small");
    help.id = `${id}-help`;
    help.textContent = field.help;
    input.setAttribute("aria-describedby", help.id);
    row.append(help);
  }
  input.addEventListener(field.control === "text" ? "input" : "change", () => {
    const text = input instanceof HTMLInputElement && field.control === "flag" ? (input.checked ? "1" : "0") : input.value;
    changed(field.name, text);
  });
  return row;
}

/** @param {Field} field */
function control(field) {
  if (field.control === "choice") {
    const select = document.createElement("select");
    select.append(...field.choices.map((name) => new Option(name, name)));
    return select;
  }
  const input = document.createElement("input");
  input.type = field.control === "flag" ? "checkbox" : "text";
  if (field.control === "text") {
    input.spellcheck = false;
    input.autocapitalize = "off";
  }
  return input;
}

/** Mark the fields that a message names. @param {string} message */
export function blame(message) {
  for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (place.querySelectorAll("[data-name]"))) {
    const name = input.dataset.name ?? "";
    const label = input.closest(".field")?.querySelector("label")?.textContent ?? name;
    const named = message && (message.includes(`${name}=`) || message.includes(`${label}:`) || message.includes(`${label}=`));
    if (named) {
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-errormessage", "error");
    } else {
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-errormessage");
    }
  }
}
