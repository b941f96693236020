// Every benchmark as a small picture of how it scales: where to look, at one glance.

const MULTIPLES = 60;

function hasMultiples() {
  const tab = page.table.charts.tabs.scaling;
  return Boolean(tab && new Set(tab.choices.map((choice) => choice[1])).size > 1);
}

async function drawMultiples(host, turn) {
  const firsts = new Map();
  for (const choice of page.table.charts.tabs.scaling.choices) if (!firsts.has(choice[1])) firsts.set(choice[1], choice);
  const shown = [...firsts.values()].slice(0, MULTIPLES);
  byId("chart-controls").replaceChildren();
  byId("chart-note").textContent = `${shown.length === firsts.size ? plural(firsts.size, "benchmark") : `${shown.length} of ${plural(firsts.size, "benchmark")}`}, each on logarithmic scales of its own; the colours are those of its lines. Open one to read it.`;
  const list = make("ul", { class: "multiples" });
  for (const choice of shown) {
    const filling = await drawingOf(choice[0]);
    if (turn !== shownChart.turn) return;
    const open = () => { shownChart.number.scaling = choice[0]; showChart("scaling"); byId("tab-scaling").focus(); };
    list.append(make("li", {}, make("button", { type: "button", class: "multiple", on: { click: open } },
      make("span", { class: "multiple-name" }, choice[1]), multiple(filling),
      make("span", { class: "note" }, `${choice[4]} over ${choice[3]}`))));
  }
  host.replaceChildren(list);
}

function multiple(filling) {
  const width = 200, height = 90, edge = 6;
  const points = datasetsOf(filling).points.filter(({ x, value }) => x > 0 && value > 0);
  const place = (name, size, turned) => {
    const logs = points.map((point) => Math.log(point[name]));
    const low = Math.min(...logs), reach = Math.max(...logs) - low || 1;
    return (value) => { const at = edge + ((Math.log(value) - low) / reach) * (size - 2 * edge); return turned ? size - at : at; };
  };
  const x = place("x", width, false), y = place("value", height, true);
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "multiple-plot", "aria-hidden": "true" });
  filling.words["{lines}"].forEach((line, at) => {
    const own = points.filter((point) => point.line === line).sort((a, b) => a.x - b.x);
    const drawn = draw("polyline", { points: own.map((point) => `${x(point.x).toFixed(1)},${y(point.value).toFixed(1)}`).join(" "), fill: "none", "stroke-width": 2 });
    drawn.style.stroke = `var(--c${at % 8})`;
    picture.append(drawn);
  });
  return picture;
}
