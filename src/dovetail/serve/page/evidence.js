// What speaks for a join, in words and numbers that a person can check.

import { count, h, percent } from "./dom.js";

const share = (value) => (value === undefined ? null : value >= 0.9995 || value === 0 ? percent(value) : `${(100 * value).toFixed(1)}%`);

export function columnsText(join) {
  return join.columns.map(([a, b]) => (a === b ? a : `${a} = ${b}`)).join(", ");
}

function facts(join) {
  const found = join.evidence;
  const rows = [
    ["columns", columnsText(join)],
    ["score", join.score.toFixed(2)],
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
    "junction" in found && "junction table",
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

export function joinSentence(join, nameOf) {
  return `${nameOf(join.left)} joins ${nameOf(join.right)} on ${columnsText(join)}, score ${join.score.toFixed(2)}, ${join.cardinality}`;
}
