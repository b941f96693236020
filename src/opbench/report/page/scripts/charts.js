// The charts, one tab each; a chart without data has no tab.

const CHARTS = [ratiosChart, factorsChart, scalingChart, frameworksChart];
// What scripts of suites add; the history of the run comes after them.
const SUITE_CHARTS = [];
const shownChart = { now: null, width: 0 };

function startCharts() {
  const found = [...CHARTS, ...SUITE_CHARTS, historyChart].filter((chart) => chart.has());
  if (!found.length) return;
  byId("charts").hidden = false;
  byId("to-charts").hidden = false;
  const tabs = byId("chart-tabs");
  for (const chart of found) {
    tabs.append(make("button", {
      type: "button", role: "tab", id: `tab-${chart.id}`, "aria-controls": "chart-panel",
      on: { click: () => showChart(chart) },
    }, chart.title));
  }
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = found[(found.indexOf(shownChart.now) + step + found.length) % found.length];
    showChart(next);
    byId(`tab-${next.id}`).focus();
  });
  byId("chart-save").addEventListener("click", saveChart);
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (Math.abs(width - shownChart.width) > 4) { shownChart.width = width; drawChart(); }
  }).observe(byId("chart"));
  // A run with a baseline was made for its factors.
  showChart(found.find((chart) => chart === factorsChart) || found[0]);
}

function showChart(chart) {
  shownChart.now = chart;
  for (const tab of byId("chart-tabs").children) {
    const chosen = tab.id === `tab-${chart.id}`;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  byId("chart-panel").setAttribute("aria-labelledby", `tab-${chart.id}`);
  drawChart();
}

function drawChart() {
  const chart = shownChart.now;
  if (!chart) return;
  const controls = chart.controls();
  byId("chart-controls").replaceChildren(...controls.map(([title, options, key]) =>
    select(title, options, chart.pick[key], (value) => { chart.pick[key] = value; drawChart(); })));
  const host = byId("chart");
  host.replaceChildren();
  const width = Math.max(280, Math.floor(host.clientWidth));
  byId("chart-note").textContent = chart.draw(host, width) || "";
  const first = host.querySelector(".go");
  if (first) first.setAttribute("tabindex", "0");
}

// What the style sheet of the page says of a mark must travel with a picture that leaves it.
const CARRIED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "fill-opacity"];

function saveChart() {
  const svg = byId("chart").querySelector("svg.plot");
  if (!svg) return;
  const copy = svg.cloneNode(true);
  const all = [...svg.querySelectorAll("*")], copies = [...copy.querySelectorAll("*")];
  all.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of CARRIED) copies[at].setAttribute(name, style.getPropertyValue(name));
  });
  const ground = draw("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
  copy.insertBefore(ground, copy.firstChild);
  saveFile(`${shownChart.now.id}.svg`, new XMLSerializer().serializeToString(copy), "image/svg+xml");
}
