// The tables of the pile as a list: by source and schema, sorted, searched by name, column and value.

import { Problem, get } from "./api.js";
import { announce, count, h, nameOf, parts, replace, shortSource } from "./dom.js";
import { to, toTable } from "./link.js";
import { problemNotice } from "./problem_notice.js";
import { also } from "./set_view.js";

const SHOWN = 100;
const COLUMNS = [["name", "Table"], ["source", "Source"], ["rows", "Rows"], ["columns", "Columns"], ["joins", "Joins"]];

const byText = new Intl.Collator("en", { numeric: true }).compare;
const schemaOf = (id) => nameOf(id).split(".").slice(0, -1).join(".");

export class TablesView {
  constructor() {
    this.tree = h("nav", { class: "tree", "aria-label": "Sources and schemas" });
    this.box = h("input", { type: "search", id: "tables-search", placeholder: "A name, a column, a value …", autocomplete: "off", maxlength: "400" });
    this.told = h("p", { class: "small muted", role: "status" });
    this.list = h("div", { class: "stack tight" });
    const form = h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); this.go({ find: this.box.value.trim() }); } },
      h("label", { for: "tables-search", class: "unseen" }, "Find tables"), this.box, h("button", { class: "strong" }, "Find"));
    this.element = h("div", { class: "browser" },
      h("div", { class: "stack tight" }, h("h1", {}, "Tables"), this.tree),
      h("div", { class: "stack tight" }, h("div", { class: "row spread" }, form, h("a", { class: "button", href: to("pile") }, "As a map")), this.told, this.list));
  }

  go(values) {
    location.hash = to("tables", { ...this.wanted, ...values });
  }

  async show({ values }) {
    document.title = "Tables · dovetail";
    this.wanted = Object.fromEntries(values);
    this.box.value = this.wanted.find ?? "";
    try {
      this.data ??= await get("listing");
      const find = this.wanted.find ?? "";
      const hits = find ? await get("find", { q: find }) : [];
      if ((this.wanted.find ?? "") === find) this.draw(hits);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.list, problemNotice(error, () => this.show({ values })));
    }
  }

  draw(hits) {
    const { ids, rows, columns, joins, also: folded, total } = this.data;
    const { source = "", schema = "", find = "", sort = "joins", up = "" } = this.wanted;
    this.drawTree(source, schema);
    const why = new Map();
    for (const hit of hits) why.set(hit.table, [...(why.get(hit.table) ?? []), hit.why]);
    const text = find.toLowerCase();
    const all = ids.map((id, at) => ({ id, name: nameOf(id), source: shortSource(parts(id)[0]), rows: rows[at], columns: columns[at], joins: joins[at], also: folded[at],
      why: [id, ...folded[at]].flatMap((one) => why.get(one) ?? []) }));
    const fits = all.filter((one) => (!source || parts(one.id)[0] === source) && (!schema || schemaOf(one.id) === schema)
      && (!text || one.why.length || [one.id, ...one.also].some((id) => id.toLowerCase().includes(text))));
    const turn = up ? 1 : -1;
    fits.sort((a, b) => (typeof a[sort] === "string" ? -turn * byText(a[sort], b[sort]) : turn * (a[sort] - b[sort])) || (a.id < b.id ? -1 : 1));
    const hidden = total - ids.length;
    this.told.textContent = `${count(fits.length, "table")}${find || source ? ` of ${total.toLocaleString("en")}` : hidden ? `, ${hidden.toLocaleString("en")} more folded into them` : ""}`;
    announce(this.told.textContent);
    this.rows(fits, sort, up, SHOWN);
  }

  rows(fits, sort, up, many) {
    const heading = ([key, title]) => h("th", { scope: "col", class: key === "name" || key === "source" ? null : "number", "aria-sort": sort === key ? (Boolean(up) === (key !== "name" && key !== "source") ? "ascending" : "descending") : null },
      h("button", { type: "button", class: "sort", onclick: () => this.go({ sort: key, up: sort === key && !up ? "1" : "" }) }, title, sort === key ? (up ? " ↑" : " ↓") : ""));
    const row = (one) => h("tr", { "data-table": one.id },
      h("td", { class: "wrap" }, h("a", { href: toTable(one.id) }, one.name), one.also.length ? [" ", h("details", { class: "folded" }, h("summary", {}, `+${one.also.length}`), also(one.also))] : null,
        one.why.slice(0, 3).map((text) => h("span", { class: "small muted why" }, text))),
      h("td", { title: parts(one.id)[0] }, one.source),
      ["rows", "columns", "joins"].map((key) => h("td", { class: "number" }, one[key].toLocaleString("en"))));
    replace(this.list,
      fits.length ? h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Tables" }, h("table", {}, h("thead", {}, h("tr", {}, COLUMNS.map(heading))), h("tbody", {}, fits.slice(0, many).map(row))))
        : h("p", { class: "notice" }, "No table has it: not in its name, nor in a column's, nor in a cell."),
      fits.length > many ? h("button", { type: "button", onclick: () => this.rows(fits, sort, up, many + 10 * SHOWN) }, `Show more of ${count(fits.length, "table")}`) : null);
  }

  drawTree(source, schema) {
    const sources = new Map();
    for (const id of this.data.ids) {
      const [from] = parts(id), schemas = sources.get(from) ?? new Map();
      schemas.set(schemaOf(id), (schemas.get(schemaOf(id)) ?? 0) + 1);
      sources.set(from, schemas);
    }
    const link = (text, many, values) => h("a", { href: to("tables", { ...this.wanted, ...values }), "aria-current": values.source === source && values.schema === schema ? "true" : null }, text, " ", h("span", { class: "muted" }, many.toLocaleString("en")));
    const sum = (schemas) => [...schemas.values()].reduce((all, many) => all + many, 0);
    replace(this.tree, h("ul", {},
      h("li", {}, link("All sources", this.data.ids.length, { source: "", schema: "" })),
      [...sources].sort((a, b) => sum(b[1]) - sum(a[1])).map(([from, schemas]) => h("li", { title: from }, link(shortSource(from), sum(schemas), { source: from, schema: "" }),
        from === source && (schemas.size > 1 || !schemas.has("")) ? h("ul", {}, [...schemas].sort().map(([name, many]) => h("li", {}, link(name || "(no schema)", many, { source: from, schema: name })))) : null))));
  }
}
