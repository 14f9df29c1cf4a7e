"use strict";
// A panel: the diagram of one method and one arena or kind of memory, on two
// canvases, with its pointer and key events. Panels of one method share the step
// axis, panels of one arena the address axis.

const LIVE_HEIGHT = 58;
const panels = [];
let matches = null;   // ids of boxes that the search found; null: no search
let kept = null;      // {panel, rect} whose details are pinned
let pointed = null;   // {panel, rect} under the pointer or the keyboard

class Range {
  constructor(high) {
    this.least = 0;
    this.most = Math.max(high, 1);
    this.low = 0;
    this.high = this.most;
  }
  get isAll() { return this.low <= this.least && this.high >= this.most; }
  set(low, high, smallest) {
    const size = Math.min(Math.max(high - low, smallest), this.most - this.least);
    const middle = (low + high) / 2;
    this.low = Math.min(Math.max(middle - size / 2, this.least), this.most - size);
    this.high = this.low + size;
  }
  zoom(factor, at, smallest) {
    this.set(at - (at - this.low) * factor, at + (this.high - at) * factor, smallest);
  }
  move(by) { this.set(this.low + by, this.high + by, 0); }
  reset() { this.low = this.least; this.high = this.most; }
}

class Panel {
  constructor(method, row, x) {
    this.method = method;
    this.row = row;
    this.x = x;
    this.arena = method.arenas.find((arena) => arena.id === row.arena) ?? null;
    this.rects = row.arena > 0 ? arenaRects(method, row.arena) : stackedRects(method, row.kind);
    this.ghosts = this.arena !== null && this.arena.state ? ghostRects(method, row.arena) : [];
    this.index = new RectIndex(this.rects);
    this.live = liveBytes(this.rects, method.columns);
    this.liveHeight = this.arena !== null && !this.arena.state ? LIVE_HEIGHT : 0;
    this.headHeight = this.liveHeight > 0 && method.jumps.length > 0 ? 5 * JUMP_LEVELS : 0;
    this.isDirty = true;
  }

  // The range of addresses: that of the row, for one scale in all methods, or its
  // own, so that a small arena fills the panel. State has one scale everywhere.
  setScale(isShared) {
    const own = Math.max(this.arena?.bytes ?? 0, this.rects.reduce((most, rect) => Math.max(most, rect.y1), 0));
    this.y = isShared || this.arena?.state ? this.row.y : new Range(own);
  }

  build() {
    this.figure = document.createElement("figure");
    this.figure.className = "panel";
    this.figure.append(this.caption());
    this.stage = document.createElement("div");
    this.stage.className = "stage";
    this.stage.style.height = this.row.height + this.liveHeight + "px";
    this.under = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.under.setAttribute("aria-hidden", "true");
    this.over.className = "over";
    this.over.tabIndex = 0;
    this.over.setAttribute("role", "application");
    this.over.setAttribute("aria-label", `${this.method.name}, ${this.row.title}: ${this.rects.length} boxes; arrow keys go from value to value; the table has the same facts`);
    this.stage.append(this.under, this.over);
    this.figure.append(this.stage);
    this.listen();
    return this.figure;
  }

  caption() {
    const caption = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = this.method.name;
    const used = this.rects.reduce((sum, rect) => Math.max(sum, rect.y1), 0);
    let text = ` ${countText(this.rects.length, "value")}, ${bytesText(used)}`;
    if (this.arena !== null) {
      const {bytes, bound, peak_step} = this.arena;
      text = this.arena.state
        ? ` ${this.rects.length} of ${this.rects.length + this.ghosts.length} states, ${bytesText(bytes)}`
        : ` ${bytesText(bytes)}, lower bound ${bytesText(bound)}, gap ${gapText(this.arena)}, peak at step ${peak_step} (${shortOperator(this.method.operatorAt(peak_step))})`;
    }
    caption.append(name, text);
    caption.title = this.method.name + text;
    return caption;
  }

  get plane() {
    return new Plane(this.stage.clientWidth, this.stage.clientHeight, this.x, this.y, this.liveHeight, this.headHeight);
  }

