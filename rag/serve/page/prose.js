// Text → elements: headings, lists, tables, code and bold letters of Markdown, every letter at its place in the text.
// In documents, markup for the tools of their site is left out.
// Offsets are UTF-16 units. `marks` highlight letters, `inserts` replace them.

import { make } from "./dom.js";
import { hiddenIn, note } from "./site.js";

const HEADING = /^(#{1,6})[ \t]+/;
const ITEM = /^([ \t]*)([-*+•]|\d{1,3}[.)])[ \t]+/;
const FENCE = /^[ \t]*(```+|~~~+)/;
const UNDER = /^ {0,3}([=-])\1{2,}[ \t]*$/;
const RULE = /^[ \t]*\|?[ \t:|-]*-[ \t:|-]*\|?[ \t]*$/;
// A longer mark is shown as text: a text full of opening marks must not be scanned to its end for each of them.
const INLINE = /(?<!`)(`+)(?!`)(.{1,2000}?)(?<!`)\1(?!`)|\*\*(?=\S)(.{1,400}?)(?<=\S)\*\*|(?<![\w*\\])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])|(?<![\w_\\])(__?)(?=[^\s_])([^_\n]+?)(?<=\S)\5(?![\w_])/gs;
// Invisible letters, and those that reverse the order of others: they are shown by their code.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g;
const WRAPPED = 60;

/** The offset of a text node in its source text. */
export const standing = new WeakMap();

/** A fragment of `text`; `site` for a document. */
export const prose = (text, options = {}) => stretches(text, [{ start: 0, end: text.length }], options)[0];

/** A fragment for each of some stretches [{ start, end }] of `text`. */
export function stretches(text, wanted, { marks = [], inserts = [], site = false } = {}) {
  const painter = new Painter(text, marks, inserts, site);
  return wanted.map(({ start, end }) => {
    const lines = cut(text, start, end), fragment = document.createDocumentFragment();
    for (let at = 0; at < lines.length;) at = block(painter, lines, at, fragment);
    return fragment;
  });
}

/** The words of a part of a document, in one line. */
export function words(text) {
  const shown = prose(text, { site: true });
  shown.querySelectorAll("details").forEach(one => one.remove());
  return [...shown.querySelectorAll("p, pre, th, td")].map(one => one.textContent).join(" ");
}

function cut(text, from, to) {
  const lines = [];
  for (let start = from; start < to || start === from;) {
    let end = text.indexOf("\n", start);
    if (end < 0 || end > to) end = to;
    lines.push({ start, end, text: text.slice(start, end) });
    start = end + 1;
  }
  return lines;
}

const isRow = line => line.text.trimStart().startsWith("|");
const isTable = (lines, at) => isRow(lines[at]) || (lines[at].text.includes("|") && lines[at + 1]?.text.includes("|") && RULE.test(lines[at + 1].text));
const begins = (lines, at) => begun(lines[at]) || isTable(lines, at);
const begun = line => !line.text.trim() || HEADING.test(line.text) || ITEM.test(line.text) || FENCE.test(line.text);

/** Append the block that begins at line `at`; return the line after it. */
function block(painter, lines, at, into) {
  const line = lines[at];
  if (!line.text.trim()) return at + 1;
  if (FENCE.test(line.text)) return fence(painter, lines, at, into);
  if (isTable(lines, at)) return table(painter, lines, at, into);
  const aside = painter.site ? note(lines, at) : null;
  if (aside) {
    const title = make("p.note", { dir: "auto" });
    if (aside.called) painter.inline(line.start + aside.called[0], line.start + aside.called[1], title);
    put(painter, title, into);
    return aside.end;
  }
  const heading = HEADING.exec(line.text), under = painter.site && UNDER.exec(lines[at + 1]?.text ?? "");
  if (heading || under) {
    const level = heading ? heading[1].length : under[1] === "=" ? 1 : 2;
    const element = make("p.heading", { dir: "auto", "data-level": level, "data-start": line.start });
    painter.inline(line.start + (heading?.[0].length ?? 0), line.end, element);
    put(painter, element, into);
    return at + (heading ? 1 : 2);
  }
  let end = at + 1;
  while (end < lines.length && !begins(lines, end) && !(painter.site && note(lines, end))) end++;
  const item = ITEM.exec(line.text);
  const element = item ? make("p.item", { dir: "auto", "data-sign": /\d/.test(item[2]) ? item[2] : "•" }) : make("p", { dir: "auto" });
  if (item && item[1].length > 1) element.classList.add("deep");
  // An editor breaks long lines; short ones, as in an address, were broken by their author.
  const wrapped = lines.slice(at, end - 1).every(one => one.text.length >= WRAPPED);
  if (!wrapped) element.classList.add("lines");
  painter.inline(line.start + (item ? item[0].length : 0), lines[end - 1].end, element);
  put(painter, element, into);
  return end;
}

/** Append an element unless it is empty: a line of a document may hold hidden markup only. */
function put(painter, element, into) {
  if (!painter.site || element.textContent.trim() || element.childElementCount) into.append(element);
}

