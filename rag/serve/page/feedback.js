// A thumb up or down, and a comment: a rated answer becomes a candidate for a golden question.

import { request } from "./api.js";
import { icon, make, say } from "./dom.js";
import { sentences as inWords } from "./text.js";

/** Two thumbs, and the element for the comment: [buttons, place]. */
export function thumbs(answer) {
  const place = make("div.comment");
  const buttons = [[1, "good", "A good answer"], [-1, "bad", "A bad answer"]].map(([rating, drawing, label]) =>
    make("button.quiet.thumb", { type: "button", "aria-label": label, title: label, "aria-pressed": "false", onclick: () => rate(rating) }, icon(drawing)));

  async function rate(rating) {
    buttons.forEach((button, number) => button.setAttribute("aria-pressed", String((number ? -1 : 1) === rating)));
    place.replaceChildren(form(rating));
    place.scrollIntoView({ block: "nearest" });
    await sent(rating, "", "Noted. A reviewer can make a golden question of it.");
  }

  async function sent(rating, comment, words) {
    const note = place.querySelector(".noted");
    try {
      await request("feedback", { method: "POST", body: { answer: answer.id, rating, comment } });
      note.className = "noted";
      note.textContent = words;
      say(words);
      return true;
    } catch (problem) {
      if (!comment) buttons.forEach(button => button.setAttribute("aria-pressed", "false"));
      note.className = "noted problem";
      note.textContent = `${problem.title}. ${inWords(problem)}`;
      say(note.textContent);
      return false;
    }
  }

  function form(rating) {
    const field = make("textarea", { rows: 2, maxlength: 4000, "aria-label": "Comment", placeholder: rating > 0 ? "What was good about it?" : "What was wrong? What should it have said?" });
    const note = make("p.noted");
    const send = make("button.strong", { type: "submit" }, "Send comment");
    return make("form", { onsubmit: async event => {
      event.preventDefault();
      if (!field.value.trim()) return field.focus();
      send.disabled = true;
      if (await sent(rating, field.value.trim(), "Thank you. The comment is kept with the question.")) {
        field.remove();
        send.remove();
        place.querySelector("form").append(make("blockquote", {}, field.value.trim()));
      } else send.disabled = false;
    } }, note, field, send);
  }

  return [make("span.thumbs", { role: "group", "aria-label": "Rate this answer" }, buttons), place];
}
