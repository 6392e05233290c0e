// SQL over the set: written to start from, run within the server's limits, rows to page and export.

import { Problem, post } from "./api.js";
import { announce, count, h, replace } from "./dom.js";
import { problemNotice } from "./problem_notice.js";
import { asCsv, download, rowsTable } from "./rows_table.js";

const MOST = 1000;

// Names mean tables of the set; a query that was changed to read others has to be clear without it.
async function runWithin(sql, tables) {
  try {
    return await post("answer", { sql, tables, limit: MOST });
  } catch (error) {
    if (!(error instanceof Problem) || ![404, 422].includes(error.status)) throw error;
    return post("answer", { sql, limit: MOST });
  }
}

export function sqlPanel(found, about) {
  const tables = found.tables.map((table) => table.id);
  const text = h("textarea", { class: "code", id: "sql", rows: Math.min(12, found.skeleton.split("\n").length + 1), spellcheck: "false", autocapitalize: "off" });
  text.value = found.skeleton;
  const out = h("div", { class: "stack", id: "rows" });
  const run = h("button", { class: "strong", type: "button", onclick: () => execute({ sql: text.value }) }, "Run");
  const write = about.language_model
    ? h("button", { type: "button", onclick: () => execute({ question: found.question }) }, "Have the model write it") : null;
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) execute({ sql: text.value });
  });

  async function execute(wanted) {
    run.disabled = true;
    replace(out, h("p", { class: "muted" }, "Running …"));
    try {
      const done = wanted.sql ? await runWithin(wanted.sql, tables) : await post("answer", { ...wanted, limit: MOST });
      if (wanted.question) text.value = done.sql;
      show(done.result);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(out, problemNotice(error));
    } finally {
      run.disabled = false;
    }
  }

  function show(result) {
    const many = result.truncated ? `the first ${count(result.rows.length, "row")}` : count(result.rows.length, "row");
    replace(out,
      result.warnings.map((warning) => h("p", { class: "notice small" }, warning)),
      h("div", { class: "row spread" }, h("p", { class: "small muted" }, many),
        h("button", { type: "button", onclick: () => download(asCsv(result), "rows.csv") }, "Export CSV")),
      rowsTable(result, { paged: true, label: "Rows of the query" }));
    announce(many);
  }

  return h("section", { class: "card stack sql appear", "aria-labelledby": "sql-title" },
    h("div", { class: "row spread" }, h("h2", { id: "sql-title" }, h("label", { for: "sql" }, "SQL")), h("p", { class: "small muted" }, "It can only read. Ctrl+Enter runs it.")),
    text, h("div", { class: "row" }, run, write), out);
}
