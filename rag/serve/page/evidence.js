// The steps to an answer: passages kept and dropped with their ranks, checks, the prompt, time and cost.

import { make } from "./dom.js";
import * as panel from "./panel.js";
import { prose, words } from "./prose.js";
import { fill } from "./reader.js";
import * as scope from "./scope.js";
import { clipped, count, money, seconds, several } from "./text.js";

const DROPPED = 20;

/** Open the panel at an answer: `first` is the tab that is shown, `place` the passage that its document opens at. */
export function openEvidence(answer, first = "passages", place = null) {
  const tabs = [], heading = clipped(answer.question, 80);
  const at = place ?? placeOf(answer, answer.contexts?.[0]);
  if (at) tabs.push({ name: "document", title: "Document", heading: scope.titleOf(at.doc_id), fill: body => fill(body, at) });
  tabs.push({ name: "passages", title: "Passages", heading, fill: body => passages(body, answer) });
  const findings = answer.findings ?? [];
  tabs.push({ name: "checks", title: findings.length ? `Checks (${findings.length})` : "Checks", heading, fill: body => checks(body, answer) });
  if (answer.prompt) tabs.push({ name: "prompt", title: "Prompt", heading, fill: body => prompt(body, answer) });
  if (answer.timings) tabs.push({ name: "cost", title: "Cost", heading, fill: body => cost(body, answer) });
  panel.open(tabs, first);
}

/** The place of a context, with the quote of a citation in it. */
export function placeOf(answer, context, citation = null) {
  if (!context) return null;
  // A quote as long as its passage marks no words in particular.
  const span = citation?.span, quotes = span && (span.start > context.start || span.end < context.end);
  return { doc_id: context.doc_id, start: context.start, end: context.end, quote: quotes ? span : null, model: answer.model };
}

function passages(body, answer) {
  const found = answer.trace?.passages ?? (answer.contexts ?? []).map(one => ({ ...one, kept: true, why: "", steps: one.steps ?? {} }));
  const kept = found.filter(one => one.kept), dropped = found.filter(one => !one.kept);
  body.append(searched(answer));
  if (!found.length) return body.append(make("p.nothing", {}, answer.within?.whole ? "Nothing was searched: whole documents were read." : "Nothing was found."));
  const steps = [...new Set(found.flatMap(one => Object.keys(one.steps ?? {})))];
  body.append(make("h3", {}, `Read (${kept.length})`), kept.length ? list(answer, kept, steps) : make("p.nothing", {}, "Nothing of what was found was read."));
  if (!dropped.length) return;
  const rest = dropped.slice(DROPPED);
  body.append(make("h3", {}, `Found and not read (${count(dropped.length)})`));
  const first = list(answer, dropped.slice(0, DROPPED), steps);
  body.append(first);
  if (!rest.length) return;
  const more = make("button.plain", { type: "button", onclick: () => {
    first.append(...list(answer, rest, steps).children);
    more.remove();
    first.children[DROPPED].querySelector("button").focus();
  } }, `Show ${count(rest.length)} more`);
  body.append(more);
}

function searched(answer) {
  const sought = answer.sought;
  const texts = sought ? [...new Set([sought.question, ...(sought.texts ?? [])])].filter(text => text && text !== answer.question) : [];
  const box = make("div.searched", {});
  if (texts.length) box.append(make("p", {}, make("span.label", {}, "Searched for"), texts.map(text => make("q", {}, text))));
  if (sought?.note) box.append(make("p.note", {}, sought.note));
  return box;
}

function list(answer, found, steps) {
  return make("ol.passages", {}, found.map(one => {
    const place = placeOf(answer, one);
    const open = make("button.open", { type: "button", onclick: () => openEvidence(answer, "document", place) }, scope.titleOf(one.doc_id));
    const number = one.kept ? make("span.number", { title: "Its number in the prompt" }, one.number ?? "·") : null;
    const section = scope.sectionOf(one);
    const taken = (answer.findings ?? []).some(finding => finding.passage === one.chunk && finding.action === "quarantine");
    return make("li", { class: one.kept ? "kept" : taken ? "dropped taken" : "dropped" },
      make("div.head", {}, number, make("p", {}, open, " ", section ? make("span.section", {}, section) : null)),
      one.kept || !one.why ? null : make("p.why", {}, one.why),
      ranks(one, steps),
      excerpt(one));
  }));
}

