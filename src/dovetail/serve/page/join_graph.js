// The join graph of a few tables as a drawing that can be looked at by pointer and by keyboard.

import { cut, h, nameOf, parts, replace, s } from "./dom.js";
import { columnsText, evidenceList, joinSentence } from "./evidence.js";
import { boxFor, labelPlace, layOut } from "./graph_layout.js";
import { toTable } from "./link.js";

// `tables`: ids in order. `joins`: as the server tells them. `chosen`: id → "table" or "connector".
export function joinGraph(tables, joins, chosen, { label = "Join graph", actions } = {}) {
  const names = tables.map(nameOf);
  const nodes = tables.map((id) => {
    const [source, name] = parts(id);
    const twice = names.filter((other) => other === name).length > 1;
    const text = cut(name, 28), second = twice ? cut(source, 30) : "";
    return { id, text, second, ...boxFor(text, second) };
  });
  const place = new Map(tables.map((id, at) => [id, at]));
  const edges = surestPerPair(joins, place);
  const size = layOut(nodes, edges.map((edge) => [place.get(edge.join.left), place.get(edge.join.right)]));
  const panel = h("div", { class: "evidence", "aria-label": "Evidence for a join", role: "group" });
  const svg = s("svg", { viewBox: `0 0 ${size.width} ${size.height}`, role: "group", "aria-label": label, class: "graph" });
  svg.style.maxWidth = `${Math.round(size.width * 1.05)}px`;
  const shown = new Shown(panel, actions);
  const lit = (edge) => chosen.has(edge.join.left) && chosen.has(edge.join.right);
  const taken = [...nodes];
  const drawn = [...edges].sort((a, b) => lit(b) - lit(a)).map((edge) => {
    const element = drawEdge(edge, nodes[place.get(edge.join.left)], nodes[place.get(edge.join.right)], lit(edge), shown, taken);
    if (lit(edge) && !shown.edge) shown.show(edge, element);
    return element;
  });
  svg.append(...drawn.reverse());
  svg.append(...nodes.map((node) => drawNode(node, chosen.get(node.id), svg)));
  return h("div", { class: "stack" }, h("div", { class: "graph-frame" }, svg), panel);
}

function surestPerPair(joins, place) {
  const pairs = new Map();
  for (const join of joins) {
    if (!place.has(join.left) || !place.has(join.right) || join.left === join.right) continue;
    const key = [join.left, join.right].sort().join("\n");
    const known = pairs.get(key);
    if (known) known.more += 1;
    else pairs.set(key, { join, more: 0 });
  }
  return [...pairs.values()];
}

// The evidence for the join that is looked at, below the drawing, where it covers nothing.
class Shown {
  constructor(panel, actions) {
    Object.assign(this, { panel, actions, edge: null });
    replace(panel, h("p", { class: "small muted" }, "Point at a join, or step to it with Tab, to see what speaks for it."));
  }

  show(edge, element) {
    const { join } = edge;
    this.edge?.classList.remove("shown");
    this.edge = element;
    element.classList.add("shown");
    replace(this.panel,
      h("h3", { class: "id" }, `${nameOf(join.left)} → ${nameOf(join.right)}`),
      evidenceList(join),
      edge.more ? h("p", { class: "small muted" }, `and ${edge.more} weaker`) : null,
      this.actions ? this.actions(join) : null);
  }
}

function drawEdge(edge, from, to, lit, shown, taken) {
  const { join } = edge;
  const text = `${cut(columnsText(join), 26)} ${join.score.toFixed(2)}`;
  const width = text.length * 5.9 + 12;
  const middle = labelPlace(from, to, width, taken);
  if (lit) taken.push(middle);
  const line = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
  const look = (event) => shown.show(edge, event.currentTarget);
  return s("g", {
    class: lit ? "edge lit" : "edge", tabindex: "0", role: "img", "aria-label": joinSentence(join, nameOf),
    "data-left": join.left, "data-right": join.right, onpointerenter: look, onfocus: look, onclick: look,
  },
    s("line", { ...line, class: "reach" }), s("line", { ...line, class: "stroke" }),
    s("g", { class: "label" },
      s("rect", { x: middle.x - width / 2, y: middle.y - 10, width, height: 20, rx: 6 }),
      s("text", { x: middle.x, y: middle.y + 4, "text-anchor": "middle" }, text)));
}

function drawNode(node, role, svg) {
  const open = () => { location.hash = toTable(node.id); };
  const near = (on) => svg.querySelectorAll(".edge").forEach((edge) => {
    edge.classList.toggle("near", on && [edge.dataset.left, edge.dataset.right].includes(node.id));
  });
  const label = role === "connector" ? `${node.id}, connector` : role ? `${node.id}, in the set` : node.id;
  return s("g", {
    class: `node ${role ?? ""}`, tabindex: "0", role: "link", "aria-label": label, "data-table": node.id,
    onclick: open, onkeydown: (event) => event.key === "Enter" && open(),
    onpointerenter: () => near(true), onpointerleave: () => near(false),
    onfocus: () => near(true), onblur: () => near(false),
  },
    s("title", {}, node.id),
    s("rect", { x: node.x - node.width / 2, y: node.y - node.height / 2, width: node.width, height: node.height, rx: 8 }),
    s("text", { x: node.x, y: node.y + (node.second ? -2 : 5), "text-anchor": "middle" }, node.text),
    node.second ? s("text", { x: node.x, y: node.y + 13, "text-anchor": "middle", class: "second" }, node.second) : null);
}
