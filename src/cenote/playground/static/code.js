// The call in other libraries: a tab for each, a program to copy, or why there is none.
// @ts-check

/** @typedef {import("./server.js").Program} Program */

const tabs = /** @type {HTMLElement} */ (document.getElementById("tabs"));
const panel = /** @type {HTMLElement} */ (document.getElementById("code"));
const note = /** @type {HTMLElement} */ (document.getElementById("note"));
const program = /** @type {HTMLElement} */ (document.getElementById("program"));
const copied = /** @type {HTMLElement} */ (document.getElementById("copied"));

/** @param {Program[]} programs @param {string} library @param {(library: string) => void} chosen */
export function show(programs, library, chosen) {
  const current = programs.find((p) => p.library === library) ?? programs[0];
  // Built once: a tab that is replaced while the mouse is down on it would not be clicked.
  if (!tabs.children.length) tabs.append(...programs.map((p, i) => build(p.library, i, chosen)));
  for (const p of programs) {
    const tab = /** @type {HTMLElement} */ (document.getElementById(`tab-${p.library}`));
    tab.setAttribute("aria-selected", String(p === current));
    tab.tabIndex = p === current ? 0 : -1;
    tab.classList.toggle("none", p.code === null);
  }
  panel.setAttribute("aria-labelledby", `tab-${current.library}`);
  note.textContent = current.code === null ? `No equivalent: ${current.note}.` : current.note;
  note.hidden = !note.textContent;
  program.textContent = current.code ?? "";
  /** @type {HTMLElement} */ (program.parentElement).hidden = current.code === null;
  /** @type {HTMLButtonElement} */ (document.getElementById("copy")).disabled = current.code === null;
}

/** @param {string} library @param {number} at @param {(library: string) => void} chosen */
function build(library, at, chosen) {
  const button = document.createElement("button");
  button.type = "button";
  button.id = `tab-${library}`;
  button.setAttribute("role", "tab");
  button.setAttribute("aria-controls", "code");
  button.textContent = library;
  button.addEventListener("click", () => chosen(library));
  button.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = /** @type {HTMLElement} */ (tabs.children[(at + step + tabs.children.length) % tabs.children.length]);
    next.click();
    next.focus();
  });
  return button;
}

/** @param {string} text @param {string} done */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    copied.textContent = done;
  } catch {
    getSelection()?.selectAllChildren(program);
    copied.textContent = "The browser does not allow copying: the program is selected, copy it yourself.";
  }
}

export const current = () => program.textContent ?? "";
