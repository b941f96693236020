// The frame of a chart: axes, grid, titles; what is drawn in it belongs to each chart.

function plot(host, { width, height, margin, x, y, xTitle, yTitle, xTick, yTick, label, xTicks, yTicks }) {
  const room = { top: 12, right: 16, bottom: 44, left: 64, ...margin };
  const inner = [width - room.left - room.right, height - room.top - room.bottom];
  const svg = draw("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
    xmlns: SVG, class: "plot",
  });
  const area = draw("g", { transform: `translate(${room.left} ${room.top})` });
  const sx = x && x([0, inner[0]]);
  const sy = y && y([inner[1], 0]);
  const grid = draw("g", { class: "grid-lines", "aria-hidden": "true" });
  const axes = draw("g", { class: "axes", "aria-hidden": "true" });
  if (sx) {
    const ticks = xTicks || sx.ticks(Math.max(2, Math.floor(inner[0] / 90)));
    for (const tick of ticks) {
      const at = sx(tick);
      grid.append(draw("line", { x1: at, x2: at, y1: 0, y2: inner[1] }));
      axes.append(draw("text", { x: at, y: inner[1] + 18, "text-anchor": "middle" }, xTick ? xTick(tick) : String(tick)));
    }
    if (xTitle) axes.append(draw("text", { class: "axis-title", x: inner[0], y: inner[1] + 36, "text-anchor": "end" }, xTitle));
  }
  if (sy) {
    const ticks = yTicks || sy.ticks(Math.max(2, Math.floor(inner[1] / 48)));
    for (const tick of ticks) {
      const at = sy(tick);
      grid.append(draw("line", { x1: 0, x2: inner[0], y1: at, y2: at }));
      axes.append(draw("text", { x: -8, y: at + 4, "text-anchor": "end" }, yTick ? yTick(tick) : String(tick)));
    }
    if (yTitle) axes.append(draw("text", { class: "axis-title", x: -room.left + 2, y: -2 - (room.top > 20 ? 8 : 0), "text-anchor": "start" }, yTitle));
  }
  area.append(grid, axes);
  svg.append(area);
  host.append(svg);
  return { svg, area, x: sx, y: sy, width: inner[0], height: inner[1] };
}

function legend(host, entries) {
  if (!entries.length) return;
  const list = make("ul", { class: "legend" });
  for (const { text, colour, kind, open } of entries) {
    const key = draw("svg", { width: 14, height: 14, "aria-hidden": "true" });
    const mark = shape(kind || "circle", 7, 7, 4.5);
    mark.style.fill = open ? "none" : colour;
    mark.style.stroke = colour;
    key.append(mark);
    list.append(make("li", {}, key, text));
  }
  host.append(list);
}

// A mark that leads to its case, by pointer and by keyboard. One of them is in the order of the Tab
// key (see `drawChart`); the arrow keys go from mark to mark.
function clickable(mark, row, tip) {
  return furnish(mark, {
    tip, tabindex: -1, role: "button", class: `${mark.getAttribute("class") || ""} go`.trim(),
    "aria-label": tip().filter(Boolean).join(", "),
    on: {
      click: () => openCase(row),
      keydown: (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openCase(row); }
        else if (step) {
          event.preventDefault();
          const all = [...mark.ownerSVGElement.querySelectorAll(".go")];
          all[(all.indexOf(mark) + step + all.length) % all.length].focus();
        }
      },
    },
  }, []);
}

// Marks beyond this number would make the page slow; an even choice of them shows the same picture.
const MOST_MARKS = 3000;

function thinned(items) {
  if (items.length <= MOST_MARKS) return items;
  const step = items.length / MOST_MARKS;
  return Array.from({ length: MOST_MARKS }, (_, at) => items[Math.floor(at * step)]);
}

function tickNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e4 || (size < 1e-3 && size)) {
    const [digits, power] = value.toExponential(1).split("e");
    const first = digits.replace(/\.0$/, "");
    const raised = Number(power).toString().replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return first === "1" ? `10${raised}` : `${first}·10${raised}`;
  }
  return grouped(String(Number(value.toPrecision(4))));
}
