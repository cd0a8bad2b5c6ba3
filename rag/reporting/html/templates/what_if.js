// The recommended trial under other settings. Each operation is that of the Python classes, so a run gives the same figures.
const WhatIf = (() => {
  const DIGIT = 1e6, { at, make } = Page;
  let data, start, measured, state, last = {};

  // A score in units of its last digit; half to even, as NumPy rounds.
  function rounded(value) {
    const whole = value * DIGIT, floor = Math.floor(whole), rest = whole - floor;
    return rest < .5 || (rest === .5 && floor % 2 === 0) ? floor : floor + 1;
  }

  function take(content) {
    data = content;
    data.lists = data.lists.map(rows => rows.map(([places, scores]) => [places, scores.map(each => each / DIGIT)]));
    start = { k: data.k, kind: data.kind, weights: data.weights, floor: data.floor };
    measured = measure(start);
  }

  function points(kind, weight, scores) {
    const low = scores[scores.length - 1], high = scores[0];
    return scores.map((score, place) => kind === "rrf" ? weight / (data.constant + (place + 1)) : weight * (high === low ? 1 : (score - low) / (high - low)));
  }

  // The rankings of all questions: chunks and scores, best first. Those of the last fusion are kept.
  function fused({ kind, weights }) {
    const key = JSON.stringify([kind, weights]);
    if (last.key !== key) last = { key, rankings: data.questions.map((_, row) => kind ? together(row, kind, weights) : data.lists[0][row]) };
    return last.rankings;
  }
  function together(row, kind, weights) {
    const count = data.chunks[0].length, sums = new Float64Array(count).fill(NaN), known = [];
    data.lists.forEach((rows, list) => {
      const [places, scores] = rows[row], own = points(kind, weights[list], scores);
      for (let nth = 0; nth < places.length; nth++) {
        if (Number.isNaN(sums[places[nth]])) { sums[places[nth]] = 0; known.push(places[nth]); }
        sums[places[nth]] += own[nth];
      }
    });
    // Score and place as one number, which sorts fast.
    const keys = new Float64Array(known.map(place => place - rounded(sums[place]) * count));
    const best = keys.sort().subarray(0, data.depth), scores = best.map(key => -Math.floor(key / count));
    return [best.map((key, nth) => key + scores[nth] * count), scores.map(score => score / DIGIT)];
  }

  // The ranks of the groups of a question, 0 for none, and the characters of the first k hits with what is read with them.
  function found([grades, alternatives, byDocument], [places, scores], { k, floor }, deepest) {
    const ranks = grades.map(() => 0), seen = new Set(), documents = new Set(), covered = alternatives.map(() => new Set());
    let [[doc, start, end, low, high], read] = [data.chunks, 0], least = scores[0] > 0 ? floor * scores[0] : -Infinity;
    for (let hit = 0; hit < places.length && (hit < deepest || byDocument) && scores[hit] >= least; hit++) {
      const own = places[hit], added = seen.has(own) ? [] : [own];
      for (let chunk = low[own]; chunk <= high[own]; chunk++) if (chunk !== own && !seen.has(chunk)) added.push(chunk);
      for (const chunk of added) {
        seen.add(chunk);
        documents.add(doc[chunk]);
        alternatives.forEach(([group, document, needed, ...quote], nth) => {
          if (document !== doc[chunk] || ranks[group]) return;
          for (const [from, to] of quote) {
            for (let at = Math.max(from, start[chunk]); at < Math.min(to, end[chunk]); at++) covered[nth].add(at);
          }
          if (needed === undefined || covered[nth].size >= needed) ranks[group] = byDocument ? documents.size : hit + 1;
        });
      }
      let last = 0;
      if (hit < k) for (const chunk of added.sort((a, b) => a - b)) {
        read += Math.max(0, end[chunk] - (data.joined ? Math.max(last, start[chunk]) : start[chunk]));
        last = Math.max(last, end[chunk]);
      }
    }
    return [ranks, read];
  }

  const METRICS = {
    recall: (ranks, cut) => ranks.filter(rank => rank > 0 && rank <= cut).length / ranks.length,
    mrr: (ranks, cut) => Math.max(...ranks.map(rank => rank > 0 && rank <= cut ? 1 / rank : 0)),
    ndcg(ranks, cut, grades) {
      const order = ranks.map((rank, group) => [rank || Infinity, grades[group]]).sort((a, b) => a[0] - b[0] || b[1] - a[1]);
      const gain = (grade, rank) => rank <= cut ? grade / Math.log2(1 + rank) : 0, sum = values => values.reduce((a, b) => a + b, 0);
      return sum(order.map(([rank, grade], nth) => gain(grade, Math.max(rank, nth + 1)))) / sum([...grades].sort((a, b) => b - a).map((grade, nth) => gain(grade, nth + 1)));
    },
  };
  const columns = k => [...data.columns, ...Object.keys(METRICS).map(name => [`${name}@k`, name, k])];

  // By column the values of the questions with gold; `read` has the characters of each.
  function measure(settings) {
    const known = columns(settings.k), deepest = Math.max(...known.map(each => each[2])), rankings = fused(settings);
    const values = Object.fromEntries([...known.map(([name]) => [name, []]), ["read", []]]);
    data.questions.forEach((question, row) => {
      if (!question[0].length) return;
      const [ranks, read] = found(question, rankings[row], settings, deepest);
      for (const [name, metric, cut] of known) values[name].push(METRICS[metric](ranks, cut, question[0]));
      values.read.push(read);
    });
    return values;
  }

  const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
  const shown = (name, value) => name === "read" ? Math.round(value).toLocaleString("en") : value.toFixed(3).replace(/^(-?)0\./, "$1.");
  const sliders = () => [...document.querySelectorAll("[data-weight]")];

  function settings() {
    const shares = sliders().map(each => Number(each.value)), all = shares.length === 1 ? [shares[0], 100 - shares[0]] : shares;
    const total = all.reduce((a, b) => a + b, 0), kind = at("try-fusion") ? at("try-fusion").value : start.kind;
    const moved = sliders().some(each => each.value !== each.defaultValue) || kind !== start.kind;
    const weights = all.map(share => total ? (kind === "rrf" ? all.length * share : share) / total : 1 / all.length);
    return { k: Number(at("try-k").value), kind, weights: moved ? weights : start.weights, floor: Number(at("try-floor").value) };
  }

  function show() {
    state = settings();
    const values = measure(state), changed = JSON.stringify(state) !== JSON.stringify(start);
    at("try-k-now").textContent = state.k;
    at("try-floor-now").textContent = state.floor ? `below ${state.floor} of the best` : "none";
    sliders().forEach(each => { at(`${each.id}-now`).textContent = state.weights.map(weight => weight.toFixed(2)).join(" : "); });
    at("tried").replaceChildren(...Object.entries(values).map(([name, now]) => {
      const before = measured[name], apart = now.map((value, row) => value - before[row]), up = apart.filter(each => each > 1e-9).length;
      const down = apart.filter(each => each < -1e-9).length, difference = mean(now) - mean(before);
      const cells = [shown(name, mean(before)), shown(name, mean(now)), changed ? (difference > 0 ? "+" : "") + shown(name, difference) : "", up, down];
      const title = name === "read" ? "characters in the first k hits" : name.replace("@k", `@k (k = ${start.k}${state.k === start.k ? "" : ` → ${state.k}`})`);
      return make("tr", {}, make("th", { scope: "row" }, title), ...cells.map(cell => make("td", { class: "figure" }, String(cell))));
    }));
    at("experiment").textContent = experiment();
    at("make-experiment").disabled = !changed;
    if (!changed) at("experiment").hidden = true;
  }

  function experiment() {
    const { fixed, own, name, objective } = data.experiment, listed = overrides => `[${overrides.map(each => JSON.stringify(each)).join(", ")}]`;
    const named = new RegExp("^selector\\.(?!score_floor)"), selectors = [...(state.floor ? ["score_floor"] : []), ...data.selectors];
    const floor = state.floor ? [`selector.score_floor.floor=${state.floor}`, "selector.score_floor.relative=true"] : [];
    const constant = state.kind === "rrf" ? [`fusion.k=${data.constant}`] : [];
    const fusion = state.kind ? [`fusion=${state.kind}`, ...constant, `fusion.weights=[${state.weights}]`] : own.filter(each => each.startsWith("fusion"));
    const changed = [`k=${state.k}`, ...fusion, `selector=${selectors.length ? `[${selectors}]` : "none"}`, ...own.filter(each => named.test(each)), ...floor];
    const recommended = own.some(each => each.startsWith("k=")) ? own : [`k=${start.k}`, ...own];
    return ["# experiments/what_if.yaml", `question: Is the setting that the report of ${name} tried better than the recommended one?`,
      `fixed: ${listed(fixed)}`, "axes:", "  setting:", `    recommended: ${listed(recommended)}`, `    tried: ${listed(changed)}`, `objective: ${JSON.stringify(objective)}`].join("\n");
  }

  Page.block("data-what-if").then(content => {
    take(content);
    at("settings").addEventListener("input", show);
    at("settings").addEventListener("reset", () => setTimeout(show));
    at("make-experiment").addEventListener("click", () => { at("experiment").hidden = false; at("experiment").focus(); });
    show();
  });
  return { measure };
})();