function ranks(one, steps) {
  if (!steps.length) return null;
  return make("dl.ranks", {}, steps.map(step => {
    const place = one.steps?.[step];
    const title = place ? `rank ${place.rank} of ${step}, score ${place.score}` : `${step} did not find it`;
    return make("div", { class: place ? (place.rank <= 5 ? "high" : "") : "absent", title },
      make("dt", {}, step), make("dd", {}, place ? `${place.rank}` : "–"));
  }));
}

function excerpt(one) {
  const text = make("div.excerpt");
  text.append(prose(one.text, { site: true }));
  return make("details.text", {}, make("summary", {}, clipped(words(one.text), 110)), text);
}

/** The consequence of a finding, in words. */
export const MEANT = {
  flag: "shown to the reader", quarantine: "passage taken out", abstain: "no model was asked", remove: "cut from the reply",
  refuse: "reply replaced", regenerate: "asked again",
};

function checks(body, answer) {
  const findings = answer.findings ?? [];
  if (!findings.length) return body.append(make("p.nothing", {}, "No check and no guard noticed anything."));
  body.append(make("ul.findings", {}, findings.map(one => make("li", { class: one.action },
    make("p.head", {}, make("span.source", {}, one.source), make("span.tag", {}, MEANT[one.action] ?? one.action)),
    make("p", {}, one.what, " ", link(answer, one))))));
}

function link(answer, finding) {
  const found = answer.trace?.passages?.find(one => one.chunk === finding.passage) ?? (answer.contexts ?? []).find(one => one.number === finding.context);
  if (!found) return null;
  const place = placeOf(answer, found);
  // The offsets of a finding about a passage count from its first letter.
  if (finding.end > finding.start) place.quote = { start: found.start + finding.start, end: Math.min(found.end, found.start + finding.end) };
  return make("button.plain", { type: "button", onclick: () => openEvidence(answer, "document", place) }, `Open ${scope.titleOf(found.doc_id)}`);
}

function prompt(body, answer) {
  if (!answer.prompt.length) return body.append(make("p.nothing", {}, "No model was asked."));
  const price = answer.cost_usd ? `, at most ${money(answer.cost_usd)}` : "", unsent = `${several(answer.tokens.prompt, "token")}${price}. Nothing was sent yet.`;
  const fields = answer.prompt.map(({ role, content }) => make("textarea", { rows: Math.min(18, content.split("\n").length + 4), dir: "auto", readonly: !answer.send, "aria-label": `Message of ${role}` }, content));
  const before = fields.map(field => field.value), read = answer.contexts.map(one => one.chunk);
  const edited = () => ({ read, prompt: answer.prompt.map(({ role }, at) => ({ role, content: fields[at].value })) });
  body.append(make("p.hint", {}, answer.preview ? unsent : "Exactly what the model was given."), ...fields.flatMap((field, at) => [make("h3", {}, answer.prompt[at].role), field]));
  if (!answer.send) return;
  body.append(make("p.hint", {}, "An answer to an edited prompt is marked: it is not measured."),
    make("button.strong", { type: "button", onclick: () => answer.send(fields.some((field, at) => field.value !== before[at]) ? edited() : {}) }, "Send"));
}

function cost(body, answer) {
  const { total, ...steps } = answer.timings;
  const most = Math.max(...Object.values(steps), 1e-9);
  const row = ([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, seconds(value)),
    make("td.bar", {}, make("meter", { min: 0, max: most, value, "aria-hidden": "true" })));
  const whole = make("tr.total", {}, make("th", { scope: "row" }, "all"), make("td", {}, seconds(total ?? 0)), make("td"));
  body.append(make("h3", {}, "Time"), make("table.times", {}, make("tbody", {}, Object.entries(steps).map(row), whole)));
  const facts = [];
  if (answer.tokens) facts.push(["Tokens", `${count(answer.tokens.prompt)} read, ${count(answer.tokens.completion)} written`]);
  facts.push(["Cost", money(answer.cost_usd) || "not known"], ["Pipeline", scope.nameOf(answer.model)], ["Bundle", answer.bundle], ["Answer", answer.id]);
  body.append(make("h3", {}, "What it took"), make("dl.facts", {}, facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value ?? "–")))));
}

/** The one line under an answer. */
export function summary(answer) {
  const tokens = (answer.tokens?.prompt ?? 0) + (answer.tokens?.completion ?? 0);
  return [answer.timings?.total !== undefined ? seconds(answer.timings.total) : "", tokens ? several(tokens, "token") : "", answer.cost_usd ? money(answer.cost_usd) : ""].filter(Boolean);
}
