// The columns of a table: types, counts, examples, comments; and who described it.

import { h } from "./dom.js";

export function describedBy(shown) {
  const author = shown.description ? shown.description.author : "person";
  return author === "person" ? "" : `described by ${author}`;
}

export function columnsTable(shown) {
  const commented = shown.columns.some((column) => column.comment);
  const row = (column) => h("tr", {},
    h("td", {}, h("strong", {}, column.name), column.unique ? [" ", h("span", { class: "tag accent" }, "unique")] : null),
    h("td", { class: "muted" }, column.type || column.kind),
    h("td", { class: "number" }, column.distinct.toLocaleString("en")),
    h("td", { class: "number" }, column.nulls.toLocaleString("en")),
    h("td", { class: "cell mono" }, column.examples.join(", ")),
    commented ? h("td", { class: "wrap" }, column.comment) : null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Columns of ${shown.name}` },
    h("table", {},
      h("thead", {}, h("tr", {}, ["column", "type"].map((name) => h("th", { scope: "col" }, name)),
        ["distinct", "nulls"].map((name) => h("th", { scope: "col", class: "number" }, name)),
        h("th", { scope: "col" }, "examples"), commented ? h("th", { scope: "col" }, "comment") : null)),
      h("tbody", {}, shown.columns.map(row))));
}
