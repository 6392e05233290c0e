// The pile: every table and join there is, to search, to walk about in, and to find paths through.

import { Problem, get } from "./api.js";
import { announce, count, h, idText, replace, shortSource } from "./dom.js";
import { to, toTable } from "./link.js";
import { PathFinder } from "./path_view.js";
import { PileCanvas } from "./pile_canvas.js";
import { PALETTE, Scene } from "./pile_scene.js";
import { problemNotice } from "./problem_notice.js";
import { also } from "./set_view.js";

const LISTED = 40;

export class PileView {
  constructor() {
    this.wide = true;
    this.canvas = h("canvas", { id: "pile", tabindex: "0", role: "application", "aria-label": "Join graph of all tables. Arrow keys move, plus and minus zoom, 0 shows all, Enter chooses the table in the middle. The list beside it has the same tables." });
    this.search = h("input", { type: "search", id: "pile-search", placeholder: "Find a table …", autocomplete: "off", oninput: () => this.find() });
    this.list = h("ul", { class: "pile-list" });
    this.told = h("p", { class: "small muted", role: "status" });
    this.chosen = h("section", { class: "stack chosen-panel", "aria-label": "The table that is chosen" });
    this.legend = h("ul", { class: "sources small", "aria-label": "Colours of sources" });
    this.paths = new PathFinder((tables) => this.drawPath(tables));
    this.stage = h("div", { class: "pile-stage" }, this.canvas, this.tools(), this.legend);
    this.element = h("div", { class: "pile" },
      h("h1", { class: "unseen" }, "The pile"), this.stage,
      h("div", { class: "pile-side stack" },
        h("section", { class: "stack", "aria-label": "Tables" }, h("label", { for: "pile-search", class: "unseen" }, "Find a table"), this.search, this.told, this.list, h("p", { class: "small" }, h("a", { href: to("tables") }, "As a list"))),
        this.chosen, this.paths.element));
  }

  tools() {
    const tool = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    return h("div", { class: "pile-tools" },
      tool("+", "Zoom in", () => this.drawing?.zoom(1.4)), tool("−", "Zoom out", () => this.drawing?.zoom(0.7)),
      tool("⤢", "Show all", () => this.drawing?.fit(this.scene.whole())));
  }

  async show({ values }) {
    document.title = "The pile · dovetail";
    this.link = values;
    if (!this.scene) await this.load();
    if (!this.scene || this.link !== values) return;
    const [from, end, table] = ["from", "to", "table"].map((name) => values.get(name) ?? "");
    this.drawing.mark({ path: [] });
    if (table) this.choose(this.scene.at.get(table) ?? -1, true);
    await this.paths.show(from, end);
    if (from && !end) {
      this.choose(this.scene.at.get(from) ?? -1, true);
      this.paths.to.input.focus();
    }
  }

  async load() {
    this.told.textContent = "Laying out the tables …";
    try {
      this.scene = new Scene(await get("pile"));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.told, problemNotice(error, () => this.show({ values: this.link })));
      return;
    }
    this.drawing = new PileCanvas(this.canvas, this.scene, { picked: (at) => this.choose(at), hovered: () => null });
    const { ranked } = this.scene.colour;
    const shown = ranked.slice(0, PALETTE.length - 1).map((source, at) => [shortSource(source), `hue-${at}`]);
    if (ranked.length >= PALETTE.length) shown.push([count(ranked.length - shown.length, "other source"), "hue-rest"]);
    replace(this.legend, shown.map(([source, hue]) => h("li", {}, h("span", { class: `dot ${hue}` }), source)));
    this.find();
  }

  themed() {
    this.drawing?.themed();
  }

  // The tables whose names hold what is searched for, also folded ones: as a list, and in the drawing.
  find() {
    if (!this.scene) return;
    const { ids, also: folded } = this.scene.data;
    const wanted = this.search.value.trim().toLowerCase();
    const found = [];
    ids.forEach((id, at) => {
      if ([id, ...folded[at]].some((one) => one.toLowerCase().includes(wanted))) found.push(at);
    });
    found.sort((a, b) => this.scene.degree[b] - this.scene.degree[a] || a - b);
    this.told.textContent = wanted ? `${count(found.length, "table")} found` : summary(this.scene.data);
    replace(this.list, found.slice(0, LISTED).map((at) => h("li", {},
      h("button", { type: "button", class: "quiet", "data-table": ids[at], onclick: () => this.choose(at, true) },
        idText(ids[at]), h("span", { class: "small muted" }, ` ${count(this.scene.degree[at], "join")}`)))),
      found.length > LISTED ? h("li", { class: "small muted" }, `and ${(found.length - LISTED).toLocaleString("en")} more: type to narrow down`) : null);
    this.drawing.mark({ found: wanted ? found.slice(0, 400) : [] });
  }

  choose(at, near = false) {
    this.drawing.mark({ selected: at });
    if (at < 0) { replace(this.chosen); return; }
    const { ids, rows, also: folded } = this.scene.data;
    const id = ids[at];
    if (near) this.drawing.fit(this.scene.bounds([at, ...this.scene.near[at].slice(0, 12)]), 48);
    replace(this.chosen,
      h("h2", {}, h("a", { href: toTable(id) }, idText(id))),
      h("p", { class: "small muted" }, `${count(rows[at], "row")} · ${count(this.scene.degree[at], "join")}`),
      folded[at].length ? also(folded[at]) : null,
      h("div", { class: "row" },
        h("a", { class: "button", href: toTable(id) }, "Open"),
        h("button", { type: "button", onclick: () => { this.paths.from.input.value = id; } }, "Path from here"),
        h("button", { type: "button", onclick: () => { this.paths.to.input.value = id; location.hash = to("pile", { from: this.paths.from.input.value, to: id }); } }, "Path to here")));
    announce(`${id}, ${count(this.scene.degree[at], "join")}`);
  }

  drawPath(tables) {
    const path = tables.map((id) => this.scene.at.get(id)).filter((at) => at !== undefined);
    this.drawing.mark({ path, selected: -1 });
    if (path.length) this.drawing.fit(this.scene.bounds(path), 56);
  }
}

function summary({ ids, edges, total, truncated }) {
  if (truncated) return `The ${ids.length.toLocaleString("en")} tables with most joins, of ${total.toLocaleString("en")}`;
  const folded = total - ids.length;
  return `${count(total, "table")}, ${folded ? `${folded.toLocaleString("en")} of them folded into others, ` : ""}${count(edges.length, "join")}`;
}
