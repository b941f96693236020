// Charts are specifications of Vega-Lite, filled with the page's data and drawn by Vega as SVG. Its
// expressions are interpreted: the policy of the page forbids to compile them.

let vega = null;

// Unpacked when the first chart is shown. The policy allows this script by its hash.
function loadVega() {
  vega = vega || unpack("data-vega").then((source) => {
    document.head.append(make("script", {}, source));
    return window.opbenchVega;
  });
  return vega;
}

// The specification with every text that is a key of `words` replaced.
function filled(spec, words) {
  if (typeof spec === "string") return Object.hasOwn(words, spec) ? words[spec] : spec;
  if (Array.isArray(spec)) return spec.map((part) => filled(part, words));
  if (spec === null || typeof spec !== "object") return spec;
  return Object.fromEntries(Object.entries(spec).map(([key, part]) => [key, filled(part, words)]));
}

function rowsOf(columns) {
  const names = Object.keys(columns);
  if (!names.length) return [];
  return columns[names[0]].map((_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]])));
}

// What a point needs and the table of the page has.
const LOOKUPS = {
  case: (row) => page.table.ids[row],
  value: (row, { metric, factor }) => page.table.values[metric].e[row] / factor,
  low: (row, { metric, factor }) => (page.table.values[metric].lo[row] || page.table.values[metric].e[row]) / factor,
  high: (row, { metric, factor }) => (page.table.values[metric].hi[row] || page.table.values[metric].e[row]) / factor,
  x: (row, { words }) => labelOf(row, words["{axis}"]),
};

// The datasets of a chart, and with each point the row it leads to.
function datasetsOf(filling) {
  const found = Object.fromEntries(Object.entries(filling.data).map(([name, columns]) => [name, rowsOf(columns)]));
  let row = 0;
  if (!found.points.length) found.points = filling.rows.map(() => ({}));
  filling.rows.forEach((step, at) => {
    row += step;
    found.points[at].row = row;
    for (const name of filling.looked_up) found.points[at][name] = LOOKUPS[name](row, filling);
  });
  return found;
}

async function drawChartInto(host, kind, words, datasets, more = {}) {
  const embed = await loadVega();
  const width = Math.max(280, Math.floor(host.clientWidth));
  const { title, ...spec } = filled(page.table.charts.specs[kind], { ...words, "{labels}": Math.min(420, width * 0.42) });
  const made = await embed(host, {
    ...spec, datasets, width, height: heightOf(spec, datasets), config: configFor(width),
    autosize: { type: "fit-x", contains: "padding" }, ...more,
  }, { mode: "vega-lite", renderer: "svg", ast: true, actions: false, tooltip: false, defaultStyle: false, logLevel: 1 });
  const svg = host.querySelector("svg");
  svg.classList.add("plot");
  for (const group of svg.querySelectorAll(".role-mark")) {
    const name = /(\w+)_marks/.exec(group.getAttribute("class"));
    for (const mark of group.children) connectMark(mark, name ? name[1] : "");
  }
  connectLegend(svg);
  const first = svg.querySelector(".go");
  if (first) first.setAttribute("tabindex", "0");
  return made.view;
}

// On a phone the entries of a legend stand below each other.
function configFor(width) {
  const { config } = page.table.charts;
  return width < 480 ? { ...config, legend: { ...config.legend, columns: 1 } } : config;
}

// So much for each name on the vertical axis, where the specification says so.
function heightOf({ height, layer }, { points }) {
  if (!height.step) return height;
  const { field } = layer.find(({ encoding }) => encoding.y).encoding.y;
  return height.step * new Set(points.map((point) => point[field])).size;
}

// A mark says what it is when it is pointed at or focused, and leads to its case. One of them is in
// the order of the Tab key; the arrow keys go from mark to mark.
function connectMark(mark, name) {
  const { datum, tooltip } = mark.__data__ || {};
  if (name) mark.classList.add(name);
  if (!tooltip) return;
  const lines = Object.entries(tooltip).filter(([, text]) => text !== "" && text !== null)
    .map(([key, text]) => (key === "case" ? text : `${key} ${text}`));
  mark.classList.add("mark");
  furnish(mark, { tip: () => lines, "aria-label": lines.join(", ") }, []);
  if (datum.row === undefined) return;
  mark.classList.add("go");
  furnish(mark, {
    tabindex: -1, role: "button",
    on: {
      click: () => openCase(datum.row),
      keydown: (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openCase(datum.row); }
        else if (step) {
          event.preventDefault();
          const all = [...mark.ownerSVGElement.querySelectorAll(".go")];
          all[(all.indexOf(mark) + step + all.length) % all.length].focus();
        }
      },
    },
  }, []);
}

// An entry of the legend picks its line: the others fade. Picked again, it is one of all.
function connectLegend(svg) {
  const picked = new Set();
  const marks = [...svg.querySelectorAll(".role-mark > *")].filter(({ __data__: item }) => item && item.datum && item.datum.line !== undefined);
  if (!marks.length) return;
  for (const label of svg.querySelectorAll(".role-legend-label text")) {
    const pick = () => {
      const line = label.textContent;
      if (!picked.delete(line)) picked.add(line);
      label.setAttribute("aria-pressed", picked.has(line));
      for (const mark of marks) mark.style.opacity = picked.size && !picked.has(mark.__data__.datum.line) ? 0.12 : "";
    };
    label.classList.add("pickable");
    furnish(label, {
      role: "button", tabindex: 0, "aria-pressed": "false",
      on: { click: pick, keydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); } } },
    }, []);
  }
}

// A picture that leaves the page takes the colours of its theme along.
async function saveView(view, name) {
  const style = getComputedStyle(document.documentElement);
  view.background(style.getPropertyValue("--ground"));
  const text = await view.toSVG();
  saveFile(name, text.replace(/var\((--\w+)\)/g, (_, colour) => style.getPropertyValue(colour)), "image/svg+xml");
}
