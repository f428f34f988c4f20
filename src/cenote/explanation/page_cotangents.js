// @ts-check
"use strict";
// The cotangents of the outputs, and what elements of x get of them. Derivatives are linear: with what each output gives
// for a cotangent of 1, there is nothing left to compute but products and sums.
/** A number as JSON has it: NaN and infinities are texts. @typedef {number | string} Value */
/** What one output gives to each element, by index. @typedef {{index: number[], gets: Record<string, Value>}} Flow */

/**
 * @param {Flow[]} flows @param {Record<string, Value>} slopes what elements get if every cotangent is 1
 * @param {boolean} whole whether all outputs are there
 */
const Cotangents = (flows, slopes, whole) => {
  /** @type {Map<string, [Flow, number][]>} */
  const givers = new Map();
  for (const flow of flows) {
    for (const [key, part] of Object.entries(flow.gets)) {
      const before = givers.get(key);
      if (before) before.push([flow, Number(part)]);
      else givers.set(key, [[flow, Number(part)]]);
    }
  }
  const self = {
    /** Those that are not 1, by output. @type {Map<string, number>} */
    changed: new Map(),

    /** @param {string} output */
    of: (output) => self.changed.get(output) ?? 1,

    /** What an element gets of each output that gives it any. @param {string} element @returns {[Flow, number][]} */
    shares: (element) => (givers.get(element) ?? []).map(([flow, part]) => [flow, part * self.of(flow.index.join(","))]),

    /** What an element gets in all. Of outputs that are not on the page, the cotangent is 1. @param {string} element */
    slope(element) {
      if (whole) return self.shares(element).reduce((sum, [, share]) => sum + share, 0);
      const ones = Number(slopes[element]);
      return (givers.get(element) ?? []).reduce((sum, [flow, part]) => {
        const g = self.of(flow.index.join(","));
        return g === 1 ? sum : sum + (g - 1) * part;
      }, ones);
    },

    /** What each element gets of one output. @param {Flow} flow @returns {[string, number][]} */
    given(flow) {
      const g = self.of(flow.index.join(","));
      return Object.entries(flow.gets).map(([element, part]) => [element, Number(part) * g]);
    },
  };
  return self;
};
