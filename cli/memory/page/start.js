"use strict";
// Builds the page: rows of panels, tools, figures, legend.

const byId = (id) => document.getElementById(id);
const rows = [];
let found = [];
let foundAt = -1;

function makeRows() {
  const arenas = new Map();
  for (const method of methods) {
    method.isShown = method.arenas.some((arena) => !arena.state);
    for (const arena of method.arenas) {
      const known = arenas.get(arena.id) ?? {most: 0, isState: true};
      known.most = Math.max(known.most, arena.bytes);
      known.isState = known.isState && arena.state;
      arenas.set(arena.id, known);
    }
  }
  // Methods that use only state are hidden at first if there are others.
  if (!methods.some((method) => method.isShown)) methods.forEach((method) => { method.isShown = method.arenas.length > 0; });
  if (!methods.some((method) => method.isShown)) methods.forEach((method) => { method.isShown = true; });
  for (const id of [...arenas.keys()].sort((a, b) => a - b)) {
    const {most, isState} = arenas.get(id);
    rows.push({arena: id, kind: -1, y: new Range(most), height: isState ? 190 : 400,
      title: `arena ${id}, ${isState ? "state" : "scratch"}`,
      note: isState ? "the same in every method" : `${bytesText(most)}, the most of any method`});
  }
  for (const [kind, title, note, height] of [
    [KIND.caller, "memory of the caller", "inputs and outputs without an address, stacked", 90],
    [KIND.constant, "constants", "read-only, in the file; stacked in the order of their first use", 150]]) {
    let most = 0;
    for (const method of methods) {
      most = Math.max(most, stackedRects(method, kind).reduce((sum, rect) => Math.max(sum, rect.y1), 0));
    }
    if (most > 0) rows.push({arena: 0, kind, y: new Range(most), height, title, note});
  }
}

function makePanels() {
  const steps = methods.map((method) => new Range(method.columns));
  for (const row of rows) {
    row.element = document.createElement("section");
    row.element.className = "row";
    const head = document.createElement("h3");
    head.textContent = `${row.title}: ${row.note}`;
    row.element.append(head);
    for (const method of methods) {
      const panel = new Panel(method, row, steps[method.index]);
      panel.setScale(false);
      if (panel.rects.length + panel.ghosts.length === 0 && panel.arena === null) panel.isEmpty = true;
      panels.push(panel);
      row.element.append(panel.build());
    }
    byId("grid").append(row.element);
  }
}

// The width of a column grows with the steps of its method, within bounds.
function layOut() {
  const shown = methods.filter((method) => method.isShown);
  const width = byId("grid").clientWidth;
  const least = Math.min(330, width);
  const weights = shown.map((method) => Math.sqrt(method.columns) + 3);
  const all = weights.reduce((a, b) => a + b, 0);
  const isNarrow = width < 500;   // one method below the other
  const columnText = isNarrow ? "minmax(0, 1fr)" : shown.map((method, i) =>
    `minmax(${method.columns < 12 ? Math.min(220, least) : least}px, ${(100 * weights[i] / all).toFixed(2)}fr)`).join(" ");
  for (const row of rows) {
    const own = panels.filter((panel) => panel.row === row);
    let column = 0;
    row.element.style.gridTemplateColumns = columnText;
    row.element.hidden = own.every((panel) => panel.isEmpty || !panel.method.isShown);
    for (const panel of own) {
      panel.isShown = panel.method.isShown && !panel.isEmpty && !row.element.hidden;
      panel.figure.hidden = !panel.isShown;
      if (panel.method.isShown) ++column;
      panel.figure.style.gridColumn = isNarrow ? "1" : String(column);
      panel.figure.style.gridRow = isNarrow ? String(column + 1) : "2";
    }
    row.element.firstChild.style.gridColumn = isNarrow ? "1" : `1 / span ${Math.max(1, shown.length)}`;
  }
  drawAll();
}

function showMethod(method, isShown) {
  method.isShown = isShown;
  if (method.check) method.check.checked = isShown;
  layOut();
  showTable();
}

function makeMethodChecks() {
  for (const method of methods) {
    if (method.boxes.length === 0) continue;
    const label = document.createElement("label");
    method.check = document.createElement("input");
    method.check.type = "checkbox";
    method.check.checked = method.isShown;
    method.check.addEventListener("change", () => showMethod(method, method.check.checked));
    label.append(method.check, " ", method.name);
    label.title = method.name;
    byId("methods").append(label);
  }
}

// ---- figures

function makeFigures() {
  const body = document.querySelector("#figures tbody");
  for (const method of methods) {
    for (const arena of method.arenas) {
      const row = document.createElement("tr");
      const count = method.boxes.filter((box) => box.arena === arena.id && box.spans.length > 0).length;
      const cells = [method.name, `${arena.id}${arena.state ? ", state" : ""}`, numberText(arena.bytes),
        arena.state ? "" : numberText(arena.bound), arena.state ? "" : gapText(arena), numberText(arena.peak),
        arena.state ? "" : stepText(method, arena.peak_step), numberText(count), numberText(method.steps.length)];
      cells.forEach((text, i) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        cell.dataset.title = document.querySelectorAll("#figures th")[i].textContent;
        if ([2, 3, 4, 5, 7, 8].includes(i)) cell.className = "number";
        row.append(cell);
      });
      body.append(row);
    }
  }
}

