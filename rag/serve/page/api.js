// Requests to the server of this page, and their failures in words for people.

import { askForKey, key, refuse } from "./key.js";

/** A failure: a title, what happened, a remedy. `status` is 0 if no response came. */
export class Problem extends Error {
  constructor(status, title, detail = "", remedy = "") {
    super(title);
    Object.assign(this, { status, title, detail, remedy });
  }
}

const TITLES = {
  403: "That is not allowed", 404: "There is no such thing", 413: "That is too long", 422: "That was not understood",
  429: "Too many questions at once", 500: "The server failed", 502: "The model could not be reached",
  503: "The server cannot take this now", 504: "That took too long",
};

/** The JSON of `path`; throws a Problem if the request fails. */
export async function request(path, { method = "GET", body, signal } = {}) {
  const response = await reached(path, method, body, signal);
  return response.status === 204 ? null : response.json();
}

/** Calls `hear(event, data)` for each event of a streamed answer; throws a Problem if it ends before the answer. */
export async function stream(path, body, hear, signal) {
  const response = await reached(path, "POST", { ...body, stream: true }, signal);
  let ended = false;
  for await (const [event, data] of events(response.body, signal)) {
    if (event === "error") throw problemOf(data, data.status ?? 500, response);
    if (event === "answer") ended = true;
    hear(event, data);
  }
  if (!ended) throw new Problem(0, "The connection broke off", "The server stopped before the answer was complete.", "Ask again when it is back.");
}

async function reached(path, method, body, signal) {
  for (;;) {
    const used = key();
    const headers = { Accept: "application/json, text/event-stream" };
    if (used) headers.Authorization = `Bearer ${used}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Problem(0, "The server cannot be reached", "It may have been stopped, or the network is down.", "Try again in a moment.");
    }
    if (response.ok) return response;
    if (response.status !== 401) throw await problem(response);
    refuse(used);
    if (!(await askForKey(used))) throw new Problem(401, "A key is needed", "This server answers only those who have a key.", "Ask again, and give it.");
  }
}

async function problem(response) {
  try {
    return problemOf(await response.json(), response.status, response);
  } catch {
    // A response that is not JSON comes from a proxy.
    const title = (response.status < 500 && TITLES[response.status]) || "The server cannot be reached";
    return new Problem(response.status, title, `Something between this page and the server answered ${response.status} in its place.`, "Try again in a moment.");
  }
}

function problemOf(said, status, response) {
  // Routes of OpenAI's API have one field for both sentences.
  const [what, would] = said.error?.message?.split(" → ") ?? [said.detail, said.remedy];
  const detail = typeof what === "string" ? what : "", wait = response.headers.get("Retry-After");
  const remedy = would || (wait ? `Try again in ${wait} seconds.` : "");
  return new Problem(status, TITLES[status] || said.title || "Something went wrong", detail, remedy);
}

/** The events of a server-sent stream as [name, data], up to its end or its break. */
async function* events(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch(error => {
      if (signal?.aborted) throw error;
      return { done: true };
    });
    if (done) return;
    const parts = (rest + value).split(/\r\n\r\n|\n\n/);
    rest = parts.pop();
    for (const part of parts) {
      const event = parsed(part);
      if (event) yield event;
    }
  }
}

function parsed(part) {
  let name = "message";
  const data = [];
  for (const line of part.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return data.length ? [name, JSON.parse(data.join("\n"))] : null;
}
