// Where the server lets notes be written: corrections beside what they correct.

import { Problem, post } from "./api.js";
import { h, say } from "./dom.js";

export function noteActions(about, done) {
  if (!about.notes_writable) return { join: null, table: () => null };
  const note = async (section, key, value, said) => {
    try {
      await post("notes", { section, key, value });
      say(said);
      done();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(error.message);
    }
  };
  return {
    join: (join) => {
      const key = join.columns.map(([a, b]) => `${join.left}.${a} = ${join.right}.${b}`).join(" and ");
      return h("div", { class: "row" },
        h("button", { type: "button", onclick: () => note("joins", key, "pin", "Join pinned") }, "Pin this join"),
        h("button", { type: "button", onclick: () => note("joins", key, "ban", "Join banned") }, "Ban it"));
    },
    table: (id) => h("div", { class: "row" },
      h("button", { type: "button", onclick: () => note("tables", id, "canonical", "Noted as canonical") }, "Canonical"),
      h("button", { type: "button", onclick: () => note("tables", id, "ignore", "It will be ignored") }, "Ignore")),
  };
}
