// The route of a question: its query of records with the result, and the steps of a policy.

import { make } from "./dom.js";
import { count, several } from "./text.js";

const ROWS = 20;
const LED = { records: "Answered from records", both: "Searched where records say", semantic: "Looked for" };

/** A block to open; null for one search of passages. `open` shows a place of a document. */
export function lookOf(look, open) {
  if (!look || !(look.query || look.steps.length)) return null;
  const said = [look.query ?? several(look.steps.length, "step"), look.note].filter(Boolean).join(". ");
  return make("details.look", {}, make("summary", {}, `${LED[look.route]}: ${said}`),
    look.result ? table(look.result, open) : null, look.steps.length ? make("ol", {}, look.steps.map(step)) : null,
    look.condensed ? Object.entries(KINDS).flatMap(([kind, words]) => items(words, look.condensed[kind])) : null);
}

const KINDS = { facts: "What the model was shown", constraints: "Constraints", open_issues: "Open issues" };
const items = (words, list) => list.length ? [make("p", {}, make("b", {}, words)),
  make("ul", {}, list.map(one => make("li", {}, `${one.text} `, make("span.hint", {}, one.sources.map(number => `[${number}]`).join("")))))] : [];

function table({ columns, rows, sources, left_out }, open) {
  const own = sources.length === rows.length, rest = rows.length - ROWS + left_out;
  const link = (one, words) => make("button.quiet", { type: "button", onclick: () => open(one) }, words);
  const cells = row => row.map(cell => make("td", {}, Array.isArray(cell) ? cell.join(", ") : String(cell ?? "–")));
  const lines = rows.slice(0, ROWS).map((row, at) => make("tr", {}, cells(row), own ? make("td", {}, link(sources[at], "Source")) : null));
  return make("div.wide", { tabindex: 0 }, make("table", {}, make("thead", {}, make("tr", {}, columns.map(name => make("th", { scope: "col" }, name)), own ? make("th", { scope: "col" }, "Source") : null)), make("tbody", {}, lines)),
    rest > 0 ? make("p.hint", {}, `… and ${count(rest)} more.`) : null,
    own ? null : make("p", {}, sources.slice(0, ROWS).map((one, at) => link(one, `Record ${at + 1}`))));
}

const step = one => make("li", {}, make("b", {}, one.act), ` ${one.given} `, make("span.hint", {}, one.failure || one.observed || several(one.found.length, "passage")));
