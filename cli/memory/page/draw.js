"use strict";
// Draws the canvases: rectangles, axes, peak and lower bound, live bytes.

const LEFT = 66, BOTTOM = 20, TOP = 6, RIGHT = 6, JUMP_LEVELS = 4;
const HUES = [212, 28, 140, 276, 350, 182, 50, 240, 100, 318, 12, 160];

let colouring = "operator";
const groupHues = new Map();

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Operators are sorted by the number of their boxes; frequent ones get the most
// distinct hues.
function assignHues() {
  const counts = new Map();
  for (const box of boxes) {
    if (box.kind !== KIND.scratch || box.operator === "") continue;
    counts.set(box.group, (counts.get(box.group) ?? 0) + 1);
  }
  const groups = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
  groups.forEach((group, i) => groupHues.set(group, [HUES[i % HUES.length], Math.floor(i / HUES.length) % 3]));
}

function hsl(hue, saturation, light) {
  return `hsl(${hue} ${saturation}% ${light}%)`;
}

// Small boxes have no edges, so they get stronger colours.
function fillOf(box, isSmall) {
  const by = isDark() ? 16 : -16;
  return colourOf(box).replace(/([\d.]+)%\)$/, (_, light) => `${Number(light) + (isSmall ? by : 0)}%)`);
}

function colourOf(box) {
  const dark = isDark();
  if (colouring === "size") {
    const weight = Math.min(1, Math.log2(1 + box.bytes) / 28);
    return dark ? hsl(212 - 190 * weight, 55, 26 + 14 * weight) : hsl(212 - 190 * weight, 70, 86 - 22 * weight);
  }
  if (box.kind === KIND.state) return dark ? hsl(268, 32, 36) : hsl(268, 52, 84);
  if (box.kind === KIND.constant) return dark ? hsl(210, 8, 32) : hsl(210, 14, 84);
  if (box.roles & ROLE_INPUT) return dark ? hsl(150, 40, 27) : hsl(150, 48, 80);
  if (colouring === "kind") {
    if (box.roles & ROLE_OUTPUT) return dark ? hsl(28, 60, 34) : hsl(32, 86, 78);
    return dark ? hsl(212, 38, 34) : hsl(212, 70, 84);
  }
  const [hue, shade] = groupHues.get(box.group) ?? [0, 2];
  return dark ? hsl(hue, 46 - 12 * shade, 36 - 6 * shade) : hsl(hue, 66 - 16 * shade, 80 - 7 * shade);
}

// Ticks of the step axis at round numbers.
function roundStep(range, most) {
  const raw = Math.max(1, range / Math.max(1, most));
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= raw);
}

function roundBytes(range, most) {
  const raw = Math.max(1, range / Math.max(1, most));
  return 2 ** Math.ceil(Math.log2(raw));
}

class Plane {
  // A window of steps and bytes on a canvas of width and height.
  constructor(width, height, x, y, liveHeight, headHeight) {
    this.left = LEFT;
    this.right = width - RIGHT;
    this.top = TOP + headHeight;
    this.bottom = height - BOTTOM - liveHeight;
    this.liveTop = height - BOTTOM - liveHeight + 8;
    this.liveBottom = height - BOTTOM;
    this.x = x;
    this.y = y;
    this.kx = (this.right - this.left) / (x.high - x.low);
    this.ky = (this.bottom - this.top) / (y.high - y.low);
  }
  toX(step) { return this.left + (step - this.x.low) * this.kx; }
  toY(bytes) { return this.bottom - (bytes - this.y.low) * this.ky; }
  step(x) { return this.x.low + (x - this.left) / this.kx; }
  bytes(y) { return this.y.low + (this.bottom - y) / this.ky; }
}

function clip(context, plane) {
  context.beginPath();
  context.rect(plane.left, plane.top, plane.right - plane.left, plane.bottom - plane.top);
  context.clip();
}

