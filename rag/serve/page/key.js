// The key of a server that needs one. It is stored in this tab only, until the tab is closed.

import { find } from "./dom.js";

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
  const dialog = find("#key"), form = dialog.querySelector("form"), field = dialog.querySelector("input");
  dialog.querySelector(".refused").hidden = !refused;
  field.value = "";
  return new Promise(resolve => {
    const done = new AbortController();
    form.addEventListener("submit", event => {
      event.preventDefault();
      if (!field.value.trim()) return;
      sessionStorage.setItem(NAME, field.value.trim());
      dialog.close();
    }, { signal: done.signal });
    dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close(), { signal: done.signal });
    dialog.addEventListener("close", () => {
      done.abort();
      resolve(Boolean(key()));
    }, { signal: done.signal });
    dialog.showModal();
  });
}
