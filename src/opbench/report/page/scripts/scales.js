// From values to pixels, with ticks at round numbers.

function linear([low, high], [start, end]) {
  if (high === low) { low -= Math.abs(low) * 0.05 || 1; high += Math.abs(high) * 0.05 || 1; }
  const scale = (value) => start + ((value - low) / (high - low)) * (end - start);
  scale.ticks = (count = 6) => {
    const rough = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) {
      found.push(at * step);
    }
    return found;
  };
  scale.domain = [low, high];
  scale.range = [start, end];
  scale.kind = "linear";
  return scale;
}

function logarithmic([low, high], [start, end]) {
  if (high <= low * 1.0001) { low /= 1.2; high *= 1.2; }
  const from = Math.log10(low), to = Math.log10(high);
  const scale = (value) => start + ((Math.log10(value) - from) / (to - from)) * (end - start);
  scale.ticks = (count = 6) => {
    const found = [];
    const decades = to - from;
    if (decades < 0.7) {
      return linear([low, high], [0, 1]).ticks(count);
    }
    const within = decades < 2 ? [1, 2, 5] : decades < 3.2 ? [1, 3] : [1];
    const every = Math.max(1, Math.ceil(decades / count));
    for (let power = Math.floor(from); power <= Math.ceil(to); power++) {
      if (power % every) continue;
      for (const each of within) {
        const value = each * 10 ** power;
        if (value >= low * 0.999 && value <= high * 1.001) found.push(Number(value.toPrecision(6)));
      }
    }
    return found;
  };
  scale.domain = [low, high];
  scale.range = [start, end];
  scale.kind = "log";
  return scale;
}

// A little air around the values, in the terms of the scale.
function spread(values, log, air = 0.06) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || !isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low === Infinity) return log ? [0.5, 2] : [0, 1];
  if (log) {
    const reach = Math.max(Math.log10(high / low) * air, 0.02);
    return [low / 10 ** reach, high * 10 ** reach];
  }
  const reach = (high - low) * air || Math.abs(high) * 0.05 || 1;
  return [low - reach, high + reach];
}

// Okabe and Ito's palette, from the style sheet, which has it for both themes: told apart with any
// kind of colour vision.
const COLOURS = 8;
const SHAPES = ["circle", "square", "diamond", "triangle", "cross", "down"];

function colourOf(index) {
  return `var(--c${index % COLOURS})`;
}

// A shape beside the colour: colour alone does not reach everybody.
function shape(kind, x, y, size = 4) {
  const s = size;
  const paths = {
    square: `M${x - s * 0.9} ${y - s * 0.9}h${s * 1.8}v${s * 1.8}h${-s * 1.8}z`,
    diamond: `M${x} ${y - s * 1.25}L${x + s * 1.25} ${y}L${x} ${y + s * 1.25}L${x - s * 1.25} ${y}z`,
    triangle: `M${x} ${y - s * 1.15}L${x + s * 1.1} ${y + s * 0.85}H${x - s * 1.1}z`,
    down: `M${x} ${y + s * 1.15}L${x + s * 1.1} ${y - s * 0.85}H${x - s * 1.1}z`,
    cross: `M${x - s} ${y - s}L${x + s} ${y + s}M${x - s} ${y + s}L${x + s} ${y - s}`,
  };
  if (!paths[kind]) return draw("circle", { cx: x, cy: y, r: s });
  return draw("path", { d: paths[kind], class: kind === "cross" ? "open" : null });
}
