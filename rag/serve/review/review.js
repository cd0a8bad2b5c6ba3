// The review of a golden set: a list of what waits, and one question with its evidence in place.

import { request } from "./api.js";
import { find, make, say } from "./dom.js";
import { keyFromAddress } from "./key.js";
import { count, sentences, several } from "./text.js";

let shown = { items: [], start: 0, found: 0 }, chosen = null, busy = 0, last = Promise.resolve();
const detail = find("#detail"), list = find("#list"), filter = find("#find");

keyFromAddress();

/** Load a part of the list, and show the question `name`, or the one at `at`. */
async function load(start = shown.start, name = "", at = 0) {
  shown = await request(`items?start=${start}&find=${encodeURIComponent(filter.value)}`);
  if (!shown.items.length && start > 0) return load(Math.max(0, start - 100), name, at);
  find("#dataset").textContent = shown.dataset;
  document.title = `${count(shown.waiting)} waiting · ${shown.dataset}`;
  find("#counts").replaceChildren(make("b", {}, count(shown.waiting)), " waiting", ` · ${count(shown.accepted)} accepted · ${count(shown.dropped)} dropped`);
  find("#undo").disabled = !shown.undoable;
  find("#pages").hidden = shown.found <= shown.items.length;
  find("#part").textContent = `${count(shown.start + 1)}–${count(shown.start + shown.items.length)} of ${count(shown.found)}`;
  find("#earlier").disabled = !shown.start;
  find("#later").disabled = shown.start + shown.items.length >= shown.found;
  list.replaceChildren(...shown.items.map(item => make("li", {}, make("button", { type: "button", onclick: () => guarded(() => open(item.name), true) },
    make("span.words", { dir: "auto" }, item.text || "–"), make("span.label", {}, [item.kind, item.method].filter(Boolean).join(" · "))))));
  const next = name || shown.items[Math.min(at, shown.items.length - 1)]?.name;
  if (next) return open(next);
  chosen = null;
  detail.replaceChildren(make("p.nothing", {}, filter.value ? "No question has these words." : "Nothing waits. You can close this page, and end the command with Ctrl-C."));
}

async function open(name) {
  chosen = await request(`item?name=${encodeURIComponent(name)}`);
  const row = place();
  for (const [number, item] of [...list.children].entries()) item.firstChild.toggleAttribute("aria-current", number === row);
  list.children[row]?.scrollIntoView({ block: "nearest" });
  draw();
}

const place = () => shown.items.findIndex(item => item.name === chosen?.name);

function draw() {
  const { row, open, notes } = chosen, made = row.provenance ?? {};
  const facts = [["answers", (row.answers ?? []).join(" | ")], ["expects", row.expects && [row.expects.value ?? row.expects.values].flat().join(" | ")],
    ["kind", [row.kind, row.split, ...(row.tags ?? [])].filter(Boolean).join(" · ")], ["made", chosen.rating ? `rated ${chosen.rating > 0 ? "good" : "bad"} by ${chosen.owner}` : [made.method, made.author, made.at].filter(Boolean).join(" · ")],
    ["reply", chosen.reply], ["comment", chosen.comment], ["id", row.id]].filter(([, value]) => value);
  detail.replaceChildren(...[
    ...(row.history ?? []).map(turn => make(`p.turn.${turn.role === "user" ? "user" : "reply"}`, { dir: "auto" }, turn.text)),
    make("h2", { dir: "auto" }, row.text ?? "–"),
    make("dl.facts", {}, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, String(value))))),
    make("ul.notes", {}, open.map(note => make("li.problem", {}, note)), notes.map(note => make("li", {}, note))),
    ...chosen.evidence.map((group, number) => make("section", {},
      make("h3", {}, chosen.evidence.length > 1 ? `Evidence ${number + 1} of ${chosen.evidence.length}` : "Evidence"),
      group.flatMap((place, at) => [at ? make("p.label", {}, "or") : null, ...evidence(place)]))),
    chosen.evidence.length ? null : make("p.nothing", {}, row.answers?.length ? "No evidence: replies are compared with the answers only." : "No evidence: the documents cannot answer this."),
    ...(chosen.open.length ? (chosen.contexts ?? []).map(context => make("section", {}, make("h3", {}, `Passage ${context.number}: ${context.doc_id}`), make("p.excerpt", { dir: "auto" }, context.text))) : []),
    make("p.problem", { id: "refused", role: "alert", hidden: true }),
    make("div.decide", {}, button("a", "Accept", "strong", accept), button("e", "Edit", "quiet", edit), button("d", "Drop", "quiet", drop))].filter(Boolean));
  detail.scrollTop = 0;
}

