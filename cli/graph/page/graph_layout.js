"use strict";
// Places the nodes of a graph in layers, from top to bottom: each node below all
// that it reads from (K. Sugiyama et al., Methods for Visual Understanding of
// Hierarchical System Structures, 1981). Steps between two jumps form a band of
// layers of their own, so that a region of control flow is a rectangle.
//
// Time is linear in nodes and edges, but for sorting within a layer: a layer has
// at most WIDEST nodes, an edge passes at most LONGEST layers, and a longer one is
// drawn as two stubs. Order: barycentres. Positions: the nearest ones to the mean
// of the neighbours that keep the order (isotonic regression by pooling).

const NODE_HEIGHT = 54, LAYER_GAP = 40, NODE_GAP = 26, REGION_GAP = 26;
const NODE_LEAST = 96, NODE_MOST = 250, WIDEST = 32, LONGEST = 16, PULL = 0.02;

class Layout {
  constructor(graph, widthOf) {
    this.graph = graph;
    for (const node of graph.nodes) {
      node.width = Math.min(Math.max(widthOf(node) + 22, NODE_LEAST), NODE_MOST);
      node.height = NODE_HEIGHT;
    }
    this.assignLayers();
    this.makeItems();
    this.orderLayers();
    this.placeItems();
    this.finish();
  }

  assignLayers() {
    const {graph} = this;
    const starts = new Set();
    for (const [from, to] of graph.method.jumps) starts.add(from + 1).add(to);
    const filled = [], next = [];
    // The first layer from `at` on that has room, with the path shortened.
    const free = (at) => {
      let found = at;
      while (next[found] !== undefined) found = next[found];
      for (let i = at; i < found;) {
        const after = next[i];
        next[i] = found;
        i = after;
      }
      return found;
    };
    let base = 0, deepest = -1;
    const put = (node, least) => {
      node.layer = free(Math.max(least, base));
      filled[node.layer] = (filled[node.layer] ?? 0) + 1;
      if (filled[node.layer] >= WIDEST) next[node.layer] = node.layer + 1;
      deepest = Math.max(deepest, node.layer);
    };
    for (const node of graph.nodes) {
      if (node.kind === "output") continue;
      if (starts.has(node.step)) base = deepest + 1;
      let least = node.kind === "jump" ? deepest + 1 : 0;
      for (const edge of node.edgesIn) least = Math.max(least, edge.from.layer + 1);
      put(node, least);
    }
    base = graph.method.jumps.length > 0 ? deepest + 1 : 0;
    for (const node of graph.nodes) {
      if (node.kind === "output") put(node, node.edgesIn.reduce((most, edge) => Math.max(most, edge.from.layer + 1), 0));
    }
    if (graph.method.jumps.length === 0) this.lowerInputs();
    this.layerCount = deepest + 1;
  }

  // Inputs go down to where they are first read.
  lowerInputs() {
    for (const node of this.graph.inputNodes.values()) {
      if (node.edgesOut.length === 0) continue;
      node.layer = node.edgesOut.reduce((least, edge) => Math.min(least, edge.to.layer - 1), Infinity);
    }
  }

  // Items are nodes, and the points where an edge passes a layer.
  makeItems() {
    const {graph} = this;
    this.items = [];
    this.layers = Array.from({length: this.layerCount}, () => []);
    const add = (node, layer, width) => {
      const item = {node, layer, width, x: 0, order: 0, above: [], below: []};
      this.layers[layer].push(item);
      this.items.push(item);
      return item;
    };
    for (const node of graph.nodes) node.item = add(node, node.layer, node.width);
    this.segments = Array.from({length: this.layerCount}, () => []);
    for (const edge of graph.edges) {
      const span = edge.to.layer - edge.from.layer;
      edge.isLong = span > LONGEST;
      if (edge.isLong) continue;
      let last = edge.from.item;
      for (let layer = edge.from.layer + 1; layer <= edge.to.layer; ++layer) {
        const item = layer === edge.to.layer ? edge.to.item : add(null, layer, 8);
        last.below.push(item);
        item.above.push(last);
        this.segments[layer - 1].push({from: last, to: item, edge});
        last = item;
      }
    }
  }

