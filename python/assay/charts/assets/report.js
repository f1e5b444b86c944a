"use strict";
(() => {
  const data = JSON.parse(document.getElementById("assay-data").textContent);
  const NARROW = 440;

  const copy = (value) => JSON.parse(JSON.stringify(value));

  // On a narrow screen labels beside lines give way to the legend.
  function fitted(spec, node) {
    const narrow = node.clientWidth < NARROW;
    const figure = node.closest(".figure");
    if (figure.classList.contains("direct")) figure.classList.toggle("with-legend", narrow);
    if (!narrow || !figure.classList.contains("direct")) return spec;
    return { ...spec, padding: 2, layer: spec.layer.filter((layer) => layer.name !== "direct") };
  }

  function panelOf(node) {
    return data.figures[node.dataset.figure].panels[Number(node.dataset.panel)];
  }

  async function draw(node) {
    const spec = fitted(copy(panelOf(node).spec), node);
    node.dataset.narrow = String(node.clientWidth < NARROW);
    const result = await vegaEmbed(node, spec, { actions: false, mode: "vega-lite", renderer: "svg", ast: true, config: data.config });
    node.style.minHeight = "";
    const svg = node.querySelector("svg");
    if (svg) svg.setAttribute("aria-hidden", "true");
    result.view.addEventListener("click", (_event, item) => follow(item));
    node.assayView = result;
  }

  function follow(item) {
    const { cell, anchor } = (item && item.datum) || {};
    const to = typeof anchor === "string" ? anchor : `cell-${cell}`;
    if (document.getElementById(to)) location.hash = to;
  }

  async function drawOne(node) {
    try {
      await draw(node);
    } catch (error) {
      node.textContent = "This figure could not be drawn; its data are in the table below.";
      console.error(error);
    }
  }

  // What is folded has no width to draw for: it is laid out unseen, drawn, and folded again.
  async function drawFolded(nodes) {
    const parts = new Set();
    for (const node of nodes)
      for (let part = node; part; part = part.parentElement) if (part.tagName === "DETAILS" && !part.open) parts.add(part);
    for (const part of parts) {
      part.classList.add("sizing");
      part.open = true;
    }
    for (const node of nodes) await drawOne(node);
    for (const part of parts) {
      part.open = false;
      part.classList.remove("sizing");
    }
  }

  async function drawAll() {
    const nodes = [...document.querySelectorAll(".plot")];
    const folded = nodes.filter((node) => node.closest("details:not([open])"));
    for (const node of nodes) if (!folded.includes(node)) await drawOne(node);
    await drawFolded(folded);
    return document.querySelectorAll(".plot svg").length;
  }

  function redrawWhereCrossed() {
    for (const node of document.querySelectorAll(".direct .plot")) {
      if (!node.assayView || node.dataset.narrow === String(node.clientWidth < NARROW)) continue;
      node.assayView.finalize();
      draw(node);
    }
  }

  // Opens whatever hides the element that the address names.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    const own = target.querySelector("details");
    if (own && (target.tagName === "TBODY" || own.classList.contains("part"))) own.open = true;
    target.scrollIntoView({ block: target.tagName === "SECTION" ? "start" : "center" });
  }

  // The page's colours are variables of its style sheet; files need them written out.
  function literal(spec) {
    const text = JSON.stringify(spec).replace(/var\(--([a-z0-9-]+)\)/g, (whole, name) => data.light[name] || whole);
    return JSON.parse(text);
  }

  const COLOURED = ["color", "fill", "stroke", "shape", "strokeDash"];

  function withLegends(part) {
    for (const name of COLOURED) {
      const channel = part.encoding && part.encoding[name];
      if (channel && channel.field === "series") delete channel.legend;
    }
    (part.layer || []).forEach(withLegends);
  }

  function whole(id) {
    const figure = data.figures[id];
    const several = figure.panels.length > 1;
    const panels = figure.panels.map((panel) => {
      const { autosize, padding, $schema, ...spec } = copy(panel.spec);
      spec.layer = spec.layer.filter((layer) => layer.name !== "direct");
      const series = new Set((spec.data.values || []).map((entry) => entry.series));
      if (several || series.size > 1) withLegends(spec);
      return { ...spec, width: several ? 380 : 620, ...(several ? { title: panel.title } : {}) };
    });
    const resolve = { scale: Object.fromEntries(COLOURED.map((name) => [name, "shared"])) };
    const body = several ? { concat: panels, columns: 3, resolve } : panels[0];
    const caption = { subtitle: figure.subtitle, subtitleFontSize: 10.5, subtitleColor: "var(--soft)", subtitlePadding: 5, offset: 14 };
    const title = { text: figure.title, fontSize: 15, anchor: "start", color: "var(--ink)", ...(figure.subtitle.length ? caption : {}) };
    return literal({ ...body, title, config: { ...data.config, background: "var(--paper)", padding: 18 } });
  }

  async function image(id, as) {
    const holder = document.createElement("div");
    const result = await vegaEmbed(holder, whole(id), { actions: false, mode: "vega-lite", renderer: "svg", ast: true });
    const found = as === "svg" ? await result.view.toSVG() : await result.view.toCanvas(2);
    result.finalize();
    if (as === "svg") return new Blob([found], { type: "image/svg+xml" });
    return new Promise((done) => found.toBlob(done, "image/png"));
  }

  const DRAWING = new Set(["said", "where", "bounds", "hollow", "bad", "dy", "text", "order", "strong", "head", "joint", "main", "anchor"]);

  function quoted(value) {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  }

  function csv(id) {
    const rows = data.figures[id].panels.flatMap((panel) => panel.spec.data.values);
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !DRAWING.has(name));
    const lines = [columns, ...rows.map((row) => columns.map((name) => row[name]))];
    return new Blob([lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" });
  }

  async function save(id, as) {
    const blob = as === "csv" ? csv(id) : await image(id, as);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${id}.${as}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // Pages opened from a file may not reach the clipboard: then the text is selected, ready to be copied.
  async function copyText(button) {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
    setTimeout(() => (button.textContent = "copy"), 2000);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.as) save(button.parentElement.dataset.tools, button.dataset.as);
    if (button.classList.contains("copy")) copyText(button);
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
  });
  addEventListener("hashchange", reveal);
  // A window that changed while a part was folded: its figures take the width that there is now.
  document.addEventListener("toggle", (event) => event.target.open && event.target.querySelector(".plot") && dispatchEvent(new Event("resize")), true);
  addEventListener("resize", redrawWhereCrossed);

  globalThis.assay = { drawn: drawAll(), image, csv };
  globalThis.assay.drawn.then(() => location.hash && reveal());
})();
