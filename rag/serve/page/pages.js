// The pages of a document, each with its blocks as a drawing, and how the document was read and cut.

import { drawing, make } from "./dom.js";
import { clipped, count, several } from "./text.js";

const WIDTH = 100, HEIGHT = 132, AT_ONCE = 100;

/** The stretches of a text by page, [{ page, start, end }] in units; one without `page` for a text without pages. */
export function pagesOf(blocks, places, size) {
  const found = [];
  for (const block of blocks) {
    if (!block.page || block.kind === "cell" || found.at(-1)?.page === block.page) continue;
    found.push({ page: block.page, start: found.length ? places.unit(block.start) : 0 });
  }
  if (!found.length) found.push({ start: 0 });
  return found.map((one, at) => ({ ...one, end: found[at + 1]?.start ?? size }));
}

/** A page: its number, the outlines of its blocks, and its text. Blocks that `place` touches are marked. */
export function pageOf(page, blocks, place, text) {
  const wanted = place.quote ?? place, touched = one => one.start < wanted.end && one.end > wanted.start;
  const boxed = blocks.filter(one => one.boxes.length), cells = boxed.filter(one => one.kind === "cell" && touched(one));
  const cited = one => touched(one) && !(one.kind === "table" && cells.some(cell => cell.start >= one.start && cell.end <= one.end));
  const shapes = boxed.flatMap(one => one.boxes.map(([left, top, right, bottom]) => drawing("rect", {
    class: cited(one) ? `${one.kind} cited` : one.kind, x: left * WIDTH, y: top * HEIGHT, width: (right - left) * WIDTH, height: (bottom - top) * HEIGHT,
  }, drawing("title", {}, one.kind))));
  const marked = boxed.some(cited) ? ", the cited ones marked" : "";
  const sheet = shapes.length ? drawing("svg", { class: "sheet", viewBox: `-1 -1 ${WIDTH + 2} ${HEIGHT + 2}`, role: "img", "aria-label": `Page ${page}: the outlines of ${several(boxed.length, "block")}${marked}` },
    drawing("rect", { class: "edge", width: WIDTH, height: HEIGHT }), ...shapes) : null;
  return make("section.page", { "data-page": page, "aria-label": `Page ${page}` }, make("p.folio", { "aria-hidden": "true" }, `Page ${count(page)}`), sheet, make("div.words", {}, text));
}

const tally = values => [...Map.groupBy(values, one => one)].map(([name, all]) => `${count(all.length)} ${name}`).join(", ");

/** How a document was read: kinds of blocks, redactions, flags, chunks. `open(chunk)` shows one of them in the text. */
export function readAs(found, characters, open) {
  const flagged = found.chunks.filter(one => one.flags.length).length;
  const sums = [found.blocks.length && several(found.blocks.length, "block"), several(found.chunks.length, "chunk"), flagged && `${count(flagged)} flagged`];
  const facts = [["Blocks", tally(found.blocks.map(one => one.kind))], ["Redacted", tally(found.redactions.map(one => one.rule))], ["Flags", found.flags.join(", ")]];
  const box = make("details.reading", {}, make("summary", {}, sums.filter(Boolean).join(", ")),
    make("dl.facts", {}, facts.filter(([, value]) => value).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
  const list = make("ol"), row = (one, at) => make("li", {}, make("button.open", { type: "button", onclick: () => open(one) },
    make("b", {}, count(at + 1)), ` ${clipped(characters.slice(one.start, one.end).join("").slice(0, 400), 90) || "no letters"} `, one.flags.map(flag => make("span.tag", {}, flag))));
  const more = make("button.plain", { type: "button", onclick: () => {
    const first = list.childElementCount;
    list.append(...found.chunks.slice(first, first + AT_ONCE).map((one, at) => row(one, first + at)));
    more.hidden = list.childElementCount >= found.chunks.length;
    if (first) list.children[first].querySelector("button").focus();
  } }, "Show more chunks");
  box.addEventListener("toggle", () => more.click(), { once: true });
  box.append(list, more);
  return box;
}
