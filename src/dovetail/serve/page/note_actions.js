// Where the server lets notes be written: corrections beside what they correct.

import { Problem, post, remove } from "./api.js";
import { h, say } from "./dom.js";
import { to } from "./link.js";

const NONE = { join: null, table: () => null, set: () => null };

// Write a note; it can be taken back as long as that is said.
export async function writeNote(section, key, value, said, done) {
  try {
    await post("notes", { section, key, value });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    return;
  }
  say(said, async () => {
    try {
      await remove("notes", { section, key });
      say("Taken back");
      done();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message);
    }
  });
  done();
}

// `done` shows anew what the note has changed.
export function noteActions(about, done) {
  if (!about.notes_writable) return NONE;
  const act = (title, section, key, value, said) =>
    h("button", { type: "button", class: "small-button", onclick: () => writeNote(section, key, value, said, done) }, title);
  return {
    join: (join) => {
      const key = join.columns.map(([a, b]) => `${join.left}.${a} = ${join.right}.${b}`).join(" and ");
      return h("div", { class: "row" }, act("Pin this join", "joins", key, "pin", "Join pinned"), act("Ban this join", "joins", key, "ban", "Join banned"));
    },
    table: (id) => h("div", { class: "row" },
      act("Canonical", "tables", id, "canonical", "Noted as canonical"),
      act("Ignore", "tables", id, "ignore", "It is ignored from now on"),
      h("a", { class: "button small-button", href: to("notes", { section: "about", key: id }) }, "Say what it is")),
    set: (question, ids) => act("These are right", "questions", question, ids.join(", "), "Recorded: these tables are right"),
  };
}
