// What went wrong, and what to do about it.

import { h } from "./dom.js";

const REMEDIES = new Map([
  [0, "Start it again with dovetail serve, then try once more."],
  [401, "Reload the page to give a token."],
  [429, "You asked often within a minute; wait a little."],
  [503, "Others are asking at the same time; try again in a moment."],
]);

export function problemNotice(problem, again) {
  const remedy = REMEDIES.get(problem.status) ?? "";
  return h("div", { class: "notice bad", role: "alert" },
    h("p", {}, h("strong", {}, problem.message ?? String(problem))),
    remedy ? h("p", { class: "small" }, remedy) : null,
    again ? h("p", {}, h("button", { type: "button", onclick: again }, "Try again")) : null);
}
