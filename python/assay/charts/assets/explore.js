"use strict";
(() => {
  const form = document.getElementById("explorer");
  if (!form) return;
  const data = JSON.parse(document.getElementById("assay-cost").textContent);
  const field = (name) => form.querySelector(`[data-field="${name}"]`);
  const number = (name) => Number(field(name).value);
  const KINDS = ["storage", "memory", "cpu"];

  const digits = (value, count = 4) => (value === 0 ? "0" : Number(value.toPrecision(count)).toLocaleString("en-US", { maximumSignificantDigits: count }));
  const usd = (value) => `${value < 0.01 && value > 0 ? Number(value.toPrecision(3)) : value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} USD`;

  const part = (kind) => data.parts[kind][number(kind)];
  // A slider runs from a quarter to four times the price of the book.
  const price = (kind) => part(kind).usd * 4 ** number(`${kind}-price`);

  function say(id, text) {
    const output = form.querySelector(`output[for="${id}"]`);
    if (output) output.textContent = text;
  }

  function cost(scale) {
    const storage = price("storage") * number("storage-count") * scale;
    const memory = price("memory") * number("memory-count") * scale;
    const processor = ((number("threads") * number("busy") * price("cpu")) / part("cpu").threads) * scale;
    return { storage, memory, processor, sum: storage + memory + processor };
  }

  function source(kind) {
    const one = part(kind);
    const moved = Math.abs(number(`${kind}-price`)) > 0.001;
    const old = one.stale ? ", older than 90 days" : "";
    document.getElementById(`explore-${kind}-source`).textContent = moved ? `moved; the book has ${usd(one.usd)} of ${one.date}` : `${one.date}${old}: ${one.source}`;
  }

  function labels() {
    for (const kind of KINDS) {
      say(`explore-${kind}-price`, usd(price(kind)));
      if (kind !== "cpu") say(`explore-${kind}-count`, String(number(`${kind}-count`)));
      source(kind);
    }
    say("explore-threads", `${number("threads")} of ${part("cpu").threads}`);
    say("explore-busy", `${Math.round(number("busy") * 100)} %`);
    say("explore-months", String(number("months")));
  }

  function show() {
    labels();
    const load = data.loads[number("load")];
    const spent = cost(1);
    const ratio = document.getElementById("explore-ratio");
    if (!(spent.sum > 0)) {
      ratio.textContent = "Nothing is paid for";
      document.getElementById("explore-said").textContent = "A price of zero gives no ratio: add a part.";
      document.getElementById("explore-band").textContent = "";
      return;
    }
    const value = load.per_s / spent.sum;
    ratio.textContent = `${digits(value)} ${load.does || "operations"}/s per USD`;
    ratio.value = ratio.textContent;
    ratio.dataset.value = String(value);
    const seconds = number("months") * 730 * 3600;
    const million = (spent.sum / (load.per_s * seconds)) * 1e6;
    document.getElementById("explore-said").textContent =
      `${digits(load.per_s)}/s for ${usd(spent.sum)}: storage ${usd(spent.storage)}, memory ${usd(spent.memory)}, processor in use ${usd(spent.processor)}. ` +
      `Over ${number("months")} months of this load a million ${load.does || "operations"} cost ${million < 1 ? `${digits(million)} USD` : usd(million)}.`;
    document.getElementById("explore-band").textContent = `${digits(value / 2)} to ${digits(value * 2)} with all prices from half to twice.`;
  }

  function take() {
    const load = data.loads[number("load")];
    field("threads").max = String(Math.max(128, load.threads));
    field("threads").value = String(load.threads);
    field("busy").value = String(load.utilisation);
    document.getElementById("explore-record").setAttribute("href", `#${load.anchor}`);
  }

  form.addEventListener("input", (event) => {
    const name = event.target.dataset.field;
    if (name === "load") take();
    if (KINDS.includes(name)) field(`${name}-price`).value = "0";
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("explore-reset").addEventListener("click", () => {
    form.reset();
    take();
    show();
  });
  take();
  show();
})();
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const bodies = [...document.querySelectorAll("table.records > tbody")];
  const texts = new Map();
  const text = (body) => {
    if (!texts.has(body)) texts.set(body, body.textContent.toLowerCase());
    return texts.get(body);
  };

  function apply() {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = new Set([...form.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value));
    let shown = 0;
    for (const body of bodies) {
      const status = ["valid", "suspect", "invalid"].find((name) => body.classList.contains(name)) || "invalid";
      const fits = wanted.has(status) && words.every((word) => text(body).includes(word));
      body.hidden = !fits;
      if (fits) shown += 1;
    }
    const all = wanted.size === 3 && words.length === 0;
    document.getElementById("filter-count").textContent = all ? `${bodies.length} records` : `${shown} of ${bodies.length} records`;
    if (words.length) for (const part of document.querySelectorAll("details.part:has(details.cells), details.cells")) part.open = Boolean(part.querySelector("table.records > tbody:not([hidden])"));
  }

  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  apply();
})();
