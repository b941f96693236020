// Checks that tests run inside the page.

// Text whose contrast with what is behind it is less than 4.5 to 1.
function pale() {
  const channels = (text) => {
    const parts = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    const [r, g, b, a = 1] = parts;
    return text.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = channels(getComputedStyle(each).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), channels(getComputedStyle(document.body).backgroundColor));
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Set();
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest("script, style, :disabled, .unseen, .skip, option")) continue;
    const style = getComputedStyle(element);
    const svg = element.closest("svg");
    const ground = behind(svg ? svg.parentElement : element);
    const ink = over(channels(svg ? style.fill : style.color), ground);
    const [more, less] = [light(ink), light(ground)].sort((a, b) => b - a);
    const ratio = (more + 0.05) / (less + 0.05);
    seen += 1;
    if (ratio < 4.5) found.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className} "${walker.currentNode.textContent.trim().slice(0, 40)}"`);
  }
  return [seen, [...found]];
}

// What can be used and has no name for those who do not see it.
function nameless() {
  const name = (e) => (e.getAttribute("aria-label") || e.title || e.textContent.trim()
    || (e.labels && [...e.labels].map((label) => label.textContent).join("")) || "").trim();
  return [...document.querySelectorAll("button, a[href], input, select, [role=button], [role=tab]")]
    .filter((e) => !e.closest("[hidden]") && !name(e)).map((e) => e.outerHTML.slice(0, 120));
}

// What can be clicked and is not reached by the Tab key.
function unreached() {
  return [...document.querySelectorAll("#charts button, #charts select, #cases button, #cases select, #cases input")]
    .filter((e) => e.checkVisibility() && e.tabIndex < 0 && e.getAttribute("role") !== "tab").map((e) => e.outerHTML.slice(0, 120));
}

function repeatedIds() {
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at);
}

// Keeps the text of files that the page saves.
function keepSaved() {
  window.saved = [];
  const kept = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    blob.text().then((text) => window.saved.push(text)); return kept(blob); };
}

function dimmed() {
  return [...document.querySelectorAll("#chart .mark")].filter((m) => m.style.opacity === "0.12").length;
}

// Entries of the legend that reach beyond the picture.
function cutOff() {
  const edge = document.querySelector("#chart").getBoundingClientRect().right;
  return [...document.querySelectorAll("#chart .role-legend-label text")].filter((e) => e.getBoundingClientRect().right > edge).map((e) => e.textContent);
}
