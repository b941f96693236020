// Elements are made with text nodes only: whatever a result is called, it is never markup.

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    } else if (name === "tip") {
      tips.set(element, value);
      element.classList.add("has-tip");
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function select(label, options, chosen, act) {
  const field = make("select", { on: { change: () => act(field.value) } });
  for (const [value, text] of options) {
    field.append(make("option", { value, selected: String(value) === String(chosen) }, text));
  }
  return make("label", { class: "pick" }, make("span", {}, label), field);
}

// One tooltip for all marks: a function that gives its lines is kept beside the element.
const tips = new WeakMap();

function showTip(element, x, y) {
  const lines = tips.get(element)();
  const tip = byId("tip");
  tip.replaceChildren(...lines.filter(Boolean).map((line, at) =>
    make("div", { class: at ? "" : "tip-title" }, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
  const top = y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}

function watchTips() {
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest && event.target.closest(".has-tip");
    if (mark && tips.has(mark)) showTip(mark, event.clientX, event.clientY);
    else hideTip();
  });
  document.addEventListener("focusin", (event) => {
    if (tips.has(event.target)) {
      const box = event.target.getBoundingClientRect();
      showTip(event.target, box.right, box.bottom);
    } else hideTip();
  });
  document.addEventListener("scroll", hideTip, true);
  // A modal dialog lies above everything outside it, so the tip moves inside while one is open.
  const dialog = byId("case");
  new MutationObserver(() => (dialog.open ? dialog : document.body).append(byId("tip")))
    .observe(dialog, { attributes: true, attributeFilter: ["open"] });
}

async function copyText(text, button) {
  const said = button.textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages opened from disk may be refused the clipboard: the older way still works there.
    const area = make("textarea", { class: "unseen" });
    area.value = text;
    button.after(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = done ? "Copied" : "Select and copy by hand";
  setTimeout(() => { button.textContent = said; }, 1500);
}

function saveFile(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
