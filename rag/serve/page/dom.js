// Builds elements. Text always becomes a text node: this page never parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`on…` are listeners, false and null are left out) and children (strings are text). */
export function make(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of a drawing, as `make` makes others. */
export function drawing(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A drawing in icons.svg; the label of its button says what it means. */
export const icon = name => drawing("svg", { class: "icon", "aria-hidden": "true" }, drawing("use", { href: `page/icons.svg#${name}` }));

export const find = selector => document.querySelector(selector);

/** A list of listeners: `on(listener)` and `tell(what)`. */
export function signal() {
  const listeners = [];
  return { on: listener => listeners.push(listener), tell: what => listeners.forEach(listener => listener(what)) };
}

/** Announce words once to screen readers. */
export function say(words) {
  const voice = find("#voice");
  voice.textContent = "";
  requestAnimationFrame(() => { voice.textContent = words; });
}

/** The arrow keys, Home and End move along `items`, as they do in lists of tabs. */
export function roving(list, items) {
  list.addEventListener("keydown", event => {
    if (event.defaultPrevented) return;
    const all = items().filter(item => item.checkVisibility());
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = all[(to + all.length) % all.length];
    next.focus();
    if (next.getAttribute("role") === "tab") next.click();
  });
}
