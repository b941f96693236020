// Work per byte against work per second, below what this machine can do at most.

const rooflineChart = {
  id: "roofline",
  title: "Roofline",
  has: () => Boolean(page.table.roofline && page.table.roofline.points.length),
  pick: {},
  controls: () => [],
  draw(host, width) {
    const { points, roofs, note } = page.table.roofline;
    drawRoofline(host, width, points, roofs, null, 420);
    return note || "";
  },
};

function drawRoofline(host, width, points, roofs, here, height) {
  const intensities = points.map((point) => point[1]);
  const ridges = roofs.filter((roof) => roof.flops && roof.bandwidth).map((roof) => roof.flops / roof.bandwidth);
  const domainX = spread([...intensities, ...ridges], true, 0.08);
  const tops = roofs.map((roof) => roof.flops).filter(Boolean);
  const domainY = spread([...points.map((point) => point[2]), ...tops], true, 0.08);
  const frame = plot(host, {
    width, height, margin: { left: 74, top: 26 },
    x: (range) => logarithmic(domainX, range), y: (range) => logarithmic(domainY, range),
    xTick: tickNumber, yTick: (tick) => formatWork(tick).replace(/\.0+ /, " "),
    xTitle: "FLOP per byte", yTitle: "FLOP per second", label: `Roofline of ${points.length} cases`,
  });
  roofs.forEach((roof, at) => {
    const line = draw("path", { class: "roof", d: roofPath(frame, roof, domainX, domainY) });
    line.style.stroke = colourOf(at + 4);
    frame.area.append(line);
    const top = roof.flops ? Math.min(roof.flops, domainX[1] * (roof.bandwidth || Infinity)) : null;
    if (top) frame.area.append(draw("text", { class: "row-label", x: frame.width - 4, y: frame.y(top) - 6, "text-anchor": "end" }, roof.label));
  });
  for (const point of thinned(points)) {
    const [row, x, y, share] = point;
    const mine = row === here;
    const group = draw("g", { class: mine ? "mark" : "mark faint" });
    group.style.setProperty("--mark", mine ? "var(--orange)" : colourOf(0));
    const dot = shape(mine ? "diamond" : "circle", frame.x(x), frame.y(y), mine ? 6 : 3.6);
    dot.classList.add("dot");
    group.append(dot);
    frame.area.append(clickable(group, row, () => [page.table.ids[row], `${formatWork(y)}FLOP/s at ${significant(x, 3)} FLOP per byte`,
      share ? `${formatPercent(share)} of what this machine can do there` : ""]));
  }
}

function roofPath(frame, roof, domainX, domainY) {
  const at = (x) => Math.min(roof.flops || Infinity, (roof.bandwidth || Infinity) * x);
  const ends = [domainX[0], domainX[1]];
  if (roof.flops && roof.bandwidth) ends.push(roof.flops / roof.bandwidth);
  if (roof.bandwidth) ends.push(domainY[0] / roof.bandwidth);
  const places = ends.filter((x) => x >= domainX[0] && x <= domainX[1]).sort((a, b) => a - b)
    .filter((x) => at(x) >= domainY[0] * 0.999 && at(x) <= domainY[1] * 1.001);
  return `M${places.map((x) => `${frame.x(x)} ${frame.y(at(x))}`).join("L")}`;
}

function formatWork(value) {
  const scales = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const scale = scales.find(([size]) => value >= size) || [1, ""];
  return `${significant(value / scale[0], 3)} ${scale[1]}`;
}

function drawCaseRoofline(row) {
  if (!page.table.roofline) return;
  const { points, roofs } = page.table.roofline;
  if (!points.some((point) => point[0] === row)) return;
  const host = section("roofline", "Roofline");
  drawRoofline(host, host.clientWidth || 600, points, roofs, row, 280);
}

SUITE_CHARTS.push(rooflineChart);
SUITE_CASE_SECTIONS.push({ name: "roofline", draw: drawCaseRoofline });
