// Ask: a question, the stages of its answer as they finish, and the set of tables.

import { Problem, events, post } from "./api.js";
import { candidateList } from "./candidates.js";
import { announce, count, h, replace } from "./dom.js";
import { joinGraph } from "./join_graph.js";
import { read, to } from "./link.js";
import { noteActions } from "./note_actions.js";
import { problemNotice } from "./problem_notice.js";
import { foundSet } from "./set_view.js";
import { sqlPanel } from "./sql_panel.js";

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
    this.element = h("div", { class: "stack" }, this.head(), this.stages, this.result);
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
      h("p", { class: "muted lead" }, "The smallest set of tables that does, why each is there, and how they join."),
      form, dial, this.examples);
  }

  tellBreadth() {
    this.told.textContent = Number(this.breadth.value).toFixed(2);
  }

  // Show what the address says.
  show({ values }) {
    this.box.value = values.get("q") ?? "";
    this.breadth.value = values.get("breadth") ?? this.about.breadth;
    this.tellBreadth();
    this.given = values.get("set")?.split("\n") ?? null;
    document.title = this.box.value ? `${this.box.value} · dovetail` : "dovetail";
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
  }

  settings(more = {}) {
    const breadth = Number(this.breadth.value);
    return { q: this.box.value.trim(), breadth: breadth === this.about.breadth ? null : breadth, ...more };
  }

  submit() {
    if (!this.box.value.trim()) return;
    const wanted = to("ask", this.settings());
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
    this.tellStages(state, started);
    replace(this.result, h("p", { class: "muted" }, "Searching …"));
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
          this.draw(state);
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
    return { ...chosen, alternatives: [], instead: found };
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

  draw(state) {
    const { found, candidates } = state;
    const chosen = new Map((found?.tables ?? []).map((table) => [table.id, table.stage === "connect" || table.stage === "adjust" ? "connector" : "table"]));
    const tables = [...new Set([...chosen.keys(), ...candidates.map((one) => one.id)])];
    const joins = [...(found?.joins ?? []), ...state.joins];
    const side = h("div", { class: "stack" },
      state.joinsAt ? h("section", { class: "card graph-card appear", "aria-labelledby": "graph-title" },
        h("div", { class: "row spread" }, h("h2", { id: "graph-title" }, "Join graph"), legend(found)),
        joinGraph(tables, joins, chosen, { label: "Join graph of the candidates", actions: noteActions(this.about, () => this.ask()).join })) : null,
      candidateList(candidates, chosen));
    const main = found ? foundSet(found, this) : h("section", { class: "card waiting", "aria-hidden": "true" }, h("span"), h("span"), h("span"));
    replace(this.result, h("div", { class: "columns" }, h("div", { class: "stack" }, main, found && !found.nothing_fits ? sqlPanel(found, this.about) : null), side));
    if (found) announce(found.nothing_fits ? "Nothing here seems to answer this." : `The set: ${found.tables.map((table) => table.name).join(", ")}`);
  }
}

function legend(found) {
  return found && !found.nothing_fits
    ? h("p", { class: "legend small muted" }, h("span", { class: "dot table" }), "in the set", h("span", { class: "dot connector" }), "connector", h("span", { class: "dot" }), "candidate")
    : null;
}
