// @ts-check
"use strict";
// Everything is computed beforehand: this shows one window after the other, and remembers which in the address.
(() => {
  /** @typedef {Flow & {lines: string[], marks: Record<string, string>, sees: string[], more: number,
   *   links: string, words: string}} Step */
  /** @typedef {{op: string, state: string | null, works: boolean, whole: boolean, start: {view: string, window: number},
   *   steps: Record<string, Step[]>, slopes: Record<string, Value>, shells: Record<string, string>,
   *   room: Record<string, Room>, programs: Program[]}} Data */
  /** @type {Data} */
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
  const PAUSE = 900; // milliseconds at each window
  const MOST_NAMES = 12;

  /** @param {string} id @returns {HTMLElement} */
  const one = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const slider = /** @type {HTMLInputElement | null} */ (document.getElementById("slider"));
  const theme = /** @type {HTMLSelectElement} */ (one("theme"));
  const count = data.steps.values.length;
  const stepOf = new Map(data.steps.values.map((step, i) => [step.index.join(","), i]));

  let view = "values";
  let now = 0; // the window that the slider is at
  let pinned = /** @type {Place | null} */ (null);
  let peek = /** @type {Place | null} */ (null); // what the mouse or the focus is on
  let timer = 0;
  const { name, same, placeOf } = Elements;
  const programs = Programs(data.programs, () => {
    showCommand();
    remember();
  });
  const cotangents = Cotangents(data.steps.gradient ?? [], data.slopes, data.whole);
  const cells = (/** @type {string} */ array) => Elements.all(view, array);
  const cellOf = (/** @type {Place} */ place) => Elements.find(view, place);
  /** @param {number} i @returns {Place} */
  const output = (i) => ({ array: "y", key: data.steps.values[i].index.join(",") });
  // --------------------------------------------------------------------------------------------- what there is to say

  /** @param {string[]} names @param {number} most @param {number} [beyond] those that have no name here */
  const some = (names, most, beyond = 0) => {
    const more = Math.max(0, names.length - most) + beyond;
    return more ? [...names.slice(0, most), `and ${more} more`] : names;
  };

  /** An element in words. @param {Place} place @returns {string[]} */
  function describe(place) {
    const flows = view === "gradient";
    if (place.array === "y") {
      const step = data.steps[view][stepOf.get(place.key) ?? now];
      const g = cotangents.of(place.key);
      if (!flows || g === 1) return step.lines;
      const got = cotangents.given(step).map(([key, part]) => `${name({ array: "x", key })} gets ${Numbers.short(part)}`);
      const gets = some(got, 6, step.more).join(", ") || "no element gets any of it";
      return [`A cotangent of ${Numbers.short(g)} on ${name(place)}: ${gets}.`, ...step.lines.slice(1)];
    }
    const seen = data.steps[view].filter((step) => step.sees.includes(place.key));
    const value = flows ? Numbers.short(cotangents.slope(place.key)) : cellOf(place)?.querySelector("text")?.textContent ?? "";
    const names = flows
      ? cotangents.shares(place.key).map(([step, share]) => `${Numbers.signed(share)} of y[${step.index.join(", ")}]`)
      : seen.map((step) => `y[${step.index.join(", ")}]`);
    const list = some(names, MOST_NAMES).join(", ");
    if (flows) return [`gradient of ${name(place)} = ${value}`, list || "no window gives it any"];
    const number = `${names.length} window${names.length === 1 ? "" : "s"}`;
    return [`${name(place)} = ${value}`, list ? `seen by ${number}: ${list}` : "no window sees it"];
  }

  /** To those who listen. @param {string} [first] */
  function announce(first) {
    if (timer || !count || !data.works) return;
    one("live").textContent = [first, ...describe(pinned ?? output(now))].filter(Boolean).join(". ");
  }

  // ------------------------------------------------------------------------------------------------ what is shown

  function show() {
    showCommand();
    if (!count) return;
    if (pinned?.array === "y") now = stepOf.get(pinned.key) ?? now;
    const place = peek ?? pinned ?? output(now);
    showMarks(place);
    if (data.works) say(describe(place)); // of a call that fails its problem is there
    if (slider) {
      slider.value = String(now);
      slider.setAttribute("aria-valuetext", describe(output(now))[0] ?? "");
      one("pin").textContent = pinned ? `pinned: ${name(pinned)}` : "";
      one("unpin").hidden = !pinned;
    }
    const focused = document.activeElement?.closest("[data-index]") ?? null;
    for (const array of ["x", "y"]) {
      const all = cells(array);
      const first = all.find((c) => c === focused) ?? (array === "y" ? cellOf(output(now)) : null) ?? all[0];
      for (const cell of all) {
        cell.setAttribute("tabindex", cell === first ? "0" : "-1");
        cell.setAttribute("aria-pressed", String(same(placeOf(cell), pinned)));
      }
    }
    showField();
  }

  /** The window of an output; of an element of x the windows that see it. @param {Place} place */
  function showMarks(place) {
    const overlays = Elements.picture(view).querySelectorAll(".overlay");
    if (place.array === "y") {
      const step = data.steps[view][stepOf.get(place.key) ?? now];
      for (const overlay of overlays) overlay.innerHTML = step.marks[overlay.getAttribute("data-marks") ?? ""] ?? "";
      if (view === "gradient" && cotangents.of(place.key) !== 1) Elements.notes(view, cotangents.given(step));
      return;
    }
    for (const overlay of overlays) overlay.replaceChildren();
    Elements.mark(cellOf(place), "tap");
    for (const step of data.steps[view].filter((s) => s.sees.includes(place.key))) {
      Elements.mark(cellOf({ array: "y", key: step.index.join(",") }), place.key in step.gets ? "flow" : "seen");
    }
  }

  /** @param {string[]} lines */
  function say(lines) {
    one("formula").replaceChildren(...lines.map((line, i) => {
      const part = document.createElement(i ? "span" : "b");
      part.textContent = line;
      return part;
    }));
  }

  /** The field of the cotangent of the output that is shown. */
  function showField() {
    const form = document.getElementById("cotangent");
    if (!form) return;
    const field = /** @type {HTMLInputElement} */ (one("g"));
    const place = output(now);
    form.hidden = view !== "gradient";
    one("g-label").textContent = `Cotangent of ${name(place)}`;
    one("g-reset").hidden = !cotangents.changed.size;
    if (document.activeElement === field) return;
    field.value = Numbers.full(cotangents.of(place.key));
    field.removeAttribute("aria-invalid");
    one("g-problem").textContent = "";
  }

  /** The numbers of the gradient, and what elements of the view are called. */
  function showNumbers() {
    for (const cell of [...cells("x"), ...cells("y")]) {
      const place = placeOf(cell);
      cell.setAttribute("aria-label", describe(place).slice(0, place.array === "x" ? 2 : 1).join(", "));
      if (view !== "gradient") continue;
      Elements.write(cell, Numbers.short(place.array === "x" ? cotangents.slope(place.key) : cotangents.of(place.key)));
    }
  }

  function showView() {
    const focused = document.activeElement?.closest(".panels [data-index]") ?? null;
    Elements.picture(view).removeAttribute("hidden");
    if (focused) cellOf(placeOf(focused))?.focus(); // before its picture is hidden, where no key would reach it
    for (const p of Elements.pictures) p.toggleAttribute("hidden", p.getAttribute("data-view") !== view);
    for (const radio of document.querySelectorAll("input[name=view]")) {
      const input = /** @type {HTMLInputElement} */ (radio);
      input.checked = input.value === view;
    }
  }

  // -------------------------------------------------------------------------------------------------- the address

  /** The state in the words of the playground's address, or of this page's. @param {boolean} own */
  function state(own) {
    /** @type {Record<string, string>} */
    const out = {};
    if (view !== (own ? data.start.view : "values")) out.view = view;
    if (cotangents.changed.size) out.g = Numbers.write(cotangents.changed);
    if (pinned) out.pin = [pinned.array, ...pinned.key.split(",")].join(".");
    else if (own && now !== data.start.window) out.window = data.steps.values[now].index.join(".");
    if (programs.chosen !== data.programs[0].library) out.code = programs.chosen;
    if (theme.value) out.theme = theme.value;
    return Object.entries(out).map(([key, text]) => `${key}=${text}`).join("&");
  }

  function showCommand() {
    if (data.state === null) return;
    one("playground").textContent = `cenote playground '#${[data.state, state(false)].filter(Boolean).join("&")}'`;
  }

  function remember() {
    try {
      history.replaceState(null, "", `#${state(true)}`);
    } catch {
      // Inside of another page, which has the address.
    }
  }

  function recall() {
    const found = new URLSearchParams(location.hash.slice(1));
    view = Object.keys(data.steps).find((known) => known === found.get("view")) ?? data.start.view;
    showView();
    theme.value = ["light", "dark"].find((known) => known === found.get("theme")) ?? "";
    document.documentElement.dataset.theme = theme.value;
    programs.choose(found.get("code") ?? "");
    cotangents.changed = Numbers.read(found.get("g") ?? "", (key) => Boolean(data.steps.gradient) && stepOf.has(key));
    const [array, ...index] = (found.get("pin") ?? "").split(".");
    const place = { array, key: index.join(",") };
    pinned = /^[\d,]+$/.test(place.key) && ["x", "y"].includes(array) && cellOf(place) ? place : null;
    now = stepOf.get((found.get("window") ?? "").replaceAll(".", ",")) ?? data.start.window;
    showNumbers();
    show();
  }

  // ----------------------------------------------------------------------------------------------- what is done

  /** @param {Place | null} place */
  function pin(place) {
    run(false);
    pinned = place;
    show();
    remember();
    if (place) announce("Pinned");
    else one("live").textContent = "Unpinned.";
  }

  /** @param {number} i @param {boolean} [silent] */
  function step(i, silent) {
    pinned = peek = null;
    now = (i + count) % count;
    show();
    Elements.reveal(view);
    remember();
    if (!silent) announce();
  }

  /** What the field of the cotangent has. */
  function setCotangent() {
    const field = /** @type {HTMLInputElement} */ (one("g"));
    const { key } = output(now);
    const number = Numbers.parsed(field.value);
    field.setAttribute("aria-invalid", String(number === null));
    one("g-problem").textContent = number === null ? "A number is needed: 3, 2.5, nan, inf or -inf." : "";
    if (number === null) return;
    if (number === 1) cotangents.changed.delete(key);
    else cotangents.changed.set(key, number);
    showNumbers();
    show();
    remember();
    announce();
  }

  /** @param {boolean} on */
  function run(on) {
    clearInterval(timer);
    timer = on ? window.setInterval(() => step(now + 1), PAUSE) : 0;
    const play = document.getElementById("play");
    play?.setAttribute("aria-pressed", String(on));
    if (play) play.textContent = on ? "Stop" : "Play";
  }

  /** @param {string} to */
  function setView(to) {
    if (!(to in data.steps)) return;
    view = to;
    showView();
    showNumbers();
    show();
    remember();
    announce(to);
  }

  /** @param {Place | null} place */
  function go(place) {
    run(false);
    if (place) cellOf(place)?.focus();
  }

  /** The picture of the window or element that is pinned, or else of the window that the slider is at, as SVG. */
  function drawing() {
    const elements = Elements.picture(view).querySelectorAll(".slices > svg > :not(.overlay)");
    const step = data.steps[view][now];
    if (!step) return Saved.picture(data.shells[view], elements, "", "");
    const place = pinned ?? output(now);
    showMarks(place);
    const marks = [...Elements.picture(view).querySelectorAll(".overlay")].map((overlay) => overlay.innerHTML).join("");
    const lines = describe(place);
    const usual = place.array === "y" && lines === step.lines;
    const words = usual ? step.words : Saved.words(lines, data.room[view]);
    show(); // what the mouse or the focus is on
    return Saved.picture(data.shells[view], elements, (place.array === "y" ? step.links : "") + marks + words, lines.join(". "));
  }

  function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([drawing()], { type: "image/svg+xml" }));
    link.download = `cenote-${data.op}.svg`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // ------------------------------------------------------------------------------------------------------- set up

  /** @param {SVGGElement} cell */
  function setUpCell(cell) {
    const place = placeOf(cell);
    cell.setAttribute("role", "button");
    cell.setAttribute("tabindex", "-1");
    cell.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse" || timer) return;
      peek = place;
      show();
    });
    cell.addEventListener("pointerleave", () => {
      peek = null;
      show();
    });
    cell.addEventListener("focus", () => {
      if (timer || !cell.matches(":focus-visible")) return;
      peek = place;
      if (place.array === "y") now = stepOf.get(place.key) ?? now;
      show();
      if (!pinned) remember();
    });
    cell.addEventListener("blur", () => {
      peek = null;
      show();
    });
    cell.addEventListener("click", () => pin(same(pinned, place) ? null : place));
  }

  if (data.works) for (const cell of Elements.shown()) setUpCell(cell);
  slider?.addEventListener("input", () => { run(false); step(Number(slider.value), true); }); // which says its own value
  document.getElementById("play")?.addEventListener("click", () => run(!timer));
  document.getElementById("next")?.addEventListener("click", () => { run(false); step(now + 1); });
  document.getElementById("back")?.addEventListener("click", () => { run(false); step(now - 1); });
  document.getElementById("unpin")?.addEventListener("click", () => pin(null));
  for (const radio of document.querySelectorAll("input[name=view]")) {
    radio.addEventListener("change", () => setView(/** @type {HTMLInputElement} */ (radio).value));
  }
  document.getElementById("g")?.addEventListener("change", setCotangent);
  document.getElementById("cotangent")?.addEventListener("submit", (event) => event.preventDefault()); // Enter: "change"
  document.getElementById("g-reset")?.addEventListener("click", () => {
    cotangents.changed.clear();
    showNumbers();
    show();
    one("g").focus();
    remember();
    announce();
  });
  theme.addEventListener("change", () => {
    document.documentElement.dataset.theme = theme.value;
    showCommand();
    remember();
  });
  document.getElementById("copy-playground")?.addEventListener("click", () => {
    programs.copy(one("playground").textContent ?? "", "Command copied.", one("playground"));
  });
  one("svg").addEventListener("click", save);

  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const cell = target.closest(".panels [data-index]");
    if (event.ctrlKey || event.metaKey || event.altKey || !count || !data.works) return;
    if (!cell && (target.matches("select, #g") || !["g", "p", "Escape"].includes(key))) return; // the others scroll
    const place = cell ? placeOf(cell) : output(now);
    const all = cells(place.array);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => go(Elements.beside(view, place, 1, 0)), ArrowLeft: () => go(Elements.beside(view, place, -1, 0)),
      ArrowDown: () => go(Elements.beside(view, place, 0, 1)), ArrowUp: () => go(Elements.beside(view, place, 0, -1)),
      Home: () => go(placeOf(all[0])), End: () => go(placeOf(all[all.length - 1])),
      Enter: () => pin(same(pinned, place) ? null : place), " ": () => pin(same(pinned, place) ? null : place),
      Escape: () => pin(null), p: () => run(!timer), g: () => setView(view === "values" ? "gradient" : "values"),
    };
    if (!(key in keys)) return;
    event.preventDefault();
    keys[key]();
  });
  window.addEventListener("hashchange", recall);
  recall();
})();
