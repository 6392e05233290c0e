// How a question was read: one sentence whose parts can be changed, removed and added to. The parts
// are the server's; it writes the SQL for them.

import { Problem, post, table } from "./api.js";
import { h, middleCut, nameOf, replace, say, sourceOf } from "./dom.js";

const WHAT = [
  ["show", "Show a column"], ["where", "Filter by"], ["group", "Group by"], ["count", "Count"], ["sum", "Total of"], ["avg", "Average of"],
  ["max", "Highest of"], ["min", "Lowest of"], ["having", "Groups by their number of rows"], ["absent", "Without rows of"], ["up", "Sort by, lowest first"], ["down", "Sort by, highest first"], ["limit", "Only the first"],
];
const OPERATORS = ["is", "is not", "contains", "at least", "at most", "above", "below", "between"];
const BOUNDS = { "at least": ">=", "at most": "<=", above: ">", below: "<" };
const EXACTLY = { is: "=", "is not": "<>" };
const VALUES = 40;

// Parts as a link has them: without words, and without what they would be anyhow.
export function compact(query) {
  return JSON.stringify(query, (key, value) => (key === "words" || key === "open" || value === "" || value === false || value === 0 || (Array.isArray(value) && !value.length) ? undefined : value));
}

// The words before a condition: those of the table that was last spoken of go on.
const whose = (part, before, first) => part.table !== before ? `${part.either ? " or" : ","} of ${nameOf(part.table)} whose ` : first ? " whose " : part.either ? " or " : " and ";

const same = (a, b) => a.table === b.table && a.column === b.column;

export class ReadingView {
  // `change` is given parts that somebody made of those shown.
  constructor(change) {
    this.change = change;
    this.sentence = h("p", { class: "sentence", id: "reading" });
    this.form = h("div", { class: "builder" });
    this.open = h("p", { class: "small muted", id: "open", hidden: true });
    this.element = h("fieldset", { class: "stack tight plain" }, this.sentence, this.open, this.form);
  }

  // Parts that are about to be others cannot be changed meanwhile.
  wait() {
    this.element.disabled = true;
  }

  draw(found, parts) {
    this.found = found;
    this.parts = parts;
    this.columns = null;
    this.element.disabled = false;
    replace(this.form);
    this.open.hidden = !parts.open?.length;
    this.open.textContent = `Open, and not in the query: ${(parts.open ?? []).join(" ")}`;
    const first = parts.select[0] ?? parts.where[0] ?? parts.group[0];
    const last = first?.table ?? found.tables[0].id, main = nameOf(last);
    const select = parts.select.map((part) => this.chip("select", part, part.words));
    const filters = parts.where.map((part, at) => [whose(part, parts.where[at - 1]?.table ?? last, !at), this.chip("where", part, part.words)]);
    const group = parts.group.map((part, at) => [at ? " and " : ", per ", this.chip("group", part, part.words)]);
    const having = parts.having.map((part) => [", ", this.chip("having", part, `${part.words} each`)]);
    const order = parts.order.map((part, at) => [at ? ", " : ", by ", this.chip("order", part, part.words + (part.down ? ", highest first" : ""))]);
    const absent = parts.absent.map((id) => [" without ", this.chip("absent", id, nameOf(id))]);
    replace(this.sentence, select.length ? select.flatMap((chip) => [chip, " "]) : "All columns ",
      main === first?.words?.split(" ").at(-1) && !first.column ? "" : `of ${main}`, filters, absent, group, having, order,
      parts.limit ? [", the first ", this.chip("limit", parts.limit, String(parts.limit))] : null, " ",
      h("button", { type: "button", class: "small-button", id: "add-part", onclick: () => this.edit() }, "+ Add"));
  }

  chip(list, part, text) {
    const short = middleCut(text, 48);
    return h("span", { class: `chip ${list}` },
      h("button", { type: "button", class: "chip-text", title: `Change ${text}`, onclick: () => this.edit(list, part) }, short),
      h("button", { type: "button", class: "chip-x", "aria-label": `Remove ${text}`, onclick: () => this.change(this.without(list, part)) }, "×"));
  }

  // The parts without one of them, and without what no query can have once it is gone.
  without(list, part) {
    if (list === "limit") return { ...this.parts, limit: 0 };
    const left = { ...this.parts, [list]: this.parts[list].filter((one) => one !== part) };
    if (list === "group") left.select = left.select.filter((one) => one.function || !(part.column ? same(one, part) : one.table === part.table));
    if (list === "select" && !left.select.length) { left.group = []; left.order = left.order.filter((one) => !one.function); }
    return left;
  }

  async edit(list, part) {
    const { parts } = this;
    try {
      const columns = this.columns ?? await Promise.all(this.found.tables.map(async (one) => [one.id, (await table(one.id)).columns]));
      if (parts !== this.parts) return;
      this.columns = columns;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message);
      return;
    }
    new PartForm(this, list, part).show();
  }
}

