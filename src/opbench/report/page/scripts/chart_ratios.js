// Two sides against each other: every case a ratio with its interval, the largest changes on top.

const RATIOS_SHOWN = 40;

const ratiosChart = {
  id: "ratios",
  title: "Ratios",
  has: () => page.table.comparisons.some((each) => each.rows.some((entry) => entry[2] !== null)),
  pick: { comparison: 0, metric: null, order: "size" },
  controls() {
    const t = page.table;
    const found = [];
    if (t.comparisons.length > 1) {
      found.push(["Comparison", t.comparisons.map((each, at) => [at, `${each.base} → ${each.new}`]), "comparison"]);
    }
    const metrics = [...new Set(this.comparison().rows.map((entry) => entry[1]))].sort((a, b) => a - b);
    if (!metrics.includes(Number(this.pick.metric)) || this.pick.metric === null) this.pick.metric = metrics[0];
    if (metrics.length > 1) found.push(["Metric", metrics.map((at) => [at, metricName(t.metrics[at])]), "metric"]);
    found.push(["Order", [["size", "largest change"], ["slower", "slowest first"], ["faster", "fastest first"]], "order"]);
    return found;
  },
  comparison() {
    return page.table.comparisons[this.pick.comparison] || page.table.comparisons[0];
  },
  draw(host, width) {
    const comparison = this.comparison();
    const metric = page.table.metrics[this.pick.metric];
    const entries = comparison.rows.filter((entry) => entry[1] === Number(this.pick.metric) && entry[2] > 0);
    const size = { size: (e) => -Math.abs(Math.log(e[2])), slower: (e) => -e[2], faster: (e) => e[2] }[this.pick.order];
    const ordered = [...entries].sort((a, b) => size(a) - size(b));
    const shown = ordered.slice(0, RATIOS_SHOWN);
    const line = 22, small = width < 560;
    const left = small ? 12 : Math.min(420, width * 0.42);
    const ends = shown.flatMap((entry) => [entry[2], entry[3], entry[4], 1]).filter((value) => value > 0);
    const domain = spread(ends, true, 0.05);
    const frame = plot(host, {
      width, height: shown.length * (small ? 38 : line) + 50, margin: { left, top: 8, bottom: 42, right: 20 },
      x: (range) => logarithmic(domain, range), xTick: (tick) => formatTickRatio(tick),
      xTitle: `${metricName(metric)}: ${comparison.new} ÷ ${comparison.base}`,
      label: `Ratios of ${shown.length} cases with 95 % intervals`,
    });
    const step = small ? 38 : line;
    frame.area.append(draw("line", { class: "one", x1: frame.x(1), x2: frame.x(1), y1: 0, y2: frame.height }));
    shown.forEach((entry, at) => {
      const y = (at + 0.5) * step + (small ? 8 : 0);
      const verdict = comparison.verdicts[entry[5]];
      const name = page.table.ids[entry[0]];
      const label = draw("text", small ? { class: "row-label", x: 0, y: y - 12 } : { class: "row-label", x: -10, y: y + 4, "text-anchor": "end" },
        shortened(name, small ? width / 7 : (left - 14) / 6.6));
      const group = draw("g", { class: `mark ${verdict}` });
      group.append(draw("rect", { class: "hit", x: 0, y: y - 10, width: frame.width, height: 20 }));
      if (entry[3] && entry[4]) group.append(draw("line", { class: "span", x1: frame.x(Math.max(entry[3], domain[0])), x2: frame.x(Math.min(entry[4], domain[1])), y1: y, y2: y }));
      group.append(verdictShape(verdict, frame.x(entry[2]), y));
      frame.area.append(label, clickable(group, entry[0], () => [name,
        `× ${formatRatio(entry[2])}  [${formatRatio(entry[3])}, ${formatRatio(entry[4])}]`,
        `${SIGNS[verdict]} ${verdictWord(verdict, metric.unit)}`, comparison.reasons[entry[8]]]));
    });
    legend(host, ["slower", "faster", "same", "unknown"].map((verdict) => ({
      text: verdictWord(verdict, metric.unit), colour: `var(--${verdict})`, kind: VERDICT_SHAPES[verdict], open: verdict === "unknown",
    })));
    const mean = comparison.means.find((each) => each.metric === metric.name);
    const told = mean && mean.cases > 1 ? `Geometric mean × ${mean.value.toFixed(3)} [${mean.low.toFixed(3)}, ${mean.high.toFixed(3)}] over ${plural(mean.cases, "case")}.` : "";
    const rest = ordered.length > shown.length ? ` ${shown.length} of ${plural(ordered.length, "case")} shown.` : "";
    return `${told}${rest}`;
  },
};

const VERDICT_SHAPES = { slower: "triangle", faster: "down", same: "circle", unknown: "circle" };

function verdictShape(verdict, x, y) {
  const mark = shape(VERDICT_SHAPES[verdict], x, y, 4.5);
  mark.classList.add("dot");
  return mark;
}

function formatTickRatio(tick) {
  return `× ${Number(tick.toPrecision(4))}`;
}

function shortened(text, room) {
  const letters = Math.max(8, Math.floor(room));
  if (text.length <= letters) return text;
  const tail = Math.floor(letters * 0.55);
  return `${text.slice(0, letters - tail - 1)}…${text.slice(-tail)}`;
}
