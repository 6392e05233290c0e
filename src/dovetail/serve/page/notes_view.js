// Notes: what people corrected and defined, and a form for more.

import { Problem, get, remove } from "./api.js";
import { h, replace, say } from "./dom.js";
import { writeNote } from "./note_actions.js";
import { problemNotice } from "./problem_notice.js";

// What each section is for, what its two fields hold, and values to choose from.
const SECTIONS = {
  terms: { title: "A word of ours", key: "Term", hint: "client", value: "means", example: "customer, or other words: table, table", said: "Terms" },
  about: { title: "What a table or column is", key: "Table or table.column", hint: "orders.status", value: "is", example: "open, shipped or cancelled", said: "Remarks" },
  joins: { title: "A join", key: "Join", hint: "orders.client = customers.id", value: "is", options: ["pin", "ban"], said: "Joins" },
  tables: { title: "The standing of a table", key: "Table", hint: "orders_old", value: "is", options: ["canonical", "ignore", "copy", "copy of "], said: "Tables" },
  domains: { title: "What identifiers are called", key: "Name, or table.column", hint: "customer numbers", value: "are made in", example: "customers.customer_no, or none", said: "Key domains" },
  questions: { title: "The right tables for a question", key: "Question", hint: "Who ordered what?", value: "needs", example: "orders, customers", said: "Questions" },
};

export class NotesView {
  constructor(about) {
    this.about = about;
    this.section = h("select", { id: "note-section", onchange: () => this.tellFields() },
      Object.entries(SECTIONS).map(([value, { title }]) => h("option", { value }, title)));
    this.key = h("input", { id: "note-key", required: true, maxlength: "1000", autocomplete: "off" });
    this.keyLabel = h("label", { for: "note-key" });
    this.value = h("input", { id: "note-value", required: true, maxlength: "2000", list: "note-values", autocomplete: "off" });
    this.valueLabel = h("label", { for: "note-value" });
    this.values = h("datalist", { id: "note-values" });
    this.list = h("div", { class: "stack" });
    this.element = h("div", { class: "stack" },
      h("h1", {}, "Notes"),
      h("p", { class: "muted" }, "What people corrected and defined. They count at once, for everybody who asks."),
      about.notes_writable ? this.form() : h("p", { class: "notice small" }, "They can be read here. To write some, start the server with dovetail serve --notes, or use dovetail note."),
      this.list);
    this.tellFields();
  }

  form() {
    return h("form", { class: "card stack", "aria-label": "Write a note", onsubmit: (event) => { event.preventDefault(); this.write(); } },
      h("div", { class: "note-fields" },
        h("div", { class: "field" }, h("label", { for: "note-section" }, "About"), this.section),
        h("div", { class: "field" }, this.keyLabel, this.key),
        h("div", { class: "field" }, this.valueLabel, this.value, this.values),
        h("button", { class: "strong" }, "Note it")));
  }

  tellFields() {
    const { key, hint, value, example, options } = SECTIONS[this.section.value];
    this.keyLabel.textContent = key;
    this.key.placeholder = hint;
    this.valueLabel.textContent = value;
    this.value.placeholder = example ?? options.join(", ");
    replace(this.values, (options ?? []).map((option) => h("option", { value: option })));
  }

  async show({ values }) {
    document.title = "Notes · dovetail";
    if (values.get("section") in SECTIONS) this.section.value = values.get("section");
    this.key.value = values.get("key") ?? this.key.value;
    this.tellFields();
    if (values.has("key")) this.value.focus();
    await this.load();
  }

  async load() {
    try {
      this.draw(await get("notes"));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      replace(this.list, problemNotice(error, () => this.load()));
    }
  }

  async write() {
    const [key, value] = [this.key.value.trim(), this.value.value.trim()];
    await writeNote(this.section.value, key, value, "Noted", () => {
      this.key.value = "";
      this.value.value = "";
      this.key.focus();
      this.load();
    });
  }

  async takeBack(note) {
    try {
      this.draw(await remove("notes", { section: note.section, key: note.key }));
      say("Taken back");
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message);
    }
  }

  draw({ notes, problems, writable }) {
    const groups = Object.entries(SECTIONS).map(([section, { said }]) => [said, notes.filter((note) => note.section === section)]);
    replace(this.list,
      problems.map((text) => h("p", { class: "notice bad small" }, text)),
      notes.length ? null : h("p", { class: "muted" }, "There are no notes yet."),
      groups.filter(([, some]) => some.length).map(([said, some]) => h("section", { class: "card stack" },
        h("h2", {}, said),
        h("ul", { class: "notes" }, some.map((note) => h("li", { class: "row spread", "data-key": note.key },
          h("span", { class: "id" }, h("strong", {}, note.key), " ", h("span", { class: "muted" }, SECTIONS[note.section].value), " ", note.value),
          writable ? h("button", { type: "button", class: "small-button", "aria-label": `Take back ${note.key}`, onclick: () => this.takeBack(note) }, "Take back") : null))))));
  }
}
