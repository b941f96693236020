// Framework against framework: the same benchmark on both, a dot below the diagonal is a win for the
// one named below.

const frameworksChart = {
  id: "frameworks",
  title: "Frameworks",
  has: () => page.table.words.framework.length > 1 && Boolean(firstPair()),
  pick: { across: null, up: null, metric: null },
  controls() {
    const t = page.table;
    if (this.pick.across === null) [this.pick.across, this.pick.up] = firstPair();
    if (this.pick.metric === null) this.pick.metric = firstTime();
    const names = t.words.framework.map((each) => [each, each]);
    const found = [["Across", names, "across"], ["Up", names, "up"]];
    if (t.metrics.length > 1) found.push(["Metric", t.metrics.map((each, at) => [at, metricName(each)]), "metric"]);
    return found;
  },
  draw(host, width) {
    const metric = page.table.metrics[this.pick.metric];
    const pairs = frameworkPairs(this.pick.across, this.pick.up, Number(this.pick.metric));
    if (!pairs.length) { host.append(make("p", { class: "empty" }, "These two share no benchmark that came out on both.")); return ""; }
    const domain = spread(pairs.flatMap(({ x, y }) => [x, y]), true, 0.05);
    const frame = plot(host, {
      width, height: Math.min(520, Math.max(320, width * 0.7)), margin: { left: 74, top: 26 },
      x: (range) => logarithmic(domain, range), y: (range) => logarithmic(domain, range),
      xTick: (tick) => formatValue(tick, metric.unit, 2), yTick: (tick) => formatValue(tick, metric.unit, 2),
      xTitle: `${this.pick.across}, ${metricName(metric)}`, yTitle: `${this.pick.up}, ${metricName(metric)}`,
      label: `${this.pick.up} against ${this.pick.across}, ${pairs.length} benchmarks`,
    });
    const [low, high] = domain;
    frame.area.append(draw("line", { class: "one", x1: frame.x(low), y1: frame.y(low), x2: frame.x(high), y2: frame.y(high) }));
    for (const pair of thinned(pairs)) {
      const wins = pair.y < pair.x;
      const group = draw("g", { class: "mark faint" });
      group.style.setProperty("--mark", colourOf(wins ? 0 : 5));
      const dot = shape(wins ? "down" : "triangle", frame.x(pair.x), frame.y(pair.y), 3.8);
      dot.classList.add("dot");
      group.append(dot);
      frame.area.append(clickable(group, pair.row, () => [page.table.ids[pair.row],
        `${this.pick.across}: ${formatValue(pair.x, metric.unit)}`, `${this.pick.up}: ${formatValue(pair.y, metric.unit)}`,
        `${this.pick.up} takes × ${formatRatio(pair.y / pair.x)}`]));
    }
    const wins = pairs.filter(({ x, y }) => y < x).length;
    legend(host, [
      { text: `${this.pick.up} takes less (${wins})`, colour: colourOf(0), kind: "down" },
      { text: `${this.pick.across} takes less (${pairs.length - wins})`, colour: colourOf(5), kind: "triangle" },
    ]);
    const mean = Math.exp(pairs.reduce((sum, { x, y }) => sum + Math.log(y / x), 0) / pairs.length);
    const rest = pairs.length > MOST_MARKS ? ` ${grouped(String(MOST_MARKS))} of ${grouped(String(pairs.length))} drawn.` : "";
    return `${plural(pairs.length, "benchmark")} on both. Geometric mean: ${this.pick.up} takes × ${formatRatio(mean)} of ${this.pick.across}.${rest}`;
  },
};

let byBenchmark = null;

// The same thing in different words: everything equal but framework, runtime and environment.
function benchmarks() {
  if (byBenchmark) return byBenchmark;
  byBenchmark = new Map();
  for (let row = 0; row < rows.count; row++) {
    const labels = labelsOf(row).filter(([axis]) => axis !== "framework" && axis !== "runtime");
    const key = JSON.stringify([facet(row, "suite"), facet(row, "name"), facet(row, "stage"), facet(row, "device"), page.table.threads[row], labels]);
    if (!byBenchmark.has(key)) byBenchmark.set(key, []);
    byBenchmark.get(key).push(row);
  }
  return byBenchmark;
}

function frameworkPairs(across, up, metric) {
  const values = page.table.values[metric];
  const found = [];
  const good = (row) => values.out[row] === 0 && values.e[row] > 0;
  for (const members of benchmarks().values()) {
    if (members.length < 2) continue;
    const one = members.find((row) => facet(row, "framework") === across && good(row));
    const other = members.find((row) => facet(row, "framework") === up && good(row));
    if (one !== undefined && other !== undefined && one !== other) {
      found.push({ row: other, x: values.e[one], y: values.e[other] });
    }
  }
  return found;
}

// The two frameworks that share the most.
function firstPair() {
  const names = page.table.words.framework;
  const counts = new Map();
  for (const members of benchmarks().values()) {
    const here = [...new Set(members.map((row) => facet(row, "framework")))].sort((a, b) => names.indexOf(a) - names.indexOf(b));
    for (let i = 0; i < here.length; i++) {
      for (let j = i + 1; j < here.length; j++) {
        const key = JSON.stringify([here[i], here[j]]);
        counts.set(key, (counts.get(key) || 0) + 1);
      }
    }
  }
  const best = [...counts.entries()].sort((a, b) => b[1] - a[1])[0];
  return best ? JSON.parse(best[0]) : null;
}
