// Rows as a table: types, sorted by a click, a page at a time.

import { count, h, replace } from "./dom.js";

const PAGE = 25;
const NUMBERS = new Set(["integer", "real"]);

export const isNumber = (type) => NUMBERS.has(type);

// `sort` is a column's place, its sign the direction: 2 is the second column, upwards; `sorted` is told.
export function rowsTable(result, { paged = false, label = "Rows", sort = 0, sorted } = {}) {
  const body = h("tbody");
  const head = h("thead");
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, head, body));
  const pager = h("div", { class: "row" });
  let rows = result.rows;
  const show = (from) => {
    const upTo = paged ? from + PAGE : rows.length;
    replace(body, rows.slice(from, upTo).map((row) => h("tr", {}, row.map((value, at) => cell(value, result.types?.[at])))));
    if (!paged || rows.length <= PAGE) return;
    const last = Math.min(upTo, rows.length);
    replace(pager,
      h("button", { type: "button", disabled: from === 0, onclick: () => show(from - PAGE) }, "Earlier"),
      h("span", { class: "small muted" }, `${from + 1}–${last} of ${count(rows.length, "row")}`),
      h("button", { type: "button", disabled: last >= rows.length, onclick: () => show(from + PAGE) }, "Later"));
  };
  const order = (by) => {
    rows = by ? ordered(result, by) : result.rows;
    replace(head, h("tr", {}, result.columns.map((name, at) => heading(name, result.types?.[at], Math.abs(by) === at + 1 ? Math.sign(by) : 0,
      sorted && ((direction) => { order(direction * (at + 1)); sorted(direction * (at + 1)); })))));
    show(0);
  };
  order(sort);
  return h("div", { class: "stack rows" }, scroll, paged ? pager : null);
}

function heading(name, type, direction, sortBy) {
  const said = [name, type ? h("span", { class: "type" }, type) : null];
  const attributes = { scope: "col", class: isNumber(type) ? "number" : null, "aria-sort": direction ? (direction > 0 ? "ascending" : "descending") : null };
  if (!sortBy) return h("th", attributes, said);
  const next = direction === 1 ? -1 : 1;
  return h("th", attributes, h("button", { type: "button", class: "sort", onclick: () => sortBy(next) }, said, direction ? (direction > 0 ? " ↑" : " ↓") : ""));
}

function ordered(result, by) {
  const at = Math.abs(by) - 1, turn = Math.sign(by), number = isNumber(result.types?.[at]);
  const key = (row) => (row[at] === null ? null : number ? Number(row[at]) : String(row[at]));
  return [...result.rows].sort((a, b) => {
    const left = key(a), right = key(b);
    if (left === null || right === null) return (left === null) - (right === null);
    return turn * (number ? left - right : left.localeCompare(right, "en", { numeric: true }));
  });
}

// The sampled rows of a table, as rows of a query are.
export const sampleOf = (shown) => ({ columns: shown.columns.map((column) => column.name), types: shown.columns.map((column) => column.kind), rows: shown.sample });

function cell(value, type) {
  if (value === null) return h("td", { class: "null" }, "null");
  const text = String(value);
  return h("td", { class: isNumber(type) ? "cell number" : "cell", title: text.length > 40 ? text : null }, text);
}
