// The list of documents: switch them on and off, read them whole, open them.

import { request } from "./api.js";
import { find, icon, make, roving } from "./dom.js";
import * as narrow from "./narrow.js";
import { openDocument } from "./reader.js";
import * as scope from "./scope.js";
import { count, several, short } from "./text.js";

const PAGE = 500, MOST = 5000, SHOWN = 150, FEW = 12;
/** The folders that a person opened or closed, by path. */
const folds = new Map();
let documents = [], total = 0, shown = SHOWN, asked = 0;

/** Fetch the documents of a model, and show them. */
export async function load(model) {
  const turn = ++asked;
  const list = find("#documents-list");
  list.setAttribute("aria-busy", "true");
  list.replaceChildren(make("li.nothing", {}, "Loading…"));
  try {
    const found = await fetched(model, () => turn !== asked);
    if (turn !== asked) return;
    documents = found;
    folds.clear();
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

/** The title of a document, or else its only top heading, or else the end of its path. */
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
  const left = { rows: shown }, tree = folderOf(found);
  list.replaceChildren(...rows(tree, left));
  if (!found.length) list.append(make("li.nothing", {}, documents.length ? "No document has that in its name." : "There are no documents."));
  if (left.rows < 0) list.append(make("li.nothing", {}, more(-left.rows)));
  if (total > documents.length) list.append(make("li.nothing", {}, `The first ${count(documents.length)} of ${count(total)} stand here.`));
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  find("#documents-count").textContent = on === documents.length ? several(on, "document") : `${count(on)} of ${several(documents.length, "document")} on`;
  find("#documents-switch").hidden = !documents.length;
  Object.assign(find("#documents-all"), stateOf(found));
}

/** The state of a switch for these documents: on, off, or neither. */
function stateOf(all) {
  const on = all.filter(one => scope.isOn(one.id)).length;
  return { checked: all.length > 0 && on === all.length, indeterminate: on > 0 && on < all.length };
}

/** Documents as nested folders; a folder that holds a single folder is merged with it. */
function folderOf(found, path = "") {
  const inside = new Map(), files = [];
  for (const one of found) {
    const rest = one.id.slice(path.length), cut = rest.indexOf("/", 1);
    const name = rest.slice(0, cut + 1);
    if (cut < 0) files.push(one);
    else if (inside.has(name)) inside.get(name).push(one);
    else inside.set(name, [one]);
  }
  const folders = [...inside].map(([name, all]) => folderOf(all, path + name));
  return path && folders.length === 1 && !files.length ? folders[0] : { path, folders, files, all: found };
}

/** The rows of a folder, up to the limit of rows. */
function rows(folder, left, above = "") {
  return [...folder.folders.flatMap(one => group(one, left, above)), ...folder.files.flatMap(one => (left.rows-- > 0 ? [row(one)] : []))];
}

function group(folder, left, above) {
  if (left.rows <= 0) { left.rows -= folder.all.length; return []; }
  const name = folder.path.slice(above.length, -1), open = isOpen(folder.path);
  const box = make("input", { type: "checkbox", "data-key": `all ${folder.path}`, "aria-label": `Search in the folder ${folder.path.slice(0, -1)}`,
    onchange: event => scope.turn(folder.all.map(one => one.id), event.target.checked) });
  Object.assign(box, stateOf(folder.all));
  const fold = make("button.fold", { type: "button", "data-key": `fold ${folder.path}`, "aria-expanded": String(open), onclick: () => turnFold(folder.path, !open) },
    icon("fold"), make("span.name", {}, name), make("span.count", {}, count(folder.all.length)));
  return [make("li.folder", {}, make("div.row", {}, make("label.switch", {}, box), fold), open ? make("ul", {}, rows(folder, left, folder.path)) : null)];
}

/** Folders of a short list are open; those of a long list are closed until a person opens one or filters. */
function isOpen(path) {
  return folds.get(path) ?? (documents.length <= FEW || Boolean(find("#documents-filter").value.trim()));
}

function turnFold(path, open) {
  folds.set(path, open);
  draw();
}

/** The arrow keys move from row to row, and open and close folders. */
function moved(event) {
  const at = event.target.closest(".fold, .open"), open = at?.getAttribute("aria-expanded");
  const turns = { ArrowRight: "false", ArrowLeft: "true" }[event.key];
  if (turns && open === turns) at.click();
  else if (event.key === "ArrowLeft") at?.closest("ul")?.closest(".folder")?.querySelector(".fold")?.focus();
  else return;
  event.preventDefault();
}

function more(rest) {
  return make("button.plain", { type: "button", onclick: () => { shown += 500; draw(); } }, `Show ${count(rest)} more`);
}

function row(one) {
  const whole = scope.isWhole(one.id), name = scope.titleOf(one.id);
  const path = one.title !== short(one.id) ? make("span.path", {}, short(one.id)) : null;
  return make("li", { class: `file ${whole ? "whole" : ""} ${scope.isOn(one.id) ? "" : "off"}` },
    make("label.switch", {},
      make("input", { type: "checkbox", checked: scope.isOn(one.id), "data-key": `on ${one.id}`, "aria-label": `Search in ${name}`,
        onchange: event => scope.turn([one.id], event.target.checked) })),
    make("button.open", { type: "button", "data-key": `open ${one.id}`, title: one.id, onclick: () => openDocument({ doc_id: one.id }) },
      make("span.name", {}, one.title), path),
    make("button.quiet.pin", { type: "button", "data-key": `whole ${one.id}`, "aria-pressed": String(whole), title: "Read whole, without a search",
      "aria-label": `Read ${name} whole`, onclick: () => scope.readWhole(one.id, !whole) }, icon("pin")));
}

export function start() {
  scope.changed.on(draw);
  narrow.start();
  find("#documents-filter").addEventListener("input", () => { shown = SHOWN; folds.clear(); draw(); });
  roving(find("#documents-list"), () => [...document.querySelectorAll("#documents-list .fold, #documents-list .open")]);
  find("#documents-list").addEventListener("keydown", moved, true);
  find("#documents-all").addEventListener("change", event => scope.turn(matching().map(one => one.id), event.target.checked));
}
