(() => {
  const PAGES = 6, CHUNKS = 40, WIDTH = 100, HEIGHT = 132;
  const { at, block, make, draw, count, within, flags } = Page;
  const select = Object.fromEntries(["flag", "words", "question"].map(id => [id, at(id)]).filter(([, element]) => element));
  const detail = at("detail");
  let index;
  const several = (number, one) => `${count(number)} ${number === 1 ? one : `${one}s`}`;
  const tally = counts => Object.entries(counts).map(([name, number]) => `${name} ${count(number)}`).join(", ");
  const wanted = () => (select.question && select.question.value !== "" ? Number(select.question.value) : -1);

  // ------------------------------------------------------------------------------------------------ the list
  function matches(one, words) {
    const flag = select.flag.value, all = [...one.flags, ...Object.keys(one.flagged)];
    const has = { "": true, "*": all.length, redacted: Object.keys(one.redactions).length, unsure: one.unsure }[flag] ?? all.includes(flag);
    if (!has) return false;
    return (wanted() < 0 || one.gold.includes(wanted())) && words.every(word => one.lower.includes(word));
  }

  function item(row) {
    const one = index.documents[row], names = [...new Set([...one.flags, ...Object.keys(one.flagged)])];
    const about = [one.pages ? several(one.pages, "page") : "", one.chunks.map(count).join(" / ") + " chunks", one.gold.length ? several(one.gold.length, "question") : ""];
    return [make("span", { class: "ask" }, one.name), make("span", { class: "how" }, about.filter(Boolean).join(" · ")), names.length ? make("span", { class: "how" }, ...flags(names)) : ""];
  }

  // ------------------------------------------------------------------------------------------------ one document
  async function load(row) {
    const place = index.documents[row].at;
    return place && (await block(`data-shard-${place[0]}`))[place[1]];
  }

  function describe(row, content) {
    const one = index.documents[row];
    const about = [one.pages ? several(one.pages, "page") : "", `${count(one.characters)} characters`, tally(one.blocks), Object.keys(one.redactions).length ? `redacted: ${tally(one.redactions)}` : ""];
    const head = [make("h3", {}, one.name, ...flags(one.flags)), make("p", { class: "about" }, about.filter(Boolean).join(" · "))];
    if (!content) return detail.replaceChildren(...head, make("p", { class: "missing" }, "The text of this document is left out of the page."));
    const text = new Text(content), pages = pagesOf(content, text);
    detail.replaceChildren(...head, ...records(content, text), ...gold(content, text),
      ...(pages.length ? [make("h4", {}, "Pages"), some(pages, PAGES, one => page(one, content, text), "page")] : []),
      make("h4", {}, "Chunks"), make("div", { class: "sides" }, ...index.chunkers.map((name, place) => side(name, content.chunks[place], content, text))));
  }

  // Offsets count code points, as everywhere in Assay.
  class Text {
    constructor(content) {
      this.characters = /[\ud800-\udbff]/.test(content.text) ? [...content.text] : content.text;
      this.marks = [...content.gold.flatMap(([question, state, , pieces]) => pieces.map(([start, end]) => ({ start, end, tag: "mark", title: `${index.questions[question][0]}: ${state}` }))),
        ...content.redactions.map(([start, end, rule]) => ({ start, end, tag: "span", class: "redacted", title: `redacted: ${rule}` }))].sort((a, b) => a.start - b.start);
    }

    cut(start, end) {
      const part = this.characters.slice(start, end);
      return typeof part === "string" ? part : part.join("");
    }

    /** The characters [start, end) with their marks, as nodes. */
    paint(start, end) {
      const over = this.marks.filter(mark => mark.start < end && mark.end > start), edges = new Set([start, end]);
      over.forEach(mark => [mark.start, mark.end].forEach(edge => { if (edge > start && edge < end) edges.add(edge); }));
      const cuts = [...edges].sort((a, b) => a - b);
      return cuts.slice(1).map((to, at) => {
        const marked = over.filter(mark => mark.start <= cuts[at] && to <= mark.end);
        return marked.reduce((inside, mark) => make(mark.tag, { class: mark.class, title: mark.title, "data-start": mark.start }, inside), this.cut(cuts[at], to));
      });
    }
  }

  /** The values of a document by field, and the characters that state them. */
  function records(content, text) {
    const written = values => Object.entries(values).map(([name, value]) => `${name}: ${value === null ? "–" : [value].flat().join(", ")}`).join(" · ");
    const lines = content.records.map(({ table, start, end, values }) => make("li", {}, written(values), make("p", { class: "where" }, `${table}, at ${count(start)}–${count(end)}: ${text.cut(start, Math.min(end, start + WIDTH)).trim()}`)));
    const failed = content.failures.map(([field, why]) => make("li", { class: "missing" }, `${field} ${why}`));
    return lines.length + failed.length ? [make("h4", {}, "Records"), make("ul", { class: "gold" }, ...lines, ...failed)] : [];
  }

  function gold(content, text) {
    if (!content.gold.length) return [];
    const lines = content.gold.map(([question, state, rule, pieces]) => {
      const start = pieces[0]?.[0], end = pieces.at(-1)?.[1], name = index.questions[question][1];
      const jump = pieces.length ? make("button", { type: "button", class: "jump" }, name) : make("span", {}, name);
      jump.addEventListener("click", () => detail.querySelectorAll(".all").forEach(all => all.click()) || [...detail.querySelectorAll("mark")].find(mark => Number(mark.dataset.start) === start)?.scrollIntoView({ block: "center" }));
      const holds = pieces.length ? index.chunkers.map((chunker, place) => {
        const parts = content.chunks[place].filter(chunk => chunk[0] < end && chunk[1] > start);
        return `${chunker}: ${parts.some(chunk => chunk[0] <= start && end <= chunk[1]) ? "whole" : parts.length ? `over ${several(parts.length, "chunk")}` : "in no chunk"}`;
      }) : [];
      return make("li", {}, jump, make("p", { class: "where" }, [index.questions[question][0], state, rule, ...holds].filter(Boolean).join(" · ")));
    });
    return [make("h4", {}, "Evidence"), make("ul", { class: "gold" }, ...lines)];
  }

  /** The first `most` of some parts, and a button for the others. */
  function some(parts, most, of, noun) {
    const box = make("div", {}, ...parts.slice(0, most).map(of));
    if (parts.length <= most) return box;
    const all = make("button", { type: "button", class: "jump all" }, `Show all ${several(parts.length, noun)}`);
    all.addEventListener("click", () => all.replaceWith(...parts.slice(most).map(of)));
    box.append(all);
    return box;
  }

  function pagesOf(content, text) {
    const found = [];
    for (const [kind, start, , number] of content.blocks) {
      if (!number || index.kinds[kind] === "cell" || found.at(-1)?.number === number) continue;
      found.push({ number, start: found.length ? start : 0 });
    }
    return found.map((one, at) => ({ ...one, end: found[at + 1]?.start ?? text.characters.length }));
  }

  function page({ number, start, end }, content, text) {
    const own = content.blocks.filter(one => one[3] === number), boxed = own.filter(one => one.length > 4);
    const isGold = one => text.marks.some(mark => mark.tag === "mark" && mark.start < one[2] && mark.end > one[1]) && (index.kinds[one[0]] !== "table" || !boxed.some(cell => index.kinds[cell[0]] === "cell" && cell[1] >= one[1] && cell[2] <= one[2]));
    const shapes = boxed.flatMap(one => Array.from({ length: (one.length - 4) / 4 }, (_, at) => {
      const [x, y, width, height] = one.slice(4 + 4 * at, 8 + 4 * at);
      return draw("rect", { class: isGold(one) ? `${index.kinds[one[0]]} is-gold` : index.kinds[one[0]], x: x * WIDTH, y: y * HEIGHT, width: width * WIDTH, height: height * HEIGHT }, draw("title", {}, index.kinds[one[0]]));
    }));
    const sheet = shapes.length ? draw("svg", { class: "sheet", viewBox: `-1 -1 ${WIDTH + 2} ${HEIGHT + 2}`, role: "img", "aria-label": `Page ${number}: the outlines of ${several(boxed.length, "block")}` },
      draw("rect", { class: "edge", width: WIDTH, height: HEIGHT }), ...shapes) : make("p", { class: "where" }, "no boxes");
    return make("section", { class: "page", "aria-label": `Page ${number}` }, make("p", { class: "where" }, make("b", {}, `Page ${number}`), ` · ${several(own.length, "block")}`), sheet, make("div", { class: "words" }, ...parts(own, start, end, text)));
  }

  /** The blocks of a page, tables as tables, and the text between them. */
  function parts(own, start, end, text) {
    const nodes = [];
    let place = start;
    const plain = to => { if (to > place && text.cut(place, to).trim()) nodes.push(make("p", { class: "text" }, ...text.paint(place, to))); place = Math.max(place, to); };
    for (const [kind, from, to] of own.filter(one => index.kinds[one[0]] !== "cell" && one[1] >= start && one[2] > one[1])) {
      if (from < place) continue;
      plain(from);
      nodes.push(index.kinds[kind] === "table" ? table(from, to, text) : make("p", { class: `text ${index.kinds[kind]}` }, ...text.paint(from, to)));
      place = to;
    }
    plain(end);
    return nodes;
  }

  function table(start, end, text) {
    const body = make("tbody", {}), box = make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Table" }, make("table", {}, body));
    let place = start;
    for (const line of text.cut(start, end).split("\n")) {
      const size = [...line].length;
      if (/[^\s|:-]/.test(line)) body.append(make("tr", {}, ...cells(line).map(([from, to]) => make("td", {}, ...text.paint(place + from, place + to)))));
      place += size + 1;
    }
    return body.childElementCount ? box : make("p", { class: "text table" }, ...text.paint(start, end));
  }

  /** The cells of a row between its bars, [start, end) in code points, blanks aside. */
  function cells(line) {
    const letters = [...line], bars = letters.flatMap((letter, at) => (letter === "|" && letters[at - 1] !== "\\" ? [at] : []));
    const edges = [...(bars[0] === 0 ? [] : [-1]), ...bars, ...(bars.at(-1) === letters.length - 1 ? [] : [letters.length])];
    return edges.slice(1).map((to, at) => {
      let from = edges[at] + 1, until = to;
      while (from < until && letters[from] === " ") from++;
      while (until > from && letters[until - 1] === " ") until--;
      return [from, until];
    });
  }

  function side(name, chunks, content, text) {
    const flag = ["redacted", "unsure"].includes(select.flag.value) ? "" : select.flag.value;
    const near = content.gold.flatMap(([question, , , pieces]) => question === wanted() && pieces.length ? [[pieces[0][0], pieces.at(-1)[1]]] : []);
    const numbered = chunks.map((chunk, at) => [at + 1, chunk]);
    // The chunks with gold of the chosen question, and one before and behind it.
    const around = at => near.some(([from, to]) => (chunks[at + 1] || chunks[at])[1] > from && (chunks[at - 1] || chunks[at])[0] < to);
    const kept = numbered.filter(([number, [, , names]]) => (!flag || (flag === "*" ? names.length : names.includes(flag))) && (!near.length || around(number - 1)));
    const why = [flag && `flagged ${flag === "*" ? "" : flag}`, near.length && "around the gold of the question"].filter(Boolean);
    const said = kept.length < chunks.length ? `${count(kept.length)} of ${several(chunks.length, "chunk")}, ${why.join(", ")}` : several(chunks.length, "chunk");
    const line = ([number, [start, end, names, ...extra]]) => make("section", { class: "chunk" },
      make("p", { class: "where" }, make("b", {}, `${number} `), [`${count(start)}–${count(end)}`, pagesIn(content, start, end), several(end - start, "character")].filter(Boolean).join(" · "), ...flags(names)),
      ...within(make("p", { class: "text" }, ...text.paint(start, Math.min(end, text.characters.length))), extra));
    return make("section", { "aria-label": name }, make("h4", {}, name), make("p", { class: "where" }, said), some(kept, CHUNKS, line, "chunk"));
  }

  /** The pages of the blocks that a chunk touches. */
  function pagesIn(content, start, end) {
    const pages = content.blocks.filter(one => one[3] && one[1] < end && one[2] > start).map(one => one[3]);
    const [first, last] = [Math.min(...pages), Math.max(...pages)];
    return !pages.length ? "" : first === last ? `p. ${first}` : `pp. ${first}–${last}`;
  }

  // ------------------------------------------------------------------------------------------------ begin
  Page.explore({
    controls: select, item, load, describe,
    take: data => {
      index = data;
      index.documents.forEach(one => { one.lower = one.name.toLowerCase(); });
    },
    matching: words => index.documents.map((_, row) => row).filter(row => matches(index.documents[row], words)),
    said: found => `${count(found.length)} of ${several(index.documents.length, "document")}`,
    next: (found, opened) => found.includes(opened) ? opened : found[0],
    failed: message => `The documents cannot be shown here (${message}).`,
  });
})();
