// Ask: a question, how it was read, its rows, the SQL, the tables and joins behind it, other readings.

import { Problem, events, post } from "./api.js";
import { candidateList } from "./candidates.js";
import { announce, count, h, replace, say, shortened, sureness } from "./dom.js";
import { joinGraph } from "./join_graph.js";
import { read, rewrite, to } from "./link.js";
import { noteActions } from "./note_actions.js";
import { problemNotice } from "./problem_notice.js";
import { ReadingView, compact } from "./reading_view.js";
import { chosenTables, otherReadings, refusal } from "./set_view.js";
import { SqlPanel } from "./sql_panel.js";

const STAGES = [["search", "Search"], ["joins", "Joins"], ["set", "Set"]];

export class AskView {
  constructor(about) {
    this.about = about;
    this.running = null;
    this.breadth = h("input", { type: "range", id: "breadth", min: "0", max: "1", step: "0.01", value: about.breadth, onchange: () => this.box.value && this.submit(), oninput: () => this.tellBreadth() });
    this.told = h("output", { for: "breadth", class: "small mono" });
    this.box = h("input", { type: "text", id: "question", maxlength: "4000", autocomplete: "off", placeholder: "Ask in plain words …" });
    this.stages = h("ol", { class: "stages", "aria-label": "Stages" });
    this.result = h("div", { class: "result" });
    this.examples = h("div", { class: "examples row" });
    this.reading = new ReadingView((parts) => this.move({ parts: compact(parts), sql: null, sort: null, chart: null }));
    this.panel = new SqlPanel(about, (values, anew = true) => this.move(values, anew));
    this.state = null;
    this.turn = null;
    this.element = h("div", { class: "stack" }, this.head(), this.result, this.stages);
  }

  head() {
    const form = h("form", { class: "askbox", onsubmit: (event) => { event.preventDefault(); this.submit(); } },
      h("label", { for: "question", class: "unseen" }, "Question"), this.box, h("button", { class: "strong" }, "Ask"));
    const dial = h("div", { class: "dial" },
      h("label", { for: "breadth" }, "Breadth"), h("span", { class: "small muted", "aria-hidden": "true" }, "few tables"), this.breadth,
      h("span", { class: "small muted", "aria-hidden": "true" }, "all that join"), this.told);
    replace(this.examples, this.about.examples.map((text) =>
      h("button", { type: "button", class: "example", onclick: () => { this.box.value = text; this.submit(); } }, text)));
    return h("section", { class: "ask-head" },
      h("h1", {}, "Which tables answer your question?"),
      h("p", { class: "muted lead" }, "How it is read, the rows, the SQL, and the fewest tables that it takes."),
      form, dial, this.examples);
  }

  tellBreadth() {
    this.told.textContent = Number(this.breadth.value).toFixed(2);
  }

  // Show what the address says: the question anew only where another is asked.
  show({ values }) {
    const asked = ["q", "breadth", "set"].map((name) => values.get(name) ?? "").join("\n\n");
    this.box.value = values.get("q") ?? "";
    this.breadth.value = values.get("breadth") ?? this.about.breadth;
    this.tellBreadth();
    this.given = values.get("set")?.split("\n") ?? null;
    document.title = this.box.value ? `${this.box.value} · dovetail` : "dovetail";
    if (this.box.value && asked === this.asked && this.state?.found) return this.query(this.state.found);
    this.asked = asked;
    if (this.box.value) return this.ask();
    this.running?.abort();
    this.element.classList.remove("asked");
    replace(this.stages);
    replace(this.result);
    this.box.focus({ preventScroll: true });
    return null;
  }

  hide() {
    this.running?.abort();
    if (!this.state?.found) this.asked = null;
  }

  settings(more = {}) {
    const breadth = Number(this.breadth.value);
    return { q: this.box.value.trim(), breadth: breadth === this.about.breadth ? null : breadth, ...more };
  }

  // Change what the address says of the query; `anew` makes it a place to come back to.
  move(values, anew = true) {
    const wanted = to("ask", { ...Object.fromEntries(read().values), ...values });
    if (!anew) { rewrite(wanted); return; }
    const before = location.hash;
    location.hash = wanted;
    if (location.hash !== before) this.reading.wait();
  }

  submit() {
    if (!this.box.value.trim()) return;
    const wanted = to("ask", this.settings());
    this.asked = null;
    if (location.hash === wanted) this.show(read());
    else location.hash = wanted;
  }