function placeOf(plane, rect) {
  const x = Math.max(plane.toX(rect.x0), plane.left - 4);
  const right = Math.min(plane.toX(rect.x1), plane.right + 4);
  const y = Math.max(plane.toY(rect.y1), plane.top - 4);
  const bottom = Math.min(plane.toY(rect.y0), plane.bottom + 4);
  return {x, y, width: Math.max(right - x, 0.75), height: Math.max(bottom - y, 0.75)};
}

function hatch(context, place, distance) {
  context.save();
  context.beginPath();
  context.rect(place.x, place.y, place.width, place.height);
  context.clip();
  context.beginPath();
  for (let at = place.x - place.height; at < place.x + place.width; at += distance) {
    context.moveTo(at, place.y + place.height);
    context.lineTo(at + place.height, place.y);
  }
  context.stroke();
  context.restore();
}

function drawRect(context, plane, rect, look) {
  const place = placeOf(plane, rect);
  const {box} = rect;
  const isDim = look.matches !== null && !look.matches.has(box.id);
  context.globalAlpha = isDim ? 0.16 : 1;
  context.fillStyle = look.fill(box, place.width < 3 || place.height < 3);
  const gap = place.width > 5 && place.height > 5 ? 0.5 : 0;
  context.fillRect(place.x + gap, place.y + gap, place.width - 2 * gap, place.height - 2 * gap);
  if (place.width >= 3 && place.height >= 3) {
    context.strokeStyle = look.edge;
    context.strokeRect(place.x + 0.5, place.y + 0.5, place.width - 1, place.height - 1);
  }
  if (box.kind === KIND.state && place.width > 6 && place.height > 4) {
    context.strokeStyle = look.hatch;
    hatch(context, place, 9);
    if (place.height >= 16) drawUses(context, plane, place, box, look);
  }
  if (box.roles & ROLE_INPUT && place.width > 3) {
    context.fillStyle = look.input;
    context.fillRect(place.x, place.y, Math.min(3, place.width / 3), place.height);
  }
  if (box.roles & ROLE_OUTPUT && place.width > 3) {
    const bar = Math.min(3, place.width / 3);
    context.fillStyle = look.output;
    context.fillRect(place.x + place.width - bar, place.y, bar, place.height);
  }
  if (place.width >= 30 && place.height >= 11) drawLabel(context, place, box, look);
  else if (place.width >= 12 && place.height >= 40) drawUpright(context, place, box, look);
  context.globalAlpha = 1;
}

// State is always live. Marks above show when it is written, below when it is read.
function drawUses(context, plane, place, box, look) {
  const width = Math.max(1, Math.min(plane.kx - 1, 4));
  const height = Math.min(6, place.height / 3);
  context.fillStyle = look.ink;
  for (const step of box.writes) context.fillRect(plane.toX(step + 0.5) - width / 2, place.y, width, height);
  for (const step of box.reads) context.fillRect(plane.toX(step + 0.5) - width / 2, place.y + place.height - height, width, height);
}

// A text, cut to the width that is available.
function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const most = Math.floor(text.length * width / context.measureText(text).width);
  return most < 3 ? "" : text.slice(0, most - 1) + "\u2026";
}

function drawLabel(context, place, box, look) {
  const text = fit(context, box.label, place.width - 9);
  const isTall = place.height >= 27;
  context.fillStyle = look.ink;
  const middle = place.y + place.height / 2;
  context.fillText(text, place.x + 6, isTall ? middle - 6 : middle + 0.5);
  if (!isTall) return;
  context.globalAlpha *= 0.72;
  context.fillText(fit(context, bytesText(box.bytes), place.width - 9), place.x + 6, middle + 7);
}

// The label of a narrow box runs from bottom to top.
function drawUpright(context, place, box, look) {
  context.save();
  context.translate(place.x + place.width / 2, place.y + place.height - 5);
  context.rotate(-Math.PI / 2);
  context.fillStyle = look.ink;
  context.fillText(fit(context, box.label, place.height - 9), 0, 0.5);
  context.restore();
}

// ---- axes

