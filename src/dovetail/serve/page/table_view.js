// One table: what is known of it, its family, its joins, sampled rows.

import { Problem, get, table } from "./api.js";
import { columnsTable, describedBy } from "./columns_table.js";
import { count, h, idText, nameOf, replace, shortened, sourceOf, sureness } from "./dom.js";
import { columnsText } from "./evidence.js";
import { joinGraph } from "./join_graph.js";
import { to, toTable } from "./link.js";
import { noteActions } from "./note_actions.js";
import { problemNotice } from "./problem_notice.js";
import { rowsTable, sampleOf } from "./rows_table.js";

const MOST_NEIGHBOURS = 14;

export class TableView {
  constructor(about) {
    this.about = about;
    this.element = h("div", { class: "stack" });
  }

  async show({ thing }) {
    document.title = `${nameOf(thing)} · dovetail`;
    replace(this.element, h("p", { class: "muted" }, "Loading …"));
    try {
      const [shown, joins] = await Promise.all([table(thing), get("joins", { table: thing, limit: 200 })]);
      this.draw(shown, joins);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.element, problemNotice(error, () => this.show({ thing })));
    }
  }

  draw(shown, joins) {
    const actions = noteActions(this.about, () => this.show({ thing: shown.id }));
    const others = [...new Set(joins.flatMap((join) => [join.left, join.right]))].filter((id) => id !== shown.id);
    const near = others.slice(0, MOST_NEIGHBOURS);
    const graph = near.length
      ? joinGraph([shown.id, ...near], joins, new Map([[shown.id, "table"]]), { label: `Joins of ${shown.name}`, actions: actions.join })
      : h("p", { class: "muted" }, "No join of this table is known.");
    replace(this.element,
      h("div", { class: "row spread" }, h("h1", { class: "id" }, shown.name),
        h("div", { class: "row" },
          h("a", { class: "button", href: to("pile", { table: shown.id }) }, "Show in the pile"),
          h("a", { class: "button", href: to("pile", { from: shown.id }) }, "Find a path from here"))),
      h("p", { class: "muted" }, h("span", { title: shown.source }, sourceOf(shown.id)), ` · ${count(shown.rows, "row")} · ${count(shown.columns.length, "column")}${shown.truncated ? " shown" : ""}`),
      [shown.comment, describedBy(shown), ...shown.notes].filter(Boolean).map((text) => h("p", { class: "notice" }, text)),
      actions.table(shown.id),
      h("div", { class: "columns" },
        h("div", { class: "stack" },
          section("Columns", columnsTable(shown)),
          section("Sampled rows", shown.sample.length ? rowsTable(sampleOf(shown), { label: "Sampled rows" }) : h("p", { class: "muted" }, "It has no rows."))),
        h("div", { class: "stack" },
          section("Joins", graph, others.length > near.length ? h("p", { class: "small muted" }, `The surest ${near.length} of ${others.length} neighbours are drawn.`) : null, joinList(shown.id, joins)),
          shown.domains.length ? section("Key domains", h("ul", { class: "joins" }, shown.domains.map((text) => h("li", { title: text }, shortened(text))))) : null,
          shown.family ? section("Family", family(shown)) : null)));
  }
}

function section(title, ...children) {
  return h("section", { class: "card stack" }, h("h2", {}, title), children);
}

function joinList(id, joins) {
  return h("ul", { class: "joins" }, joins.slice(0, 40).map((join) => {
    const other = join.left === id ? join.right : join.left;
    return h("li", { class: "row spread" }, h("span", {}, h("a", { href: toTable(other) }, idText(other)), " ", h("span", { class: "small muted" }, columnsText(join))),
      h("span", { class: "row" }, sureness(join.score, "How sure the join is"), h("span", { class: "mono small" }, join.cardinality)));
  }));
}

function family(shown) {
  return h("ul", { class: "joins" }, shown.family.members.map((member) => h("li", {},
    member.id === shown.id ? h("strong", {}, member.name) : h("a", { href: toTable(member.id) }, idText(member.id)), " ",
    h("span", { class: "tag" }, member.role), h("span", { class: "small muted" }, ` ${member.evidence}`))));
}
