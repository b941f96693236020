// The table of all cases. Only the rows in view exist: a hundred thousand scroll like a hundred.

const state = { search: "", facets: {}, comparison: -1, sort: null, down: false };
const grid = { shown: [], columns: [], current: 0, height: 40 };
const narrow = matchMedia("(max-width: 720px)");

function tableColumns() {
  const t = page.table;
  const found = [{ kind: "case", key: "case", title: "Case", width: "minmax(14rem, 1fr)" }];
  if (t.words.environment.length > 1) {
    found.push({ kind: "environment", key: "environment", title: "Environment", width: "6.5rem" });
  }
  const compared = t.metrics.map((_, at) => t.comparisons.some((each) => each.rows.some((entry) => entry[1] === at)));
  const several = compared.filter(Boolean).length > 1;
  // Two changes and the notes have to fit in the page too: then without the pictures of intervals.
  const [valueWidth, changeWidth, notesWidth] = several ? ["8.5rem", "10.2rem", "8rem"] : ["10.5rem", "15.2rem", "11rem"];
  t.metrics.forEach((metric, at) => {
    found.push({ kind: "metric", key: metric.name, metric: at, title: metricName(metric), width: valueWidth, number: true });
    // Each metric with its own change: a case may be as fast as before and hold twice the memory.
    if (compared[at]) {
      const title = several ? `${capitalised(metricName(metric))} change` : "Change";
      found.push({ kind: "ratio", key: `${metric.name}-change`, metric: at, title, width: changeWidth, number: true });
    }
  });
  if (t.codes.length || t.outcomes.length > 1) {
    found.push({ kind: "notes", key: "notes", title: "Notes", width: notesWidth });
  }
  return found;
}

function startTable() {
  grid.columns = tableColumns();
  const widths = grid.columns.map((column) => column.width).join(" ");
  byId("grid").style.setProperty("--columns", widths);
  // What the columns need at least: beyond the width of the screen the table scrolls sideways.
  const least = grid.columns.reduce((sum, { width }) => sum + parseFloat(width.replace("minmax(", "")) + 0.9, 2);
  byId("grid").style.setProperty("--least", `${least}rem`);
  byId("grid").setAttribute("aria-colcount", grid.columns.length);
  drawHead();
  drawFacets();
  const body = byId("grid-body");
  body.addEventListener("scroll", () => requestAnimationFrame(() => {
    byId("grid-head").scrollLeft = body.scrollLeft;
    drawRows();
  }), { passive: true });
  body.addEventListener("keydown", moveInTable);
  body.addEventListener("click", (event) => {
    const line = event.target.closest("[data-at]");
    if (!line) return;
    grid.current = Number(line.dataset.at);
    openCase(grid.shown[grid.current]);
  });
  byId("search").addEventListener("input", (event) => {
    state.search = event.target.value;
    refresh();
    writeAddress();
  });
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); body.focus(); }
  });
  byId("clear").addEventListener("click", () => { clearFilters(); byId("search").focus(); });
  byId("csv").addEventListener("click", saveCsv);
  byId("constant").textContent = constantText();
  narrow.addEventListener("change", () => { measureRows(); drawRows(); });
  new ResizeObserver(() => requestAnimationFrame(drawRows)).observe(body);
  measureRows();
  refresh();
}

function measureRows() {
  grid.height = narrow.matches ? 74 : 40;
  byId("grid").style.setProperty("--row", `${grid.height}px`);
  // The box has room for all rows, whatever is filtered: a search does not move what is below it.
  byId("grid").style.setProperty("--all", `${rows.count * grid.height}px`);
}

function drawHead() {
  const line = make("div", { role: "row", class: "line head" });
  grid.columns.forEach((column, at) => {
    const on = state.sort === at;
    const arrow = on ? (state.down ? " ↓" : " ↑") : "";
    line.append(make("div", {
      role: "columnheader", class: column.number ? "number" : null,
      "aria-sort": on ? (state.down ? "descending" : "ascending") : "none",
    }, make("button", { type: "button", "data-column": at, on: { click: () => sortBy(at) } },
      `${column.title}${arrow}`)));
  });
  byId("grid-head").replaceChildren(line);
}

// First click: the direction that is asked for most; second: the other; third: as measured.
function sortBy(at) {
  const first = grid.columns[at].kind === "metric" || grid.columns[at].kind === "ratio" || grid.columns[at].kind === "notes";
  if (state.sort !== at) { state.sort = at; state.down = first; }
  else if (state.down === first) state.down = !first;
  else state.sort = null;
  drawHead();
  refresh();
  writeAddress();
  const again = document.querySelector(`[data-column="${at}"]`);
  if (again) again.focus();
}

