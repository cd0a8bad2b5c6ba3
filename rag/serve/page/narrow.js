// Filters by heading and by tags of documents.

import { find, make } from "./dom.js";
import * as scope from "./scope.js";

const MOST = 40;

/** Offer the headings of these documents, and the values of tags that several documents share. */
export function offer(documents) {
  const headings = headingsOf(documents), tags = tagsOf(documents);
  const rows = [...tags].map(([name, values]) => choice(name, values));
  if (headings.length) rows.unshift(heading(headings));
  find("#narrow").replaceChildren(...rows);
  scope.setNarrow(headings, tags);
}

/** All headings except those that are the title of a document. */
function headingsOf(documents) {
  const found = new Set(documents.flatMap(one => one.sections.flatMap(section => section.split(" > ")).filter(title => title !== one.title)));
  return [...found].sort((left, right) => left.localeCompare(right));
}

/** The values of every tag that groups documents; tags that are unique to each document are left out. */
function tagsOf(documents) {
  const found = new Map();
  for (const [name, value] of documents.flatMap(one => Object.entries({ ...one.metadata, ...one.record })).filter(([, value]) => value !== null && !Array.isArray(value))) {
    found.set(name, [...(found.get(name) ?? []), String(value)]);
  }
  const tags = [...found].map(([name, all]) => [name, [...new Set(all)].sort(), all.length]);
  return new Map(tags.filter(([name, values, all]) => name !== "title" && values.length <= MOST && values.length < all));
}

function heading(headings) {
  const wrong = make("p.problem", { role: "alert", hidden: true }, "No document has this heading.");
  const meant = () => headings.find(one => one.toLowerCase() === field.value.trim().toLowerCase()) ?? "";
  const field = make("input", { type: "search", list: "headings", autocomplete: "off", placeholder: "Only under a heading", "aria-label": "Search only under a heading",
    oninput: () => { wrong.hidden = true; scope.narrow("", meant()); },
    onchange: () => { wrong.hidden = !field.value.trim() || Boolean(meant()); } });
  return make("div", {}, field, make("datalist", { id: "headings" }, headings.map(one => make("option", { value: one }))), wrong);
}

function choice(name, values) {
  return make("select", { "data-tag": name, "aria-label": `Search only where ${name} is`, onchange: event => scope.narrow(name, event.target.value) },
    make("option", { value: "" }, `Any ${name}`), values.map(one => make("option", { value: one }, one)));
}

/** Show a filter that was set or removed elsewhere, without interrupting typing. */
export function start() {
  scope.changed.on(() => {
    const field = find("#narrow input");
    if (field && field !== document.activeElement) field.value = scope.narrowed("");
    for (const one of document.querySelectorAll("#narrow select")) one.value = scope.narrowed(one.dataset.tag);
  });
}
