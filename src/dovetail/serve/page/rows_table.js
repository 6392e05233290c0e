// Rows as a table, a page at a time, and as CSV.

import { count, h, replace } from "./dom.js";

const PAGE = 25;

export function rowsTable(result, { paged = false, label = "Rows" } = {}) {
  const body = h("tbody");
  const head = h("thead", {}, h("tr", {}, result.columns.map((name) => h("th", { scope: "col" }, name))));
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", {}, head, body));
  const pager = h("div", { class: "row" });
  const show = (from) => {
    const upTo = paged ? from + PAGE : result.rows.length;
    replace(body, result.rows.slice(from, upTo).map((row) => h("tr", {}, row.map(cell))));
    if (!paged || result.rows.length <= PAGE) return;
    const last = Math.min(upTo, result.rows.length);
    replace(pager,
      h("button", { type: "button", disabled: from === 0, onclick: () => show(from - PAGE) }, "Earlier"),
      h("span", { class: "small muted" }, `${from + 1}–${last} of ${count(result.rows.length, "row")}`),
      h("button", { type: "button", disabled: last >= result.rows.length, onclick: () => show(from + PAGE) }, "Later"));
  };
  show(0);
  return h("div", { class: "stack rows" }, scroll, paged ? pager : null);
}

// The sampled rows of a table, as rows of a query are.
export const sampleOf = (shown) => ({ columns: shown.columns.map((column) => column.name), rows: shown.sample });

function cell(value) {
  if (value === null) return h("td", { class: "null" }, "null");
  const number = value !== "" && value.length < 20 && Number.isFinite(Number(value));
  return h("td", { class: number ? "cell number" : "cell", title: value.length > 40 ? value : null }, value);
}

export function asCsv(result) {
  const quoted = (value) => (value === null ? "" : /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [result.columns, ...result.rows].map((row) => row.map(quoted).join(",")).join("\r\n");
}

export function download(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = h("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
