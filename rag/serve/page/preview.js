// The prompt of a question before it is sent: shown with its tokens and price, and edited.

import { request } from "./api.js";
import { make } from "./dom.js";
import { money, several } from "./text.js";

/** The body to send, with the messages that a person edited in `place`; the same body where no model is asked. */
export async function previewed(place, body, signal) {
  const made = await request("prompt", { method: "POST", body, signal });
  if (!made.messages.length) return body;
  const fields = made.messages.map(one => make("textarea", { rows: 14, dir: "auto", "aria-label": `The message of ${one.role}` }, one.content));
  const before = fields.map(field => field.value);
  await new Promise((sent, stopped) => {
    signal.addEventListener("abort", () => stopped(signal.reason));
    place.replaceChildren(make("form.preview", { onsubmit: event => { event.preventDefault(); sent(); } }, fields,
      make("p.hint", {}, `${several(made.tokens, "token")}${made.most_usd ? `, at most ${money(made.most_usd)}` : ""}. The answer to an edited prompt is not measured.`),
      make("button.strong", { type: "submit" }, "Send")));
    fields.at(-1).focus();
  });
  if (fields.every((field, at) => field.value === before[at])) return body;
  return { ...body, read: made.read, prompt: made.messages.map(({ role }, at) => ({ role, content: fields[at].value })) };
}
