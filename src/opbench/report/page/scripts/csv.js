// The rows of the table as it is filtered and sorted, as a file for a spreadsheet.

function saveCsv() {
  const t = page.table;
  const places = t.words.environment.length > 1;
  const axes = [...new Set(t.axes.flat())];
  const head = ["case", ...axes, ...(places ? ["environment"] : [])];
  for (const { name, unit } of t.metrics) {
    head.push(`${name} (${unit})`, `${name} low`, `${name} high`, `${name} outcome`, `${name} samples`);
  }
  const compared = grid.columns.filter((column) => column.kind === "ratio");
  for (const column of compared) head.push(column.title, `${column.title}: ratio low`, `${column.title}: ratio high`, `${column.title}: verdict`);
  const lines = grid.shown.map((row) => {
    const cells = [t.ids[row], ...axes.map((axis) => { const value = labelOf(row, axis); return value === undefined ? "" : labelText(value); }), ...(places ? [facet(row, "environment")] : [])];
    for (const values of t.values) {
      const none = values.out[row] < 0;
      cells.push(values.e[row], values.lo[row], values.hi[row], none ? "" : t.outcomes[values.out[row]], none ? "" : values.n[row]);
    }
    for (const column of compared) {
      const entry = entryOf(row, state.comparison, column.metric);
      cells.push(...(entry ? [entry[2], entry[3], entry[4], verdictOf(entry)] : ["", "", "", ""]));
    }
    return cells;
  });
  saveFile("cases.csv", [head, ...lines].map((cells) => cells.map(csvCell).join(",")).join("\n") + "\n", "text/csv");
}

// Text that a spreadsheet would take for a formula stays text.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
