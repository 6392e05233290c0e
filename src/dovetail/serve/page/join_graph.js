// The join graph of a few tables: columns in boxes, lines from column to column; boxes can be
// dragged, a join is locked by a click, and the drawing kept as a file.

import { cut, h, middleCut, nameOf, replace, s, sourceOf } from "./dom.js";
import { evidencePanel, joinSentence } from "./evidence.js";
import { layOut, route, rowOf } from "./graph_layout.js";
import { toTable } from "./link.js";

const SHOWN = 8;
// A drawing wider than its frame is made smaller, down to what can be read; then it is scrolled.
const SMALLEST = 0.7;
export const joinKey = (join) => `${join.left}|${join.right}|${join.columns.flat().join("|")}`;

// `tables`: ids in order. `joins`: as the server tells them. `chosen`: id → "table" or "connector".
// `columns`: id → columns to show beside those that join. `locked`: the key of the join that is
// looked at; `lock` is told when another is.
export function joinGraph(tables, joins, chosen, { label = "Join graph", columns = new Map(), actions, locked, lock } = {}) {
  const edges = surestPerPair(joins, new Set(tables));
  const names = tables.map(nameOf);
  const nodes = tables.map((id) => {
    const keys = edges.flatMap(({ join }) => join.columns.flatMap(([a, b]) => [join.left === id && a, join.right === id && b])).filter(Boolean);
    const twice = names.filter((name) => name === nameOf(id)).length > 1;
    return { id, keys: new Set(keys), text: middleCut(twice ? `${sourceOf(id)}.${nameOf(id)}` : nameOf(id), 30), columns: [...new Set([...keys, ...(columns.get(id) ?? [])])].slice(0, SHOWN) };
  });
  const at = new Map(tables.map((id, place) => [id, place]));
  const size = layOut(nodes, edges.map(({ join }) => [at.get(join.left), at.get(join.right)]), matchMedia("(max-width: 720px)").matches);
  const panel = h("div", { class: "evidence", "aria-label": "Evidence for a join", role: "group", "aria-live": "polite" });
  const svg = s("svg", { viewBox: `0 0 ${size.width} ${size.height}`, width: size.width, height: size.height, role: "group", "aria-label": label, class: "graph" });
  svg.style.minWidth = `${SMALLEST * size.width}px`;
  const drawn = edges.map((edge, lane) => drawEdge(edge, nodes[at.get(edge.join.left)], nodes[at.get(edge.join.right)], lane));
  const look = (edge, told) => {
    for (const other of drawn) other.element.classList.toggle("shown", other === edge);
    for (const other of drawn) other.element.setAttribute("aria-pressed", String(other === edge));
    replace(panel, evidencePanel(edge.join, edge.more, actions?.(edge.join)));
    if (told) lock?.(joinKey(edge.join));
  };
  for (const edge of drawn) {
    edge.element.addEventListener("click", () => look(edge, true));
    edge.element.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), look(edge, true)));
  }
  svg.append(...drawn.map((edge) => edge.element), ...nodes.map((node) => drawNode(node, chosen.get(node.id), svg, drawn)));
  const first = drawn.find((edge) => joinKey(edge.join) === locked) ?? drawn[0];
  if (first) look(first, false);
  return h("div", { class: "stack tight" },
    h("div", { class: "graph-frame", tabindex: "0", role: "region", "aria-label": label }, svg),
    h("p", { class: "row small muted" }, drawn.length ? "Click a join to look at it; drag a table to move it." : null,
      h("button", { type: "button", class: "small-button", onclick: () => saveDrawing(svg) }, "Save as SVG")),
    panel);
}

function surestPerPair(joins, inside) {
  const pairs = new Map();
  for (const join of joins) {
    if (!inside.has(join.left) || !inside.has(join.right) || join.left === join.right) continue;
    const key = [join.left, join.right].sort().join("\n");
    const first = pairs.get(key);
    if (first) first.more += joinKey(first.join) !== joinKey(join);
    else pairs.set(key, { join, more: 0 });
  }
  return [...pairs.values()];
}

function drawEdge({ join, more }, from, to, lane) {
  const lines = join.columns.map(() => [s("path", { class: "reach" }), s("path", { class: "stroke" })]);
  const text = join.cardinality;
  const label = s("g", { class: "label" }, s("rect", { width: 8 + text.length * 7, height: 18, rx: 6 }), s("text", { "text-anchor": "middle" }, text));
  const element = s("g", { class: "edge lit", tabindex: "0", role: "button", "aria-label": joinSentence(join, nameOf), "data-left": join.left, "data-right": join.right }, lines, label);
  const draw = () => join.columns.forEach(([a, b], number) => {
    const { path, x, y } = route(from, a, to, b, lane);
    for (const line of lines[number]) line.setAttribute("d", path);
    if (number) return;
    label.firstChild.setAttribute("x", x - (8 + text.length * 7) / 2);
    label.firstChild.setAttribute("y", y - 9);
    label.lastChild.setAttribute("x", x);
    label.lastChild.setAttribute("y", y + 4);
  });
  draw();
  return { join, more, element, draw, ends: [from, to] };
}

function drawNode(node, role, svg, edges) {
  const open = () => { location.hash = toTable(node.id); };
  const { x, y } = node;
  const element = s("g", { class: `node ${role ?? ""}`, tabindex: "0", role: "link", "aria-label": `${node.id}${role === "connector" ? ", connector" : role ? ", in the set" : ""}`, "data-table": node.id, onkeydown: (event) => event.key === "Enter" && open() },
    s("title", {}, node.id),
    s("rect", { x, y, width: node.width, height: node.height, rx: 8, class: "box" }),
    s("rect", { x, y, width: node.width, height: 28, rx: 8, class: "head" }),
    s("text", { x: x + node.width / 2, y: y + 19, "text-anchor": "middle", class: "title" }, node.text),
    node.columns.map((name) => s("text", { x: x + 12, y: rowOf(node, name) + 4, class: node.keys.has(name) ? "key" : "column" }, cut(name, 32))));
  let start = null;
  element.addEventListener("pointerdown", (event) => {
    start = { x: event.clientX, y: event.clientY, from: [node.x, node.y], scale: svg.viewBox.baseVal.width / svg.getBoundingClientRect().width, far: 0 };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!start) return;
    const dx = event.clientX - start.x, dy = event.clientY - start.y;
    start.far = Math.max(start.far, Math.hypot(dx, dy));
    if (start.far < 5) return;
    Object.assign(node, { x: start.from[0] + dx * start.scale, y: start.from[1] + dy * start.scale });
    element.setAttribute("transform", `translate(${node.x - x} ${node.y - y})`);
    for (const edge of edges) if (edge.ends.includes(node)) edge.draw();
  });
  element.addEventListener("pointerup", () => { if (start && start.far < 5) open(); start = null; });
  return element;
}

// The drawing with its colours as a file.
function saveDrawing(svg) {
  const copy = svg.cloneNode(true), from = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, at) => {
    const style = getComputedStyle(from[at]);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font"]) element.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  h("a", { href: url, download: "joins.svg" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
