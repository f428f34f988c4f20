// @ts-check
"use strict";
(() => {
  /** @typedef {{name: string, lines: string[], marks: Record<string, string>}} Step */
  /** @type {Record<string, Step[]>} */
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
  const formula = /** @type {HTMLElement} */ (document.getElementById("formula"));
  const slider = /** @type {HTMLInputElement | null} */ (document.getElementById("slider"));
  const play = document.getElementById("play");
  const pin = document.getElementById("pin");
  const pictures = [...document.querySelectorAll(".panels")];
  const count = data.values.length;
  let view = "values";
  let now = 0; // the window that is shown
  let pinned = /** @type {number | null} */ (null);
  let timer = 0;

  /** @param {string} name @returns {Element} */
  const picture = (name) => /** @type {Element} */ (pictures.find((p) => p.getAttribute("data-view") === name));
  /** @param {number} i @returns {SVGElement | null} */
  const output = (i) => picture(view).querySelector(`.y[data-window="${i}"]`);

  /** Show one window. @param {number} i */
  function show(i) {
    if (!count) return;
    now = (i + count) % count;
    const step = data[view][now];
    for (const overlay of picture(view).querySelectorAll(".overlay")) {
      overlay.innerHTML = step.marks[overlay.getAttribute("data-marks") ?? ""] ?? "";
    }
    formula.replaceChildren(...step.lines.map((line, n) => {
      const part = document.createElement(n ? "span" : "b");
      part.textContent = line;
      return part;
    }));
    if (slider) {
      slider.value = String(now);
      slider.setAttribute("aria-valuetext", step.name);
    }
    if (pin) pin.textContent = pinned === null ? "" : `pinned: ${data[view][pinned].name}`;
    for (const cell of picture(view).querySelectorAll(".y[data-window]")) {
      cell.setAttribute("tabindex", cell === output(now) ? "0" : "-1");
    }
  }

  /** @param {number | null} i */
  function setPin(i) {
    pinned = i;
    show(i ?? now);
  }

  /** @param {boolean} on */
  function run(on) {
    clearInterval(timer);
    timer = on ? window.setInterval(() => show(now + 1), 900) : 0;
    play?.setAttribute("aria-pressed", String(on));
    if (play) play.textContent = on ? "Stop" : "Play";
    if (on) pinned = null;
    formula.setAttribute("aria-live", on ? "off" : "polite");
  }

  /** @param {string} name */
  function setView(name) {
    if (!(name in data)) return;
    const focused = picture(view).contains(document.activeElement);
    view = name;
    for (const p of pictures) p.toggleAttribute("hidden", p.getAttribute("data-view") !== name);
    for (const radio of document.querySelectorAll("input[name=view]")) {
      const input = /** @type {HTMLInputElement} */ (radio);
      input.checked = input.value === name;
    }
    show(now);
    if (focused) output(now)?.focus(); // it was on the picture that is hidden now, where no key would reach it
  }

  /** Show the output in the direction of an arrow key. @param {number} dx @param {number} dy */
  function step(dx, dy) {
    const from = output(now)?.querySelector("rect")?.getBoundingClientRect();
    if (!from) return;
    let best = null, least = Infinity;
    for (const cell of picture(view).querySelectorAll(".y[data-window]")) {
      const to = /** @type {Element} */ (cell.querySelector("rect")).getBoundingClientRect();
      const x = to.x - from.x, y = to.y - from.y;
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (along < 1) continue;
      const cost = along + 4 * aside;
      if (cost < least) [best, least] = [cell, cost];
    }
    if (best) go(Number(best.getAttribute("data-window")));
  }

  /** Show a window and put the focus on its output. @param {number} i */
  function go(i) {
    run(false);
    if (pinned !== null) pinned = i;
    show(i);
    output(now)?.focus({ preventScroll: false });
  }

  for (const p of pictures) {
    for (const cell of p.querySelectorAll(".y[data-window]")) {
      const i = Number(cell.getAttribute("data-window"));
      const step = data[p.getAttribute("data-view") ?? "values"][i];
      cell.setAttribute("role", "button");
      cell.setAttribute("aria-label", step.lines[0] ?? step.name);
      cell.addEventListener("pointerenter", () => { if (pinned === null && !timer) show(i); });
      cell.addEventListener("focus", () => { if (!timer && pinned === null) show(i); });
      cell.addEventListener("click", () => { run(false); setPin(pinned === i ? null : i); });
    }
  }
  slider?.addEventListener("input", () => { run(false); pinned = null; show(Number(slider.value)); });
  play?.addEventListener("click", () => run(!timer));
  document.getElementById("next")?.addEventListener("click", () => { run(false); pinned = null; show(now + 1); });
  document.getElementById("back")?.addEventListener("click", () => { run(false); pinned = null; show(now - 1); });
  for (const radio of document.querySelectorAll("input[name=view]")) {
    radio.addEventListener("change", () => setView(/** @type {HTMLInputElement} */ (radio).value));
  }
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowRight: () => step(1, 0), ArrowLeft: () => step(-1, 0), ArrowDown: () => step(0, 1), ArrowUp: () => step(0, -1),
    Home: () => go(0), End: () => go(count - 1), Enter: () => setPin(pinned === now ? null : now),
    Escape: () => { run(false); setPin(null); }, " ": () => run(!timer),
    g: () => setView(view === "values" ? "gradient" : "values"),
  };
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (target.matches("input, button") && key !== "g" && key !== "Escape") return;
    if (!(key in keys) || event.ctrlKey || event.metaKey || event.altKey || !count) return;
    event.preventDefault();
    keys[key]();
  });
  for (const p of pictures) p.toggleAttribute("hidden", p.getAttribute("data-view") !== view);
  show(0);
})();
