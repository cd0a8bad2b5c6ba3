// One answer of one model: searching, writing, complete, failed.

import { Problem, stream } from "./api.js";
import { icon, make, say } from "./dom.js";
import { MEANT, openEvidence, placeOf, summary } from "./evidence.js";
import { thumbs } from "./feedback.js";
import { lookOf } from "./look.js";
import { peekAt } from "./peek.js";
import { prose, words } from "./prose.js";
import * as scope from "./scope.js";
import { Places, count, several, sentences } from "./text.js";

const MARKER = /\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\](?!\()/g;

const FRAME = 16, MOST = 100_000;
/** The note of an answer whose end is not shown. */
const rest = text => (text.length > MOST ? [make("p.hint.rest", {}, `… and ${count(text.length - MOST)} more characters. Copy the answer to read them.`)] : []);

/** Kinds of messages that are no question: an answer to them declines nothing. */
const REPLIED = ["pleasantry", "conversation"];
const replied = answer => REPLIED.includes(answer.input);

/** An answer that sends its own request: `ask(body, path)` streams into `element`. */
export class AnswerView {
  constructor(model, titled) {
    this.model = model;
    this.text = "";
    this.contexts = [];
    this.status = make("p.status", { role: "status" });
    this.body = make("div.body");
    this.under = make("div.under");
    this.element = make("section.answer", { "aria-label": titled ? `Answer of ${scope.nameOf(model)}` : "Answer" },
      titled ? make("h3.model", {}, scope.nameOf(model)) : null, this.status, this.body, this.under);
  }

  /** The whole answer, or null if it failed or was stopped. */
  async ask(path, body, signal) {
    Object.assign(this, { asked: body, pause: FRAME, text: "", contexts: [], answer: null, problem: null });
    this.body.replaceChildren();
    this.under.replaceChildren();
    this.element.className = "answer working";
    this.element.setAttribute("aria-busy", "true");
    this.status.textContent = body.within?.whole ? "Reading…" : "Searching…";
    try {
      await stream(path, body, (event, data) => this.hear(event, data), signal);
      return this.answer;
    } catch (problem) {
      this.fail(problem, signal);
      return null;
    } finally {
      this.element.classList.remove("working");
      this.element.removeAttribute("aria-busy");
    }
  }

  hear(event, data) {
    if (event === "passages") {
      this.contexts = Array.isArray(data) ? data : (data.contexts ?? data.passages ?? []);
      this.status.textContent = this.contexts.length ? `Reading ${several(this.contexts.length, "passage")}…` : "Nothing was found…";
    } else if (event === "piece") {
      if (!this.text) this.status.textContent = "Writing…";
      this.text += data.text;
      this.due ??= setTimeout(() => { this.due = null; if (!this.answer) this.write(); }, this.pause);
    } else if (event === "answer") this.show(data);
  }

  /** Show the text so far; its markers open passages, whose quotes are known only at the end. */
  write() {
    const began = performance.now();
    const text = this.text.slice(0, MOST);
    const inserts = [...text.matchAll(MARKER)].map(found => {
      const numbers = found[1].split(/[,;]/).map(Number).filter(number => this.contexts.some(one => one.number === number));
      return numbers.length ? { start: found.index, end: found.index + found[0].length, node: () => this.cites(numbers.map(number => ({ number }))) } : null;
    });
    this.body.replaceChildren(prose(text, { inserts: inserts.filter(Boolean) }), ...rest(this.text));
    // A long text is rendered less often, so that the page stays responsive.
    this.pause = Math.max(FRAME, 4 * (performance.now() - began));
  }

  show(answer) {
    const preview = this.asked?.preview && answer.prompt?.length > 0, declined = answer.abstained && !replied(answer) && !preview;
    this.answer = { ...answer, within: this.asked?.within ?? null, preview, abstained: answer.abstained && !preview, send: this.retry };
    this.contexts = answer.contexts ?? [];
    this.element.className = declined ? "answer abstained" : "answer";
    this.status.textContent = "";
    this.final();
    this.under.replaceChildren(...[this.warned(), this.named(), this.looked(), replied(answer) ? null : this.sources(), ...(this.asked?.preview ? [] : this.foot())].filter(Boolean));
    if (preview) openEvidence(this.answer, "prompt");
    say(declined ? "It declined to answer." : replied(answer) ? answer.answer : `Answered from ${several(this.contexts.length, "passage")}.`);
  }

  final() {
    const { answer } = this, places = new Places(answer.answer);
    const markers = new Map();
    for (const one of answer.citations ?? []) markers.set(one.start, [...(markers.get(one.start) ?? []), one]);
    const inserts = [...markers.values()].map(group => ({ start: places.unit(group[0].start), end: places.unit(group[0].end), node: () => this.cites(group) })).filter(one => one.end <= MOST);
    const marks = (answer.findings ?? []).filter(one => !one.context && !one.passage && one.action === "flag" && one.end > one.start)
      .map(one => ({ start: places.unit(one.start), end: places.unit(one.end), kind: "flagged", title: `${one.source}: ${one.what}` }));
    const said = answer.abstained && !replied(answer) ? [make("p.declined", {}, "It declined to answer")] : [];
    if (answer.answer.trim()) said.push(prose(answer.answer.slice(0, MOST), { inserts, marks }), ...rest(answer.answer));
    else if (answer.preview) said.push(make("button.plain", { type: "button", onclick: () => openEvidence(this.answer, "prompt") }, "Not sent yet: see its prompt"));
    else if (!answer.abstained) said.push(make("p.declined", {}, this.contexts.length ? "This pipeline only searches. What it found:" : "Nothing was found."));
    this.body.replaceChildren(...said);
  }

  /** Buttons in place of a marker: each opens its passage with the quoted words marked. */
  cites(group) {
    return make("span.cites", {}, group.map(citation => {
      const context = this.contexts.find(one => one.number === citation.number);
      if (!context) return `[${citation.number}]`;
      const title = scope.titleOf(context.doc_id);
      const button = make("button.cite", { type: "button", "aria-label": `Source ${citation.number}: ${title}`,
        onclick: () => openEvidence(this.answer ?? this.partial(), "document", placeOf({ model: this.model }, context, citation)) }, citation.number);
      peekAt(button, title, scope.sectionOf({ ...context, ...citation }), words(citation.quote || context.text));
      return button;
    }));
  }

  note(words) {
    this.under.prepend(make("p.hint", {}, words));
  }

  partial() {
    return { question: this.asked.question, model: this.model, contexts: this.contexts, findings: [], within: this.asked.within };
  }

  warned() {
    const findings = (this.answer.findings ?? []).filter(one => !REPLIED.includes(one.input));
    if (!findings.length) return null;
    const grave = findings.find(one => one.action !== "flag") ?? findings[0];
    const led = grave.action === "flag" ? "" : `${MEANT[grave.action][0].toUpperCase()}${MEANT[grave.action].slice(1)}. `;
    const words = `${led}${grave.source}: ${grave.what}${findings.length > 1 ? `, and ${findings.length - 1} more` : ""}`;
    return make("button.warning", { type: "button", onclick: () => openEvidence(this.answer, "checks") }, icon("warn"), make("span", {}, words));
  }

  /** A button that reads the files whose names are in the question. */
  named() {
    const files = (this.answer.proposed_lock ?? []).filter(id => !scope.isWhole(id));
    const lock = event => { files.forEach(id => scope.readWhole(id, true)); event.target.remove(); };
    return files.length ? make("button.plain", { type: "button", onclick: lock }, `Read ${files.map(scope.titleOf).join(", ")} whole from now on`) : null;
  }

  looked() {
    return lookOf(this.answer.look, one => openEvidence(this.answer, "document", placeOf({ model: this.model }, one)));
  }

  sources() {
    if (!this.contexts.length) return null;
    const cited = new Set((this.answer?.citations ?? []).map(one => one.number));
    const first = this.contexts.filter(one => cited.has(one.number)), rest = this.contexts.filter(one => !cited.has(one.number));
    const shown = first.length ? first : rest;
    const box = make("div.sources", {}, make("h4", {}, first.length ? "Sources" : this.answer ? "What was read" : "What was found"), make("ol", {}, shown.map(one => this.source(one))));
    if (first.length && rest.length) box.append(make("details", {}, make("summary", {}, `${rest.length} more read, not cited`), make("ol", {}, rest.map(one => this.source(one)))));
    return box;
  }

  source(context) {
    const citation = (this.answer?.citations ?? []).find(one => one.number === context.number);
    const section = scope.sectionOf({ ...context, ...citation });
    return make("li", { "data-chunk": context.chunk }, make("button.open", { type: "button",
      onclick: () => openEvidence(this.answer ?? this.partial(), "document", placeOf({ model: this.model }, context, citation)) },
    make("span.number", {}, context.number ?? "·"), make("span", {}, make("span.name", {}, scope.titleOf(context.doc_id)), " ", section ? make("span.section", {}, section) : null)));
  }

  foot() {
    const how = make("button.quiet", { type: "button", onclick: () => openEvidence(this.answer, "passages") }, icon("path"), "How it was found");
    const copy = navigator.clipboard && make("button.quiet", { type: "button", "aria-label": "Copy the answer", title: "Copy the answer", onclick: async () => {
      await navigator.clipboard.writeText(this.answer.answer);
      say("Copied");
      copy.classList.add("done");
      setTimeout(() => copy.classList.remove("done"), 1500);
    } }, icon("copy"));
    const facts = make("button.quiet.facts", { type: "button", title: "Time and cost", onclick: () => openEvidence(this.answer, "cost") }, summary(this.answer).join(" · "));
    const [buttons, comment] = thumbs(this.answer);
    return [make("div.foot", {}, how, facts, make("span.space"), make("span.rating", {}, copy, buttons)), comment];
  }

  fail(problem, signal) {
    this.problem = problem;
    if (!(problem instanceof Problem) && !signal?.aborted) console.error(problem);
    this.element.className = "answer failed";
    this.status.textContent = "";
    if (this.text) this.write();
    const stopped = signal?.aborted;
    const words = stopped ? [make("b", {}, "Stopped.")] : [make("b", {}, `${problem.title ?? "Something went wrong"}. `), sentences(problem)];
    if (this.text) words.push(" What stands above is not complete, and no check has looked at it.");
    else if (this.contexts.length) words.push(" These passages were found before it happened.");
    const again = make("button.plain", { type: "button", onclick: () => this.retry?.() }, "Ask again");
    this.under.replaceChildren(...[make("p.problem", { role: stopped ? "status" : "alert" }, words, " ", again), this.sources()].filter(Boolean));
  }
}
