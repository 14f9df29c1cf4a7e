"use strict";
// The boxes as a table: the matches of the search, sorted, in pages.

const ROWS = 200;
const columns = [
  {title: "method", of: (box) => box.method.name},
  {title: "value", of: (box) => box.value, text: (box) => "#" + box.value, isNumber: true},
  {title: "name", of: (box) => box.name},
  {title: "made by", of: (box) => box.operator || box.group, text: (box) => box.operator || box.group},
  {title: "type", of: (box) => box.type},
  {title: "kind", of: (box) => map.kinds[box.kind][0],
    text: (box) => map.kinds[box.kind][0] + (roleText(box) ? ", " + roleText(box) : "")},
  {title: "arena", of: (box) => box.arena, text: (box) => box.arena || "", isNumber: true},
  {title: "offset", of: (box) => box.offset, text: (box) => box.arena ? numberText(box.offset) : "", isNumber: true},
  {title: "bytes", of: (box) => box.bytes, text: (box) => numberText(box.bytes), isNumber: true},
  {title: "from step", of: (box) => box.spans.length ? box.spans[0][0] : Infinity,
    text: (box) => box.spans.length ? box.spans[0][0] : "", isNumber: true},
  {title: "to step", of: (box) => box.spans.length ? box.spans.at(-1)[1] : Infinity,
    text: (box) => box.spans.length ? box.spans.at(-1)[1] - 1 : "", isNumber: true},
  {title: "reads", of: (box) => box.reads.length, isNumber: true},
];
const table = {page: 0, column: -1, isDown: false, rows: boxes};

function buildTable() {
  const head = document.querySelector("#values thead tr");
  columns.forEach((column, index) => {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    cell.scope = "col";
    if (column.isNumber) cell.className = "number";
    button.type = "button";
    button.textContent = column.title;
    button.addEventListener("click", () => sortBy(index));
    cell.append(button);
    head.append(cell);
  });
  document.getElementById("page-back").addEventListener("click", () => turnPage(-1));
  document.getElementById("page-on").addEventListener("click", () => turnPage(1));
}

function sortBy(index) {
  table.isDown = table.column === index ? !table.isDown : Boolean(columns[index].isNumber && index > 7);
  table.column = index;
  table.page = 0;
  showTable();
}

function turnPage(by) {
  const last = Math.max(0, Math.ceil(table.rows.length / ROWS) - 1);
  table.page = Math.min(Math.max(table.page + by, 0), last);
  showTable();
}

function sortedRows() {
  const found = (matches === null ? boxes : boxes.filter((box) => matches.has(box.id)))
    .filter((box) => box.method.isShown || !methods.some((method) => method.isShown));
  if (table.column < 0) return found;
  const key = columns[table.column].of;
  const sign = table.isDown ? -1 : 1;
  return found.map((box) => [key(box), box])
    .sort(([a, x], [b, y]) => a === b ? x.id - y.id : a < b ? -sign : sign).map(([, box]) => box);
}

function showTable() {
  if (document.getElementById("table").hidden) return;
  table.rows = sortedRows();
  const from = table.page * ROWS;
  const to = Math.min(from + ROWS, table.rows.length);
  document.querySelectorAll("#values th").forEach((cell, index) => {
    cell.setAttribute("aria-sort", index !== table.column ? "none" : table.isDown ? "descending" : "ascending");
  });
  document.querySelector("#values tbody").replaceChildren(...table.rows.slice(from, to).map(rowOf));
  document.getElementById("page-at").textContent = table.rows.length === 0 ? "nothing found"
    : `${numberText(from + 1)} to ${numberText(to)} of ${numberText(table.rows.length)}`;
  document.getElementById("page-back").disabled = from === 0;
  document.getElementById("page-on").disabled = to === table.rows.length;
}

function rowOf(box) {
  const row = document.createElement("tr");
  row.tabIndex = 0;
  for (const column of columns) {
    const cell = document.createElement("td");
    if (column.isNumber) cell.className = "number";
    cell.textContent = (column.text ?? column.of)(box);
    cell.dataset.title = column.title;
    row.append(cell);
  }
  row.addEventListener("click", () => showDetails(box));
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") showDetails(box); });
  return row;
}