function drawAxes(context, plane, panel, look) {
  context.strokeStyle = look.grid;
  context.fillStyle = look.soft;
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const tick = roundBytes(plane.y.high - plane.y.low, (plane.bottom - plane.top) / 34);
  for (let at = Math.ceil(plane.y.low / tick) * tick; at <= plane.y.high; at += tick) {
    const y = Math.round(plane.toY(at)) + 0.5;
    context.beginPath();
    context.moveTo(plane.left, y);
    context.lineTo(plane.right, y);
    context.stroke();
    context.fillText(bytesText(at), plane.left - 5, Math.min(Math.max(y, plane.top + 5), plane.bottom - 4));
  }
  context.textAlign = "center";
  const step = roundStep(plane.x.high - plane.x.low, (plane.right - plane.left) / 56);
  const isWide = plane.kx >= 64;
  for (let at = Math.ceil(plane.x.low / step) * step; at < plane.x.high; at += step) {
    const x = Math.round(plane.toX(at)) + 0.5;
    context.beginPath();
    context.moveTo(x, plane.top);
    context.lineTo(x, plane.liveBottom);
    context.stroke();
    const text = isWide ? fit(context, at + " " + shortOperator(panel.method.operatorAt(at)), plane.kx - 4) : String(at);
    const middle = isWide ? x + plane.kx / 2 : x + Math.min(plane.kx / 2, 20);
    if (middle > plane.left && middle < plane.right) context.fillText(text, middle, plane.liveBottom + 11);
  }
}

function drawLine(context, plane, bytes, style, dash) {
  const y = Math.round(plane.toY(bytes)) + 0.5;
  if (y < plane.top - 1 || y > plane.bottom + 1) return;
  context.save();
  context.strokeStyle = style;
  context.lineWidth = 1.5;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(plane.left, y);
  context.lineTo(plane.right, y);
  context.stroke();
  context.restore();
}

// Live bytes below the diagram; each column of pixels shows its largest step.
function drawLive(context, plane, panel, look) {
  const {live, arena} = panel;
  const height = plane.liveBottom - plane.liveTop;
  const most = Math.max(arena.bytes, 1);
  context.fillStyle = look.free;
  context.fillRect(plane.left, plane.liveTop, plane.right - plane.left, height);
  context.fillStyle = look.live;
  for (let x = plane.left; x < plane.right; ++x) {
    const from = Math.max(0, Math.floor(plane.step(x)));
    const to = Math.min(live.length, Math.max(from + 1, Math.ceil(plane.step(x + 1))));
    let bytes = 0;
    for (let s = from; s < to; ++s) bytes = Math.max(bytes, live[s]);
    const bar = height * bytes / most;
    context.fillRect(x, plane.liveBottom - bar, 1, bar);
  }
  context.fillStyle = look.soft;
  context.textAlign = "right";
  context.fillText("in use", plane.left - 5, plane.liveTop + height / 2);
}

// Jumps as arrows above the diagram; backward ones are loops. Arrows that would
// cross have different heights.
function drawJumps(context, plane, jumps, look) {
  const ends = [];
  context.lineWidth = 1;
  for (const [from, to] of [...jumps].sort((a, b) => Math.min(...a) - Math.min(...b))) {
    const start = plane.toX(from + 0.5), end = plane.toX(to);
    const left = Math.min(start, end), right = Math.max(start, end);
    let level = ends.findIndex((x) => x < left - 3);
    if (level < 0) level = ends.length < JUMP_LEVELS ? ends.length : JUMP_LEVELS - 1;
    ends[level] = right;
    if (right < plane.left || left > plane.right) continue;
    const y = plane.top - 4 - 5 * level;
    const inside = (x) => Math.min(Math.max(x, plane.left), plane.right);
    context.strokeStyle = context.fillStyle = to <= from ? look.peak : look.soft;
    context.beginPath();
    context.moveTo(inside(start), y + 4);
    context.lineTo(inside(start), y);
    context.lineTo(inside(end), y);
    context.stroke();
    if (end < plane.left || end > plane.right) continue;
    context.beginPath();
    context.moveTo(end - 3, y);
    context.lineTo(end + 3, y);
    context.lineTo(end, y + 5);
    context.fill();
  }
}

