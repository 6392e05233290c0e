// The candidates of the search: how relevant each is, and the parts of its score.

import { bar, h, idText, percent } from "./dom.js";
import { toTable } from "./link.js";

const PARTS = { lexical: "words", value: "values", dense: "meaning", name: "name", neighbour: "neighbours", column: "columns" };

// So many are shown at once.
const FIRST = 8;

export function candidateList(candidates, chosen) {
  if (!candidates.length) return null;
  const rest = candidates.slice(FIRST);
  return h("details", { class: "card considered" },
    h("summary", {}, `${candidates.length} tables were considered`),
    h("ol", { class: "candidates" }, candidates.slice(0, FIRST).map((one) => row(one, chosen.get(one.id)))),
    rest.length ? h("details", {}, h("summary", {}, `${rest.length} more`),
      h("ol", { class: "candidates", start: FIRST + 1 }, rest.map((one) => row(one, chosen.get(one.id))))) : null);
}

function row(one, role) {
  const parts = Object.entries(one.signals).filter(([, value]) => value > 0.005);
  return h("li", { class: role ? "candidate in" : "candidate", "data-table": one.id },
    h("div", { class: "row spread" }, h("a", { href: toTable(one.id) }, idText(one.id)), h("span", { class: "mono" }, one.relevance.toFixed(2))),
    bar(one.relevance, `relevance ${percent(one.relevance)}`),
    h("ul", { class: "parts", "aria-label": "Parts of the score" }, parts.map(([name, value]) =>
      h("li", {}, h("span", { class: "muted" }, PARTS[name] ?? name), " ", value.toFixed(2)))));
}
