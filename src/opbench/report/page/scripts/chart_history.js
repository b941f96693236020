// A case over all runs: its level, where it changed, and what else changed there.

const historyChart = {
  id: "history",
  title: "History",
  has: () => Boolean(page.table.history && page.table.history.tracks.some((track) => track[3] > 2)),
  pick: { track: null },
  controls() {
    const { tracks, changes } = page.table.history;
    if (this.pick.track === null) {
      this.pick.track = changes.length ? changes[0][0]
        : tracks.reduce((best, track, at) => (track[3] > tracks[best][3] ? at : best), 0);
    }
    // A case has one history on each machine: nodes of a fleet have names, others show theirs too.
    const machines = new Set(page.table.history.kinds.map(([machine]) => machine)).size;
    const name = ([row, metric, kind]) => [
      page.table.ids[row],
      ...(page.table.metrics.length > 1 ? [metricName(page.table.metrics[metric])] : []),
      ...(machines > 1 ? [`on ${page.table.history.kinds[kind][0] || "an unnamed machine"}`] : []),
    ].join(" · ");
    const changed = [...new Set(changes.map(([track]) => track))];
    const rest = tracks.map((_, at) => at).filter((at) => !changed.includes(at)).slice(0, 2000);
    return [["Case", [...changed.map((at) => [at, `${name(tracks[at])} (changed)`]), ...rest.map((at) => [at, name(tracks[at])])], "track"]];
  },
  draw(host, width) {
    const at = Number(this.pick.track);
    const { tracks, kinds, changes, changes_found: count } = page.table.history;
    const space = make("div");
    host.append(space);
    trackPoints(at).then((points) => { if (points) drawTrack(space, width, at, points, 320); });
    if (changes.length) host.append(changesList(changes, this));
    const [, hardware, environment] = kinds[tracks[at][2]];
    return `${plural(tracks[at][3], "run")} on ${hardware || "one machine"} in environment ${environment}. ${plural(count, "change")} of level among all cases.`;
  },
};

function changesList(changes, chart) {
  const list = make("ul", { class: "lines changes" });
  for (const [track, index, ratio, , beside] of changes.slice(0, 12)) {
    const [row, metric] = page.table.history.tracks[track];
    const unit = page.table.metrics[metric].unit;
    const verdict = ratio > 1 ? "slower" : "faster";
    list.append(make("li", { class: verdict }, make("span", { class: "sign" }, SIGNS[verdict]), " ",
      make("span", { class: "num" }, `${verdictWord(verdict, unit)} ${formatChange(ratio)}`), " ",
      make("button", { type: "button", class: "link mono", on: { click: () => { chart.pick.track = track; drawChart(); } } }, page.table.ids[row]),
      make("span", { class: "note" }, ` ${beside}`)));
  }
  return list;
}

