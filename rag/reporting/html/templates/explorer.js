(() => {
  const EXCERPT = 700, BEFORE_GOLD = 160, CHANGED = 5;
  const SIGNS = ["●", "◐", "○", "–", "×"];
  const OUTCOMES = ["solved", "partly solved", "lost", "nothing to find", "failed"];
  const { at, block, make, within, flags } = Page;
  const select = Object.fromEntries(["first", "second", "kind", "outcome", "stage", "order", "words"].map(id => [id, at(id)]));
  const detail = at("detail");
  let index;

  const figure = (thousandths, sign) => {
    if (thousandths === null || thousandths === undefined) return "–";
    const text = (Math.abs(thousandths) / 1000).toFixed(3).replace(/^0\./, ".");
    return (thousandths < 0 ? "-" : sign && thousandths > 0 ? "+" : "") + text;
  };
  const name = trial => select.first.options[trial].text;
  const stageName = stage => (select.stage.options[stage] || {}).text || "";
  const chosen = () => [Number(select.first.value), Number(select.second.value)];
  const score = (trial, row) => index.scores[trial][row] ?? null;
  const outcome = (trial, row) => Number(index.outcomes[trial][row]);

  // ------------------------------------------------------------------------------------------------ the list
  function matches(row, first, second, words) {
    if (select.kind.value !== "" && index.kind[row] !== Number(select.kind.value)) return false;
    const mine = outcome(first, row), wanted = select.outcome.value;
    const apart = (score(first, row) ?? 0) - (score(second, row) ?? 0);
    if (/^\d$/.test(wanted) && mine !== Number(wanted)) return false;
    if (wanted === "unsolved" && mine !== 1 && mine !== 2 && mine !== 4) return false;
    if (wanted === "neither" && ([0, 3].includes(mine) || [0, 3].includes(outcome(second, row)))) return false;
    if (wanted === "better" && !(apart > 0)) return false;
    if (wanted === "worse" && !(apart < 0)) return false;
    if (select.stage.value !== "" && index.stages[first][row] !== select.stage.value) return false;
    return words.every(word => index.lower[row].includes(word));
  }

  function matching(words) {
    const [first, second] = chosen();
    const found = index.ids.map((_, row) => row).filter(row => matches(row, first, second, words));
    const apart = row => Math.abs((score(first, row) ?? 0) - (score(second, row) ?? 0));
    if (select.order.value === "low") found.sort((a, b) => (score(first, a) ?? 9e9) - (score(first, b) ?? 9e9) || a - b);
    if (select.order.value === "apart") found.sort((a, b) => apart(b) - apart(a) || a - b);
    return found;
  }

  function item(row) {
    const [first, second] = chosen();
    const told = (letter, trial) => make("span", { title: `${letter}: ${OUTCOMES[outcome(trial, row)]}` },
      make("span", { "aria-hidden": "true" }, `${letter} ${SIGNS[outcome(trial, row)]} ${score(trial, row) === null ? "" : figure(score(trial, row))}`),
      make("span", { class: "unseen" }, ` ${letter} ${OUTCOMES[outcome(trial, row)]} ${figure(score(trial, row))}`));
    return [make("span", { class: "ask" }, index.texts[row]),
      make("span", { class: "how" }, told("A", first), told("B", second), make("span", {}, index.ids[row].slice(0, 24)))];
  }

  // ------------------------------------------------------------------------------------------------ one question
  async function load(row) {
    const [shard, texts] = await Promise.all([block(`data-shard-${Math.floor(row / index.shard)}`), block("data-texts")]);
    return [shard[row % index.shard], texts];
  }

  function describe(row, [question, texts]) {
    const trials = chosen();
    const about = [index.ids[row], index.kinds[index.kind[row]], ...question.tags].filter(Boolean).join(" · ");
    const history = question.history.map(([role, text]) => make("p", { class: "turn" }, `${role}: ${text}`));
    const answers = question.answers.length ? make("p", { class: "about" }, `Expected: ${question.answers.join(" / ")}`) : null;
    detail.replaceChildren(...[
      ...history, make("h3", {}, index.texts[row]), make("p", { class: "about" }, about), answers,
      scores(row, question, trials), gold(question, texts, trials),
      make("div", { class: "sides" }, ...trials.map((trial, place) => side(row, question, texts, trials, place))),
    ].filter(Boolean));
  }

  function scores(row, question, [first, second]) {
    const head = make("thead", {}, make("tr", {}, ...["score", "A", "B", "A − B"].map((text, place) =>
      make("th", { scope: "col", class: place ? "figure" : null }, text))));
    const lines = index.columns.map((column, place) => {
      const own = question.scores[place], kept = trial => (own && trial < index.kept ? own[trial] : null);
      const values = column === index.column ? [score(first, row), score(second, row)] : [kept(first), kept(second)];
      const apart = values.includes(null) || values.includes(undefined) ? null : values[0] - values[1];
      return make("tr", {}, make("th", { scope: "row" }, column),
        ...[figure(values[0]), figure(values[1]), figure(apart, true)].map(text => make("td", { class: "figure" }, text)));
    });
    return make("table", {}, make("caption", { class: "unseen" }, "Scores of this question"), head, make("tbody", {}, ...lines));
  }

  function gold(question, texts, trials) {
    if (!question.gold.length) return make("p", { class: "about" }, "The corpus holds nothing that answers this.");
    const lines = question.gold.map((group, number) => make("li", {},
      make("p", { class: "where" }, make("b", {}, question.gold.length > 1 ? `${number + 1}. ` : ""),
        group.map(([doc, start, end]) => start < 0 ? `${texts.names[doc]} (whole)` : `${texts.names[doc]} ${start}–${end}`).join(" or ")),
      group[0] && group[0][1] >= 0 ? make("p", { class: "text" }, make("mark", {}, cut(texts, ...group[0]).slice(0, EXCERPT))) : null,
      near(question, texts, trials, number)));
    return make("div", {}, make("h4", {}, "Evidence"), make("ul", { class: "gold" }, ...lines));
  }

  // ------------------------------------------------------------------------------------------------ chunks at the gold
  // A sentence on one group of evidence, which opens to the chunks of both trials.
  function near(question, texts, trials, group) {
    const found = trials.map(trial => (question.near[index.ranking[trial]] || [])[group] || ["is left out of the page", -1]);
    const said = `${question.gold.length > 1 ? `Evidence ${group + 1}: ` : ""}${found.map(([words], place) => `${"AB"[place]} ${words}`).join("; ")}.`;
    if (found.every(one => one.length === 2)) return make("p", { class: "said" }, said);
    return make("details", {}, make("summary", { class: "said" }, said), make("div", { class: "near" }, ...found.map(([, doc, ...chunks], place) =>
      make("section", { "aria-label": `Chunks of ${"AB"[place]}` }, make("p", { class: "where" }, make("b", {}, "AB"[place]), ` ${texts.names[doc] ?? ""}`),
        ...chunks.map(chunk => bordered(doc, chunk, question, texts))))));
  }

  function bordered(doc, [rank, start, end, names, ...extra], question, texts) {
    const spans = marked(question, doc, start, end);
    return make("div", { class: spans.length ? "bordered" : "bordered beyond" },
      make("p", { class: "where" }, make("b", {}, rank ? `rank ${rank}` : "not found"), ` · ${start}–${end}`, ...flags(names)),
      ...within(passage(cut(texts, doc, start, end), spans), extra));
  }

  const marked = (question, doc, start, end) => question.gold.flat().filter(place => place[0] === doc && place[1] >= 0 && place[1] < end && place[2] > start)
    .map(([, from, to]) => [Math.max(from - start, 0), Math.min(to, end) - start]);

  async function changes() {
    const trials = chosen(), [apart, back] = [trials, [...trials].reverse()].map(([a, b]) => row => score(a, row) - score(b, row));
    const known = index.ids.map((_, row) => row).filter(row => trials.every(trial => score(trial, row) !== null));
    const parts = await Promise.all([apart, back].map(async (gain, place) => {
      const rows = known.filter(row => gain(row) > 0).sort((a, b) => gain(b) - gain(a) || a - b), first = rows.slice(0, CHANGED);
      const lines = await Promise.all(first.map(async row => change(row, await load(row), trials, apart(row))));
      const said = `${"AB"[place]} is better: ${rows.length} ${rows.length === 1 ? "question" : "questions"}${rows.length > CHANGED ? `, the first ${CHANGED}` : ""}`;
      return [make("h3", {}, said), make("ul", { class: "changed" }, ...lines)];
    }));
    if (chosen().every((trial, place) => trial === trials[place])) at("changed").replaceChildren(...parts.flat());
  }

  function change(row, [question, texts], trials, apart) {
    const figures = `${index.column} A ${figure(score(trials[0], row))}, B ${figure(score(trials[1], row))}: ${figure(apart, true)}`;
    const [first, second] = trials.map(trial => question.found[index.ranking[trial]] || []);
    // The first group of evidence that has other ranks, or the first one.
    const group = Math.max(0, question.gold.findIndex((_, group) => first[group] !== second[group]));
    return make("li", {}, make("p", { class: "ask" }, index.texts[row]), make("p", { class: "where" }, `${index.ids[row]} · ${figures}`),
      question.gold.length ? near(question, texts, trials, group) : "");
  }

  function passagesOf(question, trial) {
    const ranking = index.ranking[trial];
    if (ranking < 0) return null;
    return question.ranked[ranking].map(number => number < 0 ? null : question.passages.slice(3 * number, 3 * number + 3));
  }

  function side(row, question, texts, trials, place) {
    const trial = trials[place], other = passagesOf(question, trials[1 - place]) || [];
    const stage = index.stages[trial][row];
    const said = OUTCOMES[outcome(trial, row)] + (stage !== "0" ? `: ${stageName(parseInt(stage, 36))}` : "");
    const passages = passagesOf(question, trial);
    const reply = trial < index.kept && question.reply[trial] >= 0 ? question.replies[question.reply[trial]] : "";
    const head = [make("h4", {}, `${"AB"[place]}  ${name(trial)}`), make("p", { class: "where" }, said)];
    if (reply) head.push(make("p", { class: "where" }, "Answer"), make("p", { class: "text" }, reply));
    if (!passages) return make("section", {}, ...head, make("p", { class: "missing" }, "Passages of this trial are left out of the page."));
    const lines = [];
    passages.forEach((passage, number) => {
      if (number === index.k[trial]) lines.push(make("li", { class: "cut" }, `Below the cut: k = ${index.k[trial]}`));
      if (!passage) {
        lines.push(make("li", {}, make("p", { class: "where" }, make("b", {}, `${number + 1} `), "a neighbour of a passage above")));
        return;
      }
      const twin = other.findIndex(found => found && found.every((value, part) => value === passage[part]));
      lines.push(line(passage, number + 1, twin + 1, "BA"[place], question, texts, number >= index.k[trial]));
    });
    return make("section", { "aria-label": `Trial ${"AB"[place]}` }, ...head, lines.length ? make("ol", {}, ...lines)
      : make("p", { class: "missing" }, "Nothing was found."));
  }

  function line([doc, start, end], rank, twin, letter, question, texts, beyond) {
    const whole = question.gold.flat().some(place => place[0] === doc && place[1] < 0);
    const spans = marked(question, doc, start, end);
    const about = Object.entries(texts.metadata[doc]).map(([key, value]) => `${key}: ${value}`).join(", ");
    return make("li", { class: beyond ? "beyond" : null },
      make("p", { class: "where" }, make("b", {}, `${rank} `), `${texts.names[doc]} ${start}–${end}`,
        ` · ${twin ? `${letter}: ${twin}` : `not in ${letter}`}`,
        whole || spans.length ? make("span", { class: "is-gold" }, whole ? " · gold document" : " · gold") : null,
        about ? make("span", {}, ` · ${about}`) : null),
      passage(cut(texts, doc, start, end), spans));
  }

  // The characters [start, end) of a document, counted in code points as everywhere in Assay.
  function cut(texts, doc, start, end) {
    const pieces = texts.pieces[doc];
    for (let place = 0; place < pieces.length; place += 2) {
      const from = pieces[place], characters = points(texts, doc, place + 1);
      if (from <= start && start < from + characters.length) {
        const part = characters.slice(start - from, end - from);
        return typeof part === "string" ? part : part.join("");
      }
    }
    return "";
  }
  const split = new Map();
  function points(texts, doc, place) {
    const text = texts.pieces[doc][place];
    if (!/[\ud800-\udbff]/.test(text)) return text;
    const key = `${doc} ${place}`;
    if (!split.has(key)) split.set(key, [...text]);
    return split.get(key);
  }

  function passage(text, spans) {
    const element = make("p", { class: "text" });
    const characters = /[\ud800-\udbff]/.test(text) ? [...text] : text;
    const slice = (from, to) => { const part = characters.slice(from, to); return typeof part === "string" ? part : part.join(""); };
    const joined = [];
    for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
      if (joined.length && from <= joined.at(-1)[1]) joined.at(-1)[1] = Math.max(to, joined.at(-1)[1]);
      else joined.push([from, to]);
    }
    const first = joined.length ? Math.max(0, joined[0][0] - BEFORE_GOLD) : 0;
    const fill = (from, to) => {
      element.replaceChildren(from > 0 ? "… " : "");
      let place = from;
      for (const [begin, stop] of joined.filter(([begin]) => begin < to)) {
        element.append(slice(place, begin), make("mark", {}, slice(begin, Math.min(stop, to))));
        place = Math.min(stop, to);
      }
      element.append(slice(place, to));
    };
    const begin = characters.length > EXCERPT ? Math.min(first, characters.length - EXCERPT) : 0;
    fill(begin, Math.min(characters.length, begin + EXCERPT));
    if (characters.length > EXCERPT) {
      const all = make("button", { type: "button" }, "show all");
      all.addEventListener("click", () => { fill(0, characters.length); element.tabIndex = -1; element.focus(); });
      element.append(" … ", all);
    }
    return element;
  }

  // ------------------------------------------------------------------------------------------------ begin
  Page.explore({
    controls: select, matching, item, load, describe,
    take: data => {
      index = data;
      for (const control of [select.first, select.second]) control.addEventListener("change", changes);
      changes();
      index.lower = index.texts.map((text, row) => `${index.ids[row]} ${text}`.toLowerCase());
    },
    said: found => `${found.length} of ${index.ids.length} questions`,
    next: (_, opened) => opened,
    failed: message => `The questions cannot be shown here (${message}); report.md and rag study why tell of them.`,
  });
})();
