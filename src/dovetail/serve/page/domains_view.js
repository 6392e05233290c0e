// Key domains: which columns hold the same identifiers, where these are made, what does not match.

import { Problem, get } from "./api.js";
import { count, h, idText, percent, replace } from "./dom.js";
import { toTable } from "./link.js";
import { problemNotice } from "./problem_notice.js";

export class DomainsView {
  constructor() {
    this.element = h("div", { class: "stack" });
  }

  async show() {
    document.title = "Domains · dovetail";
    try {
      this.draw(await get("domains"));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.element, problemNotice(error, () => this.show()));
    }
  }

  draw(domains) {
    replace(this.element,
      h("h1", {}, "Key domains"),
      h("p", { class: "muted" }, domains.length ? "Columns that hold the same identifiers, and where these are made. Two columns of a domain join through its master." : "No columns are known to hold the same identifiers."),
      domains.map(domainCard));
  }
}

function domainCard(domain) {
  const masters = new Set(Object.values(domain.masters));
  const row = (column) => {
    const name = `${column.table}.${column.column}`;
    const missing = column.values_without_partner;
    return h("tr", {},
      h("td", {}, h("a", { href: toTable(column.table) }, idText(column.table)), ".", h("strong", {}, column.column),
        masters.has(name) ? [" ", h("span", { class: "tag accent" }, "master")] : null),
      h("td", {}, column.refers_to ? idText(column.refers_to) : "", column.after ? h("span", { class: "small muted" }, ` ${column.after}`) : null),
      h("td", { class: "number" }, column.refers_to ? percent(column.match_rate) : ""),
      h("td", { class: "cell mono" }, missing ? `${missing.toLocaleString("en")} ${column.examples.slice(0, 3).join(", ")}` : ""));
  };
  return h("details", { class: "card" },
    h("summary", {}, h("strong", {}, domain.name), h("span", { class: "muted" }, ` ${count(domain.columns.length, "column")}, made in `, idText(domain.master), `; they match ${domain.normal_form}`)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Columns of ${domain.name}` },
      h("table", {},
        h("thead", {}, h("tr", {}, ["column", "refers to"].map((name) => h("th", { scope: "col" }, name)),
          h("th", { scope: "col", class: "number" }, "match rate"), h("th", { scope: "col" }, "without a partner"))),
        h("tbody", {}, domain.columns.map(row)))));
}