function drawPeak(context, plane, panel, look) {
  const x = plane.toX(panel.arena.peak_step + 0.5);
  if (x < plane.left || x > plane.right) return;
  context.fillStyle = look.peak;
  context.beginPath();
  context.moveTo(x - 5, plane.liveTop - 7);
  context.lineTo(x + 5, plane.liveTop - 7);
  context.lineTo(x, plane.liveTop + 1);
  context.fill();
  context.save();
  context.strokeStyle = look.peak;
  context.globalAlpha = 0.7;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(x, plane.top);
  context.lineTo(x, plane.liveBottom);
  context.stroke();
  context.restore();
}

function currentLook(matches) {
  const fills = new Map();
  const dark = isDark();
  return {
    matches, fill(box, isSmall) {
      const what = colouring === "operator" ? box.group + ":" + (box.roles & ROLE_INPUT)
        : colouring === "size" ? box.bytes : box.kind + ":" + box.roles;
      const key = isSmall ? "small " + what : what;
      if (!fills.has(key)) fills.set(key, fillOf(box, isSmall));
      return fills.get(key);
    },
    ink: styleOf("--ink"), soft: styleOf("--soft"), grid: styleOf("--grid"), free: styleOf("--free"),
    live: styleOf("--live"), peak: styleOf("--peak"), bound: styleOf("--bound"), mark: styleOf("--mark"),
    paper: styleOf("--paper"), edge: dark ? "rgb(255 255 255 / 28%)" : "rgb(0 0 0 / 30%)",
    hatch: dark ? "rgb(255 255 255 / 14%)" : "rgb(0 0 0 / 12%)",
    input: dark ? "#5fd3a8" : "#0b6e4f", output: dark ? "#ffb74d" : "#b45309",
  };
}

function drawPanel(context, plane, panel, look) {
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.fillStyle = look.free;
  context.fillRect(plane.left, plane.top, plane.right - plane.left, plane.bottom - plane.top);
  drawAxes(context, plane, panel, look);
  context.save();
  clip(context, plane);
  context.textAlign = "left";
  context.lineWidth = 1;
  for (const ghost of panel.ghosts) {
    const place = placeOf(plane, ghost);
    context.strokeStyle = look.grid;
    context.strokeRect(place.x + 0.5, place.y + 0.5, place.width - 1, place.height - 1);
    hatch(context, place, 9);
    context.fillStyle = look.soft;
    if (place.height >= 11) context.fillText(fit(context, ghost.box.label + " (not used here)", place.width - 9), place.x + 6, place.y + place.height / 2);
  }
  let count = 0;
  panel.index.query(plane.x.low, plane.y.low, plane.x.high, plane.y.high, (rect) => {
    drawRect(context, plane, rect, look);
    ++count;
  });
  context.restore();
  if (panel.headHeight > 0) drawJumps(context, plane, panel.method.jumps, look);
  if (panel.arena !== null) {
    drawLine(context, plane, panel.arena.bytes, look.soft, []);
    if (!panel.arena.state) {
      drawLine(context, plane, panel.arena.floor + panel.arena.bound, look.bound, [6, 4]);
      drawLive(context, plane, panel, look);
      drawPeak(context, plane, panel, look);
    }
  }
  return count;
}

// The box under the pointer or the keyboard: frame, accesses, lines to the axes.
function drawFocus(context, plane, rect, isKept, look) {
  const place = placeOf(plane, rect);
  context.save();
  clip(context, plane);
  context.strokeStyle = look.mark;
  context.lineWidth = isKept ? 3 : 2;
  context.strokeRect(place.x, place.y, place.width, place.height);
  const draw = (step, isWrite) => {
    const x = plane.toX(step + 0.5);
    const y = isWrite ? place.y : place.y + place.height;
    const tip = isWrite ? 6 : -6;
    context.beginPath();
    context.moveTo(x - 4, y);
    context.lineTo(x + 4, y);
    context.lineTo(x, y + tip);
    context.fill();
  };
  context.fillStyle = look.mark;
  for (const step of rect.box.writes) draw(step, true);
  for (const step of rect.box.reads) draw(step, false);
  context.restore();
}
