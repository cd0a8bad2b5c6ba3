// The side panel: a document, or the steps to an answer. On a phone it covers the page.

import { find, make, roving } from "./dom.js";
import { covering } from "./drawer.js";

let opener = null, tabs = [];

export const isOpen = () => !find("#panel").hidden;

/** Open the panel with tabs `[{ name, title, heading, fill(element) }]`, `first` of them selected; Escape returns the focus. */
export function open(wanted, first) {
  const panel = find("#panel");
  if (panel.hidden || !panel.contains(document.activeElement)) opener = document.activeElement;
  tabs = wanted;
  const list = find("#panel-tabs");
  list.hidden = tabs.length < 2;
  list.replaceChildren(...tabs.map(tab => make("button", { type: "button", role: "tab", id: `tab-${tab.name}`, "aria-controls": "panel-body", onclick: () => show(tab.name) }, tab.title)));
  steadily(() => {
    panel.hidden = false;
    document.documentElement.classList.add("with-panel");
  });
  show(first ?? tabs[0].name);
  covering();
  find("#panel-title").focus({ preventScroll: true });
}

/** Keep the clicked element in place while the narrower conversation wraps its lines anew. */
function steadily(change) {
  const turns = find("#turns"), before = turns.contains(opener) ? opener.getBoundingClientRect().top : null;
  change();
  if (before !== null) turns.scrollTop += opener.getBoundingClientRect().top - before;
}

function show(name) {
  for (const tab of tabs) {
    const button = find(`#tab-${tab.name}`), chosen = tab.name === name;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
  const tab = tabs.find(one => one.name === name), body = find("#panel-body");
  find("#panel-title").textContent = tab.heading;
  body.setAttribute("aria-labelledby", tabs.length > 1 ? `tab-${name}` : "panel-title");
  body.replaceChildren();
  body.scrollTop = 0;
  tab.fill(body);
}

export function close() {
  if (!isOpen()) return;
  steadily(() => {
    find("#panel").hidden = true;
    document.documentElement.classList.remove("with-panel");
  });
  covering();
  if (opener?.isConnected) opener.focus({ preventScroll: true });
}

export function start() {
  find("#panel-close").addEventListener("click", close);
  find("#panel").addEventListener("keydown", event => { if (event.key === "Escape") { event.stopPropagation(); close(); } });
  roving(find("#panel-tabs"), () => [...find("#panel-tabs").children]);
}
