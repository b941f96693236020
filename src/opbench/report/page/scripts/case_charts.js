// The pictures of one case: its samples, its stages, its bytes, its instructions.

function drawCaseCharts(row, details) {
  drawStages(row);
  drawSiblings(row);
  if (details) {
    drawSamples(row, details);
    drawMemory(details);
    drawInstructions(details);
  }
  for (const kind of caseKinds()) drawCaseIn(kind, row);
  drawCaseHistory(row);
}

function section(name, title, ...notes) {
  const host = byId(`case-${name}`);
  host.hidden = false;
  host.replaceChildren(make("h3", {}, title), ...notes.map((text) => make("p", { class: "note" }, text)));
  return host;
}

// Every sample a tick, one row per worker start: starts are what the interval rests on.
function drawSamples(row, details) {
  const t = page.table;
  const at = t.metrics.findIndex((metric) => metric.unit === "s" && details.metrics[metric.name] && details.metrics[metric.name].samples);
  if (at < 0) return;
  const values = t.values[at], metric = t.metrics[at];
  const kept = details.metrics[metric.name].samples;
  const base = values.e[row] || 0, step = kept.step || Math.abs(base) * 1e-4;
  const [factor, symbol] = scaleOf(base || step, metric.unit) || [1, metric.unit];
  const points = kept.starts.flatMap(([start, ...steps], index) => steps.map((away, number) => ({
    start: start + 1, value: (base + away * step) / factor,
    block: ((kept.disturbed || [])[index] || []).includes(number) ? "disturbed" : "undisturbed",
  })));
  if (points.length < 2) return;
  const count = values.n[row] > points.length ? `${grouped(String(points.length))} of ${plural(values.n[row], "sample")}` : plural(points.length, "sample");
  const host = section("samples", "Samples", `${count}, a row per worker start. The band is the 95 % interval of the estimate; samples far from the others stand at the edge.`);
  const known = values.lo[row] !== null && values.hi[row] !== null;
  const band = known ? [{ low: values.lo[row] / factor, high: values.hi[row] / factor }] : [];
  const space = make("div");
  host.append(space);
  drawChartInto(space, "samples", { "{x}": `${metricName(metric)} per call, ${symbol}` }, { points, band });
}

// Charts that also show, with a case, where it stands among the others.
const caseKinds = () => Object.entries(page.table.charts.tabs).filter(([, tab]) => tab.of_case).map(([kind]) => kind);

async function drawCaseIn(kind, row) {
  const tab = page.table.charts.tabs[kind];
  const [number] = tab.choices[0], size = page.table.charts.piece;
  const filling = (await piece("drawings", Math.floor(number / size)))[number % size];
  const datasets = datasetsOf(filling);
  if (opened.row !== row || !datasets.points.some((point) => point.row === row)) return;
  datasets.points = datasets.points.map((point) => ({ ...point, here: point.row === row }));
  const host = section(kind, tab.title);
  const space = make("div");
  host.append(space);
  drawChartInto(space, kind, filling.words, datasets, { height: 260 });
}

// Rows that differ from this one in nothing but `key` ("stage", or an axis).
function differingIn(row, key) {
  const t = page.table;
  const same = (name) => (other) => t.columns[name][other] === t.columns[name][row];
  const tests = ["suite", "name", "stage", "framework", "runtime", "device", "environment"]
    .filter((name) => name !== key).map(same);
  const mine = JSON.stringify(labelsOf(row).filter(([axis]) => axis !== key));
  const found = [];
  for (let other = 0; other < rows.count; other++) {
    if (t.columns.name[other] !== t.columns.name[row]) continue;
    if (!tests.every((test) => test(other))) continue;
    if (JSON.stringify(labelsOf(other).filter(([axis]) => axis !== key)) === mine) found.push(other);
  }
  return found;
}

function bars(host, entries, unit) {
  const most = Math.max(...entries.map((entry) => entry.value || 0)) || 1;
  const list = make("div", { class: "bars" });
  for (const { name, value, here, row, note } of entries) {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.max(0.5, (100 * (value || 0)) / most)}%`;
    const label = row === undefined || here ? make("span", { class: "bar-name", title: name }, name)
      : make("button", { type: "button", class: "link bar-name", title: name, on: { click: () => openCase(row) } }, name);
    list.append(make("div", { class: here ? "bar-line here" : "bar-line" }, label,
      make("span", { class: "bar-room" }, bar), make("span", { class: "bar-value" }, note || formatValue(value, unit))));
  }
  host.append(list);
}

const STAGE_ORDER = ["forward", "backward", "forward_backward", "step", "call"];

function drawStages(row) {
  const found = differingIn(row, "stage");
  if (found.length < 2) return;
  const host = section("stages", "Stages");
  found.sort((a, b) => STAGE_ORDER.indexOf(facet(a, "stage")) - STAGE_ORDER.indexOf(facet(b, "stage")));
  const at = firstTime();
  bars(host, found.map((other) => ({
    name: facet(other, "stage").replace(/_/g, " + "), value: page.table.values[at].e[other], here: other === row, row: other,
    note: page.table.values[at].out[other] > 0 ? page.table.outcomes[page.table.values[at].out[other]] : "",
  })), page.table.metrics[at].unit);
}

function firstTime() {
  return Math.max(0, page.table.metrics.findIndex((metric) => metric.unit === "s"));
}

// The same benchmark at other values of each axis: how this case stands among its neighbours.
function drawSiblings(row) {
  const at = firstTime();
  let host = null;
  for (const [axis] of labelsOf(row)) {
    const found = differingIn(row, axis).filter((other) => page.table.values[at].out[other] === 0);
    if (found.length < 2 || found.length > 24) continue;
    host = host || section("siblings", "Neighbours");
    found.sort((a, b) => natural.compare(labelText(labelOf(a, axis)), labelText(labelOf(b, axis))));
    bars(host, found.map((other) => ({
      name: `${axis}=${labelText(labelOf(other, axis))}`, value: page.table.values[at].e[other], here: other === row, row: other,
    })), page.table.metrics[at].unit);
  }
}

function drawMemory(details) {
  const found = details.metrics.memory;
  if (!found || !found.detail) return;
  const { components, stages, lines, max_memory: most } = found.detail;
  const parts = Object.entries(components || {}).filter(([, bytes]) => bytes > 0);
  if (!parts.length && !lines) return;
  const host = section("memory", "Memory", most ? `At most ${formatValue(most, "bytes")} held at once.` : "");
  if (parts.length) {
    host.append(make("h4", {}, "Components"));
    bars(host, parts.map(([name, value]) => ({ name: name.replace(/_/g, " "), value })), "bytes");
  }
  if (stages && Object.keys(stages).length) {
    host.append(make("h4", {}, "Held after each stage"));
    bars(host, Object.entries(stages).map(([name, value]) => ({ name: name.replace(/_/g, " "), value })), "bytes");
  }
  if (lines && lines.length > 1) {
    host.append(make("h4", {}, "Peak in each line"));
    bars(host, lines.map(({ source, peak }) => ({ name: source, value: peak })), "bytes");
  }
}

function drawInstructions(details) {
  const found = details.metrics.instructions;
  if (!found || !found.detail.functions || !found.detail.functions.length) return;
  const host = section("instructions", "Instructions", "The functions that take most of them, per call.");
  bars(host, found.detail.functions.map(([name, value]) => ({ name, value })), "instructions");
}
