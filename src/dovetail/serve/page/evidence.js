// What speaks for a join, in words and numbers that a person can check.

import { Problem, post } from "./api.js";
import { count, h, nameOf, percent, replace, sureness } from "./dom.js";
import { problemNotice } from "./problem_notice.js";
import { rowsTable } from "./rows_table.js";

const share = (value) => (value === undefined ? null : value >= 0.9995 || value === 0 ? percent(value) : `${(100 * value).toFixed(1)}%`);

export function columnsText(join) {
  const pairs = join.columns.map(([a, b]) => (a === b ? a : `${a} = ${b}`)).join(", ");
  return join.when ? `${pairs} where ${join.when}` : pairs;
}

function facts(join) {
  const found = join.evidence;
  const rows = [
    ["columns", columnsText(join)],
    ["how sure", sureness(join.score, "The probability that rows refer to each other so")],
    ["cardinality", join.cardinality],
    ["rows that match", share(join.match_rate)],
    ["containment", share(found.containment)],
    ["uniqueness of the key", share(found.uniqueness)],
    ["values in common (Jaccard)", share(found.jaccard)],
    ["names agree", found.name === undefined ? null : found.name.toFixed(2)],
    ["looks like a key", found.key === undefined ? null : found.key.toFixed(2)],
    ["rows per key", found.fan_out > 1 ? found.fan_out.toFixed(1) : null],
    ["transform", join.after || "none"],
  ];
  return rows.filter(([, value]) => value !== null && value !== "");
}

function marks(join) {
  const found = join.evidence;
  const missing = found.values_without_partner ?? 0;
  const several = found.values_with_several_partners ?? 0;
  return [
    "pinned" in found && "pinned by a note",
    "declared" in found && "declared",
    "names_only" in found && "by name only",
    "composite" in found && "unique together only",
    "self" in found && "self-reference",
    (found.competitors ?? 0) >= 0.5 && "has competitors",
    missing > 0 && `${count(Math.round(missing), "value")} without a partner`,
    several > 0 && `${count(Math.round(several), "value")} with several partners`,
  ].filter(Boolean);
}

export function evidenceList(join) {
  const said = marks(join);
  if (!said.includes("declared")) said.push("not declared");
  return [
    h("dl", { class: "facts" }, facts(join).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("p", { class: "row" }, said.map((text) => h("span", { class: text === "declared" || text.startsWith("pinned") ? "tag accent" : "tag" }, text))),
  ];
}

// A join that is looked at: what speaks for it, what the rows say, and what can be done about it.
export function evidencePanel(join, more, actions) {
  const rows = h("div", { class: "stack tight" });
  return [
    h("h3", { class: "id" }, `${nameOf(join.left)} → ${nameOf(join.right)}`),
    evidenceList(join),
    more ? h("p", { class: "small muted" }, `and ${more} weaker`) : null,
    h("div", { class: "row" }, h("button", { type: "button", class: "small-button", onclick: () => check(join, rows) }, "Check against the rows"), actions ?? null),
    rows,
  ];
}

async function check({ left, right, columns }, out) {
  replace(out, h("p", { class: "small muted" }, "Counting …"));
  try {
    const told = await post("joins/check", { left, right, columns });
    const listed = (values) => values.map((value) => h("code", {}, value)).flatMap((value, at) => (at ? [", ", value] : [value]));
    replace(out,
      h("p", { class: "small" }, `${told.matched.toLocaleString("en")} of ${count(told.rows, "row")} of ${nameOf(left)} find a partner`,
        told.multiplied > 1.005 ? `, ${told.multiplied.toFixed(1)} rows each` : "", "."),
      told.matching.length ? h("p", { class: "small" }, "Both have ", listed(told.matching)) : null,
      told.orphans.length ? h("p", { class: "small" }, "Without a partner: ", listed(told.orphans)) : null,
      told.examples.length ? rowsTable({ columns: Object.keys(told.examples[0]), rows: told.examples.map(Object.values) }, { label: "Joined rows" }) : null);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    replace(out, problemNotice(error));
  }
}

export function joinSentence(join, nameOf) {
  return `${nameOf(join.left)} joins ${nameOf(join.right)} on ${columnsText(join)}, score ${join.score.toFixed(2)}, ${join.cardinality}`;
}