function makeFacts() {
  const arenas = rows.filter((row) => row.arena > 0).map((row) => `${row.title}: ${bytesText(row.y.most)}`);
  const constants = rows.find((row) => row.kind === KIND.constant);
  if (constants) arenas.push(`constants: up to ${bytesText(constants.y.most)} in a method`);
  byId("facts").textContent = [`${bytesText(map.bytes)}${map.stock ? ", not written by etx" : ""}`,
    countText(methods.length, "method"), ...arenas].join("  \u00b7  ");
  const guessed = methods.filter((method) => method.guessed > 0);
  byId("guessed").hidden = guessed.length === 0;
  byId("guessed").textContent = guessed.map((method) =>
    `${method.name}: ${method.guessed} steps call delegates or unknown operators; whatever they name counts as used.`).join(" ");
}

function makeLegend() {
  const legend = byId("legend");
  const used = new Map();
  for (const box of boxes) {
    if (box.spans.length === 0 || (box.kind === KIND.scratch) === false && colouring === "size") continue;
    const key = colouring === "kind" ? map.kinds[box.kind][0] : box.group;
    const entry = used.get(key) ?? {box, count: 0};
    entry.count += 1;
    used.set(key, entry);
  }
  legend.replaceChildren();
  if (colouring === "size") {
    legend.textContent = "blue is small, red is large";
    return;
  }
  for (const [key, {box, count}] of [...used].sort((a, b) => b[1].count - a[1].count).slice(0, 28)) {
    const button = document.createElement("button");
    const swatch = document.createElement("i");
    button.type = "button";
    swatch.style.background = fillOf(box);
    button.append(swatch, `${key} (${numberText(count)})`);
    button.title = "search for it";
    button.addEventListener("click", () => setSearch(key));
    legend.append(button);
  }
  const marks = document.createElement("span");
  marks.textContent = "green edge: input; orange edge: output; hatched: state, with marks where it is written (above) and read (below); dashed line: lower bound; arrows on top: jumps, red ones go back; "
    + "\u25bc in use: peak; at a value, \u25bc writes and \u25b2 reads";
  legend.append(marks);
}

// ---- search

function setSearch(text) {
  byId("search").value = text;
  search();
}

function search() {
  const result = findBoxes(byId("search").value);
  found = result ?? [];
  foundAt = -1;
  matches = result === null ? null : new Set(found.map((box) => box.id));
  byId("found").textContent = result === null ? "" : `${numberText(found.length)} found`;
  table.page = 0;
  drawAll();
  showTable();
}

function step(by) {
  if (found.length === 0) return;
  foundAt = (foundAt + by + found.length + (foundAt < 0 && by < 0 ? 1 : 0)) % found.length;
  byId("found").textContent = `${numberText(foundAt + 1)} of ${numberText(found.length)}`;
  goTo(found[foundAt]);
  say(found[foundAt]);
}

// ---- tools

function showView(isTable) {
  byId("table").hidden = !isTable;
  byId("picture").hidden = isTable;
  byId("show-table").setAttribute("aria-pressed", String(isTable));
  byId("show-picture").setAttribute("aria-pressed", String(!isTable));
  point(null);
  if (isTable) showTable();
  else layOut();
}

function setScale(isShared) {
  for (const panel of panels) panel.setScale(isShared);
  drawAll();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  makeLegend();
  drawAll();
}

function zoomAll(factor) {
  const panel = activePanel ?? panels.find((candidate) => candidate.isShown);
  if (!panel) return;
  if (factor === 0) for (const each of panels) each.showAll();
  else panel.zoom(factor);
}

function listen() {
  byId("search").addEventListener("input", search);
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") setSearch("");
  });
  byId("next").addEventListener("click", () => step(1));
  byId("previous").addEventListener("click", () => step(-1));
  byId("colours").addEventListener("change", (event) => {
    colouring = event.target.value;
    makeLegend();
    drawAll();
  });
  byId("scale").addEventListener("change", (event) => setScale(event.target.checked));
  byId("zoom-in").addEventListener("click", () => zoomAll(0.6));
  byId("zoom-out").addEventListener("click", () => zoomAll(1 / 0.6));
  byId("zoom-all").addEventListener("click", () => zoomAll(0));
  byId("show-picture").addEventListener("click", () => showView(false));
  byId("show-table").addEventListener("click", () => showView(true));
  byId("close-details").addEventListener("click", () => keep(null));
  document.addEventListener("keydown", (event) => {
    if (byId("tools").offsetParent === null) return;  // another view is shown
    if (event.key === "/" && document.activeElement !== byId("search")) {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key === "Escape") {
      point(null);
      keep(null);
    }
  });
  new ResizeObserver(() => layOut()).observe(byId("grid"));
  window.addEventListener("scroll", () => point(null), {passive: true});
}

document.documentElement.dataset.theme =
  window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
byId("file").textContent = map.file;
assignHues();
makeRows();
makeFacts();

// Builds the view when it is first shown.
function startMemory() {
  makePanels();
  makeMethodChecks();
  makeFigures();
  makeLegend();
  buildTable();
  listen();
  layOut();
}
