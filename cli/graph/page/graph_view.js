"use strict";
// The view of one graph: window, pointer and keys, search, selection.

const SCALE_LEAST = 0.002, SCALE_MOST = 4, START_SCALE = 0.75, MARGIN = 24, EDGE_REACH = 6;

class GraphView {
  constructor() {
    this.stage = byId("graph-stage");
    this.canvas = byId("graph-canvas");
    this.context = this.canvas.getContext("2d");
    this.layouts = new Map();
    this.found = [];
    this.foundAt = -1;
    this.matches = null;
    this.selected = null;   // a node
    this.value = null;      // a tensor of the graph
    this.pointed = null;    // {node} or {edge} under the pointer
    this.pointers = new Map();
  }

  start() {
    const choice = byId("graph-method");
    for (const method of methods) {
      const option = document.createElement("option");
      option.value = String(method.index);
      option.textContent = `${method.name} (${countText(method.steps.length, "step")})`;
      choice.append(option);
    }
    const largest = methods.reduce((most, method) => method.steps.length > most.steps.length ? method : most, methods[0]);
    const first = methods.find((method) => method.name === "forward") ?? largest;
    this.listen();
    if (first) this.showMethod(first.index);
  }

  // ---- what is shown

  showMethod(index) {
    byId("graph-method").value = String(index);
    this.graph = graphAt(index);
    if (!this.layouts.has(index)) this.layouts.set(index, new Layout(this.graph, (node) => nodeWidth(this.context, node)));
    this.layout = this.layouts.get(index);
    this.selected = this.value = this.pointed = null;
    byId("graph-details").hidden = true;
    byId("graph-facts").textContent = `${countText(this.graph.nodes.length, "node")}, ${countText(this.graph.edges.length, "edge")}`;
    this.view = {x: 0, y: 0, scale: 1};
    this.showStart();
  }

  get width() { return this.stage.clientWidth; }
  get height() { return this.stage.clientHeight; }

  // The first layers, at a scale at which texts can be read.
  showStart() {
    const scale = Math.min(1, Math.max(START_SCALE, this.width / (this.layout.width + 2 * MARGIN)));
    const first = this.layout.layers[0]?.[0];
    const fits = this.layout.width * scale < this.width;
    this.view = {scale, y: -MARGIN / scale, x: fits || !first ? (this.layout.width - this.width / scale) / 2 : first.x - this.width / scale / 2};
    this.drawSoon();
  }

  wholeScale() {
    return Math.max(SCALE_LEAST, Math.min(1, this.width / (this.layout.width + 2 * MARGIN), this.height / (this.layout.height + 2 * MARGIN)));
  }

  showAll() {
    const scale = this.wholeScale();
    this.view = {scale, x: (this.layout.width - this.width / scale) / 2, y: (this.layout.height - this.height / scale) / 2};
    this.drawSoon();
  }

