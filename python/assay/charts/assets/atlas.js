"use strict";
(() => {
  const MOST = 200;
  const entries = JSON.parse(document.getElementById("atlas-data").textContent);
  const box = document.getElementById("search");
  const kind = document.getElementById("kind");
  const body = document.getElementById("found");
  const said = document.getElementById("said");
  const still = [...body.children];

  const cell = (row, text, name) => {
    const made = row.insertCell();
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  const line = (entry) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    const link = document.createElement("a");
    head.scope = "row";
    link.href = entry.href;
    link.textContent = entry.title;
    head.append(link);
    row.append(head);
    cell(row, entry.kind);
    cell(row, entry.capacity, "figure-cell");
    entry.figures.forEach((text) => cell(row, text, "figure-cell"));
    cell(row, entry.origin);
    cell(row, entry.passports || "", "figure-cell");
    cell(row, entry.price, "figure-cell");
    return row;
  };

  const search = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length && !kind.value) {
      body.replaceChildren(...still);
      said.textContent = "";
      return;
    }
    const found = entries.filter((entry) =>
      (!kind.value || entry.kind === kind.value) && words.every((word) => entry.words.includes(word)));
    body.replaceChildren(...found.slice(0, MOST).map(line));
    said.textContent = found.length > MOST ? `${found.length} found, ${MOST} shown` : `${found.length} found`;
  };

  box.addEventListener("input", search);
  kind.addEventListener("change", search);
  if (location.hash.length > 1) {
    box.value = decodeURIComponent(location.hash.slice(1));
  }
  search();
})();
