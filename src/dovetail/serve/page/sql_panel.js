// The rows of a query and its SQL: run within the server's limits, called off, charted, downloaded.

import { Problem, file, post } from "./api.js";
import { chart, chartOf } from "./chart.js";
import { announce, copy, count, h, parts, replace, shortSource } from "./dom.js";
import { problemNotice } from "./problem_notice.js";
import { rowsTable } from "./rows_table.js";

const MOST = 1000, KEPT = 20;

// Names mean tables of the set; a query that was changed to read others has to be clear without it.
async function runWithin(sql, tables, signal) {
  try {
    return { ...await post("answer", { sql, tables, limit: MOST }, signal), tables };
  } catch (first) {
    if (!(first instanceof Problem) || !/not a table of the set/.test(first.message)) throw first;
    return post("answer", { sql, limit: MOST }, signal);
  }
}

export class SqlPanel {
  // `changed` is given what of this is to stand in the link: sql, sort, chart.
  constructor(about, changed) {
    this.about = about;
    this.changed = changed;
    this.done = new Map();
    this.text = h("textarea", { class: "code", id: "sql", spellcheck: "false", autocapitalize: "off" });
    this.out = h("div", { class: "stack", id: "rows" });
    this.told = h("p", { class: "small muted", role: "status" });
    this.tools = h("div", { class: "row" });
    this.run = h("button", { class: "strong", type: "button", onclick: () => this.execute(true) }, "Run");
    this.write = about.language_model ? h("button", { type: "button", onclick: () => this.ask() }, "Have the model write it") : null;
    this.text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.execute(true);
    });
    this.copies = h("div", { class: "row" });
    this.rows = h("section", { class: "card stack tight", "aria-labelledby": "rows-title" },
      h("div", { class: "row spread" }, h("div", { class: "row" }, h("h2", { id: "rows-title" }, "Rows"), this.told), this.tools), this.out);
    this.element = h("section", { class: "card stack tight sql", "aria-labelledby": "sql-title" },
      h("div", { class: "row spread" }, h("h2", { id: "sql-title" }, h("label", { for: "sql" }, "SQL")), this.copies),
      this.text, h("div", { class: "row" }, this.run, this.write, h("span", { class: "small muted" }, "It can only read. Ctrl+Enter runs it.")));
  }

  // Show the rows of a query; those of one that ran before are at hand. One that somebody wrote
  // (`byHand`) may read any table.
  show(found, sql, { sort = 0, kind = null, byHand = false } = {}) {
    Object.assign(this, { found, written: sql, sort, kind, byHand });
    this.text.value = sql;
    this.text.rows = Math.min(14, sql.split("\n").length + 1);
    const ways = [["Copy SQL", () => this.text.value, "SQL"], ["Copy schema", () => found.ddl, "Schema"], ["Copy prompt", () => found.prompt, "Prompt"], ["Copy link", () => location.href, "Link"]];
    replace(this.copies, ways.map(([title, text, what]) => h("button", { type: "button", class: "small-button", onclick: () => copy(text(), what) }, title)));
    return this.execute(false);
  }

  cancel() {
    this.running?.abort();
  }

  async execute(asked) {
    const sql = this.text.value, tables = this.found.tables.map((table) => table.id);
    if (asked && sql !== this.written) this.changed({ sql });
    if (asked) this.done.delete(sql);
    const billed = this.about.billed.filter((source) => this.byHand || tables.some((table) => parts(table)[0] === source));
    if (!asked && billed.length && !this.done.has(sql)) { this.wait(billed); return; }
    await this.answer(() => runWithin(sql, tables, this.running.signal), sql);
  }

  // A source that bills is queried when somebody says so.
  wait(billed) {
    this.cancel();
    this.told.textContent = "Not run yet.";
    replace(this.tools);
    replace(this.out, h("p", { class: "notice row spread" }, `${billed.map(shortSource).join(" and ")} ${billed.length > 1 ? "bill" : "bills"} for queries, so none is run by itself.`,
      h("button", { type: "button", class: "strong", id: "run-billed", onclick: () => this.execute(true) }, "Run this query")));
  }

  async ask() {
    await this.answer(async () => {
      const done = await post("answer", { question: this.found.question, run: true, limit: MOST }, this.running.signal);
      this.text.value = done.sql;
      return done;
    }, null);
  }

  async answer(get, sql) {
    this.cancel();
    const running = new AbortController();
    this.running = running;
    const before = this.done.get(sql);
    if (before) { this.draw(before); return; }
    this.told.textContent = "Running …";
    replace(this.tools, h("button", { type: "button", id: "cancel", onclick: () => running.abort() }, "Cancel"));
    replace(this.out);
    try {
      const done = await get();
      this.done.set(done.sql, done);
      if (this.done.size > KEPT) this.done.delete(this.done.keys().next().value);
      if (this.running === running) this.draw(done);
    } catch (error) {
      if (this.running !== running) return;
      replace(this.tools);
      this.told.textContent = "";
      if (error.name === "AbortError") this.told.textContent = "Called off.";
      else if (error instanceof Problem) replace(this.out, problemNotice(error));
      else throw error;
    }
  }

  draw(done) {
    const { sql, result, seconds, tables } = done;
    const many = result.truncated ? `the first ${count(result.rows.length, "row")}` : count(result.rows.length, "row");
    this.told.textContent = `${many} in ${seconds < 1 ? `${Math.max(1, Math.round(1000 * seconds))} ms` : `${seconds.toFixed(1)} s`}`;
    const fitting = chartOf(result), kind = this.kind ?? (fitting && result.rows.length <= 60 ? fitting.kind : "none");
    const choose = (chosen) => { this.kind = chosen; this.changed({ chart: chosen }, false); this.draw(done); };
    replace(this.tools,
      fitting ? h("div", { class: "row choice", role: "group", "aria-label": "Chart" }, [["none", "Table"], ["bars", "Bars"], ["line", "Line"]].map(([key, text]) =>
        h("button", { type: "button", class: "small-button", "aria-pressed": String(kind === key), onclick: () => choose(key) }, text))) : null,
      ["csv", "parquet"].map((format) => h("button", { type: "button", class: "small-button", onclick: () => this.download({ sql, tables, format }) }, format === "csv" ? "CSV" : "Parquet")));
    const label = result.truncated ? "First rows of the query" : "Rows of the query";
    replace(this.out,
      result.warnings.map((warning) => h("p", { class: "notice small" }, warning)),
      fitting && kind !== "none" ? chart(result, { ...fitting, kind }) : null,
      result.rows.length ? rowsTable(result, { paged: true, label, sort: this.sort, sorted: (by) => { this.sort = by; this.changed({ sort: by }, false); } })
        : h("p", { class: "muted" }, "No row fits. Remove a part of the sentence above, or look at the tables below."));
    announce(many);
  }

  async download(wanted) {
    try {
      await file("answer", wanted, `rows.${wanted.format}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.out, problemNotice(error));
    }
  }
}
