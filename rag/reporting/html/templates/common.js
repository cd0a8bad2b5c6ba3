
"use strict";
// What the scripts of all pages share. Everything that comes from documents, questions or names enters a page as a text node:
// nothing here parses HTML.
const Page = (() => {
  const AT_FIRST = 200, unpacked = new Map();
  const count = number => number.toLocaleString("en");
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

  // A list of rows, filtered by controls, and the detail of the row that is open. `take` gets the data of the page; `matching`
  // returns the rows to list for some words, `said` a sentence on them, `item` the content of the button of a row, `load` what
  // `describe` shows of it, `next` the row to open after a change of the filters, undefined for none, and `failed` an error.
  function explore({ controls, take, matching, said, item, load, describe, next, failed }) {
    const list = at("list"), detail = at("detail"), more = at("more");
    let found = [], shown = AT_FIRST, opened = -1;

    function filter() {
      found = matching(controls.words.value.toLowerCase().split(/\s+/).filter(Boolean));
      shown = AT_FIRST;
      show();
    }

    function show() {
      at("count").textContent = said(found);
      const rows = found.slice(0, shown), current = rows.includes(opened) ? opened : rows[0];
      list.replaceChildren(...rows.map(row => make("li", {}, make("button", {
        type: "button", "data-row": row, tabindex: row === current ? 0 : -1, "aria-current": row === opened ? "true" : null,
      }, ...item(row)))));
      more.hidden = found.length <= shown;
      more.textContent = `Show all ${count(found.length)}`;
    }

    async function open(row, focus) {
      opened = row;
      for (const button of list.querySelectorAll("button")) {
        if (Number(button.dataset.row) === row) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
      }
      const content = await load(row);
      if (opened !== row) return;
      describe(row, content);
      if (focus) { detail.focus({ preventScroll: true }); detail.scrollIntoView({ block: "nearest" }); }
    }

    // The arrow keys, Home and End move along the buttons; one of them is reached by Tab.
    function move(event) {
      const steps = { ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 };
      if (!(event.key in steps) || !event.target.dataset.row) return;
      event.preventDefault();
      const buttons = [...list.querySelectorAll("button")];
      const place = Math.min(buttons.length - 1, Math.max(0, buttons.indexOf(event.target) + steps[event.key]));
      event.target.tabIndex = -1;
      buttons[place].tabIndex = 0;
      buttons[place].focus();
    }

    async function begin() {
      take(await unpack("data-index"));
      const again = () => { filter(); const row = next(found, opened); if (row >= 0) open(row, false); };
      for (const [id, control] of Object.entries(controls)) control.addEventListener(id === "words" ? "input" : "change", again);
      at("filters").addEventListener("submit", event => event.preventDefault());
      list.addEventListener("click", event => {
        const button = event.target.closest("button");
        if (button) open(Number(button.dataset.row), event.detail === 0);
      });
      list.addEventListener("keydown", move);
      more.addEventListener("click", () => { shown = Infinity; show(); });
      filter();
      if (found.length) await open(found[0], false);
      document.documentElement.dataset.ready = String(Math.round(performance.now()));
    }
    begin().catch(error => {
      at("count").textContent = failed(error.message);
      throw error;
    });
  }

  // A chunk within what an index reads besides: texts above and below it, or one that is read instead of it.
  function within(chunk, extra) {
    const line = (said, text) => text ? make("p", { class: "read" }, said && make("b", {}, said), text) : "";
    return extra.length === 1 ? [chunk, line("The index reads: ", extra[0])] : [line("", extra[0]), chunk, line("", extra[1])].filter(Boolean);
  }
  const flags = names => names.map(name => make("span", { class: "flag" }, name));
  return { at, block, make, draw, count, explore, within, flags };
})();
