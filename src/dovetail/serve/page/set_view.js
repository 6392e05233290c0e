// The set: how sure it is, each table with its reason, what else could be meant, and refusals.

import { Problem, table } from "./api.js";
import { bar, copy, count, h, idText, nameOf, percent, replace } from "./dom.js";
import { to, toTable } from "./link.js";
import { noteActions } from "./note_actions.js";
import { problemNotice } from "./problem_notice.js";
import { columnsTable, describedBy } from "./columns_table.js";
import { rowsTable, sampleOf } from "./rows_table.js";

export function foundSet(found, view) {
  if (found.nothing_fits) return refusal(found, view);
  return h("section", { class: "found stack appear", "aria-labelledby": "set-title" },
    h("div", { class: "card stack" },
      h("div", { class: "row spread" },
        h("h2", { id: "set-title" }, `${count(found.tables.length, "table")}, ${count(found.joins.length, "join")}`),
        confidence(found)),
      found.instead ? h("p", { class: "notice small" }, "You chose this set instead. ", h("a", { href: to("ask", view.settings()) }, "Back to the one that was found")) : null,
      found.warnings.map((text) => h("p", { class: "notice" }, text)),
      copies(found, view)),
    h("ol", { class: "chosen" }, found.tables.map((one) => chosenCard(one, view))),
    alternatives(found, view));
}

function confidence(found) {
  if (found.confidence === null) return null;
  const text = percent(found.confidence);
  return h("p", { class: "confidence", title: "The F1 to expect of this set: how much of it is needed, and how much of what is needed is in it" },
    h("span", { class: "small muted" }, "confidence"), bar(found.confidence, `confidence ${text}`), h("strong", {}, text));
}

function copies(found, view) {
  const ways = [["Copy schema", found.ddl, "Schema"], ["Copy prompt", found.prompt, "Prompt"], ["Copy SQL", found.skeleton, "SQL"]];
  return h("div", { class: "row" },
    ways.map(([title, text, what]) => h("button", { type: "button", onclick: () => copy(text, what) }, title)),
    h("button", { type: "button", onclick: () => copy(location.href, "Link") }, "Copy link"),
    noteActions(view.about, () => null).set(found.question, found.tables.map((one) => one.id)));
}

function chosenCard(one, view) {
  const connector = one.stage === "connect" || one.stage === "adjust";
  const inside = h("div", { class: "stack" });
  const more = h("details", {}, h("summary", {}, "Columns and rows"), inside);
  more.addEventListener("toggle", () => more.open && !inside.childElementCount && look(one.id, inside));
  return h("li", { class: connector ? "card chosen-table connector" : "card chosen-table", "data-table": one.id },
    h("div", { class: "row spread" },
      h("h3", {}, h("a", { href: toTable(one.id) }, idText(one.id))),
      h("span", { class: "row" }, connector ? h("span", { class: "tag connector" }, "connector") : null,
        h("span", { class: "mono small", title: "How surely the question needs it" }, one.score.toFixed(2)))),
    h("p", {}, one.reason),
    one.also.length ? also(one.also) : null,
    noteActions(view.about, () => view.ask()).table(one.id),
    more);
}

export function also(ids) {
  const shown = ids.slice(0, 6);
  const links = shown.map((id, at) => [at ? ", " : "", h("a", { href: toTable(id) }, nameOf(id))]);
  const more = ids.length - shown.length;
  return h("p", { class: "small muted also" }, "also: ", links, more > 0 ? ` and ${more} more` : "");
}

async function look(id, inside) {
  replace(inside, h("p", { class: "muted small" }, "Loading …"));
  try {
    const shown = await table(id);
    replace(inside,
      [shown.comment, describedBy(shown), ...shown.notes].filter(Boolean).map((text) => h("p", { class: "small" }, text)),
      columnsTable(shown),
      h("p", { class: "small muted" }, `Sampled rows of ${count(shown.rows, "row")}`),
      rowsTable(sampleOf(shown), { label: `Sampled rows of ${shown.name}` }));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    replace(inside, problemNotice(error));
  }
}

function alternatives(found, view) {
  if (!found.alternatives.length) return null;
  return h("section", { class: "card stack alternatives", "aria-labelledby": "alternatives-title" },
    h("h2", { id: "alternatives-title" }, "Or did you mean …"),
    h("ol", { class: "stack" }, found.alternatives.map((other) => h("li", { class: "alternative" },
      h("div", { class: "row spread" },
        h("a", { href: to("ask", view.settings({ set: other.tables.join("\n") })) },
          other.tables.map((id, at) => [at ? " + " : "", idText(id)])),
        h("span", { class: "mono small", title: "The probability of this reading of the question" }, percent(other.probability))),
      h("p", { class: "small muted" }, other.reason)))));
}

function refusal(found, view) {
  return h("section", { class: "card stack refusal appear", "aria-labelledby": "set-title" },
    h("h2", { id: "set-title" }, "Nothing here seems to answer this"),
    found.uncovered.length ? h("p", {}, "No table covers: ", found.uncovered.map((word) => [
      view.about.notes_writable ? h("a", { class: "tag", title: "Say what it means", href: to("notes", { section: "terms", key: word }) }, word) : h("span", { class: "tag" }, word), " "])) : null,
    found.nearest.length ? h("div", { class: "stack" }, h("p", { class: "muted" }, "The nearest tables:"),
      h("ul", { class: "stack" }, found.nearest.map((id) => h("li", {}, h("a", { href: toTable(id) }, idText(id)))))) : null,
    found.nearest.length ? h("p", { class: "small" }, h("a", { href: to("ask", view.settings({ set: found.nearest.join("\n") })) }, "Look at them as a set")) : null,
    h("p", { class: "small muted" }, "Say it in other words, widen the breadth, or teach a word of yours under Notes."));
}
