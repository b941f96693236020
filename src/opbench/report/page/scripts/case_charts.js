// The pictures of one case: its samples, its stages, its bytes, its instructions.

// What scripts of suites add: {name, draw(row)}; `draw` fills section(name, title).
const SUITE_CASE_SECTIONS = [];

function drawCaseCharts(row, details) {
  drawStages(row);
  drawSiblings(row);
  if (details) {
    drawSamples(row, details);
    drawMemory(details);
    drawInstructions(details);
  }
  for (const each of SUITE_CASE_SECTIONS) each.draw(row);
  drawCaseHistory(row);
}

function section(name, title, ...notes) {
  const host = byId(`case-${name}`);
  host.hidden = false;
  host.replaceChildren(make("h3", {}, title), ...notes.map((text) => make("p", { class: "note" }, text)));
  return host;
}

// Every sample a dot, one line per worker start: starts are what the interval rests on.
function drawSamples(row, details) {
  const t = page.table;
  const at = t.metrics.findIndex((metric) => metric.unit === "s" && details.metrics[metric.name] && details.metrics[metric.name].samples);
  if (at < 0) return;
  const values = t.values[at], metric = t.metrics[at];
  const kept = details.metrics[metric.name].samples;
  const base = values.e[row] || 0, step = kept.step || Math.abs(base) * 1e-4;
  const starts = kept.starts.map(([start, ...steps]) => [start, steps.map((each) => base + each * step)]);
  const all = starts.flatMap(([, each]) => each);
  if (all.length < 2) return;
  const ordered = [...all].sort((a, b) => a - b);
  const quantile = (share) => ordered[Math.min(ordered.length - 1, Math.floor(share * ordered.length))];
  // A few far outliers would press the rest into a line: they are drawn at the edge.
  const reach = 4 * (quantile(0.9) - quantile(0.1)) || Math.abs(base) * 0.01;
  const domain = spread([Math.max(ordered[0], quantile(0.1) - reach), Math.min(ordered[ordered.length - 1], quantile(0.9) + reach), values.lo[row], values.hi[row]], false, 0.05);
  const more = values.n[row] > all.length ? `${grouped(String(all.length))} of ${plural(values.n[row], "sample")}` : plural(all.length, "sample");
  const host = section("samples", "Samples", `${more}, a row per worker start. The band is the 95 % interval of the estimate.`);
  const line = Math.max(9, Math.min(20, 150 / starts.length));
  const width = host.clientWidth || 600;
  const unit = scaleOf(base || all[0], metric.unit) || [1, metric.unit];
  const frame = plot(host, {
    width, height: starts.length * line + 52, margin: { left: 40, bottom: 40, top: 6 },
    x: (range) => linear(domain, range), xTick: (tick) => grouped(String(Number((tick / unit[0]).toPrecision(6)))),
    xTitle: `${metricName(metric)} per call, ${unit[1]}`, label: `Distribution of ${more}`,
  });
  const clip = (value) => Math.max(0, Math.min(frame.width, frame.x(value)));
  if (values.lo[row] !== null && values.hi[row] !== null) {
    frame.area.append(draw("rect", { class: "band", x: clip(values.lo[row]), width: Math.max(1, clip(values.hi[row]) - clip(values.lo[row])), y: 0, height: frame.height }));
  }
  frame.area.append(draw("line", { class: "estimate", x1: clip(base), x2: clip(base), y1: 0, y2: frame.height }));
  let anyDisturbed = false;
  starts.forEach(([start, each], index) => {
    const y = (index + 0.5) * line;
    if (line >= 12) frame.area.append(draw("text", { class: "row-label", x: -8, y: y + 4, "text-anchor": "end" }, String(start + 1)));
    const disturbed = new Set((kept.disturbed || [])[index] || []);
    each.forEach((value, number) => {
      const shake = ((number * 7919) % 13) / 13 - 0.5;
      anyDisturbed = anyDisturbed || disturbed.has(number);
      frame.area.append(draw("circle", {
        class: disturbed.has(number) ? "sample disturbed" : "sample", cx: clip(value), cy: y + shake * line * 0.5,
        r: line >= 12 ? 2.4 : 1.8,
      }));
    });
    const median = [...each].sort((a, b) => a - b)[Math.floor(each.length / 2)];
    frame.area.append(draw("line", { class: "median", x1: clip(median), x2: clip(median), y1: y - line * 0.36, y2: y + line * 0.36 }));
  });
  if (anyDisturbed) legend(host, [{ text: "calm", colour: "var(--blue)" }, { text: "disturbed by other programs", colour: "var(--orange)", open: true }]);
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
    host = host || section("siblings", "Beside it");
    found.sort((a, b) => natural.compare(labelText(labelOf(a, axis)), labelText(labelOf(b, axis))));
    bars(host, found.map((other) => ({
      name: `${axis}=${labelText(labelOf(other, axis))}`, value: page.table.values[at].e[other], here: other === row, row: other,
    })), page.table.metrics[at].unit);
  }
}

function drawMemory(details) {
  const found = details.metrics.memory;
  if (!found || !found.told) return;
  const { components, stages, lines, max_memory: most } = found.told;
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
  if (!found || !found.told.functions || !found.told.functions.length) return;
  const host = section("instructions", "Instructions", "The functions that take most of them, per call.");
  bars(host, found.told.functions.map(([name, value]) => ({ name, value })), "instructions");
}
