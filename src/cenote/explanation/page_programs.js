// @ts-check
"use strict";
// The same call in several libraries, a tab for each, and copying.
/** @typedef {{library: string, code: string | null, note: string}} Program */

/** @param {Program[]} programs @param {() => void} changed */
const Programs = (programs, changed) => {
  /** @param {string} id @returns {HTMLElement} */
  const one = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  /** @param {Program} p */
  const tabOf = (p) => one(`tab-${p.library}`);

  const self = {
    /** The library whose program is shown. */
    chosen: programs[0].library,

    /** @param {string} library */
    choose(library) {
      const current = programs.find((p) => p.library === library) ?? programs[0];
      self.chosen = current.library;
      for (const p of programs) {
        tabOf(p).setAttribute("aria-selected", String(p === current));
        tabOf(p).tabIndex = p === current ? 0 : -1;
      }
      one("code").setAttribute("aria-labelledby", `tab-${current.library}`);
      one("note").textContent = current.code === null ? `No equivalent: ${current.note}.` : current.note;
      one("note").hidden = !one("note").textContent;
      one("program").textContent = current.code ?? "";
      /** @type {HTMLElement} */ (one("program").parentElement).hidden = current.code === null;
      /** @type {HTMLButtonElement} */ (one("copy")).disabled = current.code === null;
    },

    /** @param {string} text @param {string} done @param {Element} source what to select where copying is not allowed */
    async copy(text, done, source) {
      try {
        await navigator.clipboard.writeText(text);
        one("copied").textContent = done;
      } catch {
        getSelection()?.selectAllChildren(source);
        one("copied").textContent = "The browser does not allow copying: the text is selected, copy it yourself.";
      }
    },
  };

  one("tabs").append(...programs.map((p, at) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${p.library}`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "code");
    tab.classList.toggle("none", p.code === null);
    tab.textContent = p.library;
    tab.addEventListener("click", () => {
      self.choose(p.library);
      changed();
    });
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = tabOf(programs[(at + by + programs.length) % programs.length]);
      next.click();
      next.focus();
    });
    return tab;
  }));
  one("copy").addEventListener("click", () => self.copy(one("program").textContent ?? "", "Copied.", one("program")));
  one("copy-link").addEventListener("click", () => self.copy(location.href, "Link copied.", one("program")));
  return self;
};