  orderLayers() {
    const number = (layer) => layer.forEach((item, i) => { item.order = i; });
    this.layers.forEach(number);
    const sweep = (layer, side) => {
      for (const item of layer) {
        const near = item[side];
        item.key = near.length === 0 ? item.order : near.reduce((sum, other) => sum + other.order, 0) / near.length;
      }
      layer.sort((a, b) => a.key - b.key || a.order - b.order);
      number(layer);
    };
    for (let round = 0; round < 3; ++round) {
      for (let i = 1; i < this.layers.length; ++i) sweep(this.layers[i], "above");
      for (let i = this.layers.length - 2; i >= 0; --i) sweep(this.layers[i], "below");
    }
  }

  placeItems() {
    for (const layer of this.layers) {
      let x = 0;
      for (const item of layer) {
        item.x = x + item.width / 2;
        x += item.width + NODE_GAP;
      }
      for (const item of layer) item.x -= x / 2;
    }
    const all = (item) => [...item.above, ...item.below];
    const up = (item) => item.above, down = (item) => item.below;
    for (const [near, isDown] of [[up, true], [down, false], [up, true], [all, false], [all, true]]) {
      for (let i = 0; i < this.layers.length; ++i) placeLayer(this.layers[isDown ? i : this.layers.length - 1 - i], near);
    }
  }

  finish() {
    const left = this.items.reduce((least, item) => Math.min(least, item.x - item.width / 2), Infinity);
    const heads = new Map();
    const {graph} = this;
    for (const region of graph.regions) {
      const inside = graph.stepNodes.slice(region.first, region.last + 1);
      region.top = inside.reduce((least, node) => Math.min(least, node.layer), Infinity);
      region.bottom = inside.reduce((most, node) => Math.max(most, node.layer), 0);
      region.left = inside.reduce((least, node) => Math.min(least, node.item.x - node.width / 2), Infinity) - left;
      region.right = inside.reduce((most, node) => Math.max(most, node.item.x + node.width / 2), -Infinity) - left;
      heads.set(region.top, (heads.get(region.top) ?? 0) + 1);
      region.head = heads.get(region.top);
    }
    this.tops = new Float64Array(this.layerCount + 1);
    let y = 0;
    for (let i = 0; i < this.layerCount; ++i) {
      y += REGION_GAP * (heads.get(i) ?? 0);
      this.tops[i] = y;
      y += NODE_HEIGHT + LAYER_GAP;
    }
    this.tops[this.layerCount] = y;
    this.height = Math.max(0, y - LAYER_GAP);
    this.width = 0;
    for (const item of this.items) {
      item.x -= left;
      this.width = Math.max(this.width, item.x + item.width / 2);
      if (item.node === null) continue;
      item.node.x = item.x - item.width / 2;
      item.node.y = this.tops[item.layer];
    }
    for (const layer of this.layers) layer.sort((a, b) => a.x - b.x);
    this.frameRegions(heads);
  }

  // Of several regions that start at one layer, the outer ones start higher.
  frameRegions(heads) {
    const regions = this.graph.regions;
    const deepest = regions.reduce((most, region) => Math.max(most, region.depth), 0);
    for (const region of regions) {
      const inset = 10 + 7 * (deepest - region.depth);
      const level = heads.get(region.top) - region.head + 1;
      region.x = region.left - inset;
      region.width = Math.max(region.right - region.left + 2 * inset, 150);
      region.y = this.tops[region.top] - REGION_GAP * level;
      region.height = this.tops[region.bottom] + NODE_HEIGHT + inset - region.y;
    }
  }
}

// Moves the items of a layer as near as possible to the means of their neighbours,
// in the least-squares sense, without a change of order.
function placeLayer(layer, near) {
  const pools = [];
  let offset = 0, before = 0;
  for (const item of layer) {
    offset += before + item.width / 2;
    before = item.width / 2 + NODE_GAP;
    item.offset = offset;
    // A weak pull to the middle, so that a long graph does not drift away.
    let sum = 0, weight = PULL;
    for (const other of near(item)) {
      const own = item.node === null ? other.node === null ? 8 : 2 : 1;
      sum += own * other.x;
      weight += own;
    }
    pools.push({sum: sum - offset * weight, weight, count: 1});
    while (pools.length > 1 && pools.at(-2).sum / pools.at(-2).weight > pools.at(-1).sum / pools.at(-1).weight) {
      const last = pools.pop(), into = pools.at(-1);
      into.sum += last.sum;
      into.weight += last.weight;
      into.count += last.count;
    }
  }
  let at = 0;
  for (const pool of pools) {
    for (let i = 0; i < pool.count; ++i, ++at) layer[at].x = pool.sum / pool.weight + layer[at].offset;
  }
}