function fence(painter, lines, at, into) {
  const sign = FENCE.exec(lines[at].text)[1];
  let end = at + 1;
  while (end < lines.length && !lines[end].text.trimStart().startsWith(sign)) end++;
  const element = make("pre", { tabindex: 0 });
  if (end > at + 1) painter.letters(lines[at + 1].start, lines[end - 1].end, element);
  into.append(element);
  return Math.min(end + 1, lines.length);
}

function table(painter, lines, at, into) {
  let end = at;
  while (end < lines.length && (isRow(lines[at]) ? isRow(lines[end]) : lines[end].text.includes("|"))) end++;
  const headed = end > at + 1 && RULE.test(lines[at + 1].text);
  const body = make("table", { dir: "auto" });
  for (let row = at; row < end; row++) {
    if (headed && row === at + 1) continue;
    const element = make("tr");
    for (const [start, stop] of cells(lines[row])) {
      const cell = make(headed && row === at ? "th" : "td");
      painter.inline(start, stop, cell);
      element.append(cell);
    }
    body.append(element);
  }
  into.append(make("div.wide", { tabindex: 0 }, body));
  return end;
}

function cells(line) {
  const found = [];
  let start = isRow(line) ? line.text.indexOf("|") + 1 : 0;
  for (let at = start; at <= line.text.length; at++) {
    const ends = at === line.text.length;
    if (!ends && (line.text[at] !== "|" || line.text[at - 1] === "\\")) continue;
    if (!ends || line.text.slice(start).trim()) found.push(trimmed(line, start, at));
    start = at + 1;
  }
  return found;
}

function trimmed(line, start, end) {
  const words = line.text.slice(start, end);
  const first = start + words.length - words.trimStart().length;
  return [line.start + Math.min(first, end), line.start + Math.max(Math.min(first, end), start + words.trimEnd().length)];
}

class Painter {
  constructor(text, marks, inserts, site) {
    this.text = text;
    this.site = site;
    this.marks = marks.filter(mark => mark.end > mark.start);
    this.inserts = [...inserts].sort((a, b) => a.start - b.start);
    this.begins = new Set(inserts.map(one => one.start));
    this.hidden = site ? hiddenIn(text, this.marks) : [];
    this.edges = [...new Set([...this.marks, ...inserts, ...this.hidden].flatMap(one => [one.start, one.end]))].sort((a, b) => a - b);
  }

  /** Bold, italic and code between two offsets. */
  inline(from, to, into) {
    let at = from;
    for (const found of this.text.slice(from, to).matchAll(INLINE)) {
      const start = from + found.index, end = start + found[0].length;
      const sign = (found[1] ?? found[5])?.length ?? (found[3] ? 2 : 1), strong = found[3] || found[5]?.length === 2;
      this.letters(at, start, into);
      const element = make(found[1] ? "code" : strong ? "strong" : "em");
      this.letters(start + sign, end - sign, element);
      into.append(element);
      at = end;
    }
    this.letters(at, to, into);
  }

  letters(from, to, into) {
    const cuts = [from, ...this.edges.slice(after(this.edges, from), after(this.edges, to - 1)), to];
    for (let at = 0; at + 1 < cuts.length; at++) this.piece(cuts[at], cuts[at + 1], into);
  }

  piece(from, to, into) {
    if (from >= to) return;
    const insert = this.inserts[after(this.inserts, from, one => one.start) - 1];
    if (insert && to <= insert.end) {
      if (from === insert.start) into.append(insert.node());
      return;
    }
    const hidden = this.hidden[after(this.hidden, from, one => one.start) - 1];
    if (hidden && to <= hidden.end) return this.instead(hidden, from, into);
    const over = this.marks.filter(mark => mark.start <= from && to <= mark.end);
    const target = over.length ? make("mark", { class: over.map(mark => mark.kind).join(" "), title: over.find(mark => mark.title)?.title }) : into;
    let at = from;
    for (const found of this.text.slice(from, to).matchAll(HIDDEN)) {
      this.plain(at, from + found.index, target);
      const number = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      target.append(make("span.hidden-letter", { title: `An invisible character: U+${number}` }, `U+${number}`));
      at = from + found.index + found[0].length;
    }
    // The replacement of a marker stays with the word before it, not on a line of its own.
    const hangs = this.begins.has(to);
    this.plain(at, hangs ? at + this.text.slice(at, to).trimEnd().length : to, target);
    if (target !== into) into.append(target);
  }

  /** The replacement of hidden markup, at its beginning. */
  instead(hidden, from, into) {
    if (from !== hidden.start) return;
    if (hidden.said) into.append(hidden.said);
    if (!hidden.aside) return;
    const box = make("details.aside", {}, make("summary", {}, "Hidden"));
    this.plain(hidden.start, hidden.end, box);
    into.append(box);
  }

  plain(from, to, into) {
    if (from >= to) return;
    const node = document.createTextNode(this.text.slice(from, to));
    standing.set(node, from);
    into.append(node);
  }
}

/** The number of sorted offsets up to `place`. */
function after(sorted, place, of = one => one) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(sorted[middle]) <= place) low = middle + 1; else high = middle;
  }
  return low;
}
