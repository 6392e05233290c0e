// Elements from plain data. Text is always text: nothing here, or anywhere in the page, parses
// HTML, so a table may be called whatever it likes.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Source and name of an id: sources may hold "::" only in names that nobody gives them.
export function parts(id) {
  const at = id.indexOf("::");
  return at < 0 ? ["", id] : [id.slice(0, at), id.slice(at + 2)];
}

export const nameOf = (id) => parts(id)[1];

// Words for how sure something is, and short names of sources, as the server has them.
let known = { confidence: [[0, "guess"]], sources: {} };

export function setKnown(about) {
  known = about;
}

// A long name keeps its two ends.
export function middleCut(text, width) {
  if (text.length <= width) return text;
  const left = Math.ceil((width - 1) / 2);
  return `${text.slice(0, left)}…${text.slice(text.length - (width - 1 - left))}`;
}

export const shortSource = (source) => middleCut(known.sources[source] ?? source, 28);

export const sourceOf = (id) => shortSource(parts(id)[0]);

// A text in which tables stand behind the short names of their sources.
export const shortened = (text) => Object.keys(known.sources).reduce((said, source) => said.replaceAll(`${source}::`, `${shortSource(source)}::`), text);

export function idText(id) {
  return h("span", { class: "id", title: id }, nameOf(id), " ", h("span", { class: "source small" }, sourceOf(id)));
}

// How sure something is: one word in one colour wherever it is shown, the number behind it.
export function sureness(share, title) {
  const word = known.confidence.find(([bound]) => share >= bound)?.[1] ?? "guess";
  return h("span", { class: `sure ${word}`, title }, word, " ", h("span", { class: "number" }, share.toFixed(2)));
}

export const count = (many, noun) => `${many.toLocaleString("en")} ${noun}${many === 1 ? "" : "s"}`;

export const percent = (share) => `${Math.round(100 * share)}%`;

export function cut(text, width) {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

export function bar(share, label) {
  const inside = h("span");
  inside.style.width = percent(Math.max(0, Math.min(1, share)));
  return h("span", { class: "bar", role: "img", "aria-label": label }, inside);
}

// For people who do not see what changed.
export function announce(text) {
  document.getElementById("status").textContent = text;
}

// Say what was done; `undo` takes it back as long as the words stand there.
export function say(text, undo) {
  document.querySelector(".said")?.remove();
  const shown = h("div", { class: "said appear" }, text);
  if (undo) shown.append(" ", h("button", { type: "button", onclick: () => { shown.remove(); undo(); } }, "Undo"));
  document.body.append(shown);
  announce(text);
  setTimeout(() => shown.remove(), undo ? 12000 : 2400);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Beyond localhost and without TLS a browser has no clipboard for pages, but this.
    const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}