  async ask() {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.element.classList.add("asked");
    const started = performance.now();
    const state = { candidates: [], joins: [], found: null };
    this.state = state;
    this.panel.cancel();
    this.tellStages(state, started);
    replace(this.result, h("section", { class: "card waiting", "aria-hidden": "true" }, h("span"), h("span"), h("span")));
    try {
      const question = this.box.value.trim();
      const stream = events("ask/stages", { question, breadth: this.settings().breadth }, running.signal);
      for await (const [name, data] of stream) {
        if (name === "search") state.candidates = data;
        if (name === "joins") state.joins = data;
        if (name === "set") state.found = this.given ? await this.givenSet(data, running.signal) : data;
        if (name in { search: 1, joins: 1, set: 1 }) {
          state[`${name}At`] = performance.now();
          this.tellStages(state, started);
          if (state.found) this.draw(state);
        }
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Problem)) throw error;
      replace(this.stages);
      replace(this.result, problemNotice(error, () => this.ask()));
    }
  }

  // A set that somebody chose instead: an alternative.
  async givenSet(found, signal) {
    const chosen = await post("set", { question: found.question, tables: this.given }, signal);
    const mine = (tables) => tables.length === this.given.length && tables.every((id) => this.given.includes(id));
    const first = { tables: found.tables.map((one) => one.id), probability: null, confidence: found.confidence, reason: "what was found first", reading: found.reading };
    return { ...chosen, alternatives: [first, ...found.alternatives.filter((other) => !mine(other.tables))], instead: found };
  }

  tellStages(state, started) {
    const said = {
      search: () => count(state.candidates.length, "candidate"),
      joins: () => `${count(state.joins.length, "join")} between them`,
      set: () => (state.found.nothing_fits ? "nothing fits" : count(state.found.tables.length, "table")),
    };
    let before = started;
    let pending = false;
    replace(this.stages, STAGES.map(([name, title]) => {
      const at = state[`${name}At`];
      const item = h("li", { "data-stage": name, class: at ? "done" : pending ? "" : "active" }, h("strong", {}, title),
        at ? [" ", said[name](), " ", h("span", { class: "muted small" }, `${Math.max(1, Math.round(at - before))} ms`)] : null);
      if (!at) pending = true;
      before = at ?? before;
      return item;
    }));
  }

  draw({ found, candidates }) {
    if (found.nothing_fits) {
      replace(this.result, refusal(found, this), candidateList(candidates, new Map()));
      announce("Nothing here seems to answer this.");
      return;
    }
    const chosen = new Map(found.tables.map((table) => [table.id, table.stage === "connect" || table.stage === "adjust" ? "connector" : "table"]));
    this.graph = h("div");
    const behind = h("section", { class: "card stack tight", "aria-labelledby": "behind-title" },
      h("div", { class: "row spread" }, h("h2", { id: "behind-title" }, `${count(found.tables.length, "table")}, ${count(found.joins.length, "join")}`),
        noteActions(this.about, () => null).set(found.question, found.tables.map((one) => one.id))),
      this.graph, chosenTables(found, this));
    replace(this.result, h("div", { class: "columns" },
      h("div", { class: "stack" }, this.readCard(found), this.panel.rows, this.panel.element),
      h("div", { class: "stack" }, behind, otherReadings(found, this), candidateList(candidates, chosen))));
    this.chosen = chosen;
    announce(`The set: ${found.tables.map((table) => table.name).join(", ")}`);
    this.query(found);
  }

  readCard(found) {
    const sure = found.confidence === null ? null
      : sureness(found.confidence, "How sure the set of tables is: the F1 to expect of it");
    return h("section", { class: "card stack tight reading", "aria-labelledby": "read-title" },
      h("div", { class: "row spread" }, h("h2", { id: "read-title" }, "Read as"), sure ? h("p", { class: "confidence" }, sure) : null),
      found.instead ? h("p", { class: "notice small" }, "You chose this set instead. ", h("a", { href: to("ask", this.settings()) }, "Back to the one that was found")) : null,
      this.reading.element,
      found.warnings.map((text) => h("p", { class: "notice small", title: text }, shortened(text))));
  }

  // The query that the address asks for over the set that was found, and its rows.
  async query(found) {
    const parts = read().values.get("parts");
    const turn = (this.turn = Symbol("query"));
    let query = { parts: found.parts, sql: found.skeleton };
    this.reading.wait();
    try {
      if (parts) query = await post("query", { question: found.question, tables: found.tables.map((one) => one.id), parts: JSON.parse(parts) });
    } catch (error) {
      if (!(error instanceof Problem || error instanceof SyntaxError)) throw error;
      say(`The query of this link cannot be read: ${error.message}`);
    }
    if (this.state?.found !== found || this.turn !== turn) return;
    const { values } = read();
    this.reading.draw(found, query.parts);
    this.drawGraph(found, query.parts, values.get("join"));
    await this.panel.show(found, values.get("sql") ?? query.sql, { sort: Number(values.get("sort") ?? 0), kind: values.get("chart"), byHand: values.has("sql") });
  }

  drawGraph(found, parts, locked) {
    const columns = new Map(found.tables.map((one) => [one.id, []]));
    for (const part of [...parts.select, ...parts.where, ...parts.group, ...parts.order]) if (part.column) columns.get(part.table)?.push(part.column);
    replace(this.graph, joinGraph(found.tables.map((one) => one.id), found.joins, this.chosen, {
      label: "Join graph of the set", columns, locked, lock: (join) => this.move({ join }, false),
      actions: noteActions(this.about, () => { this.asked = null; this.show(read()); }).join,
    }));
  }
}
