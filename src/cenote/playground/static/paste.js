// Numbers from the clipboard: rows of a spreadsheet, a printed array, or a list of lists.
// @ts-check

/** ``[[1, 2], [3, nan]]`` or ``1 2\n3 nan`` → [["1", "2"], ["3", "nan"]] @param {string} text @returns {string[][]} */
export function rows(text) {
  const inner = text.replace(/^\s*(np\.|numpy\.)?array\(|,?\s*dtype=[\w.]+|\)\s*$/g, "").replace(/(np|numpy|math)\./g, "");
  const lines = inner.replace(/\]\s*,?\s*\[/g, "\n").split(/\r?\n|;/);
  const cut = lines.map((line) => line.replace(/[[\]()]/g, " ").split(/[\s,]+/).filter(Boolean));
  return cut.filter((row) => row.length);
}

/**
 * The cells that rows of numbers fall on, from one cell on to the right and down; what is beyond the array is left out.
 * @param {HTMLTableCellElement} cell @param {string[][]} numbers @returns {[HTMLTableCellElement, string][]}
 */
export function targets(cell, numbers) {
  const first = /** @type {HTMLTableRowElement} */ (cell.parentElement);
  const lines = /** @type {HTMLTableSectionElement} */ (first.parentElement).rows;
  const top = [...lines].indexOf(first);
  /** @type {[HTMLTableCellElement, string][]} */
  const out = [];
  numbers.forEach((row, i) => {
    row.forEach((text, j) => {
      const found = lines[top + i]?.cells[cell.cellIndex + j];
      if (found?.classList.contains("real")) out.push([found, text]);
    });
  });
  return out;
}
