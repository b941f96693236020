// One case: everything that is known of it, in a panel of its own.

const opened = { row: null, from: null };

async function openCase(row) {
  const dialog = byId("case");
  const linked = rowIn(readAddress()) === row;
  const step = !dialog.open && !linked;
  if (!dialog.open) {
    opened.from = document.activeElement;
    dialog.showModal();
  }
  opened.row = row;
  const at = grid.shown.indexOf(row);
  if (at >= 0) grid.current = at;
  byId("case-before").disabled = at <= 0;
  byId("case-after").disabled = at < 0 || at >= grid.shown.length - 1;
  byId("case-title").replaceChildren(caseName(row, true));
  if (!linked) writeAddress(step);
  const body = byId("case-body");
  const details = await detailsOf(row);
  if (opened.row !== row) return;
  body.replaceChildren(...caseParts(row, details));
  body.scrollTop = 0;
  drawCaseCharts(row, details);
  byId("case-title").focus({ preventScroll: true });
}

function closeCase() {
  const dialog = byId("case");
  if (dialog.open) dialog.close();
}

function startCase() {
  const dialog = byId("case");
  byId("case-close").addEventListener("click", closeCase);
  byId("case-before").addEventListener("click", () => stepCase(-1));
  byId("case-after").addEventListener("click", () => stepCase(1));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) closeCase(); });
  dialog.addEventListener("close", () => {
    const pushed = history.state && history.state.opened && readAddress().case !== undefined;
    opened.row = null;
    // Closing takes back the step that opening made; Back has taken it back already.
    if (pushed) history.back();
    else if (readAddress().case !== undefined) writeAddress();
    goTo(grid.current);
    if (opened.from && opened.from.isConnected) opened.from.focus({ preventScroll: true });
  });
}

function stepCase(step) {
  const at = grid.shown.indexOf(opened.row) + step;
  if (grid.shown.includes(opened.row) && at >= 0 && at < grid.shown.length) openCase(grid.shown[at]);
}

function caseParts(row, details) {
  const t = page.table;
  const parts = [make("p", { class: "case-facts note" }, caseFacts(row))];
  parts.push(make("div", { class: "values" }, ...t.metrics.map((metric, at) => valueCard(row, metric, at)).filter(Boolean)));
  parts.push(...comparisonLines(row));
  for (const metric of t.metrics) {
    const found = details && details.metrics[metric.name];
    for (const [code, text] of (found && found.warnings) || []) {
      parts.push(make("p", { class: "remark warn" }, make("b", {}, `! ${code} `), text));
    }
  }
  const holders = ["samples", "stages", "siblings", "memory", "instructions", ...caseKinds(), "history"];
  parts.push(...holders.map((name) => make("section", { id: `case-${name}`, hidden: true })));
  if (details) parts.push(...lastWords(details), scriptPart(details), howMeasured(row, details));
  return parts;
}

function caseFacts(row) {
  const t = page.table;
  const names = [facet(row, "framework"), facet(row, "runtime"), facet(row, "device"), facet(row, "dtype")];
  const place = facet(row, "environment");
  return [...new Set(names.filter(Boolean)), plural(t.threads[row], "thread"),
    place === "current" ? "" : `environment ${place}`].filter(Boolean).join(" · ");
}

function valueCard(row, metric, at) {
  const values = page.table.values[at];
  if (values.out[row] < 0) return null;
  const name = make("span", { class: "label" }, metricName(metric));
  if (values.out[row] > 0) {
    const outcome = page.table.outcomes[values.out[row]];
    const reason = page.table.reasons[values.why[row]] || "";
    return make("div", { class: "value-card wide-card" }, name,
      make("b", { class: outcome === "unsupported" ? "muted" : "bad" }, `× ${outcome.replace(/_/g, " ")}`),
      make("span", { class: "note" }, reason));
  }
  const wide = halfWidth(values.e[row], values.lo[row], values.hi[row]);
  const text = formatValue(values.e[row], metric.unit, wide !== null && wide > 0 && wide < 0.005 ? 4 : 3);
  const span = wide ? `± ${formatHalf(wide)}, from ${formatValue(values.lo[row], metric.unit)} to ${formatValue(values.hi[row], metric.unit)}` : "";
  const count = metric.unit === "s" && values.n[row] ? plural(values.n[row], "sample") : "";
  return make("div", { class: "value-card" }, name, make("b", {}, text),
    make("span", { class: "note" }, [span, count].filter(Boolean).join(" · ")));
}