  fitCanvas(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.stage.clientWidth * ratio);
    const height = Math.round(this.stage.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.stage.clientWidth, this.stage.clientHeight);
    return context;
  }

  draw(look) {
    if (this.stage.clientWidth === 0) return;
    this.drawn = drawPanel(this.fitCanvas(this.under), this.plane, this, look);
    this.isDirty = false;
  }

  drawOver(look) {
    if (this.stage.clientWidth === 0) return;
    const context = this.fitCanvas(this.over);
    const plane = this.plane;
    if (kept !== null && kept.panel === this) drawFocus(context, plane, kept.rect, true, look);
    if (pointed !== null && pointed.panel === this) drawFocus(context, plane, pointed.rect, false, look);
    if (this.frame) {
      const {x0, y0, x1, y1} = this.frame;
      context.strokeStyle = look.mark;
      context.setLineDash([4, 3]);
      context.strokeRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
    }
  }

  // The rectangle at a position.
  hit(x, y) {
    const plane = this.plane;
    if (x < plane.left || x > plane.right || y < plane.top || y > plane.bottom) return null;
    return this.index.at(plane.step(x), plane.bytes(y), 3 / plane.kx, 3 / plane.ky);
  }

  place(event) {
    const frame = this.over.getBoundingClientRect();
    return {x: event.clientX - frame.left, y: event.clientY - frame.top};
  }

  changed() {
    for (const panel of panels) {
      if (panel.x === this.x || panel.y === this.y) panel.isDirty = true;
    }
    drawSoon();
  }

  zoom(factor, step, bytes) {
    this.x.zoom(factor, step ?? (this.x.low + this.x.high) / 2, 2);
    this.y.zoom(factor, bytes ?? (this.y.low + this.y.high) / 2, 64);
    this.changed();
  }

  showAll() {
    this.x.reset();
    this.y.reset();
    this.changed();
  }

  // Moves the window so that the rectangle is visible.
  reveal(rect) {
    const width = this.x.high - this.x.low, height = this.y.high - this.y.low;
    if (rect.x0 < this.x.low || rect.x1 > this.x.high) {
      this.x.set((rect.x0 + rect.x1 - width) / 2, (rect.x0 + rect.x1 + width) / 2, 0);
    }
    if (rect.y0 < this.y.low || rect.y1 > this.y.high) {
      this.y.set((rect.y0 + rect.y1 - height) / 2, (rect.y0 + rect.y1 + height) / 2, 0);
    }
    this.changed();
  }

  listen() {
    const canvas = this.over;
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    canvas.addEventListener("pointerleave", () => { if (!this.drag) point(null); });
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointerup", (event) => this.onUp(event));
    canvas.addEventListener("dblclick", () => this.showAll());
    canvas.addEventListener("wheel", (event) => this.onWheel(event), {passive: false});
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("focus", () => { activePanel = this; });
  }

  onMove(event) {
    const at = this.place(event);
    if (this.drag) return this.onDrag(at);
    const rect = this.hit(at.x, at.y);
    point(rect === null ? null : {panel: this, rect}, event);
  }

  onDown(event) {
    if (event.button !== 0) return;
    const at = this.place(event);
    this.drag = {...at, last: at, isFrame: event.shiftKey, hasMoved: false};
    this.over.setPointerCapture(event.pointerId);
  }

  onDrag(at) {
    const {drag} = this;
    if (Math.hypot(at.x - drag.x, at.y - drag.y) > 4) drag.hasMoved = true;
    if (!drag.hasMoved) return;
    point(null);
    if (drag.isFrame) {
      this.frame = {x0: drag.x, y0: drag.y, x1: at.x, y1: at.y};
      drawSoon();
      return;
    }
    const plane = this.plane;
    this.stage.classList.add("moving");
    this.x.move((drag.last.x - at.x) / plane.kx);
    this.y.move((at.y - drag.last.y) / plane.ky);
    drag.last = at;
    this.changed();
  }

  onUp(event) {
    const {drag, frame} = this;
    const at = this.place(event);
    this.drag = this.frame = null;
    this.stage.classList.remove("moving");
    if (!drag) return;
    if (!drag.hasMoved) {
      const rect = this.hit(at.x, at.y);
      keep(rect === null ? null : {panel: this, rect});
    } else if (frame) {
      const plane = this.plane;
      this.x.set(plane.step(Math.min(frame.x0, frame.x1)), plane.step(Math.max(frame.x0, frame.x1)), 2);
      this.y.set(plane.bytes(Math.max(frame.y0, frame.y1)), plane.bytes(Math.min(frame.y0, frame.y1)), 64);
      this.changed();
    }
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.over) return;
    event.preventDefault();
    const at = this.place(event);
    const plane = this.plane;
    if (event.shiftKey) {
      this.x.move((event.deltaX + event.deltaY) / plane.kx);
      this.changed();
    } else {
      this.zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY)) / 250), plane.step(at.x), plane.bytes(at.y));
    }
  }

  onKey(event) {
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps && event.shiftKey) {
      this.x.move(steps[0] * (this.x.high - this.x.low) / 8);
      this.y.move(steps[1] * (this.y.high - this.y.low) / 8);
      this.changed();
    } else if (steps) {
      this.go(steps[0], steps[1]);
    } else if (event.key === "+" || event.key === "=") {
      this.zoom(0.7);
    } else if (event.key === "-") {
      this.zoom(1 / 0.7);
    } else if (event.key === "0") {
      this.showAll();
    } else if (event.key === "Enter" && pointed !== null) {
      keep(pointed);
    } else {
      return;
    }
    event.preventDefault();
  }

  // Moves to the nearest box in a direction, or to the first one.
  go(dx, dy) {
    const from = pointed !== null && pointed.panel === this ? pointed.rect : null;
    let best = from, bestRank = Infinity;
    for (const rect of this.rects) {
      if (rect === from) continue;
      let rank;
      if (from === null) {
        rank = rect.x0 * this.y.most + rect.y0;
      } else {
        const along = dx !== 0 ? dx * (rect.x0 - from.x0) / this.x.most : dy * (rect.y0 - from.y0) / this.y.most;
        const across = dx !== 0 ? gapBetween(rect.y0, rect.y1, from.y0, from.y1) / this.y.most
          : gapBetween(rect.x0, rect.x1, from.x0, from.x1) / this.x.most;
        if (along <= 0) continue;
        rank = along + 8 * across;
      }
      if (rank < bestRank) {
        best = rect;
        bestRank = rank;
      }
    }
    if (best === null) return;
    this.reveal(best);
    point({panel: this, rect: best}, null);
    say(best.box);
  }
}

