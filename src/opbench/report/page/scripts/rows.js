// The rows of the table: what they are called, what they hold, which of them are asked for.

const rows = { count: 0, texts: null, compared: [], notes: null };

function prepareRows() {
  const t = page.table;
  rows.count = t.ids.length;
  // One map per comparison: row → entries of it, one per metric.
  rows.compared = t.comparisons.map((comparison) => {
    const found = new Map();
    for (const entry of comparison.rows) {
      if (!found.has(entry[0])) found.set(entry[0], []);
      found.get(entry[0]).push(entry);
    }
    return found;
  });
}

function facet(row, name) {
  return page.table.words[name][page.table.columns[name][row]];
}

function labelsOf(row) {
  const [kind, ...values] = page.table.labels[row];
  return page.table.axes[kind].map((axis, at) => [axis, values[at]]);
}

function labelOf(row, axis) {
  const [kind] = page.table.labels[row];
  const at = page.table.axes[kind].indexOf(axis);
  return at < 0 ? undefined : page.table.labels[row][at + 1];
}

let sameEverywhere = null;

// Axes that every case has, with one value for all of them. Worked out once.
function constantAxes() {
  if (!sameEverywhere) {
    sameEverywhere = new Map(rows.count > 1 ? labelsOf(0) : []);
    for (let row = 1; row < rows.count && sameEverywhere.size; row++) {
      for (const [axis, value] of [...sameEverywhere]) if (labelOf(row, axis) !== value) sameEverywhere.delete(axis);
    }
  }
  return sameEverywhere;
}

function constantText() {
  const axes = [...constantAxes()].map(([axis, value]) => `${axis}=${labelText(value)}`);
  return axes.length ? `In every case: ${axes.join(", ")}.` : "";
}

function labelText(value) {
  return value === null ? "none" : String(value);
}

// Axes first, then properties of the case: what a chart can be drawn over or coloured by.
function keyOf(row, key) {
  const label = labelOf(row, key);
  if (label !== undefined) return label;
  if (key === "threads") return page.table.threads[row];
  return page.table.words[key] ? facet(row, key) : undefined;
}

function outcomeOf(row) {
  let found = "";
  for (const values of page.table.values) {
    const at = values.out[row];
    if (at > 0) return page.table.outcomes[at];
    if (at === 0) found = "ok";
  }
  return found;
}

function warningsOf(row) {
  const found = new Set();
  for (const values of page.table.values) {
    for (const code of values.notes[row] || []) found.add(page.table.codes[code]);
  }
  return [...found];
}

// The entry that the table shows of several: the most telling verdict.
const WEIGHT = { slower: 3, faster: 2, unknown: 1, same: 0 };

// Of one comparison, or (−1) of whichever has the row; of one metric, or of any.
function entryOf(row, comparison, metric = -1) {
  const chosen = comparison < 0 ? rows.compared : [rows.compared[comparison]];
  const own = (entries) => (metric < 0 || !entries ? entries : entries.filter((entry) => entry[1] === metric));
  const entries = chosen.map((each) => own(each && each.get(row))).find((each) => each && each.length);
  if (!entries) return null;
  return entries.reduce((best, entry) => (WEIGHT[verdictOf(entry)] > WEIGHT[verdictOf(best)] ? entry : best));
}

function verdictOf(entry) {
  return page.table.comparisons[0].verdicts[entry[5]];
}

// `slower`, or `slower@memory` for one metric of several.
function hasVerdict(row, comparison, wanted) {
  const [verdict, ...metric] = wanted.split("@");
  const chosen = comparison < 0 ? rows.compared : [rows.compared[comparison]];
  if (!metric.length) {
    const entry = entryOf(row, comparison);
    return entry !== null && verdictOf(entry) === verdict;
  }
  const name = metric.join("@");
  return chosen.some((each) => ((each && each.get(row)) || [])
    .some((entry) => page.table.metrics[entry[1]].name === name && verdictOf(entry) === verdict));
}

function textOf(row) {
  if (!rows.texts) {
    const places = page.table.words.environment;
    const several = places.length > 1;
    rows.texts = page.table.ids.map((id, at) => {
      const place = several ? ` ${places[page.table.columns.environment[at]]}` : "";
      return `${id}${place} ${facet(at, "framework")}`.toLowerCase();
    });
  }
  return rows.texts[row];
}

// `words` must all be found, those after a minus must not.
function matching(state) {
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = words.filter((word) => !word.startsWith("-") || word.length === 1);
  const unwanted = words.filter((word) => word.startsWith("-") && word.length > 1)
    .map((word) => word.slice(1));
  const places = Object.entries(state.facets).filter(([name]) => page.table.words[name])
    .map(([name, value]) => [page.table.columns[name], page.table.words[name].indexOf(value)]);
  const { verdict, outcome, warning } = state.facets;
  const found = [];
  for (let row = 0; row < rows.count; row++) {
    if (places.some(([column, value]) => column[row] !== value)) continue;
    if (wanted.length || unwanted.length) {
      const text = textOf(row);
      if (!wanted.every((word) => text.includes(word))) continue;
      if (unwanted.some((word) => text.includes(word))) continue;
    }
    if (outcome && outcomeOf(row) !== outcome) continue;
    if (warning) {
      const codes = warningsOf(row);
      if (warning === "any" ? !codes.length : !codes.includes(warning)) continue;
    }
    if (verdict && !hasVerdict(row, state.comparison, verdict)) continue;
    found.push(row);
  }
  return found;
}

const natural = new Intl.Collator("en", { numeric: true });
let idRanks = null;

// Names in the order people count in: n=64 before n=512. Worked out once.
function rankOf(row) {
  if (!idRanks) {
    const order = Array.from({ length: rows.count }, (_, at) => at);
    const ids = page.table.ids;
    // A collator takes seconds for a hundred thousand names; plain order does for so many.
    if (rows.count <= 20000) order.sort((a, b) => natural.compare(ids[a], ids[b]) || a - b);
    else order.sort((a, b) => (ids[a] < ids[b] ? -1 : ids[a] > ids[b] ? 1 : a - b));
    idRanks = new Float64Array(rows.count);
    order.forEach((row, rank) => { idRanks[row] = rank; });
  }
  return idRanks[row];
}

function sortKey(column, comparison) {
  if (column.kind === "metric") {
    const values = page.table.values[column.metric];
    return (row) => (values.out[row] === 0 ? values.e[row] : null);
  }
  if (column.kind === "ratio") {
    return (row) => { const entry = entryOf(row, comparison, column.metric); return entry ? entry[2] : null; };
  }
  if (column.kind === "environment") return (row) => page.table.columns.environment[row];
  if (column.kind === "notes") return (row) => (outcomeOf(row) === "ok" ? warningsOf(row).length || null : 100);
  return rankOf;
}

// What has no value comes last, whichever way the rest is sorted.
function sorted(found, column, down, comparison) {
  if (!column) return found;
  const key = sortKey(column, comparison);
  const keys = new Map(found.map((row) => [row, key(row)]));
  return found.sort((a, b) => {
    const one = keys.get(a), other = keys.get(b);
    if (one === null || other === null) return one === other ? a - b : one === null ? 1 : -1;
    return (down ? other - one : one - other) || a - b;
  });
}
