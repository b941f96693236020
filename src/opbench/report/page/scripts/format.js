// Numbers for people, as the terminal shows them: 12.3 µs, 4.19 MB, 1,234,567.

const SCALES = {
  s: [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]],
  bytes: [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]],
};
const COUNTED = new Set(["count", "instructions"]);
const NONE = "–";

function grouped(text) {
  const [whole, part] = text.split(".");
  const sets = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return part === undefined ? sets : `${sets}.${part}`;
}

function significant(value, digits) {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent >= 7 || exponent < -4) return value.toExponential(digits - 1).replace("+", "");
  return grouped(value.toFixed(Math.max(0, digits - 1 - exponent)));
}

function scaleOf(value, unit, digits = 3) {
  const scales = SCALES[unit];
  if (!scales) return null;
  const rounded = Math.abs(Number(value.toPrecision(digits)));
  let found = scales[0];
  for (const scale of scales) if (rounded >= scale[0] * (1 - 1e-12)) found = scale;
  return found;
}

function formatValue(value, unit, digits = 3) {
  if (value === null || value === undefined) return NONE;
  if (COUNTED.has(unit)) {
    const text = Number.isInteger(value) ? String(value) : value.toFixed(1);
    return grouped(text);
  }
  if (value === 0) return unit === "bytes" ? "0 B" : `0 ${unit}`;
  const scale = scaleOf(value, unit, digits);
  if (!scale) return `${significant(value, digits)} ${unit}`.trim();
  const scaled = value / scale[0];
  if (unit === "bytes" && scale[0] === 1 && Number.isInteger(scaled)) return `${scaled} B`;
  return `${significant(scaled, digits)} ${scale[1]}`;
}

function formatPercent(share) {
  const percent = share * 100;
  const size = Math.abs(percent);
  if (size < 0.01) return percent ? "<0.01 %" : "0 %";
  return `${percent.toFixed(size >= 9.95 ? 0 : size >= 0.995 ? 1 : 2)} %`;
}

// Half the width of an interval, never below the smallest percentage that is written.
function formatHalf(share) {
  return formatPercent(Math.max(share, 1e-4));
}

function halfWidth(value, low, high) {
  if (!value || low === null || high === null || low === undefined) return null;
  return (high - low) / 2 / Math.abs(value);
}

function formatChange(ratio) {
  if (ratio === null) return NONE;
  const change = ratio - 1;
  return Math.abs(change) < 1e-4 ? "0 %" : `${change > 0 ? "+" : "−"}${formatPercent(Math.abs(change))}`;
}

function formatMoment(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}

function formatDay(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function plural(count, one, many = `${one}s`) {
  return `${grouped(String(count))} ${count === 1 ? one : many}`;
}

const WORDS = {
  bytes: { slower: "larger", faster: "smaller" },
  instructions: { slower: "more", faster: "fewer" },
  count: { slower: "more", faster: "fewer" },
};
const SIGNS = { slower: "▲", faster: "▼", same: "=", unknown: "?" };

function verdictWord(verdict, unit) {
  return (WORDS[unit] || {})[verdict] || verdict;
}

const METRIC_NAMES = {
  time: "time", host_time: "host time", device_time: "device time",
  device_time_cold: "device time, cold", instructions_raw: "instructions, raw",
};

function metricName(metric) {
  return METRIC_NAMES[metric.name] || metric.name.replace(/_/g, " ");
}
