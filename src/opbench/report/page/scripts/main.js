// The page comes to life: theme, keys, links between its parts.

const THEMES = ["auto", "light", "dark"];

function startTheme() {
  const kept = (() => { try { return localStorage.getItem("opbench-theme"); } catch { return null; } })();
  setTheme(THEMES.includes(kept) ? kept : "auto");
  byId("theme").addEventListener("click", switchTheme);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[theme];
  byId("theme").title = `Theme: ${theme} (t)`;
  byId("theme").setAttribute("aria-label", `Theme: ${theme}. Switch`);
  try { localStorage.setItem("opbench-theme", theme); } catch { /* a page on disk may not keep it */ }
}

function switchTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
  const now = document.documentElement.dataset.theme;
  setTheme(order[(order.indexOf(now) + 1) % order.length]);
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (typing) return;
    const open = byId("case").open;
    if (open && event.key === "j") stepCase(1);
    else if (open && event.key === "k") stepCase(-1);
    else if (event.key === "t") switchTheme();
    else if (event.key === "/" && !open) { event.preventDefault(); byId("search").focus(); byId("search").select(); }
  });
}

// Tiles and lines of the summary lead into the table.
function startLinks() {
  for (const link of document.querySelectorAll("a[data-row]")) {
    link.addEventListener("click", (event) => { event.preventDefault(); openCase(Number(link.dataset.row)); });
  }
  for (const button of document.querySelectorAll("[data-filter]")) {
    button.addEventListener("click", () => {
      const [name, ...value] = button.dataset.filter.split(":");
      const card = button.closest("[data-comparison]");
      if (card) state.comparison = Number(card.dataset.comparison);
      state.search = "";
      byId("search").value = "";
      state.facets = { [name]: value.join(":") };
      drawFacets();
      refresh();
      writeAddress();
      byId("cases").scrollIntoView();
    });
  }
}

function startEnvironments() {
  const host = byId("environments");
  const cards = [["Machine", page.table.machine], ...Object.entries(page.table.environments)
    .map(([mark, facts]) => [environmentName(mark), facts.interpreter || facts])];
  for (const [title, facts] of cards) {
    const list = make("dl", { class: "pairs" });
    // A long name breaks at a dot, where it can.
    const broken = (name) => name.split(/(?<=\.)/).flatMap((part) => [part, make("wbr")]);
    flattened(facts).forEach(([name, value]) => list.append(make("div", {}, make("dt", {}, ...broken(name)), make("dd", {}, value))));
    host.append(make("article", { class: "card" }, make("h3", {}, title), list));
  }
}

function environmentName(mark) {
  const names = page.table.words.environment;
  return names.length === 1 ? `Environment ${names[0]}` : `Environment ${mark}`;
}

function flattened(facts, prefix = "") {
  const found = [];
  for (const [name, value] of Object.entries(facts || {})) {
    const title = prefix ? `${prefix}.${name}` : name;
    if (value === null || value === "" || (Array.isArray(value) && !value.length)) continue;
    if (Array.isArray(value)) found.push([title, value.map((each) => (typeof each === "object" ? JSON.stringify(each) : String(each))).join(", ")]);
    else if (typeof value === "object") found.push(...flattened(value, title));
    else found.push([title, String(value)]);
  }
  return found;
}

async function start() {
  startTheme();
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old to unpack the page's data; any of the year 2023 or later can");
  }
  page.table = await unpack("data-table");
  prepareRows();
  startTable();
  startCase();
  watchTips();
  startKeys();
  startLinks();
  startCharts();
  startEnvironments();
  if (location.hash.includes("=")) followAddress();
  window.addEventListener("popstate", followAddress);
  document.documentElement.dataset.ready = "yes";
  performance.mark("opbench-ready");
}

start().catch((error) => {
  const host = byId("failure");
  host.hidden = false;
  host.textContent = `The page could not be drawn: ${error.message}`;
  console.error(error);
});
