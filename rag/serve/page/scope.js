// The scope of a question: documents that are on, documents read whole, or a selection in one of them; and the agents in use.

import { signal } from "./dom.js";
import { count, pageLabel, several, short } from "./text.js";

export const changed = signal();
const titles = new Map(), own = new Map(), names = new Map();
let all = [], off = new Set(), whole = new Set(), range = null;
/** The value of each tag; the empty name has a heading. */
let under = new Map(), without = new Set();

/** Set the documents; choices of removed documents are dropped. */
export function setDocuments(documents) {
  all = documents.map(document => document.id);
  documents.forEach(document => [titles, own].forEach(map => map.set(document.id, document.title)));
  // If two documents share a name, the folder is added, or the path is used.
  for (const id of alike()) titles.set(id, id.includes("/") ? `${titles.get(id)} · ${id.slice(0, id.lastIndexOf("/"))}` : id);
  for (const id of alike()) titles.set(id, id);
  const known = new Set(all);
  off = new Set([...off].filter(id => known.has(id)));
  whole = new Set([...whole].filter(id => known.has(id)));
  changed.tell();
}

/** The documents that share their names with others. */
function alike() {
  const met = new Map();
  all.forEach(id => met.set(titles.get(id), (met.get(titles.get(id)) ?? 0) + 1));
  return all.filter(id => met.get(titles.get(id)) > 1);
}

/** Set the headings and tags; choices of removed ones are dropped. */
export function setNarrow(headings, tags) {
  under = new Map([...under].filter(([name, value]) => (name ? tags.get(name) ?? [] : headings).includes(value)));
  changed.tell();
}

/** Set the names of pipelines: their descriptions, with the bundle where two are the same. */
export function setModels(models) {
  const called = one => (one.experiment ? `${one.title} (${one.experiment})` : one.title);
  for (const one of models) {
    const same = models.filter(other => called(other) === called(one)).length > 1;
    names.set(one.id, same ? `${called(one)} ${one.bundle.slice(0, 6)}` : called(one));
  }
}

/** Set the agents that can be switched off; choices of others are dropped. */
export function setAgents(known) {
  without = new Set([...without].filter(name => known.includes(name)));
  changed.tell();
}

export const isUsed = name => !without.has(name);

export function use(name, wanted) {
  if (wanted) without.delete(name); else without.add(name);
  changed.tell();
}

export const nameOf = model => names.get(model) ?? model;

export const titleOf = id => titles.get(id) || short(id);

/** The headings of a passage without the title of its document; in a document with pages its file and pages too. */
export function sectionOf(passage) {
  const title = own.get(passage.doc_id) ?? titleOf(passage.doc_id), section = passage.section ?? "";
  const under = section === title ? "" : section.startsWith(`${title} > `) ? section.slice(title.length + 3) : section;
  const file = passage.page ? short(passage.doc_id) : "";
  return [file === title ? "" : file, under, pageLabel(passage.page)].filter(Boolean).join(" · ");
}
export const isOn = id => !off.has(id);
export const isWhole = id => whole.has(id);
export const selection = () => range;

export function turn(ids, on) {
  ids.forEach(id => (on ? off.delete(id) : off.add(id)));
  changed.tell();
}

export function readWhole(id, wanted) {
  if (wanted) whole.add(id); else whole.delete(id);
  if (wanted) range = null;
  changed.tell();
}

export function select(wanted) {
  range = wanted;
  if (wanted) whole.clear();
  changed.tell();
}

/** Search only under a heading (the empty name) or where a tag has this value; an empty value removes the filter. */
export function narrow(name, value) {
  if (value === narrowed(name)) return;
  if (value) under.set(name, value); else under.delete(name);
  changed.tell();
}

export const narrowed = name => under.get(name) ?? "";

export function clear() {
  [under, off, without].forEach(one => one.clear());
  whole.clear();
  range = null;
  changed.tell();
}

/** The `within` of a request; null for all documents and agents. */
export function within() {
  const wanted = { ...restricted(), ...(without.size && { off: [...without] }) };
  return Object.keys(wanted).length ? wanted : null;
}

function restricted() {
  if (whole.size) return { whole: [...whole] };
  if (range) return { range: { doc_id: range.doc_id, start: range.start, end: range.end } };
  const heading = narrowed(""), tags = [...under].filter(([name]) => name).map(([name, value]) => [name, [value]]);
  return { ...(off.size && { documents: all.filter(isOn) }), ...(heading && { sections: [heading] }), ...(tags.length && { metadata: Object.fromEntries(tags) }) };
}

/** Why no question can be asked now; empty if one can. */
export const obstacle = () => (!whole.size && !range && all.length && off.size === all.length ? "Switch on at least one document." : "");

/** The number of documents, in words. */
export const everything = () => (all.length ? `All ${several(all.length, "document")}` : "All documents");

/** A `within` in words; empty for all documents and agents. */
export const described = wanted => (wanted ? [restriction(wanted), wanted.off ? `Without ${wanted.off.join(", ")}` : ""].filter(Boolean).join(" · ") : "");

function restriction(wanted) {
  if (wanted.whole) return `Read whole, without a search: ${listed(wanted.whole)}`;
  if (wanted.range) return `Only characters ${count(wanted.range.start)}–${count(wanted.range.end)} of ${titleOf(wanted.range.doc_id)}`;
  const tags = Object.entries(wanted.metadata ?? {}).map(([name, values]) => `Only ${name}: ${values.join(", ")}`);
  const sections = (wanted.sections ?? []).map(heading => `Only under “${heading}”`);
  return [...(wanted.documents ? [among(wanted.documents)] : []), ...tags, ...sections].join(" · ");
}

function among(ids) {
  if (!ids.length) return "None of the documents";
  const on = new Set(ids), without = all.filter(id => !on.has(id));
  if (without.length && without.length < 3 && without.length < on.size) return `All but ${listed(without)}`;
  return ids.length > 2 ? `Only ${count(ids.length)} of ${several(all.length, "document")}` : `Only ${listed(ids)}`;
}

function listed(ids) {
  const names = ids.slice(0, 3).map(titleOf).join(", ");
  return ids.length > 3 ? `${names} and ${count(ids.length - 3)} more` : names;
}
