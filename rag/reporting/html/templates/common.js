
"use strict";
// What the scripts of all pages share. Everything that comes from documents, questions or names enters a page as a text node:
// nothing here parses HTML.
const Page = (() => {
  const unpacked = new Map();
  const at = id => document.getElementById(id);

  // A block is JSON, or gzip in base64.
  async function unpack(id) {
    const text = at(id).textContent;
    if (/^[[{]/.test(text)) return JSON.parse(text);
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }
  const block = id => {
    if (!unpacked.has(id)) unpacked.set(id, unpack(id));
    return unpacked.get(id);
  };

  function make(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }
  function draw(tag, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  }
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined && child !== ""));
    return element;
  }

  // The arrow keys, Home and End move along the buttons of a list; one of them is reached by Tab.
  function move(list, event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 };
    if (!(event.key in steps) || !event.target.dataset.row) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll("button")];
    const place = Math.min(buttons.length - 1, Math.max(0, buttons.indexOf(event.target) + steps[event.key]));
    event.target.tabIndex = -1;
    buttons[place].tabIndex = 0;
    buttons[place].focus();
  }
  return { at, unpack, block, make, draw, move };
})();
