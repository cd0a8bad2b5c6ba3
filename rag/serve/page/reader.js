// A document with the cited words marked, and with selections to ask about.

import { request } from "./api.js";
import { make, say } from "./dom.js";
import { backToQuestion } from "./drawer.js";
import * as panel from "./panel.js";
import { pageOf, pagesOf, readAs } from "./pages.js";
import { standing, stretches } from "./prose.js";
import * as scope from "./scope.js";
import { Places, count, sentences, several } from "./text.js";

const kept = new Map();
let model = null, current = null;

/** The model whose documents are opened. */
export function readFrom(name) {
  model = name;
}

/** Open a document, with the passage [start, end) and the `quote` {start, end} in it marked, both in code points. */
export function openDocument(place) {
  panel.open([{ name: "document", title: "Document", heading: scope.titleOf(place.doc_id), fill: body => fill(body, place) }]);
}

/** Fill an element with a document; other panels use this too. */
export async function fill(body, place) {
  const turn = current = {};
  const from = place.model ?? model;
  body.replaceChildren(make("p.waiting", { role: "status" }, "Opening…"));
  try {
    const found = await documentOf(place.doc_id, from);
    if (turn === current) draw(body, found, place);
  } catch (problem) {
    if (turn !== current) return;
    const again = make("button.plain", { type: "button", onclick: () => fill(body, place) }, "Try again");
    body.replaceChildren(make("p.problem", { role: "alert" }, make("b", {}, `${problem.title}. `), sentences(problem), " ", again));
  }
}

async function documentOf(id, from) {
  const name = `${from ?? ""} ${id}`;
  if (!kept.has(name)) {
    const path = id.split("/").map(encodeURIComponent).join("/");
    const found = await request(`documents/${path}${from ? `?model=${encodeURIComponent(from)}` : ""}`);
    kept.set(name, found);
  }
  return kept.get(name);
}

function draw(body, found, place) {
  const { text } = found, places = new Places(text);
  const range = (one, kind) => ({ start: places.unit(one.start), end: places.unit(one.end), kind });
  const marks = found.redactions.map(one => ({ ...range(one, "redacted"), title: `Redacted: ${one.rule}` }));
  if (place.start !== undefined) marks.push(range(place, "passage"));
  if (place.quote) marks.push(range(place.quote, "quote"));
  const chosen = scope.selection();
  if (chosen?.doc_id === place.doc_id) marks.push(range(chosen, "chosen"));
  const article = make("article.document", { tabindex: 0, "aria-label": scope.titleOf(place.doc_id) });
  const pages = pagesOf(found.blocks, places, text.length), on = Map.groupBy(found.blocks, one => one.page);
  const texts = stretches(text, pages, { marks, site: true });
  article.append(...pages.map(({ page }, at) => (page ? pageOf(page, on.get(page), place, texts[at]) : texts[at])));
  sections(article, text, places, place.doc_id);
  body.replaceChildren(about(place, found, chunk => draw(body, found, { ...place, ...chunk, quote: null })), article);
  selecting(article, places, place, body, found);
  const wanted = article.querySelector("mark.quote") ?? article.querySelector("mark.passage") ?? article.querySelector("mark.chosen");
  wanted?.scrollIntoView({ block: "center" });
  const page = wanted?.closest(".page")?.dataset.page;
  if (wanted) say(`${scope.titleOf(place.doc_id)}${page ? `, page ${page}` : ""}: ${wanted.textContent}`);
}

function about(place, found, open) {
  const characters = [...found.text];
  const parts = [place.doc_id, ...(found.pages ? [several(found.pages, "page")] : []), `${count(characters.length)} characters`];
  if (place.start !== undefined) parts.push(`passage ${count(place.start)}–${count(place.end)}`);
  const hint = make("p.hint", {}, "Select some of the text to ask about nothing else.");
  return make("div.about", {}, make("p.where", {}, parts.join(" · ")), readAs(found, characters, open), hint);
}

/** Give every heading a button that asks about its section only, which works without a mouse. */
function sections(article, text, places, id) {
  const headings = [...article.querySelectorAll(".heading")];
  headings.forEach((heading, number) => {
    const level = Number(heading.dataset.level), start = Number(heading.dataset.start);
    const next = headings.slice(number + 1).find(other => Number(other.dataset.level) <= level);
    const end = next ? Number(next.dataset.start) : text.length;
    if (start === 0 && end === text.length) return;
    const button = make("button.quiet.only", { type: "button", "aria-label": `Ask about the section ${heading.textContent} only`,
      onclick: () => choose(id, places.point(start), places.point(end)) }, "Only this section");
    heading.append(" ", button);
  });
}

function choose(id, start, end) {
  scope.select({ doc_id: id, start, end });
  say(scope.described(scope.within()));
  backToQuestion(panel);
}

function selecting(article, places, place, body, found) {
  const offer = make("div.offer", { hidden: true },
    make("button.strong", { type: "button", onclick: () => {
      const [start, end] = selected(article) ?? [];
      if (end === undefined) return;
      getSelection().removeAllRanges();
      choose(place.doc_id, places.point(start), places.point(end));
      if (panel.isOpen()) draw(body, found, place);
    } }, "Ask about this only"), make("span", {}));
  body.append(offer);
  const look = () => {
    if (!article.isConnected) return document.removeEventListener("selectionchange", look);
    const range = selected(article);
    offer.hidden = !range;
    if (range) offer.lastChild.textContent = `${count(places.point(range[1]) - places.point(range[0]))} characters selected`;
  };
  document.addEventListener("selectionchange", look);
}

/** The selection in a document, [start, end) in units, or null. */
function selected(article) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!article.contains(range.commonAncestorContainer)) return null;
  let start = Infinity, end = -1;
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, at = standing.get(node);
    if (at === undefined || !range.intersectsNode(node)) continue;
    const from = node === range.startContainer ? range.startOffset : 0;
    const to = node === range.endContainer ? range.endOffset : node.length;
    if (to <= from) continue;
    start = Math.min(start, at + from);
    end = Math.max(end, at + to);
  }
  return end > start ? [start, end] : null;
}
