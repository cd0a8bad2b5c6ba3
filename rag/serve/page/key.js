// The key of a server that wants one. It stays in this tab: closing the tab forgets it.

import { find } from "./dom.js";

const NAME = "assay.key";
let waiting = null;

export const key = () => sessionStorage.getItem(NAME) ?? "";

/** Forget a key that was refused, unless another one has taken its place meanwhile. */
export function refuse(used) {
  if (used && used === key()) sessionStorage.removeItem(NAME);
}

/** Ask the person for another key than `used`, once for all requests that wait for it; whether there is one now. */
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
