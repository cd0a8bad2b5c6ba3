// Starts the page: the pipelines, the question field, and all other parts.

import { request } from "./api.js";
import * as documents from "./documents.js";
import { find, icon, make, say } from "./dom.js";
import * as drawer from "./drawer.js";
import * as panel from "./panel.js";
import { readFrom } from "./reader.js";
import * as scope from "./scope.js";
import { sentences } from "./text.js";
import * as turns from "./turns.js";

let models = [], alone = new Set(), lacks = new Map(), agents = new Map();
const asked = [];
let recalled = 0;

const field = find("#question"), first = find("#first"), second = find("#second");
const chosen = () => [first.value || null, ...(second.value ? [second.value] : [])];

/** The pipelines, and those that search for every question as it is typed. */
async function offers() {
  const found = (await request("v1/models")).data;
  models = found.map(one => one.id);
  scope.setModels(found);
  lacks = new Map(found.map(one => [one.id, one.stand_ins]));
  agents = new Map(found.map(one => [one.id, one.agents]));
  alone = new Set(found.filter(one => !one.follows).map(one => one.id));
}

async function begin() {
  find("#failed")?.remove();
  try {
    await offers();
  } catch (problem) {
    find("#empty").hidden = find("#composer").hidden = true;
    find("#documents-list").replaceChildren();
    const again = make("button.strong", { type: "button", onclick: begin }, "Try again");
    return find("main").prepend(make("div.nowhere", { id: "failed", role: "alert" }, make("h2", {}, `${problem.title ?? "Something went wrong"}.`), make("p", {}, sentences(problem)), again));
  }
  find("#composer").hidden = false;
  find("#empty").hidden = find("#turns").childElementCount > 0;
  offered();
  field.focus({ preventScroll: true });
  await Promise.all([documents.load(first.value || null), turns.restore(models)]);
}

/** The server answers from other bundles: show these, and their documents. */
async function changedOver({ answer, note: showNote }) {
  const before = [first.value, second.value];
  await offers();
  showNote();
  const [left, right] = before.map(name => (!name || models.includes(name) ? name : answer.model));
  offered(left);
  if (right && right !== left) second.value = right;
  await documents.load(first.value || null);
}

function offered(wanted = "") {
  first.replaceChildren(...models.map(id => make("option", { value: id }, scope.nameOf(id))));
  if (models.includes(wanted)) first.value = wanted;
  find("#models").hidden = !models.length;
  find("#models").classList.toggle("single", models.length === 1);
  first.disabled = models.length === 1;
  find("#beside").hidden = models.length < 2;
  choose();
}

/** The second pipeline is any but the first. */
function choose() {
  const before = second.value;
  second.replaceChildren(make("option", { value: "" }, "no comparison"), ...models.filter(id => id !== first.value).map(id => make("option", { value: id }, scope.nameOf(id))));
  if (before !== first.value && models.includes(before)) second.value = before;
  readFrom(first.value || null);
  standing();
}

/** What stands in for missing parts of the chosen pipelines. */
function lacking() {
  const said = [...new Set(chosen().flatMap(name => lacks.get(name ?? models[0]) ?? []))], place = find("#lacks");
  place.hidden = !said.length;
  place.firstElementChild.textContent = said.length === 1 ? "A part of this pipeline was missing when it was measured: something stands in for it" : `${said.length} parts of this pipeline were missing when it was measured: others stand in for them`;
  place.lastElementChild.replaceChildren(...said.map(one => make("li", {}, `${one}.`)));
}

/** Offer the agents that all chosen pipelines have. */
function offerAgents() {
  const used = chosen().map(name => agents.get(name ?? models[0]) ?? []), known = used[0].filter(each => used.every(own => own.includes(each)));
  const box = each => make("input", { type: "checkbox", value: each, checked: scope.isUsed(each), onchange: event => scope.use(each, event.target.checked) });
  find("#agents").hidden = !known.length;
  find("#agents").replaceChildren(make("summary", {}, "Agents"), ...known.map(each => make("label.remember", {}, box(each), each)));
  scope.setAgents(known);
}

/** A warning before a follow-up such as "and when?" to a pipeline that searches for questions as typed. */
function standing() {
  lacking();
  offerAgents();
  const names = chosen().filter(name => alone.has(name)), all = names.length === chosen().length;
  find("#alone").hidden = !names.length;
  find("#alone").textContent = `${all ? "Every question is searched for" : `${scope.nameOf(names[0])} searches for every question`} as it is typed: ask in full.`;
}

function drawScope() {
  const words = scope.described(scope.within());
  const open = make("button.quiet.where", { type: "button", title: "Choose documents", onclick: drawer.open }, icon("books"), make("span", {}, words || scope.everything()));
  const clear = words ? make("button.quiet.clear", { type: "button", "aria-label": "Ask all documents again", title: "Ask all documents again", onclick: () => { scope.clear(); field.focus(); } }, icon("close")) : null;
  find("#scope").replaceChildren(...[open, clear].filter(Boolean));
  find("#scope").classList.toggle("narrowed", Boolean(words));
  for (const box of document.querySelectorAll("#agents input")) box.checked = scope.isUsed(box.value);
  hinder(scope.obstacle());
}

function hinder(words) {
  const place = find("#obstacle");
  place.textContent = words;
  place.hidden = !words;
}

async function submit(event) {
  event?.preventDefault();
  if (turns.busy()) return turns.stop();
  const question = field.value.trim();
  if (!question || scope.obstacle()) return hinder(scope.obstacle());
  asked.push(question);
  recalled = asked.length;
  field.value = "";
  grow();
  // On a phone the keyboard would hide the answer.
  if (matchMedia("(hover: none)").matches) field.blur();
  const done = turns.ask(question, chosen(), scope.within(), find("#remember").checked, find("#preview").checked);
  button();
  await done;
  button();
}

function button() {
  const working = turns.busy(), send = find("#send");
  send.replaceChildren(icon(working ? "stop" : "send"));
  send.setAttribute("aria-label", working ? "Stop" : "Ask");
}

/** Fit the height of the field to its text, within the limit of its style. */
function grow() {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function typed(event) {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    if (turns.busy()) say("Still answering. Escape stops it.");
    else submit();
  } else if (event.key === "ArrowUp" && (!field.value || field.value === asked[recalled]) && recalled > 0) {
    event.preventDefault();
    field.value = asked[--recalled];
    grow();
  }
}

function keys(event) {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if (turns.busy()) turns.stop();
    else if (drawer.isOpen() && !panel.isOpen()) drawer.close();
    else panel.close();
  } else if (event.key === "/" && !/^(input|textarea|select)$/i.test(event.target.tagName) && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  }
}

find("#composer").addEventListener("submit", submit);
field.addEventListener("keydown", typed);
field.addEventListener("input", grow);
first.addEventListener("change", () => { choose(); documents.load(first.value); });
second.addEventListener("change", standing);
find("#new").addEventListener("click", async () => { panel.close(); field.focus(); await turns.forget(); button(); say("A new conversation."); });
document.addEventListener("keydown", keys);
scope.changed.on(drawScope);
turns.exchanged.on(changedOver);
documents.start();
panel.start();
drawer.start();
drawScope();
await begin();
document.documentElement.dataset.ready = "";
