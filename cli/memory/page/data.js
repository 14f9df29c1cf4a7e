"use strict";
// The map of `etx mem` as objects: methods, boxes and rectangles; a spatial index
// of rectangles; numbers as text.

const map = JSON.parse(document.getElementById("map").textContent);

const KIND = {scratch: 0, state: 1, constant: 2, caller: 3};
const ROLE_INPUT = 1, ROLE_OUTPUT = 2, ROLE_VARIES = 4;

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0, amount = bytes;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    ++unit;
  }
  const digits = unit === 0 || amount >= 100 || Number.isInteger(amount) ? 0 : 1;
  return amount.toFixed(digits) + " " + units[unit];
}

function numberText(number) {
  return number.toLocaleString("en").replaceAll(",", "\u202f");
}

function countText(count, noun) {
  return `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// "aten::add.out" is "add".
function shortOperator(name) {
  const colons = name.lastIndexOf("::");
  const tail = colons < 0 ? name : name.slice(colons + 2);
  const point = tail.indexOf(".");
  return point > 0 ? tail.slice(0, point) : tail;
}

function readBox(method, row, id) {
  const [value, kind, roles, arena, offset, bytes, name, type, views, spans, reads, writes] = row;
  const box = {id, method, value, kind, roles, arena, offset, bytes, name, type, views, reads, writes};
  box.spans = [];
  for (let i = 0; i < spans.length; i += 2) box.spans.push([spans[i], spans[i + 1]]);
  box.maker = writes.length > 0 ? writes[0] : -1;
  box.operator = box.maker >= 0 && kind !== KIND.state && !(roles & ROLE_INPUT)
    ? method.operatorAt(box.maker) : "";
  box.group = box.operator !== "" ? shortOperator(box.operator)
    : kind === KIND.state ? "state" : kind === KIND.constant ? "constant"
    : roles & ROLE_INPUT ? "input" : "never written";
  box.label = name === "" ? box.group : box.operator === "" ? name : `${box.group} (${name})`;
  box.title = box.label + " #" + value;
  box.words = [name, box.operator, box.group, type, map.kinds[kind][0], method.name,
    roles & ROLE_INPUT ? "input" : "", roles & ROLE_OUTPUT ? "output" : ""].join(" ").toLowerCase();
  return box;
}

const boxes = [];
const methods = map.methods.map((raw, index) => {
  const method = {index, name: raw.name, columns: raw.columns, steps: raw.steps, jumps: raw.jumps,
    arenas: raw.arenas, guessed: raw.guessed, boxes: []};
  method.operatorAt = (step) => step < raw.steps.length ? raw.operators[raw.steps[step]] : "end";
  method.sourceAt = (step) => raw.sources?.[step] ?? "";
  for (const row of raw.boxes) {
    const box = readBox(method, row, boxes.length);
    boxes.push(box);
    method.boxes.push(box);
  }
  return method;
});

// ---- rectangles: boxes of one method and arena, x is steps and y is bytes

function arenaRects(method, id) {
  const rects = [];
  for (const box of method.boxes) {
    if (box.arena !== id || box.kind > KIND.state) continue;
    for (const [start, end] of box.spans) {
      rects.push({box, x0: start, x1: end, y0: box.offset, y1: box.offset + box.bytes});
    }
  }
  return rects;
}

// Boxes without a planned address are stacked in the order of their first use.
function stackedRects(method, kind) {
  const rects = [];
  const firstUse = (box) => Math.min(box.reads[0] ?? method.columns, box.writes[0] ?? method.columns);
  const used = method.boxes.filter((box) => box.kind === kind && box.spans.length > 0 && box.bytes > 0);
  used.sort((a, b) => firstUse(a) - firstUse(b) || a.value - b.value);
  let at = 0;
  for (const box of used) {
    const last = Math.max(box.reads.at(-1) ?? 0, box.writes.at(-1) ?? 0) + 1;
    const x0 = box.roles & ROLE_INPUT ? 0 : Math.min(firstUse(box), method.columns - 1);
    const x1 = box.roles & ROLE_OUTPUT ? method.columns : Math.max(last, x0 + 1);
    rects.push({box, x0, x1, y0: at, y1: at + box.bytes});
    at += box.bytes;
  }
  return rects;
}

// State that only other methods use is drawn as an outline.
function ghostRects(method, id) {
  const own = new Set(method.boxes.filter((box) => box.arena === id)
    .map((box) => box.offset + ":" + box.bytes));
  const ghosts = new Map();
  for (const box of boxes) {
    const key = box.offset + ":" + box.bytes;
    if (box.arena !== id || box.kind !== KIND.state || box.method === method || own.has(key)) continue;
    ghosts.set(key, {box, x0: 0, x1: method.columns, y0: box.offset, y1: box.offset + box.bytes});
  }
  return [...ghosts.values()];
}

// Live bytes by step.
function liveBytes(rects, columns) {
  const live = new Float64Array(columns + 1);
  for (const rect of rects) {
    live[rect.x0] += rect.y1 - rect.y0;
    live[rect.x1] -= rect.y1 - rect.y0;
  }
  for (let i = 1; i <= columns; ++i) live[i] += live[i - 1];
  return live.subarray(0, columns);
}

// ---- a packed R-tree of rectangles, 16 in each node

class RectIndex {
  constructor(rects) {
    const order = rects.map((_, i) => i);
    const slab = Math.max(16, Math.ceil(Math.sqrt(rects.length / 16)) * 16);
    order.sort((a, b) => rects[a].x0 + rects[a].x1 - rects[b].x0 - rects[b].x1);
    this.rects = [];
    for (let i = 0; i < order.length; i += slab) {
      const part = order.slice(i, i + slab);
      part.sort((a, b) => rects[a].y0 + rects[a].y1 - rects[b].y0 - rects[b].y1);
      for (const at of part) this.rects.push(rects[at]);
    }
    this.levels = [];
    for (let level = this.rects; level.length > 1 || this.levels.length === 0;) {
      const parents = [];
      for (let i = 0; i < level.length; i += 16) parents.push(cover(level, i, Math.min(i + 16, level.length)));
      if (parents.length === 0) parents.push({x0: 0, x1: 0, y0: 0, y1: 0});
      this.levels.push(parents);
      level = parents;
    }
  }

  // Calls `visit` for every rectangle that overlaps the window.
  query(x0, y0, x1, y1, visit) {
    const stack = [[this.levels.length - 1, 0]];
    while (stack.length > 0) {
      const [level, at] = stack.pop();
      if (!touches(this.levels[level][at], x0, y0, x1, y1)) continue;
      const below = level > 0 ? this.levels[level - 1] : this.rects;
      const end = Math.min(16 * at + 16, below.length);
      for (let i = 16 * at; i < end; ++i) {
        if (!touches(below[i], x0, y0, x1, y1)) continue;
        if (level > 0) stack.push([level - 1, i]);
        else visit(below[i]);
      }
    }
  }

  // The smallest rectangle at a point, or the nearest one within a distance.
  at(x, y, dx, dy) {
    let best = null, bestRank = Infinity;
    this.query(x - dx, y - dy, x + dx, y + dy, (rect) => {
      const outX = Math.max(rect.x0 - x, 0, x - rect.x1) / (dx || 1);
      const outY = Math.max(rect.y0 - y, 0, y - rect.y1) / (dy || 1);
      const isInside = rect.x0 <= x && x < rect.x1 && rect.y0 <= y && y < rect.y1;
      const rank = isInside ? -1 / (1 + (rect.x1 - rect.x0) * (rect.y1 - rect.y0)) : Math.hypot(outX, outY);
      if (rank < bestRank) {
        best = rect;
        bestRank = rank;
      }
    });
    return best;
  }
}

function cover(rects, from, to) {
  const all = {x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity};
  for (let i = from; i < to; ++i) {
    all.x0 = Math.min(all.x0, rects[i].x0);
    all.x1 = Math.max(all.x1, rects[i].x1);
    all.y0 = Math.min(all.y0, rects[i].y0);
    all.y1 = Math.max(all.y1, rects[i].y1);
  }
  return all;
}

function touches(rect, x0, y0, x1, y1) {
  return rect.x0 <= x1 && x0 <= rect.x1 && rect.y0 <= y1 && y0 <= rect.y1;
}

// ---- search: all words must match; "#12" is a value or a view of it

function findBoxes(text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  return boxes.filter((box) => words.every((word) => {
    if (/^#\d+$/.test(word)) {
      const value = Number(word.slice(1));
      return box.value === value || box.views.includes(value);
    }
    return box.words.includes(word);
  }));
}
