// Time against an axis, both logarithmic: a straight line is a power of the size.

const scalingChart = {
  id: "scaling",
  title: "Against an axis",
  has: () => scalable().length > 0,
  pick: { name: null, axis: null, metric: null, by: null },
  controls() {
    const t = page.table;
    const names = scalable();
    if (!names.some(({ name }) => name === this.pick.name)) this.pick.name = names[0].name;
    const { axes } = names.find(({ name }) => name === this.pick.name);
    if (!axes.includes(this.pick.axis)) this.pick.axis = axes[0];
    if (this.pick.metric === null) this.pick.metric = firstTime();
    const found = [];
    if (names.length > 1) found.push(["Benchmark", names.map(({ name }) => [name, name]).sort((a, b) => natural.compare(a[0], b[0])), "name"]);
    if (axes.length > 1) found.push(["Axis", axes.map((each) => [each, each]), "axis"]);
    if (t.metrics.length > 1) found.push(["Metric", t.metrics.map((each, at) => [at, metricName(each)]), "metric"]);
    return found;
  },
  draw(host, width) {
    const t = page.table;
    const metric = t.metrics[this.pick.metric], values = t.values[this.pick.metric];
    const axis = this.pick.axis;
    const lines = new Map();
    for (const row of rowsNamed(this.pick.name)) {
      const size = labelOf(row, axis), value = values.e[row];
      if (typeof size !== "number" || values.out[row] !== 0 || !(value > 0)) continue;
      const key = lineName(row, axis);
      if (!lines.has(key)) lines.set(key, []);
      lines.get(key).push({ row, size, value, low: values.lo[row], high: values.hi[row] });
    }
    const all = [...lines.values()].flat();
    if (!all.length) { host.append(make("p", { class: "empty" }, "Nothing was measured along this axis.")); return ""; }
    const logX = all.every(({ size }) => size > 0);
    const domainX = spread(all.map(({ size }) => size), logX, 0.05);
    const domainY = spread(all.flatMap(({ value, low, high }) => [value, low, high]), true, 0.06);
    const sizes = [...new Set(all.map(({ size }) => size))].sort((a, b) => a - b);
    const frame = plot(host, {
      width, height: 400, margin: { left: 74, top: 26 },
      x: (range) => (logX ? logarithmic : linear)(domainX, range), y: (range) => logarithmic(domainY, range),
      xTicks: sizes.length <= 9 ? sizes : null, xTick: tickNumber, yTick: (tick) => formatValue(tick, metric.unit, 2),
      xTitle: axis, yTitle: metricName(metric), label: `${metricName(metric)} of ${this.pick.name} against ${axis}`,
    });
    const drawn = [...lines.entries()].sort((a, b) => natural.compare(a[0], b[0]));
    drawn.slice(0, 24).forEach(([, points], at) => {
      points.sort((a, b) => a.size - b.size);
      const place = ({ size, value }) => `${frame.x(size)} ${frame.y(value)}`;
      const path = draw("path", { class: "curve", d: `M${points.map(place).join("L")}` });
      path.style.stroke = colourOf(at);
      if (at >= COLOURS) path.style.strokeDasharray = "5 3";
      frame.area.append(path);
      for (const point of points) {
        const group = draw("g", { class: "mark" });
        group.style.setProperty("--mark", colourOf(at));
        const x = frame.x(point.size);
        if (point.low > 0 && point.high > 0) group.append(draw("line", { class: "span", x1: x, x2: x, y1: frame.y(point.low), y2: frame.y(point.high) }));
        const dot = shape(SHAPES[at % SHAPES.length], x, frame.y(point.value), 4);
        dot.classList.add("dot");
        group.append(dot);
        frame.area.append(clickable(group, point.row, () => [t.ids[point.row], `${formatValue(point.value, metric.unit)} at ${axis}=${point.size}`]));
      }
    });
    legend(host, drawn.slice(0, 24).map(([text], at) => ({ text: text || this.pick.name, colour: colourOf(at), kind: SHAPES[at % SHAPES.length] })));
    const rest = drawn.length > 24 ? ` 24 of ${drawn.length} lines shown.` : "";
    return `${logX ? "Both scales are logarithmic." : "The scale of the values is logarithmic."}${rest}`;
  },
};

let scalableNames = null;

// Benchmarks with an axis of numbers that takes more than one value, and those axes.
function scalable() {
  if (scalableNames) return scalableNames;
  const seen = new Map();
  for (let row = 0; row < rows.count; row++) {
    const name = `${facet(row, "suite")}/${facet(row, "name")}`;
    if (!seen.has(name)) seen.set(name, new Map());
    const axes = seen.get(name);
    for (const [axis, value] of labelsOf(row)) {
      if (typeof value !== "number") continue;
      if (!axes.has(axis)) axes.set(axis, new Set());
      axes.get(axis).add(value);
    }
  }
  scalableNames = [...seen.entries()]
    .map(([name, axes]) => ({ name, axes: [...axes.entries()].filter(([, values]) => values.size > 1).sort((a, b) => b[1].size - a[1].size).map(([axis]) => axis) }))
    .filter(({ axes }) => axes.length);
  return scalableNames;
}

function rowsNamed(full) {
  const found = [];
  for (let row = 0; row < rows.count; row++) {
    if (`${facet(row, "suite")}/${facet(row, "name")}` === full) found.push(row);
  }
  return found;
}

// What tells a line from the others: everything that varies but the axis itself.
function lineName(row, axis) {
  const t = page.table;
  const parts = labelsOf(row).filter(([name]) => name !== axis).map(([name, value]) => `${name}=${labelText(value)}`);
  for (const name of ["stage", "framework", "runtime", "device", "environment"]) {
    if (t.words[name].length > 1 && !labelsOf(row).some(([each]) => each === name)) parts.push(facet(row, name));
  }
  return parts.filter(Boolean).join(", ");
}
