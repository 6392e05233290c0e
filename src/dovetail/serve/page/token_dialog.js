// Asks for a token, once however many requests wait for it.

import { h } from "./dom.js";

let open = null;

export function askForToken(wrong) {
  open ??= new Promise((resolve) => {
    const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const dialog = h("dialog", { "aria-labelledby": "token-title" },
      h("form", { method: "dialog", class: "stack" },
        h("h2", { id: "token-title" }, "This server needs a token"),
        wrong ? h("p", { class: "notice bad", role: "alert" }, "That token is not known here.") : null,
        h("p", { class: "small muted" }, "Whoever runs it gives you one. It is kept for this tab alone, and forgotten when you close it."),
        h("div", { class: "field" }, h("label", { for: "token" }, "Token"), field),
        h("div", { class: "row" }, h("button", { class: "strong", value: "go" }, "Continue"),
          h("button", { type: "button", onclick: () => dialog.close("cancel") }, "Cancel"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      open = null;
      resolve(dialog.returnValue === "go" && field.value ? field.value.trim() : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return open;
}
