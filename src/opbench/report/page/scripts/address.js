// What is looked at stands in the address: search, filters, order, tab and case. A link to it shows
// the same, and Back closes a case.

const SEPARATE = new Set(["q", "sort", "comparison", "tab", "case", "at", "on"]);
// Sides of a comparison have the same cases: these say which row of a case it is.
const PLACES = { at: "environment", on: "device" };

function rowParts(row) {
  const several = Object.entries(PLACES).filter(([, name]) => page.table.words[name].length > 1);
  return { case: page.table.ids[row], ...Object.fromEntries(several.map(([key, name]) => [key, facet(row, name)])) };
}

// The row that an address names; of one that names the case alone, the first; −1 for none.
function rowIn(parts) {
  const named = Object.entries(PLACES).filter(([key]) => key in parts);
  return page.table.ids.findIndex((id, row) => id === parts.case && named.every(([key, name]) => facet(row, name) === parts[key]));
}

function addressParts() {
  const parts = {};
  if (state.search) parts.q = state.search;
  if (state.sort !== null) parts.sort = `${state.down ? "-" : ""}${grid.columns[state.sort].key}`;
  if (state.comparison >= 0) parts.comparison = String(state.comparison);
  if (shownChart.chosen) parts.tab = shownChart.kind;
  Object.assign(parts, state.facets);
  if (opened.row !== null) Object.assign(parts, rowParts(opened.row));
  return parts;
}

// Only a case that opens is a step to go back from: a search is not one for each letter.
function writeAddress(step = false) {
  const text = Object.entries(addressParts()).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  const address = text ? `#${text}` : location.pathname + location.search;
  if (step) history.pushState({ opened: true }, "", address);
  else history.replaceState(history.state, "", address);
}

function readAddress() {
  const parts = {};
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    try { parts[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); } catch { /* not ours */ }
  }
  return parts;
}

// A plain #cases is a place in the page, and says nothing of what is looked at.
function followAddress() {
  if (location.hash && !location.hash.includes("=")) return;
  const parts = readAddress();
  state.search = parts.q || "";
  byId("search").value = state.search;
  state.comparison = page.table.comparisons[Number(parts.comparison)] ? Number(parts.comparison) : -1;
  const known = (name) => page.table.words[name] || ["verdict", "outcome", "warning"].includes(name);
  state.facets = Object.fromEntries(Object.entries(parts).filter(([name]) => !SEPARATE.has(name) && known(name)));
  const key = (parts.sort || "").replace(/^-/, "");
  const at = grid.columns.findIndex((column) => column.key === key);
  state.sort = at < 0 ? null : at;
  state.down = (parts.sort || "").startsWith("-");
  drawHead();
  drawFacets();
  refresh();
  if (parts.tab && byId(`tab-${parts.tab}`)) chooseTab(parts.tab);
  const row = rowIn(parts);
  if (row >= 0) openCase(row);
  else closeCase();
}
