// The key of a server that needs one. It is stored in this tab only, until the tab is closed.

import { make } from "./dom.js";

const NAME = "assay.key";
let waiting = null;

export const key = () => sessionStorage.getItem(NAME) ?? "";

/** Store the key that the address has behind `#key=`, and remove it from the address. */
export function keyFromAddress() {
  const given = /^#key=(.+)$/.exec(location.hash)?.[1];
  if (given) sessionStorage.setItem(NAME, given);
  history.replaceState(null, "", location.pathname);
}

/** Forget a key that was refused, unless it was replaced meanwhile. */
export function refuse(used) {
  if (used && used === key()) sessionStorage.removeItem(NAME);
}

/** Ask the person for another key than `used`, once for all waiting requests; true if there is one. */
export function askForKey(used) {
  if (!waiting && key() && key() !== used) return Promise.resolve(true);
  waiting ??= asked(Boolean(used)).finally(() => { waiting = null; });
  return waiting;
}

function asked(refused) {
  const field = make("input", { type: "password", name: "key", autocomplete: "off", spellcheck: "false", required: true });
  const keep = event => {
    event.preventDefault();
    if (!field.value.trim()) return;
    sessionStorage.setItem(NAME, field.value.trim());
    dialog.close();
  };
  const dialog = make("dialog", { id: "key", "aria-labelledby": "key-title" }, make("form", { onsubmit: keep },
    make("h2", { id: "key-title" }, "This server wants a key"),
    refused && make("p.problem", { role: "alert" }, "That key is not known here."),
    make("label", {}, "Key ", field),
    make("p.hint", {}, "It is kept in this tab until you close it."),
    make("div.buttons", {}, make("button.quiet", { type: "button", onclick: () => dialog.close() }, "Cancel"), make("button.strong", { type: "submit" }, "Use this key"))));
  document.body.append(dialog);
  return new Promise(resolve => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(Boolean(key()));
    });
    dialog.showModal();
  });
}
