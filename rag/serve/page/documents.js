// The list of documents: on and off, read whole, opened.

import { request } from "./api.js";
import { find, icon, make } from "./dom.js";
import * as narrow from "./narrow.js";
import { openDocument } from "./reader.js";
import * as scope from "./scope.js";
import { count, several, short } from "./text.js";

const PAGE = 500, MOST = 5000, SHOWN = 150;
let documents = [], total = 0, shown = SHOWN, asked = 0;

/** Fetch what a model reads, and show it. */
export async function load(model) {
  const turn = ++asked;
  const list = find("#documents-list");
  list.setAttribute("aria-busy", "true");
  list.replaceChildren(make("li.nothing", {}, "Loading…"));
  try {
    const found = await fetched(model, () => turn !== asked);
    if (turn !== asked) return;
    documents = found;
    shown = SHOWN;
    scope.setDocuments(documents);
    narrow.offer(documents);
    draw();
  } catch (problem) {
    if (turn === asked) failed(problem, model);
  } finally {
    if (turn === asked) list.removeAttribute("aria-busy");
  }
}

async function fetched(model, stale) {
  const found = [];
  do {
    const query = new URLSearchParams({ offset: found.length, limit: PAGE });
    if (model) query.set("model", model);
    const answer = await request(`documents?${query}`);
    const page = answer.documents;
    found.push(...page.map(one => ({ ...one, title: titled(one) })));
    total = answer.total;
    if (!page.length) break;
  } while (found.length < Math.min(total, MOST) && !stale());
  return found;
}

/** Its own title, else the one heading that all others stand under, else the end of its path. */
function titled(one) {
  if (one.title && one.title !== one.id) return one.title;
  const outer = new Set(one.sections.map(section => section.split(" > ")[0]));
  return outer.size === 1 && one.sections[0] === [...outer][0] ? one.sections[0] : short(one.id);
}

function failed(problem, model) {
  const again = make("button.plain", { type: "button", onclick: () => load(model) }, "Try again");
  find("#documents-list").replaceChildren(make("li.nothing", {}, `${problem.title}. `, again));
  find("#documents-count").textContent = "";
}

function matching() {
  const words = find("#documents-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  return documents.filter(one => words.every(word => `${one.title} ${one.id}`.toLowerCase().includes(word)));
}

function draw() {
  const found = matching(), on = documents.filter(one => scope.isOn(one.id)).length;
  const list = find("#documents-list");
  const focused = document.activeElement?.closest?.("#documents-list [data-key]")?.dataset.key;
  list.replaceChildren(...found.slice(0, shown).map(row));
  if (!found.length) list.append(make("li.nothing", {}, documents.length ? "No document has that in its name." : "There are no documents."));
  if (found.length > shown) list.append(make("li.nothing", {}, more(found.length - shown)));
  if (total > documents.length) list.append(make("li.nothing", {}, `The first ${count(documents.length)} of ${count(total)} stand here.`));
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  find("#documents-count").textContent = on === documents.length ? several(on, "document") : `${count(on)} of ${several(documents.length, "document")} on`;
  find("#documents-switch").hidden = !documents.length;
  const box = find("#documents-all");
  const onHere = found.filter(one => scope.isOn(one.id)).length;
  box.checked = found.length > 0 && onHere === found.length;
  box.indeterminate = onHere > 0 && onHere < found.length;
}

function more(rest) {
  return make("button.plain", { type: "button", onclick: () => { shown += 500; draw(); } }, `Show ${count(rest)} more`);
}

function row(one) {
  const whole = scope.isWhole(one.id), name = scope.titleOf(one.id);
  const path = name !== one.id ? make("span.path", {}, one.id) : null;
  return make("li", { class: `${whole ? "whole" : ""} ${scope.isOn(one.id) ? "" : "off"}` },
    make("label.switch", {},
      make("input", { type: "checkbox", checked: scope.isOn(one.id), "data-key": `on ${one.id}`, "aria-label": `Search in ${name}`,
        onchange: event => scope.turn([one.id], event.target.checked) })),
    make("button.open", { type: "button", "data-key": `open ${one.id}`, title: one.id, onclick: () => openDocument({ doc_id: one.id }) },
      make("span.name", {}, name), path),
    make("button.quiet.pin", { type: "button", "data-key": `whole ${one.id}`, "aria-pressed": String(whole), title: "Read whole, without a search",
      "aria-label": `Read ${name} whole`, onclick: () => scope.readWhole(one.id, !whole) }, icon("pin")));
}

export function start() {
  scope.changed.on(draw);
  narrow.start();
  find("#documents-filter").addEventListener("input", () => { shown = SHOWN; draw(); });
  find("#documents-all").addEventListener("change", event => scope.turn(matching().map(one => one.id), event.target.checked));
}