const button = (key, word, look, act) => make(`button.${look}`, { type: "button", onclick: () => guarded(act) }, word, make("kbd", {}, key));

function evidence(place) {
  const where = make("p.label", {}, [place.doc, place.page, place.heading].filter(Boolean).join(" · "));
  if (place.problem) return [where, make("p.problem", {}, place.problem), make("p.excerpt", { dir: "auto" }, make("del", {}, place.quote)), make("p.hint", {}, place.near)];
  return [where, make("p.excerpt", { dir: "auto" }, place.before, make("mark.quote", {}, place.quote), place.after)];
}

/** Send a decision, then show the question after it. */
async function decide(done, how) {
  if (!chosen) return;
  const at = place();
  await request("decide", { method: "POST", body: { name: chosen.name, ...how } });
  say(done);
  await load(shown.start, "", at);
}

const accept = () => decide("Accepted", {}), drop = () => decide("Dropped", { drop: true });

async function undo() {
  if (find("#undo").disabled) return;
  const { name } = await request("undo", { method: "POST", body: {} });
  say("Taken back");
  await load(shown.start, name);
}

const step = by => { const next = shown.items[place() + by]; return next && open(next.name); };

/** A form for the question, its answers, one a line, and the evidence as JSON; everything else stays as it is. */
function edit() {
  if (!chosen) return;
  const { row } = chosen;
  const field = (name, label, value, rows) => make("label", {}, label, make("textarea", { name, rows, dir: "auto", spellcheck: name !== "evidence" }, value));
  const form = make("form.edit", {}, field("text", "Question", row.text ?? "", 2), field("answers", "Answers, one a line", (row.answers ?? []).join("\n"), 2),
    field("expects", "Value of the answer; several: one a line", [row.expects?.value ?? row.expects?.values ?? []].flat().join("\n"), 1),
    field("evidence", "Evidence: groups, all needed; in a group any place", JSON.stringify(row.evidence ?? [], null, 1), 9),
    make("p.problem", { id: "refused", role: "alert", hidden: true }),
    make("div.decide", {}, make("button.strong", { type: "submit" }, "Save and accept"), make("button.quiet", { type: "button", onclick: draw }, "Cancel", make("kbd", {}, "Esc"))));
  form.addEventListener("submit", event => {
    event.preventDefault();
    guarded(() => decide("Saved and accepted", { row: written(row, new FormData(form)) }));
  });
  form.addEventListener("keydown", event => { if (event.key === "Escape") draw(); });
  const head = detail.querySelector("h2");
  detail.querySelector(".decide").remove();
  detail.querySelector("#refused").remove();
  head.replaceWith(form);
  form.querySelector("textarea").focus();
}

function written({ expects, ...row }, form) {
  const lines = name => form.get(name).split("\n").map(line => line.trim()).filter(Boolean);
  const values = lines("expects"), value = values.length === 1 && !expects?.values ? { value: values[0] } : { values };
  try {
    row.evidence = JSON.parse(form.get("evidence"));
  } catch (error) {
    throw Object.assign(error, { detail: `The evidence is not valid JSON: ${error.message}` });
  }
  return { ...row, text: form.get("text").trim(), answers: lines("answers"), ...(values.length ? { expects: value } : {}) };
}

/** Do one thing after the other, and show why it failed. A decision is ignored while another is under way. */
function guarded(work, waits = false) {
  if (busy && !waits) return;
  busy += 1;
  last = last.then(work).catch(failed).finally(() => { busy -= 1; });
}

function failed(problem) {
  const place = find("#refused") ?? detail.appendChild(make("p.problem", { id: "refused", role: "alert" }));
  place.textContent = sentences(problem.detail ? problem : { detail: problem.title ?? problem.message });
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
}

const KEYS = { a: accept, e: edit, d: drop, j: () => step(1), k: () => step(-1), u: undo, "?": () => find("#help").showModal() };

document.addEventListener("keydown", event => {
  const typing = event.target.closest("input, textarea, select, dialog[open]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key) || find(".edit")) return;
  event.preventDefault();
  guarded(KEYS[event.key], "jk".includes(event.key));
});
find("#undo").addEventListener("click", () => guarded(undo));
find("#help-open").addEventListener("click", KEYS["?"]);
find("#earlier").addEventListener("click", () => guarded(() => load(Math.max(0, shown.start - 100))));
find("#later").addEventListener("click", () => guarded(() => load(shown.start + shown.items.length)));
filter.addEventListener("change", () => guarded(() => load(0), true));
guarded(() => load(0));