function drawFacets() {
  const t = page.table;
  const host = byId("facets");
  host.replaceChildren();
  const add = (name, title, values) => {
    // A value may be empty text, which is not the same as no wish: hence the sign before it.
    const options = [["", `any ${title}`], ...values.map(([value, text]) => [`=${value}`, text])];
    const chosen = name in state.facets ? `=${state.facets[name]}` : "";
    host.append(select(title, options, chosen, (value) => setFacet(name, value)));
  };
  for (const name of ["suite", "name", "stage", "framework", "runtime", "device", "dtype", "environment"]) {
    const values = t.words[name];
    if (values.length > 1 && values.length <= 1000) {
      const ordered = [...values].sort(natural.compare);
      add(name, name === "name" ? "benchmark" : name, ordered.map((value) => [value, value || "none"]));
    }
  }
  if (t.comparisons.length) {
    if (t.comparisons.length > 1) {
      host.append(select("comparison", [[-1, "any comparison"], ...t.comparisons.map((each, at) => [at, `${each.base} → ${each.new}`])],
        state.comparison, (value) => { state.comparison = Number(value); refresh(); writeAddress(); }));
    }
    const metrics = t.metrics.filter((_, at) => t.comparisons.some((each) => each.rows.some((entry) => entry[1] === at)));
    const verdicts = ["slower", "faster", "same", "unknown"];
    add("verdict", "verdict", metrics.length > 1
      ? metrics.flatMap((metric) => verdicts.map((each) => [`${each}@${metric.name}`, `${metricName(metric)}: ${verdictWord(each, metric.unit)}`]))
      : verdicts.map((each) => [each, verdictWord(each, metrics.length ? metrics[0].unit : "s")]));
  }
  if (t.outcomes.length > 1) add("outcome", "outcome", t.outcomes.map((each) => [each, each.replace(/_/g, " ")]));
  if (t.codes.length) add("warning", "warning", [["any", "some warning"], ...t.codes.map((each) => [each, each])]);
}

function setFacet(name, value) {
  if (value) state.facets[name] = value.slice(1);
  else delete state.facets[name];
  refresh();
  writeAddress();
}

function clearFilters() {
  state.search = "";
  state.facets = {};
  byId("search").value = "";
  drawFacets();
  refresh();
  writeAddress();
}

function refresh() {
  const column = state.sort === null ? null : grid.columns[state.sort];
  grid.shown = sorted(matching(state), column, state.down, state.comparison);
  grid.current = 0;
  const total = plural(rows.count, page.table.cases < rows.count ? "row" : "case");
  byId("shown").textContent = grid.shown.length === rows.count ? total : `${grouped(String(grid.shown.length))} of ${total}`;
  byId("clear").hidden = !state.search && !Object.keys(state.facets).length;
  byId("grid").setAttribute("aria-rowcount", grid.shown.length + 1);
  byId("grid-body").scrollTop = 0;
  drawRows();
}

function drawRows() {
  const body = byId("grid-body"), space = byId("grid-space");
  space.style.height = grid.shown.length ? `${grid.shown.length * grid.height}px` : "auto";
  const first = Math.max(0, Math.floor(body.scrollTop / grid.height) - 4);
  const last = Math.min(grid.shown.length, Math.ceil((body.scrollTop + body.clientHeight) / grid.height) + 4);
  const lines = [];
  for (let at = first; at < last; at++) lines.push(drawRow(at));
  if (!grid.shown.length) lines.push(make("p", { class: "empty" }, "No case fits."));
  space.replaceChildren(...lines);
  if (grid.shown.length) body.setAttribute("aria-activedescendant", `line-${grid.current}`);
  else body.removeAttribute("aria-activedescendant");
}

function drawRow(at) {
  const row = grid.shown[at];
  const line = make("div", {
    role: "row", class: at === grid.current ? "line current" : "line", id: `line-${at}`,
    "data-at": at, "data-row": row, "aria-rowindex": at + 2,
  });
  line.style.top = `${at * grid.height}px`;
  line.append(...grid.columns.map((column) => drawCell(row, column)));
  return line;
}

