// The list of documents on a narrow page: it slides over the conversation.

import { find } from "./dom.js";

const root = document.documentElement;

export const isOpen = () => root.classList.contains("with-documents");
const isNarrow = () => matchMedia("(max-width: 60rem)").matches;

export function open() {
  if (find("#documents-open").checkVisibility()) root.classList.add("with-documents");
  covering();
  find("#documents-filter").focus();
}

export function close() {
  if (!isOpen()) return;
  root.classList.remove("with-documents");
  covering();
  find("#question").focus({ preventScroll: true });
}

/** Make the page inert while the list or the panel covers it. */
export function covering() {
  const panel = !find("#panel").hidden && isNarrow(), list = isOpen() && isNarrow();
  find("#documents").inert = panel;
  for (const under of ["header", "main"]) find(under).inert = panel || list;
  find("#documents-open").setAttribute("aria-expanded", String(isOpen()));
}

/** On a phone, close the list and the panel; on a wide page, do nothing. */
export function backToQuestion(panel) {
  if (isNarrow()) {
    panel.close();
    close();
  }
  find("#question").focus();
}

export function start() {
  find("#documents-open").addEventListener("click", () => (isOpen() ? close() : open()));
  find("#documents-close").addEventListener("click", close);
  addEventListener("resize", covering);
}
