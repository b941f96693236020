// A case over all runs: its level, where it changed, and what else changed there.

let shownTrack = null;

function hasHistory() {
  return Boolean(page.table.history && page.table.history.tracks.some((track) => track[3] > 2));
}

function drawHistoryTab(host, space) {
  const { tracks, kinds, changes, changes_found: count } = page.table.history;
  if (shownTrack === null) {
    shownTrack = changes.length ? changes[0][0]
      : tracks.reduce((best, track, at) => (track[3] > tracks[best][3] ? at : best), 0);
  }
  byId("chart-controls").replaceChildren(select("Case", trackOptions(), shownTrack, (value) => { shownTrack = Number(value); drawChart(); }));
  const [, hardware, environment] = kinds[tracks[shownTrack][2]];
  byId("chart-note").textContent = `${plural(tracks[shownTrack][3], "point")} on ${hardware || "one machine"} in environment ${environment}. ${plural(count, "change")} of level among all cases.`;
  if (changes.length) host.append(changesList(changes));
  const at = shownTrack;
  trackPoints(at).then(async (points) => {
    if (!points || at !== shownTrack || !space.isConnected) return;
    if (points.notes.length) byId("chart-note").append(` ${dottedText()}`);
    shownChart.view = await drawTrack(space, at, points);
  });
}

function dottedText() {
  return `${capitalised(page.table.history.dotted)}.`;
}

function trackOptions() {
  const { tracks, changes, kinds } = page.table.history;
  // A case has one history on each machine: nodes of a fleet have names, others show theirs too. And
  // one in each environment.
  const [machines, , environments] = [0, 1, 2].map((part) => new Set(kinds.map((kind) => kind[part])).size);
  const name = ([row, metric, kind]) => [
    page.table.ids[row],
    ...(page.table.metrics.length > 1 ? [metricName(page.table.metrics[metric])] : []),
    ...(machines > 1 ? [`on ${kinds[kind][0] || "an unnamed machine"}`] : []),
    ...(environments > 1 ? [`in ${kinds[kind][2]}`] : []),
  ].join(" · ");
  const changed = new Set(changes.map(([track]) => track));
  const rest = tracks.map((_, at) => at).filter((at) => !changed.has(at)).slice(0, 2000);
  return [...[...changed].map((at) => [at, `${name(tracks[at])} (changed)`]), ...rest.map((at) => [at, name(tracks[at])])];
}

function changesList(changes) {
  const list = make("ul", { class: "lines changes" });
  for (const [track, , ratio, , cause] of changes.slice(0, 12)) {
    const [row, metric] = page.table.history.tracks[track];
    const unit = page.table.metrics[metric].unit;
    const verdict = ratio > 1 ? "slower" : "faster";
    list.append(make("li", { class: verdict }, make("span", { class: "sign" }, SIGNS[verdict]), " ",
      make("span", { class: "num" }, `${verdictWord(verdict, unit)} ${formatChange(ratio)}`), " ",
      make("button", { type: "button", class: "link mono", on: { click: () => { shownTrack = track; drawChart(); } } }, page.table.ids[row]),
      make("span", { class: "note" }, ` ${cause}`)));
  }
  return list;
}

// As `opbench.report.charts.history`: days; with the time of day where a day has several runs, and
// ids where not even that differs. Then with the side, where one run has several points.
function tickTexts(runs) {
  const times = [([, created]) => formatDay(created), ([, created]) => formatMoment(created).slice(5), ([id]) => id];
  const sides = times.map((time) => (run) => `${time(run)} ${run[5]}`.trimEnd());
  const form = [...times, ...sides].find((each) => new Set(runs.map(each)).size === runs.length) || sides[2];
  return runs.map(form);
}

// The datasets of `opbench.report.charts.history`, from the columns the page has.
function drawTrack(host, at, points, height = 300) {
  const metric = page.table.metrics[page.table.history.tracks[at][1]];
  const runs = points.runs.map((run) => page.table.history.runs[run]);
  const good = points.e.map((value, index) => [index, value]).filter(([, value]) => value !== null);
  if (!good.length) return null;
  const middle = good.map(([, value]) => value).sort((a, b) => a - b)[good.length >> 1];
  const [factor, symbol] = scaleOf(middle || 1, metric.unit) || [1, metric.unit];
  const days = tickTexts(runs);
  const every = Math.max(1, Math.ceil((days.length * 110) / Math.max(280, host.clientWidth)));
  const datasets = {
    points: good.map(([run, value]) => {
      const half = (points.half[run] / 1000) * Math.abs(value);
      const [id, created, , commit] = runs[run];
      return { run, value: value / factor, low: Math.max(value - half, Math.min(0, value)) / factor, high: (value + half) / factor,
        interval: half ? `± ${formatHalf(points.half[run] / 1000)}` : "", "run id": id, when: formatMoment(created), commit: commit.slice(0, 7) };
    }),
    levels: points.levels.map(([run, to, level]) => ({ run, to, level: level / factor })),
    changes: points.steps.map(([index, before, after], number) => ({
      run: index - 0.5, kind: after > before ? "slower" : "faster", text: formatChange(after / before), cause: points.causes[number] })),
    events: points.notes.map(([index, text]) => ({ run: index - 0.5, "changed here": text })),
    bad: Object.entries(points.bad).map(([index, reason]) => ({ run: Number(index), reason })),
  };
  const words = { "{y}": `${metricName(metric)}, ${symbol}`, "{days}": `${JSON.stringify(days)}[datum.value]`,
    "{ticks}": days.map((_, index) => index).filter((index) => index % every === 0) };
  return drawChartInto(host, "history", words, datasets, { height });
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
    const notes = [`${plural(points.e.length, "point")}.`, points.steps.length ? `${points.causes.join("; ")}.` : "No change of level.",
      points.notes.length ? dottedText() : ""];
    const host = section("history", "History", notes.filter(Boolean).join(" "));
    const space = make("div");
    host.append(space);
    drawTrack(space, at, points, 200);
  });
}
