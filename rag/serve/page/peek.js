// A preview of a source: the quoted words, next to the number that cites it, while it is hovered or focused.

import { find, make } from "./dom.js";
import { clipped } from "./text.js";

let timer = 0;

/** Show `title`, `section` and `text` next to an element while it is hovered or focused. */
export function peekAt(element, title, section, text) {
  const show = () => {
    clearTimeout(timer);
    timer = setTimeout(() => draw(element, title, section, text), 120);
  };
  const hide = () => {
    clearTimeout(timer);
    element.removeAttribute("aria-describedby");
    timer = setTimeout(() => { find("#peek").hidden = true; }, 80);
  };
  element.addEventListener("pointerenter", event => { if (event.pointerType === "mouse") show(); });
  element.addEventListener("pointerleave", hide);
  element.addEventListener("focus", () => { if (element.matches(":focus-visible")) show(); });
  element.addEventListener("blur", hide);
  element.addEventListener("click", hide);
}

function draw(element, title, section, text) {
  if (!element.isConnected) return;
  const box = find("#peek");
  box.replaceChildren(make("p.where", {}, make("b", {}, title), section ? ` · ${section}` : ""), make("p", {}, clipped(text, 280)));
  box.hidden = false;
  element.setAttribute("aria-describedby", "peek");
  const at = element.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left - 16, innerWidth - box.offsetWidth - 8));
  const above = at.top - box.offsetHeight - 8;
  box.style.left = `${left}px`;
  box.style.top = `${above > 8 ? above : at.bottom + 8}px`;
}
