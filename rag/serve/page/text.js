// Offsets in texts. The server counts Unicode code points, JavaScript UTF-16 units: an emoji is one or two of them.

const BEYOND = /[\ud800-\udfff]/;

/** Converts offsets in one text between code points and units. */
export class Places {
  constructor(text) {
    this.starts = null;
    if (!BEYOND.test(text)) return;
    this.starts = [];
    let unit = 0;
    for (const character of text) {
      this.starts.push(unit);
      unit += character.length;
    }
    this.starts.push(unit);
  }

  unit(point) {
    return this.starts ? this.starts[Math.max(0, Math.min(point, this.starts.length - 1))] : point;
  }

  point(unit) {
    if (!this.starts) return unit;
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] < unit) low = middle + 1; else high = middle;
    }
    return low;
  }
}

/** Pages as a citation names them; empty for a text without pages. */
export const pageLabel = page => (!page ? "" : page.first === page.last ? `p. ${page.first}` : `pp. ${page.first}–${page.last}`);

export const count = number => Number(number).toLocaleString("en");

export const several = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function seconds(value) {
  if (value < 0.001) return "< 1 ms";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return `${value.toFixed(value < 10 ? 1 : 0)} s`;
}

export function money(value) {
  if (value === null || value === undefined) return "";
  if (value === 0) return "no cost";
  return `$${value < 0.01 ? value.toPrecision(2) : value.toFixed(2)}`;
}

/** The last part of a path. */
export const short = name => name.split("/").pop() || name;

export function clipped(text, most) {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most).trimEnd()}…` : flat;
}

/** What happened and the remedy, as sentences. */
export function sentences(problem) {
  const parts = [problem.detail ?? String(problem), problem.remedy ?? ""].filter(Boolean);
  return parts.map(part => part.replace(/^[a-z]+(?= )/, word => word[0].toUpperCase() + word.slice(1)) + (/[.!?]$/.test(part) ? "" : ".")).join(" ");
}
