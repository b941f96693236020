// The charts, one tab each; a chart without data has no tab. The choices of a tab lead to one of its
// charts.

const shownChart = { kind: null, chosen: false, number: {}, linear: false, view: null, width: 0, turn: 0 };
const TITLES = { history: "History", multiples: "All benchmarks" };

function startCharts() {
  const { tabs } = page.table.charts;
  // How a benchmark grows with its size is the first question; the rest follows as it was made.
  const first = Object.keys(tabs).filter((kind) => kind === "scaling");
  const kinds = [...first, ...(hasMultiples() ? ["multiples"] : []), ...Object.keys(tabs).filter((kind) => kind !== "scaling"),
    ...(hasHistory() ? ["history"] : [])];
  if (!kinds.length) return;
  byId("charts").hidden = false;
  byId("to-charts").hidden = false;
  const bar = byId("chart-tabs");
  for (const kind of kinds) {
    bar.append(make("button", {
      type: "button", role: "tab", id: `tab-${kind}`, "aria-controls": "chart-panel", on: { click: () => showChart(kind) },
    }, TITLES[kind] || tabs[kind].title));
  }
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = kinds[(kinds.indexOf(shownChart.kind) + step + kinds.length) % kinds.length];
    showChart(next);
    byId(`tab-${next}`).focus();
  });
  byId("chart-save").addEventListener("click", () => { if (shownChart.view) saveView(shownChart.view, `${shownChart.kind}.svg`); });
  selectTab(kinds[0]);
  // The first chart is drawn when somebody sees it: unpacking Vega would delay the table.
  new IntersectionObserver((seen, observer) => {
    if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (Math.abs(width - shownChart.width) > 4) { shownChart.width = width; drawChart(); }
    }).observe(byId("chart"));
  }).observe(byId("charts"));
}

function capitalised(kind) {
  return kind[0].toUpperCase() + kind.slice(1);
}

async function drawingOf(number) {
  const size = page.table.charts.piece;
  return (await piece("drawings", Math.floor(number / size)))[number % size];
}

function selectTab(kind) {
  shownChart.kind = kind;
  for (const tab of byId("chart-tabs").children) {
    const chosen = tab.id === `tab-${kind}`;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  byId("chart-panel").setAttribute("aria-labelledby", `tab-${kind}`);
}

function showChart(kind) {
  chooseTab(kind);
  writeAddress();
}

function chooseTab(kind) {
  shownChart.chosen = true;
  selectTab(kind);
  // Before the charts were in view there is nothing to draw yet.
  if (shownChart.width) drawChart();
}

async function drawChart() {
  const turn = ++shownChart.turn;
  const kind = shownChart.kind, host = byId("chart");
  shownChart.view = null;
  const space = make("div");
  host.replaceChildren(space);
  if (kind === "history") {
    drawHistoryTab(host, space);
    return;
  }
  byId("chart-save").hidden = kind === "multiples";
  if (kind === "multiples") {
    await drawMultiples(host, turn);
    return;
  }
  const { choices, names } = page.table.charts.tabs[kind];
  const now = choices.find(([number]) => number === shownChart.number[kind]) || choices[0];
  byId("chart-controls").replaceChildren(...names.map((name, at) => chooser(kind, choices, now, name, at + 1)).filter(Boolean));
  const filling = await drawingOf(now[0]);
  if (turn !== shownChart.turn) return;
  const linear = kind === "scaling" && shownChart.linear;
  if (kind === "scaling") byId("chart-controls").append(scaleChooser());
  byId("chart-note").textContent = linear ? "Both scales are linear." : filling.note;
  const datasets = datasetsOf(filling);
  const words = { ...filling.words, "{sizes}": ticksOf(datasets.points), ...(linear ? { "{scale}": "linear" } : {}) };
  shownChart.view = await drawChartInto(space, kind, words, datasets, linear ? { layer: linearLayers(kind, words) } : {});
}

// As `opbench.report.charts.scaling`: sizes that fit below the picture have a tick each.
function ticksOf(points) {
  const sizes = [...new Set(points.map(({ x }) => x))].filter((size) => size !== undefined).sort((a, b) => a - b);
  return sizes.length && sizes.length <= 14 ? sizes : null;
}

function linearLayers(kind, words) {
  return filled(page.table.charts.specs[kind], words).layer.map((layer) => ({
    ...layer, encoding: { ...layer.encoding, y: { ...layer.encoding.y, scale: { type: "linear" } } },
  }));
}

function scaleChooser() {
  return select("Scales", [["log", "logarithmic"], ["linear", "linear"]], shownChart.linear ? "linear" : "log",
    (value) => { shownChart.linear = value === "linear"; drawChart(); });
}

// A field for one of the choices: what there is with the choices before it. Another value keeps as
// many of the other choices as it can.
function chooser(kind, choices, now, title, at) {
  const open = choices.filter((choice) => choice.slice(1, at).every((value, index) => value === now[index + 1]));
  const values = [...new Set(open.map((choice) => choice[at]))];
  if (values.length < 2) return null;
  const alike = (choice) => choice.filter((value, index) => index && value === now[index]).length;
  return select(title, values.map((value) => [value, value]), now[at], (value) => {
    const fitting = open.filter((choice) => choice[at] === value);
    shownChart.number[kind] = fitting.reduce((best, choice) => (alike(choice) > alike(best) ? choice : best))[0];
    drawChart();
  });
}