function gapBetween(a0, a1, b0, b1) {
  return Math.max(0, b0 - a1 + 1, a0 - b1 + 1);
}

function gapText(arena) {
  const gap = arena.bytes - arena.floor - arena.bound;
  return gap === 0 ? "0" : `${bytesText(gap)} (${(100 * gap / Math.max(arena.bound, 1)).toFixed(2)} %)`;
}

// ---- drawing after changes, at most once in each frame

let activePanel = null;
let isWaiting = false;

function drawNow() {
  const look = currentLook(matches);
  isWaiting = false;
  for (const panel of panels) {
    if (!panel.isShown) continue;
    if (panel.isDirty) panel.draw(look);
    panel.drawOver(look);
  }
}

function drawSoon() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(drawNow);
}

function drawAll() {
  for (const panel of panels) panel.isDirty = true;
  drawSoon();
}

// ---- the box under the pointer, and the pinned one

function point(what, event) {
  const isSame = what === null ? pointed === null : pointed !== null && pointed.rect === what.rect;
  pointed = what;
  showTip(what, event);
  if (isSame) return;
  const look = currentLook(matches);
  for (const panel of panels) if (panel.isShown) panel.drawOver(look);
}

function keep(what) {
  kept = what;
  showDetails(what === null ? null : what.rect.box);
  drawSoon();
}

// Shows a box in the panel that draws it.
function goTo(box) {
  for (const panel of panels) {
    const rect = panel.rects.find((candidate) => candidate.box === box);
    if (!rect) continue;
    if (!panel.isShown) showMethod(panel.method, true);
    panel.reveal(rect);
    panel.stage.scrollIntoView({block: "nearest", inline: "nearest"});
    keep({panel, rect});
    return true;
  }
  kept = null;
  showDetails(box);
  drawSoon();
  return false;
}