// One part, to be added or changed.
class PartForm {
  constructor(view, list, part) {
    Object.assign(this, { view, list, part });
    const what = { select: part?.function || "show", order: part?.down ? "down" : "up" }[list] ?? list ?? "where";
    const fields = (name, label, element) => { this[name] = element; return h("div", { class: "field" }, h("label", { for: element.id }, label), element); };
    const place = list === "absent" ? `${part}\n` : part?.table ? `${part.table}\n${part.column ?? ""}` : null;
    const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
    const [operator, value] = said(part);
    this.values = h("datalist", { id: "part-values" });
    this.element = h("form", { class: "row part-form", "aria-label": "A part of the query", onsubmit: (event) => { event.preventDefault(); this.done(); } },
      fields("what", "What", h("select", { id: "part-what", onchange: () => this.fit() }, WHAT.map(([key, text]) => option(key, text, what)))),
      this.columnField = fields("column", "Column", h("select", { id: "part-column", onchange: () => this.fit() }, view.columns.map(([id, columns]) => h("optgroup", { label: `${nameOf(id)} (${sourceOf(id)})` },
        option(`${id}\n`, `rows of ${nameOf(id)}`, place),
        columns.map((one) => option(`${id}\n${one.name}`, one.name, place)))))),
      this.operatorField = fields("operator", "is", h("select", { id: "part-operator" }, OPERATORS.map((text) => option(text, text, operator)))),
      this.valueField = fields("value", "Value", h("input", { id: "part-value", list: "part-values", autocomplete: "off", maxlength: "1000", placeholder: "one or another" })),
      this.values,
      h("div", { class: "row" }, h("button", { class: "strong" }, part ? "Change" : "Add"), h("button", { type: "button", onclick: () => replace(view.form) }, "Cancel")));
    this.value.value = list === "limit" ? String(part) : value;
    if (!part) this.column.selectedIndex = 1;
  }

  show() {
    replace(this.view.form, this.element);
    this.fit();
    this.what.focus();
  }

  // Which fields a part has.
  fit() {
    const what = this.what.value;
    this.columnField.hidden = what === "limit" || what === "having";
    this.operatorField.hidden = what !== "where" && what !== "having";
    this.valueField.hidden = !["where", "having", "limit"].includes(what);
    if (what === "where") this.suggest();
    else replace(this.values);
  }

  // The commonest values of the column, counted by a query of the same kind.
  async suggest() {
    const [id, column] = this.column.value.split("\n");
    replace(this.values);
    if (!column) return;
    const counted = { table: id, column: null, function: "count" }, listed = { table: id, column };
    try {
      const { sql } = await post("query", { tables: [id], parts: { select: [listed, counted], group: [listed], order: [{ ...counted, down: true }], limit: VALUES } });
      const { result } = await post("answer", { sql, tables: [id], limit: VALUES });
      if (this.column.value === `${id}\n${column}`) replace(this.values, result.rows.filter(([value]) => value !== null).map(([value, many]) => h("option", { value }, `${many} rows`)));
    } catch (error) {
      if (!(error instanceof Problem)) throw error; // the field takes any value without them
    }
  }

  done() {
    const { view, list, part } = this, what = this.what.value;
    const parts = { ...(part ? view.without(list, part) : view.parts) };
    const [id, column] = this.column.value.split("\n"), text = this.value.value.trim();
    const item = { table: id, column: column || null };
    const added = { ...item, function: ["show", "group", "up", "down"].includes(what) ? "" : what };
    if (what === "limit") parts.limit = Math.max(0, Math.floor(Number(text)) || 0);
    else if (what === "having") {
      const operator = { ...BOUNDS, ...EXACTLY }[this.operator.value];
      if (!operator || !/^\d+$/.test(text)) { say("Give a number of rows, and whether it is the least or the most"); return; }
      parts.having = [...parts.having, { operator, number: text }];
    } else if (what === "absent") {
      if ([...parts.select, ...parts.where, ...parts.group, ...parts.order].some((one) => one.table === id)) { say(`The query reads ${nameOf(id)}: remove that first`); return; }
      parts.absent = [...parts.absent.filter((one) => one !== id), id];
    } else if (what === "where") {
      if (!column || !text) { say(column ? "Give a value to filter by" : "Choose a column to filter by"); return; }
      parts.where = [...parts.where, { ...item, ...condition(this.operator.value, text) }];
    } else if (what === "group") Object.assign(parts, grouped(parts, item));
    else if (what === "up" || what === "down") parts.order = [...parts.order, { ...added, down: what === "down" }];
    else if (what === "show" && !column) { say("Choose a column to show"); return; }
    else if (what !== "count" && !column) { say("Choose a column to work out"); return; }
    else parts.select = [...parts.select, added];
    replace(view.form);
    view.change(parts);
  }
}

// What is grouped by is shown too, and rows are counted where nothing else is worked out.
function grouped(parts, item) {
  const shown = parts.select.filter((one) => one.function);
  const work = shown.length ? shown : [{ table: item.table, column: null, function: "count" }];
  const columns = [...parts.group.filter((one) => !same(one, item)), item];
  return { group: columns, select: [...columns.filter((one) => one.column), ...work], everything: false };
}

function condition(operator, text) {
  const values = text.split(/ or /i).map((one) => one.trim()).filter(Boolean), not = operator === "is not" ? "not " : "";
  if (operator === "contains") return { operator: "ilike", values: [`%${text}%`] };
  if (operator === "between") return { operator: "between", values: text.split(/ and /i).map((one) => one.trim()).slice(0, 2) };
  if (operator in BOUNDS) return { operator: BOUNDS[operator], values: [text] };
  return { operator: not + (values.length > 1 ? "in" : "="), values };
}

// Operator and value of a condition as the form has them.
function said(part) {
  if (!part?.operator) return ["is", ""];
  const { operator, values = [part.number] } = part, bound = Object.keys(BOUNDS).find((text) => BOUNDS[text] === operator);
  if (bound) return [bound, values[0]];
  if (operator === "between") return ["between", values.join(" and ")];
  if (operator.endsWith("like") && values[0].includes("%")) return ["contains", values[0].replaceAll("%", "")];
  return [operator.startsWith("not") || operator === "<>" ? "is not" : "is", values.join(" or ")];
}