function comparisonLines(row) {
  const lines = [];
  page.table.comparisons.forEach((comparison, at) => {
    for (const entry of rows.compared[at].get(row) || []) {
      const verdict = verdictOf(entry);
      const metric = page.table.metrics[entry[1]];
      const interval = entry[3] === entry[4] ? "" : ` [${formatChange(entry[3])}, ${formatChange(entry[4])}]`;
      const ratio = entry[2] === null ? "" : ` ${formatChange(entry[2])}${interval}`;
      const reason = comparison.reasons[entry[8]];
      const edited = entry[9] ? " The benchmark itself was edited in between." : "";
      lines.push(make("p", { class: `remark ${verdict}` },
        make("b", {}, `${SIGNS[verdict]} ${verdictWord(verdict, metric.unit)} `),
        `${metricName(metric)} against ${comparison.base}${ratio}; ${comparison.base} was ${formatValue(entry[7], metric.unit)}.`,
        reason ? ` ${reason[0].toUpperCase()}${reason.slice(1)}.` : "",
        entry[6] && verdict !== "slower" && verdict !== "faster" ? ` Smallest detectable change: ${formatPercent(entry[6])}.` : "",
        edited));
    }
  });
  return lines;
}

function lastWords(details) {
  const parts = [];
  for (const [name, found] of Object.entries(details.metrics)) {
    for (const key of ["traceback", "output"]) {
      if (!found.detail[key]) continue;
      parts.push(make("section", {}, make("h3", {}, key === "traceback" ? `Traceback (${name})` : `Output (${name})`),
        make("pre", { class: "code", tabindex: 0 }, found.detail[key])));
    }
  }
  return parts;
}

function scriptPart(details) {
  const button = make("button", { type: "button", class: "quiet", id: "copy-script" }, "Copy");
  button.addEventListener("click", () => copyText(details.script, button));
  return make("section", { id: "case-script" },
    make("div", { class: "section-head" }, make("h3", {}, "Reproduce it"), button),
    make("p", { class: "note" }, "A standalone script, without opbench; its first lines say what it needs."),
    make("pre", { class: "code", tabindex: 0 }, details.script));
}

const HOW = {
  policy: "sampling policy", way: "timing mode", stopped: "stopped by", design: "design", starts: "worker starts",
  sessions: "children", calls_per_block: "calls per block", first_call: "first call", seconds: "seconds spent",
  within: "scatter within a start", between: "scatter between starts", settled: "warm-up settled",
  source: "counted by", calls: "calls counted",
};

function howMeasured(row, details) {
  const list = make("dl", { class: "pairs" });
  const add = (name, value) => list.append(make("div", {}, make("dt", {}, name), make("dd", {}, String(value))));
  add("case", details.hash);
  const several = Object.keys(details.metrics).length > 1;
  let fingerprint = "";
  for (const [metric, found] of Object.entries(details.metrics)) {
    fingerprint = found.fingerprint || fingerprint;
    const shown = { policy: found.policy, ...found.detail };
    for (const [key, title] of Object.entries(HOW)) {
      if (shown[key] === undefined || shown[key] === null) continue;
      const share = key === "within" || key === "between";
      const value = share ? formatPercent(shown[key]) : key === "first_call" ? formatValue(shown[key], "s") : shown[key];
      add(several ? `${metric}: ${title}` : title, value);
    }
  }
  if (fingerprint) add("environment", `${facet(row, "environment")} (${fingerprint})`);
  return make("section", {}, make("h3", {}, "How it was measured"), list);
}
