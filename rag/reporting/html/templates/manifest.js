"use strict";
const rows = [...document.querySelectorAll("#files tbody tr")];
const texts = rows.map(row => row.textContent.toLowerCase());
const count = document.getElementById("count");
const filters = ["decision", "type", "words"].map(id => document.getElementById(id));

function show() {
  const [decision, type, words] = filters.map(field => field.value);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  rows.forEach((row, place) => {
    const fits = (!decision || row.dataset.decision === decision) && (!type || row.dataset.type === type.slice(1))
      && wanted.every(word => texts[place].includes(word));
    row.hidden = !fits;
    shown += fits;
  });
  count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} files`;
}

filters.forEach(field => field.addEventListener("input", show));
document.getElementById("filters").addEventListener("submit", event => event.preventDefault());
show();
document.documentElement.dataset.ready = "";
