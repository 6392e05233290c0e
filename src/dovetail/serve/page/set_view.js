// The set: each table with its reason, what else could be meant, side by side, and refusals.

import { Problem, post, table } from "./api.js";
import { count, h, idText, nameOf, replace, sureness } from "./dom.js";
import { to, toTable } from "./link.js";
import { noteActions } from "./note_actions.js";
import { problemNotice } from "./problem_notice.js";
import { columnsTable, describedBy } from "./columns_table.js";
import { rowsTable, sampleOf } from "./rows_table.js";

export function chosenTables(found, view) {
  return h("ol", { class: "chosen" }, found.tables.map((one) => chosenCard(one, view)));
}

function chosenCard(one, view) {
  const connector = one.stage === "connect" || one.stage === "adjust";
  const inside = h("div", { class: "stack" });
  const more = h("details", {}, h("summary", {}, "Columns and rows"), inside);
  more.addEventListener("toggle", () => more.open && !inside.childElementCount && look(one.id, inside));
  return h("li", { class: connector ? "chosen-table connector" : "chosen-table", "data-table": one.id },
    h("div", { class: "row spread" },
      h("h3", {}, h("a", { href: toTable(one.id) }, idText(one.id))),
      h("span", { class: "row" }, connector ? h("span", { class: "tag connector" }, "connector") : null,
        connector || one.stage === "given" ? null : sureness(one.score, "How surely the question needs it"))),
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

export function otherReadings(found, view) {
  if (!found.alternatives.length) return null;
  const beside = h("div", { id: "beside" });
  return h("section", { class: "card stack tight alternatives", "aria-labelledby": "alternatives-title" },
    h("h2", { id: "alternatives-title" }, "Or did you mean …"),
    h("ol", { class: "stack tight" }, found.alternatives.map((other) => h("li", { class: "alternative stack tight" },
      h("div", { class: "row spread" },
        h("a", { href: to("ask", view.settings({ set: other.tables.join("\n") })) }, other.reading || other.tables.map(nameOf).join(" + ")),
        sureness(other.confidence, "How right this set is expected to be (F1)")),
      h("p", { class: "small" }, other.tables.map((id, at) => [at ? " + " : "", idText(id)])),
      h("div", { class: "row" }, h("span", { class: "small muted" }, other.reason),
        h("button", { type: "button", class: "small-button", onclick: () => sideBySide(found, other, view, beside) }, "Side by side"))))),
    beside);
}

// Two readings of a question with their rows.
async function sideBySide(found, other, view, out) {
  replace(out, h("p", { class: "muted small" }, "Running both …"));
  try {
    const second = await post("set", { question: found.question, tables: other.tables });
    const both = await Promise.all([found, second].map(async (one) => [one, await post("answer", { sql: one.skeleton, limit: 8 }).catch((error) => error)]));
    replace(out, h("div", { class: "beside" }, both.map(([one, done], at) => h("article", { class: "stack tight" },
      h("h3", {}, at ? "The other" : "This one"), h("p", { class: "small" }, one.reading),
      h("p", { class: "small" }, one.tables.map((table, place) => [place ? " + " : "", idText(table.id)])),
      done instanceof Problem ? problemNotice(done) : rowsTable(done.result, { label: at ? "Rows of the other reading" : "Rows of this reading" }),
      at ? h("a", { class: "button", href: to("ask", view.settings({ set: other.tables.join("\n") })) }, "Take this one") : null))));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    replace(out, problemNotice(error));
  }
}

export function refusal(found, view) {
  return h("section", { class: "card stack refusal appear", "aria-labelledby": "set-title" },
    h("h2", { id: "set-title" }, "Nothing here seems to answer this"),
    found.uncovered.length ? h("p", {}, "No table covers: ", found.uncovered.map((word) => [
      view.about.notes_writable ? h("a", { class: "tag", title: "Say what it means", href: to("notes", { section: "terms", key: word }) }, word) : h("span", { class: "tag" }, word), " "])) : null,
    found.nearest.length ? h("div", { class: "stack" }, h("p", { class: "muted" }, "The nearest tables:"),
      h("ul", { class: "stack" }, found.nearest.map((id) => h("li", {}, h("a", { href: toTable(id) }, idText(id)))))) : null,
    found.nearest.length ? h("p", { class: "small" }, h("a", { href: to("ask", view.settings({ set: found.nearest.join("\n") })) }, "Look at them as a set")) : null,
    h("p", { class: "small muted" }, "Say it in other words, widen the breadth, or teach a word of yours under Notes."));
}