  // Zooms so that a point of the stage stays where it is.
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const {view} = this;
    const scale = Math.min(SCALE_MOST, Math.max(SCALE_LEAST, view.scale * factor));
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    this.drawSoon();
  }

  // Moves the window; some of the graph stays in it.
  move(dx, dy) {
    const {view, layout} = this;
    const wide = this.width / view.scale, tall = this.height / view.scale;
    view.x = Math.min(Math.max(view.x + dx, -wide * 0.8), layout.width - wide * 0.2);
    view.y = Math.min(Math.max(view.y + dy, -tall * 0.8), layout.height - tall * 0.2);
    this.drawSoon();
  }

  reveal(node) {
    const {view} = this;
    if (view.scale < TEXT_SCALE) view.scale = 0.8;
    const wide = this.width / view.scale, tall = this.height / view.scale;
    if (node.x < view.x + 10 || node.x + node.width > view.x + wide - 10) view.x = node.x + node.width / 2 - wide / 2;
    if (node.y < view.y + 10 || node.y + NODE_HEIGHT > view.y + tall - 10) view.y = node.y + NODE_HEIGHT / 2 - tall / 2;
    this.drawSoon();
  }

  // ---- drawing

  drawSoon() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  look() {
    const dark = isDark();
    const {selected, value} = this;
    const isMarked = (edge) => value !== null ? edge.value === value
      : selected !== null && (edge.from === selected || edge.to === selected) || this.pointed?.edge === edge;
    const around = value !== null ? this.graph.edges : selected !== null ? [...selected.edgesIn, ...selected.edgesOut] : [];
    return {ink: styleOf("--ink"), soft: styleOf("--soft"), accent: styleOf("--accent"), mark: styleOf("--mark"),
      peak: styleOf("--peak"), edge: dark ? "#6b7580" : "#8b949e", outline: dark ? "rgb(255 255 255 / 25%)" : "rgb(0 0 0 / 28%)",
      matches: this.matches, selected, pointed: this.pointed?.node ?? null, isMarked,
      longEdges: around.filter((edge) => edge.isLong && isMarked(edge))};
  }

  draw() {
    const {width, height, canvas, context} = this;
    if (width === 0 || !this.layout) return;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    new GraphPainter(context, this.layout, this.view, this.look()).draw(width, height);
    this.placeBar();
    this.drawnAt ??= performance.now();
  }

  // The bar at the right shows which part of the layers the window shows.
  placeBar() {
    const bar = byId("graph-bar");
    const whole = Math.max(this.layout.height, 1), tall = this.height / this.view.scale;
    bar.hidden = tall >= whole;
    const size = Math.max(0.03, Math.min(1, tall / whole));
    const at = Math.min(1, Math.max(0, this.view.y / (whole - tall)));
    bar.firstElementChild.style.height = 100 * size + "%";
    bar.firstElementChild.style.top = 100 * at * (1 - size) + "%";
  }

  // ---- what lies at a point of the stage

  hit(x, y) {
    const {view, layout} = this;
    const at = {x: view.x + x / view.scale, y: view.y + y / view.scale};
    const [first, end] = shownLayers(layout, at.y, at.y);
    for (let layer = first; layer < end; ++layer) {
      for (const {node} of layout.layers[layer]) {
        if (node !== null && node.x <= at.x && at.x <= node.x + node.width && node.y <= at.y && at.y <= node.y + NODE_HEIGHT) {
          return {node};
        }
      }
    }
    const edge = view.scale < TEXT_SCALE ? null : this.edgeAt(at, first, end);
    return edge === null ? null : {edge};
  }

  edgeAt(at, first, end) {
    const {layout, view} = this;
    let best = null, bestDistance = EDGE_REACH / view.scale;
    for (let layer = Math.max(0, first - 1); layer < end; ++layer) {
      const top = layout.tops[layer] + NODE_HEIGHT, bottom = layout.tops[layer + 1];
      for (const {from, to, edge} of layout.segments[layer] ?? []) {
        if (at.y > bottom || at.y < (from.node === null ? layout.tops[layer] : top)) continue;
        const x = at.y < top ? from.x : curveAt(from.x, to.x, (at.y - top) / (bottom - top));
        const distance = Math.abs(at.x - x);
        if (distance < bestDistance) {
          best = edge;
          bestDistance = distance;
        }
      }
    }
    return best;
  }

  // ---- selection

  select(node, value, isRevealed) {
    if (node !== null && node.graph !== this.graph) this.showMethod(node.graph.method.index);
    this.selected = node;
    this.value = value;
    if (node !== null) {
      showNodeDetails(node);
      this.say(node);
      this.makeRoom();
      if (isRevealed) this.reveal(node);
    } else if (value !== null) {
      showTensorDetails(this.graph, value);
      this.makeRoom();
    } else {
      byId("graph-details").hidden = true;
    }
    this.drawSoon();
  }

  // Where the details cover the lower part of the window, the graph goes above.
  makeRoom() {
    if (getComputedStyle(byId("graph-details")).position === "fixed") this.stage.scrollIntoView({block: "start"});
  }

  say(node) {
    const [title, lines] = nodeTip(node);
    byId("said").textContent = [title, node.type, ...lines].join(", ");
  }

  point(what, event) {
    const isSame = this.pointed?.node === what?.node && this.pointed?.edge === what?.edge;
    this.pointed = what;
    this.canvas.style.cursor = what === null ? "grab" : "pointer";
    if (what === null) {
      tip.hidden = true;
    } else {
      const [title, lines] = what.node ? nodeTip(what.node) : tensorTip(this.graph, what.edge.value);
      fillTip(title, lines);
      moveTip(event.clientX, event.clientY);
    }
    if (!isSame) this.drawSoon();
  }

  // ---- search in all methods: all words must match; "#12" is a value

  setSearch(text) {
    byId("graph-search").value = text;
    this.search();
  }

  search() {
    const words = byId("graph-search").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const isNumber = words.map((word) => /^#\d+$/.test(word));
    this.found = words.length === 0 ? [] : methods.flatMap((method) => graphAt(method.index).nodes)
      .filter((node) => words.every((word, i) => {
        const all = node.graph.wordsOf(node);
        return isNumber[i] ? all.split(" ").includes(word) : all.includes(word);
      }));
    this.matches = words.length === 0 ? null : new Set(this.found);
    this.foundAt = -1;
    const here = this.found.filter((node) => node.graph === this.graph).length;
    byId("graph-found").textContent = words.length === 0 ? ""
      : `${numberText(this.found.length)} found${here < this.found.length ? `, ${numberText(here)} here` : ""}`;
    this.drawSoon();
  }

  // The next match, counted from the shown method on.
  step(by) {
    const {found} = this;
    if (found.length === 0) return;
    if (this.foundAt < 0) {
      const here = found.findIndex((node) => node.graph === this.graph);
      this.foundAt = here < 0 ? 0 : by > 0 ? here : (here + found.length - 1) % found.length;
    } else {
      this.foundAt = (this.foundAt + by + found.length) % found.length;
    }
    byId("graph-found").textContent = `${numberText(this.foundAt + 1)} of ${numberText(found.length)}`;
    this.select(found[this.foundAt], null, true);
  }

  // ---- events

  listen() {
    const {canvas} = this;
    canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    canvas.addEventListener("pointerup", (event) => this.onUp(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("dblclick", (event) => this.zoom(1.8, ...this.place(event)));
    canvas.addEventListener("wheel", (event) => this.onWheel(event), {passive: false});
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    byId("graph-method").addEventListener("change", (event) => this.showMethod(Number(event.target.value)));
    byId("graph-search").addEventListener("input", () => this.search());
    byId("graph-search").addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") this.setSearch("");
    });
    byId("graph-next").addEventListener("click", () => this.step(1));
    byId("graph-previous").addEventListener("click", () => this.step(-1));
    byId("graph-in").addEventListener("click", () => this.zoom(1.4));
    byId("graph-out").addEventListener("click", () => this.zoom(1 / 1.4));
    byId("graph-all").addEventListener("click", () => this.showAll());
    byId("graph-start").addEventListener("click", () => this.showStart());
    byId("close-graph-details").addEventListener("click", () => this.select(null, null, false));
    byId("graph-bar").addEventListener("pointerdown", (event) => this.onBar(event));
    byId("graph-bar").addEventListener("pointermove", (event) => { if (event.buttons & 1) this.onBar(event); });
    new ResizeObserver(() => this.drawSoon()).observe(this.stage);
    new MutationObserver(() => this.drawSoon()).observe(document.documentElement, {attributeFilter: ["data-theme"]});
  }

  place(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  onDown(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const [x, y] = this.place(event);
    this.pointers.set(event.pointerId, {x, y});
    if (this.pointers.size === 1) this.press = {x, y, hasMoved: false};
    else if (this.press) this.press.hasMoved = true;
  }

  onMove(event) {
    const [x, y] = this.place(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) return this.point(this.hit(x, y), event);
    if (Math.hypot(x - this.press.x, y - this.press.y) > 4) this.press.hasMoved = true;
    if (this.press.hasMoved) {
      this.point(null);
      if (this.pointers.size === 2) this.pinch(event.pointerId, x, y);
      else this.move((last.x - x) / this.view.scale, (last.y - y) / this.view.scale);
    }
    Object.assign(last, {x, y});
  }

  // Two fingers: their distance is the scale, their middle stays in place.
  pinch(id, x, y) {
    const moved = this.pointers.get(id);
    const [, other] = [...this.pointers].find(([key]) => key !== id);
    const before = Math.hypot(moved.x - other.x, moved.y - other.y), after = Math.hypot(x - other.x, y - other.y);
    this.move((moved.x - x) / 2 / this.view.scale, (moved.y - y) / 2 / this.view.scale);
    if (before > 1) this.zoom(after / before, (x + other.x) / 2, (y + other.y) / 2);
  }

  onUp(event) {
    const isPress = this.pointers.delete(event.pointerId) && this.pointers.size === 0 && this.press && !this.press.hasMoved;
    if (!isPress) return;
    const what = this.hit(...this.place(event));
    this.select(what?.node ?? null, what?.edge ? what.edge.value : null, false);
  }

  onWheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 18 : 1;
    const dx = unit * event.deltaX, dy = unit * event.deltaY;
    if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-Math.max(-80, Math.min(80, dy)) / 250), ...this.place(event));
    else if (event.shiftKey && dx === 0) this.move(dy / this.view.scale, 0);
    else this.move(dx / this.view.scale, dy / this.view.scale);
  }

  onBar(event) {
    const frame = byId("graph-bar").getBoundingClientRect();
    const tall = this.height / this.view.scale;
    this.view.y = (event.clientY - frame.top) / frame.height * this.layout.height - tall / 2;
    this.move(0, 0);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    const page = {PageUp: -0.9, PageDown: 0.9}[event.key];
    if (arrow && event.shiftKey) this.move(arrow[0] * this.width / 6 / this.view.scale, arrow[1] * this.height / 6 / this.view.scale);
    else if (arrow) this.go(arrow[0], arrow[1]);
    else if (page) this.move(0, page * this.height / this.view.scale);
    else if (event.key === "Home") this.select(this.graph.nodes[0] ?? null, null, true);
    else if (event.key === "End") this.select(this.graph.nodes.at(-1) ?? null, null, true);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.showAll();
    else if (event.key === "m") this.showMade();
    else return;
    event.preventDefault();
  }

  // From node to node: along edges, or to the neighbour in the layer.
  go(dx, dy) {
    const from = this.selected;
    if (from === null) return this.select(this.layout.layers[0]?.find((item) => item.node)?.node ?? null, null, true);
    let to = null;
    if (dy !== 0) {
      const near = dy > 0 ? from.edgesOut.map((edge) => edge.to) : from.edgesIn.map((edge) => edge.from);
      to = near.reduce((best, node) => best === null || distance(node, from) < distance(best, from) ? node : best, null);
    } else {
      const row = this.layout.layers[from.layer].filter((item) => item.node !== null);
      to = row[row.indexOf(from.item) + dx]?.node ?? null;
    }
    if (to !== null) this.select(to, null, true);
  }

  // The memory of what the selected node makes.
  showMade() {
    const box = this.selected === null ? undefined : this.graph.boxOf.get(this.selected.made);
    if (box) showInMemory(box);
  }
}

function distance(a, b) {
  return Math.hypot(a.x + a.width / 2 - b.x - b.width / 2, a.y - b.y);
}

// The x of the curve that addCurve draws, at a part of its height.
function curveAt(x0, x1, part) {
  let low = 0, high = 1;
  for (let i = 0; i < 20; ++i) {
    const t = (low + high) / 2;
    const y = 1.5 * t * (1 - t) + t * t * t;
    if (y < part) low = t;
    else high = t;
  }
  const t = (low + high) / 2;
  return x0 + (x1 - x0) * t * t * (3 - 2 * t);
}
