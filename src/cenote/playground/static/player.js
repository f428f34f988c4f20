// The slider through the windows, and what moves it.
// @ts-check

const PAUSE = 900; // milliseconds at each window

const slider = /** @type {HTMLInputElement} */ (document.getElementById("slider"));
const play = /** @type {HTMLButtonElement} */ (document.getElementById("play"));
let timer = 0;

/** @param {(output: number) => void} moved */
export function setUp(moved) {
  const step = (/** @type {number} */ by) => {
    const number = Number(slider.max) + 1;
    moved((Number(slider.value) + by + number) % number);
  };
  slider.addEventListener("input", () => moved(Number(slider.value)));
  /** @type {HTMLElement} */ (document.getElementById("previous")).addEventListener("click", () => step(-1));
  /** @type {HTMLElement} */ (document.getElementById("next")).addEventListener("click", () => step(1));
  play.addEventListener("click", () => {
    if (timer) return stop();
    step(slider.dataset.at === "" ? 0 : 1);
    timer = window.setInterval(() => step(1), PAUSE);
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
  });
}

export function stop() {
  window.clearInterval(timer);
  timer = 0;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}

export const isPlaying = () => timer !== 0;

/** @param {number} number of windows @param {number | null} at the pinned one @param {string} name */
export function show(number, at, name) {
  slider.max = String(Math.max(0, number - 1));
  slider.value = String(at ?? 0);
  slider.dataset.at = at === null ? "" : String(at);
  slider.setAttribute("aria-valuetext", at === null ? "no window is pinned" : `${name}, ${at + 1} of ${number}`);
  for (const id of ["previous", "play", "next", "slider"]) {
    /** @type {HTMLButtonElement} */ (document.getElementById(id)).disabled = number === 0;
  }
  if (number === 0) stop();
}
