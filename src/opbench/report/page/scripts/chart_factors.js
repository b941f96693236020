// How many times the baseline: benchmarks along one axis, the other values of the key as marks.

const factorsChart = {
  id: "factors",
  title: "Factors",
  has: () => factorSets().length > 0,
  pick: { metric: null, stage: null, rest: null },
  controls() {
    const sets = factorSets();
    const t = page.table;
    const metrics = [...new Set(sets.flatMap(({ comparison }) => comparison.rows.map((entry) => entry[1])))].sort((a, b) => a - b);
    if (!metrics.includes(Number(this.pick.metric)) || this.pick.metric === null) this.pick.metric = metrics[0];
    const entries = factorEntries(sets, Number(this.pick.metric));
    const stages = [...new Set(entries.map(({ row }) => facet(row, "stage")))];
    if (!stages.includes(this.pick.stage)) this.pick.stage = stages.includes("forward_backward") ? "forward_backward" : stages[0];
    const rests = [...new Set(entries.filter(({ row }) => facet(row, "stage") === this.pick.stage).map(({ rest }) => rest))].sort(natural.compare);
    if (!rests.includes(this.pick.rest)) this.pick.rest = rests[rests.length >> 1];
    const found = [];
    if (metrics.length > 1) found.push(["Metric", metrics.map((at) => [at, metricName(t.metrics[at])]), "metric"]);
    if (stages.length > 1) found.push(["Stage", stages.map((each) => [each, each.replace(/_/g, " + ")]), "stage"]);
    if (rests.length > 1 && rests.length < 200) found.push(["At", rests.map((each) => [each, each || "–"]), "rest"]);
    return found;
  },
  draw(host, width) {
    const sets = factorSets();
    const metric = page.table.metrics[this.pick.metric];
    const entries = factorEntries(sets, Number(this.pick.metric))
      .filter(({ row, rest }) => facet(row, "stage") === this.pick.stage && rest === this.pick.rest);
    const names = [...new Set(entries.map(({ name }) => name))];
    const variants = [...new Set(sets.map(({ value }) => value))];
    const base = sets[0].comparison.base;
    const domain = spread(entries.flatMap(({ entry }) => [entry[2], entry[3], entry[4], 1]), true, 0.06);
    const slanted = names.length * 84 > width - 80;
    const frame = plot(host, {
      width, height: 380, margin: { left: 60, bottom: slanted ? 110 : 48, top: 26 },
      y: (range) => logarithmic(domain, range), yTick: formatTickRatio,
      yTitle: `${metricName(metric)}, × ${base}`, label: `Factors over ${base} by benchmark`,
    });
    const band = frame.width / Math.max(names.length, 1);
    frame.area.append(draw("line", { class: "one", x1: 0, x2: frame.width, y1: frame.y(1), y2: frame.y(1) }));
    names.forEach((name, at) => {
      const x = (at + 0.5) * band;
      if (at % 2) frame.area.insertBefore(draw("rect", { class: "stripe", x: at * band, y: 0, width: band, height: frame.height }), frame.area.firstChild);
      frame.area.append(draw("text", slanted
        ? { class: "row-label", transform: `translate(${x + 4} ${frame.height + 14}) rotate(-40)`, "text-anchor": "end" }
        : { class: "row-label", x, y: frame.height + 20, "text-anchor": "middle" }, shortened(name, 22)));
    });
    const wide = Math.min(18, (band * 0.8) / variants.length);
    for (const { row, entry, name, value } of entries) {
      const at = variants.indexOf(value);
      const x = (names.indexOf(name) + 0.5) * band + (at - (variants.length - 1) / 2) * wide;
      const group = draw("g", { class: "mark" });
      group.style.setProperty("--mark", colourOf(at));
      if (entry[3] && entry[4]) group.append(draw("line", { class: "span", x1: x, x2: x, y1: frame.y(entry[3]), y2: frame.y(entry[4]) }));
      const dot = shape(SHAPES[at % SHAPES.length], x, frame.y(entry[2]), 4.5);
      dot.classList.add("dot");
      group.append(dot);
      frame.area.append(clickable(group, row, () => [page.table.ids[row], `× ${formatRatio(entry[2])} [${formatRatio(entry[3])}, ${formatRatio(entry[4])}]`, `over ${base}`]));
    }
    legend(host, variants.map((text, at) => ({ text, colour: colourOf(at), kind: SHAPES[at % SHAPES.length] })));
    return `Measured turn by turn with the baseline; the line at × 1 is ${base}.`;
  },
};

// Comparisons along the axis of the run's baseline: `mode=baseline` → `mode=hooks`.
function factorSets() {
  const axis = page.table.baseline.split("=")[0];
  if (!axis) return [];
  return page.table.comparisons
    .filter(({ base }) => base.startsWith(`${axis}=`))
    .map((comparison) => ({ comparison, axis, value: comparison.new.slice(axis.length + 1) }));
}

function factorEntries(sets, metric) {
  const found = [];
  for (const { comparison, axis, value } of sets) {
    for (const entry of comparison.rows) {
      if (entry[1] !== metric || !(entry[2] > 0)) continue;
      const row = entry[0];
      const rest = labelsOf(row).filter(([name]) => name !== axis).map(([name, each]) => `${name}=${labelText(each)}`).join(", ");
      found.push({ row, entry, value, rest, name: facet(row, "name") });
    }
  }
  return found;
}