function drawTrack(host, width, at, points, height) {
  const [row, metricAt] = page.table.history.tracks[at];
  const metric = page.table.metrics[metricAt];
  const runs = page.table.history.runs;
  const good = points.e.map((value, index) => [index, value]).filter(([, value]) => value !== null);
  if (!good.length) return;
  const values = good.map(([, value]) => value).sort((a, b) => a - b);
  const quantile = (share) => values[Math.min(values.length - 1, Math.floor(share * values.length))];
  // One bad night must not flatten a year: what lies far outside is drawn at the edge.
  const reach = 3 * (quantile(0.75) - quantile(0.25)) || Math.abs(quantile(0.5)) * 0.03;
  const levels = points.steps.flatMap(([, before, after]) => [before, after]);
  const inside = values.filter((value) => value >= quantile(0.25) - reach && value <= quantile(0.75) + reach);
  const domain = spread([...inside, ...levels, quantile(0.5) * 0.98, quantile(0.5) * 1.02], false, 0.12);
  const unit = scaleOf(quantile(0.5) || 1, metric.unit) || [1, metric.unit];
  const stamps = points.runs.map((run) => runs[run][1]);
  const frame = plot(host, {
    width, height, margin: { left: 64, top: 26, bottom: 48 },
    x: (range) => linear([-0.5, points.e.length - 0.5], range), y: (range) => linear(domain, range),
    xTicks: dayTicks(stamps, width), xTick: (tick) => formatDay(stamps[tick]),
    yTick: (tick) => (metric.unit === "s" || metric.unit === "bytes" ? significant(tick / unit[0], 3) : tickNumber(tick)),
    yTitle: `${metricName(metric)}, ${unit[1]}`, label: `History of ${page.table.ids[row]}, ${points.e.length} runs`,
  });
  const edges = [0, ...points.steps.map(([index]) => index), points.e.length];
  const clip = (value) => Math.max(0, Math.min(frame.height, frame.y(value)));
  edges.slice(0, -1).forEach((start, index) => {
    const own = good.filter(([each]) => each >= start && each < edges[index + 1]).map(([, value]) => value).sort((a, b) => a - b);
    if (!own.length) return;
    const y = clip(own[(own.length - 1) >> 1]);
    frame.area.append(draw("line", { class: "level", x1: frame.x(start - 0.5), x2: frame.x(edges[index + 1] - 0.5), y1: y, y2: y }));
  });
  for (const [index, text] of points.marks) {
    const x = frame.x(index - 0.5);
    frame.area.append(draw("line", { class: "event", x1: x, x2: x, y1: 0, y2: frame.height, tip: () => ["Changed here", text] }));
  }
  const dense = frame.width / points.e.length < 5;
  for (const [index, value] of good) {
    const x = frame.x(index), y = frame.y(value);
    const run = runs[points.runs[index]];
    const half = (points.half[index] / 1000) * Math.abs(value);
    const group = draw("g", { class: "mark", tip: () => [formatValue(value, metric.unit) + (half ? ` ± ${formatPercent(points.half[index] / 1000)}` : ""),
      `run ${run[0]}${run[2] ? ` “${run[2]}”` : ""}`, formatMoment(run[1]), run[3] ? `commit ${run[3].slice(0, 7)}` : ""] });
    if (y < 0 || y > frame.height) group.append(draw("text", { class: "beyond", x, y: y < 0 ? 10 : frame.height - 2, "text-anchor": "middle" }, y < 0 ? "↑" : "↓"));
    else {
      if (half && !dense) group.append(draw("line", { class: "span", x1: x, x2: x, y1: clip(value + half), y2: clip(value - half) }));
      const dot = draw("circle", { class: "dot", cx: x, cy: y, r: dense ? 1.8 : 3.4 });
      group.append(dot);
    }
    frame.area.append(group);
  }
  for (const [index, reason] of Object.entries(points.bad)) {
    frame.area.append(draw("text", { class: "bad-mark", x: frame.x(Number(index)), y: frame.height - 4, "text-anchor": "middle", tip: () => [reason] }, "×"));
  }
  points.steps.forEach(([index, before, after], number) => {
    const rises = after > before;
    const x = frame.x(index - 0.5);
    const verdict = rises ? "slower" : "faster";
    frame.area.append(draw("g", { class: `change ${verdict}`, tip: () => [`${SIGNS[verdict]} ${verdictWord(verdict, metric.unit)} ${formatChange(after / before)}`, points.beside[number]] },
      draw("line", { x1: x, x2: x, y1: 0, y2: frame.height }),
      draw("text", { x: x + 5, y: 12 }, `${rises ? "▲" : "▼"} ${formatChange(after / before)}`)));
  });
}

function dayTicks(stamps, width) {
  const every = Math.max(1, Math.ceil((stamps.length * 110) / width));
  const found = [];
  for (let at = 0; at < stamps.length; at += every) found.push(at);
  return found;
}

function drawCaseHistory(row) {
  const found = page.table.history;
  if (!found) return;
  const own = found.tracks.findIndex((track) => track[0] === row && track[3] > 1);
  const at = own >= 0 ? own
    : found.tracks.findIndex((track) => page.table.ids[track[0]] === page.table.ids[row] && track[3] > 1);
  if (at < 0) return;
  trackPoints(at).then((points) => {
    if (!points || opened.row !== row) return;
    const host = section("history", "History", `${plural(points.e.length, "run")}. ${points.steps.length ? points.beside.join("; ") : "No change of level."}`);
    drawTrack(host, host.clientWidth || 600, at, points, 220);
  });
}
