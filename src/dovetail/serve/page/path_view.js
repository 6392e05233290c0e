// The path finder: how a person would get from one table to another.

import { Problem, get } from "./api.js";
import { h, idText, nameOf, replace, sureness } from "./dom.js";
import { evidenceList } from "./evidence.js";
import { to, toTable } from "./link.js";
import { problemNotice } from "./problem_notice.js";

export class PathFinder {
  // `drawn` is told the tables along the path, in order.
  constructor(drawn) {
    this.drawn = drawn;
    this.from = field("path-from", "From");
    this.to = field("path-to", "To");
    this.out = h("div", { class: "stack", id: "path", "aria-live": "polite" });
    const form = h("form", { class: "stack", onsubmit: (event) => { event.preventDefault(); location.hash = to("pile", { from: this.from.input.value.trim(), to: this.to.input.value.trim() }); } },
      this.from.element, this.to.element,
      h("div", { class: "row" }, h("button", { class: "strong" }, "Find the path"), h("button", { type: "button", onclick: () => this.swap() }, "Swap")));
    this.element = h("section", { class: "stack", "aria-labelledby": "path-title" }, h("h2", { id: "path-title" }, "Path finder"), form, this.out);
  }

  swap() {
    [this.from.input.value, this.to.input.value] = [this.to.input.value, this.from.input.value];
  }

  async show(from, end) {
    this.from.input.value = from;
    this.to.input.value = end;
    replace(this.out);
    if (!from || !end) return;
    try {
      const joins = await get("path", { start: from, end });
      if (!joins.length) {
        replace(this.out, h("p", { class: "notice" }, "No chain of joins leads from one to the other."));
        return;
      }
      const tables = along(joins, from);
      replace(this.out, h("ol", { class: "steps" }, joins.map((join, at) => step(join, tables[at], tables[at + 1]))));
      this.drawn(tables);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.out, problemNotice(error));
    }
  }
}

// The tables along a chain of joins: each join shares one with the next.
function along(joins, from) {
  const [first, second] = joins;
  const ends = [first.left, first.right];
  const named = ends.find((id) => id === from || nameOf(id) === from);
  const start = second ? ends.find((id) => id !== second.left && id !== second.right) ?? named : named ?? ends[0];
  const tables = [start ?? ends[0]];
  for (const join of joins) tables.push(join.left === tables.at(-1) ? join.right : join.left);
  return tables;
}

function step(join, from, end) {
  return h("li", {},
    h("p", {}, h("a", { href: toTable(from) }, idText(from)), " → ", h("a", { href: toTable(end) }, idText(end))),
    h("p", { class: "mono condition" }, join.condition),
    h("details", {}, h("summary", {}, sureness(join.score, "How sure the join is"), ` ${join.cardinality}`), evidenceList(join)));
}

function field(id, label) {
  const list = h("datalist", { id: `${id}-list` });
  const input = h("input", { id, list: list.id, autocomplete: "off", required: true, maxlength: "1000" });
  let last = "";
  input.addEventListener("input", async () => {
    const like = input.value.trim();
    if (!like || like === last) return;
    last = like;
    const found = await get("tables", { like, limit: 20 }).catch(() => null);
    if (found && like === last) replace(list, found.tables.map((value) => h("option", { value })));
  });
  return { input, element: h("div", { class: "field" }, h("label", { for: id }, label), input, list) };
}
