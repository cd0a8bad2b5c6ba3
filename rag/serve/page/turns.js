// The conversation: questions with the answers of one pipeline, or of two side by side.

import { AnswerView } from "./answer.js";
import { request } from "./api.js";
import { find, make, signal as announcement } from "./dom.js";
import * as scope from "./scope.js";

const NAME = "assay.sessions";
const SHOW = ["trace", "prompt"];
let running = null;

/** Called when another bundle answered than the page knows: the server has replaced it. */
export const exchanged = announcement();

/** Sessions by model; a reload continues them. */
const sessions = new Map(Object.entries(JSON.parse(sessionStorage.getItem(NAME) ?? "{}")));

export const busy = () => running !== null;
export const stop = () => running?.abort();
export const known = () => [...sessions];

function keep(model, session) {
  if (session) sessions.set(model, session); else sessions.delete(model);
  sessionStorage.setItem(NAME, JSON.stringify(Object.fromEntries(sessions)));
}

/** Ask `models` the same question, and wait for all. */
export async function ask(question, models, within, remember, preview) {
  const views = models.map(model => new AnswerView(model, models.length > 1));
  add(question, views, within, remember);
  await together(views, view => answered(view, question, within, remember, { preview }));
  compared(views);
}

async function together(views, work) {
  running = new AbortController();
  document.documentElement.classList.add("busy");
  try {
    await Promise.all(views.map(view => work(view, running.signal)));
  } finally {
    running = null;
    document.documentElement.classList.remove("busy");
  }
}

async function answered(view, question, within, remember, more) {
  view.retry = (edited = more) => again(view, question, within, remember, edited);
  const body = { question, model: view.model, within, show: SHOW, ...more };
  if (remember && sessions.has(view.model)) body.session = sessions.get(view.model);
  const { signal } = running, path = remember ? "chat" : "ask";
  let answer = await view.ask(path, body, signal);
  if (view.problem?.status === 404 && body.session) {
    // The conversation has expired: the question begins a new one.
    const { session, ...anew } = body;
    if (sessions.get(view.model) === session) keep(view.model, null);
    answer = await view.ask(path, anew, signal);
    if (answer) view.note("The conversation before had expired: this question began a new one.");
  }
  if (answer?.session) keep(view.model, answer.session);
  if (answer && view.model && answer.model !== view.model) moved(view, answer);
}

/** Continue the conversation with the bundle that replaced another. */
function moved(view, answer) {
  const before = scope.nameOf(view.model);
  keep(view.model, null);
  keep(answer.model, answer.session);
  const said = now => (now === before ? `Another bundle of ${now} has taken its place.` : `${now} has taken the place of ${before}.`);
  exchanged.tell({ answer, note: () => view.note(said(scope.nameOf(answer.model))) });
}

/** Ask again in the same turn, after a failure. */
async function again(view, question, within, remember, more) {
  if (busy()) return;
  await together([view], () => answered(view, question, within, remember, more));
}

function add(question, views, within, remember) {
  find("#empty").hidden = true;
  // Each pipeline has a conversation of its own: one that was added later knows no earlier turn.
  const late = remember && sessions.size ? views.map(view => view.model).filter(model => !sessions.has(model)) : [];
  const about = [scope.described(within), remember ? "" : "Asked on its own", late.length ? `A new conversation with ${late.map(scope.nameOf).join(" and ")}` : ""].filter(Boolean).join(" · ");
  const turn = make("article.turn", { "aria-label": question },
    make("h2.question", { dir: "auto" }, question), about ? make("p.within", {}, about) : null,
    make("div", { class: views.length > 1 ? "answers two" : "answers" }, views.map(view => view.element)));
  find("#turns").append(turn);
  find("main").classList.add("begun");
  turn.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  return turn;
}

/** The passages that two answers have in common. */
function compared(views) {
  if (views.length < 2 || !views.every(view => view.answer)) return;
  const [left, right] = views.map(view => new Set(view.contexts.map(one => one.chunk)));
  const both = [...left].filter(chunk => right.has(chunk));
  for (const view of views) {
    for (const item of view.element.querySelectorAll("li[data-chunk]")) {
      if (!both.includes(item.dataset.chunk)) item.append(make("span.alone", { title: "The other pipeline did not read this passage" }, "only here"));
    }
  }
  const words = left.size || right.size ? `Both read ${both.length} of ${new Set([...left, ...right]).size} passages.` : "Neither found anything.";
  views[0].element.closest(".answers").after(make("p.shared", {}, words));
}

/** Show the turns from before the page was loaded, as far as the server still has them. */
export async function restore(models) {
  const found = await Promise.all(known().filter(([model]) => models.includes(model)).map(async ([model, session]) => {
    try {
      return (await request(`sessions/${encodeURIComponent(session)}`)).turns.map(turn => ({ ...turn, model }));
    } catch (problem) {
      if (problem.status === 404) keep(model, null);
      return [];
    }
  }));
  for (const group of besides(found.flat().sort((left, right) => left.at - right.at))) {
    const views = group.map(turn => new AnswerView(turn.model, group.length > 1));
    add(group[0].question, views, null, true);
    views.forEach((view, number) => view.show(group[number]));
    compared(views);
  }
}

/** Turns in the order of their times; one question to two pipelines is one turn. */
function besides(turns) {
  const groups = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (last?.length === 1 && last[0].question === turn.question && last[0].model !== turn.model) last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

/** Begin a new conversation, and delete the old one on the server. */
export async function forget() {
  stop();
  const gone = known();
  gone.forEach(([model]) => keep(model, null));
  find("#turns").replaceChildren();
  find("#empty").hidden = false;
  find("main").classList.remove("begun");
  await Promise.allSettled(gone.map(([, session]) => request(`sessions/${encodeURIComponent(session)}`, { method: "DELETE" })));
}
