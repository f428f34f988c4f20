// @ts-check
"use strict";
// Numbers as formula.py writes them, and the changed cotangents as the address has them: g=0.1:2;1.1:-3.
const Numbers = (() => {
  /** @param {number} value */
  function short(value) {
    if (Number.isNaN(value)) return "NaN";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (Math.abs(value) < 1e6 && Number.isInteger(value)) return String(value);
    if (String(value).length <= 6 && !String(value).includes("e")) return String(value);
    if (Math.abs(value) >= 100 && Math.abs(value) < 1e5) return value.toFixed(1);
    if (/^-?\d+(\.0+)?$/.test(value.toPrecision(3))) return Math.abs(value) > 99 ? value.toFixed(1) : value.toPrecision(3); // 6.0002 is not 6
    const [mantissa, exponent] = Number(value.toPrecision(3)).toExponential().split("e");
    return Number(exponent) < -4 || Number(exponent) > 2 ? `${mantissa}e${Number(exponent)}` : String(Number(value.toPrecision(3)));
  }

  /** With its sign, as the notes below elements have it. @param {number} value */
  const signed = (value) => `${value < 0 ? "" : "+"}${short(value)}`;

  /** What was typed, or stands in an address; null if it is no number. @param {string} text @returns {number | null} */
  function parsed(text) {
    const bare = text.trim().toLowerCase().replace("−", "-").replace("∞", "inf");
    if (bare === "nan") return NaN;
    if (/^[+-]?inf(inity)?$/.test(bare)) return bare.startsWith("-") ? -Infinity : Infinity;
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(bare) ? Number(bare) : null;
  }

  /** To the last digit. @param {number} value */
  const full = (value) => Number.isNaN(value) ? "nan" : Number.isFinite(value) ? String(value) : value > 0 ? "inf" : "-inf";

  /** The cotangents that are not 1, by output. @param {string} text @param {(key: string) => boolean} known */
  function read(text, known) {
    /** @type {Map<string, number>} */
    const out = new Map();
    for (const part of text.split(";")) {
      const [place, value] = part.split(":");
      const key = place.replaceAll(".", ","), number = parsed(value ?? "");
      if (known(key) && number !== null && number !== 1) out.set(key, number);
    }
    return out;
  }

  /** @param {Map<string, number>} changed */
  const write = (changed) => [...changed].map(([key, value]) => `${key.replaceAll(",", ".")}:${full(value)}`).join(";");

  return { short, signed, parsed, full, read, write };
})();