function drawCell(row, column) {
  const cell = make("div", { role: "gridcell", class: column.number ? `number ${column.kind}` : column.kind });
  if (column.kind === "case") cell.append(caseName(row));
  else if (column.kind === "environment") cell.append(facet(row, "environment"));
  else if (column.kind === "metric") drawMetric(cell, row, column);
  else if (column.kind === "ratio") drawRatio(cell, row, column);
  else drawNotes(cell, row);
  return cell;
}

// What tells it from the other cases of the page; `whole` for all of it.
function caseName(row, whole = false) {
  const same = whole ? new Map() : constantAxes();
  const axes = labelsOf(row).filter(([axis]) => !same.has(axis)).map(([axis, value]) => `${axis}=${labelText(value)}`).join(", ");
  const several = (name) => whole || page.table.words[name].length > 1;
  return make("span", { class: "name", title: page.table.ids[row] },
    several("suite") ? make("span", { class: "dim" }, `${facet(row, "suite")}/`) : null,
    make("b", {}, facet(row, "name")),
    axes ? make("span", { class: "axes" }, `[${axes}]`) : null,
    several("stage") ? make("span", { class: "dim" }, `/${facet(row, "stage")}`) : null);
}

function drawMetric(cell, row, column) {
  const values = page.table.values[column.metric];
  const unit = page.table.metrics[column.metric].unit;
  cell.dataset.label = column.title;
  if (values.out[row] < 0) return;
  if (values.out[row] > 0) {
    const outcome = page.table.outcomes[values.out[row]];
    cell.append(make("span", { class: outcome === "unsupported" ? "muted" : "bad" }, outcome.replace(/_/g, " ")));
    return;
  }
  const wide = halfWidth(values.e[row], values.lo[row], values.hi[row]);
  const digits = wide !== null && wide > 0 && wide < 0.005 ? 4 : 3;
  cell.append(make("span", { class: "value" }, formatValue(values.e[row], unit, digits)));
  if (wide) cell.append(make("span", { class: "wide" }, ` ± ${formatHalf(wide)}`));
}

function drawRatio(cell, row, column) {
  const entry = entryOf(row, state.comparison, column.metric);
  if (!entry) return;
  const verdict = verdictOf(entry);
  const metric = page.table.metrics[entry[1]];
  cell.classList.add(verdict);
  if (entry[2] !== null) cell.append(whisker(entry), make("span", { class: "value" }, formatChange(entry[2])));
  cell.append(make("span", { class: "verdict" }, ` ${SIGNS[verdict]} ${verdictWord(verdict, metric.unit)}`));
}

// The interval as a small picture: the line in the middle is "no change", the edges ±20 %.
function whisker(entry) {
  const reach = Math.log(1.2), width = 64, middle = width / 2;
  const at = (ratio) => middle + Math.max(-1, Math.min(1, Math.log(ratio) / reach)) * (middle - 4);
  const picture = draw("svg", { width, height: 16, class: "whisker", "aria-hidden": "true" });
  picture.append(draw("line", { class: "one", x1: middle, x2: middle, y1: 1, y2: 15 }));
  if (entry[3] && entry[4]) {
    picture.append(draw("line", { class: "span", x1: at(entry[3]), x2: Math.max(at(entry[4]), at(entry[3]) + 1), y1: 8, y2: 8 }));
  }
  picture.append(draw("circle", { cx: at(entry[2]), cy: 8, r: 3 }));
  return picture;
}

function drawNotes(cell, row) {
  const codes = warningsOf(row);
  const outcome = outcomeOf(row);
  if (outcome !== "ok") {
    const at = page.table.values.findIndex((values) => values.out[row] > 0);
    const reason = at < 0 ? "" : page.table.reasons[page.table.values[at].why[row]] || "";
    cell.append(make("span", { class: "muted", title: reason }, reason));
  } else if (codes.length) {
    cell.append(make("span", { class: "warn" }, `! ${codes.join(", ")}`));
  }
}

function moveInTable(event) {
  const body = byId("grid-body");
  const screen = Math.max(1, Math.floor(body.clientHeight / grid.height) - 1);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity };
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    if (grid.shown.length) openCase(grid.shown[grid.current]);
    return;
  }
  if (!(event.key in steps)) return;
  event.preventDefault();
  goTo(Math.max(0, Math.min(grid.shown.length - 1, grid.current + steps[event.key])));
}

function goTo(at) {
  const body = byId("grid-body");
  grid.current = at;
  const top = at * grid.height;
  if (top < body.scrollTop) body.scrollTop = top;
  else if (top + grid.height > body.scrollTop + body.clientHeight) {
    body.scrollTop = top + grid.height - body.clientHeight;
  }
  drawRows();
}
