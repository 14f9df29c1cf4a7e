"use strict";
// Graphs of methods: a node for each instruction, input and output, an edge from
// the instruction that wrote a tensor to each one that reads it. Constants and
// states have no edges: they are named in the nodes that use them.

const graphData = JSON.parse(document.getElementById("graphs").textContent);
const MOST_PRODUCERS = 1024;  // of one tensor, which may have many parts

class Graph {
  constructor(method, data) {
    this.method = method;
    this.data = data;
    this.boxOf = new Map();
    for (const box of method.boxes) {
      this.boxOf.set(box.value, box);
      for (const view of box.views) this.boxOf.set(view, box);
    }
    this.nodes = [];
    this.inputNodes = new Map();   // by value
    this.stepNodes = [];           // by step
    this.targets = new Map(method.jumps);
    this.findRegions();
    this.makeNodes();
    this.makeEdges();
  }

  // ---- values

  isTensor(value) { return this.data.values[value]?.[0] === "tensor"; }
  typeOf(value) { return this.isTensor(value) ? this.data.values[value][1] : "number"; }
  nameOf(value) { return this.data.names[value] ?? ""; }
  labelOf(value) { return this.nameOf(value) || "#" + value; }
  // Constants and states: their bytes are not made by a step of this call.
  isKept(value) {
    const kind = this.boxOf.get(value)?.kind;
    return kind === KIND.constant || kind === KIND.state;
  }
  // Tensors of an argument, which may be a list.
  tensorsOf(value) {
    const entry = this.data.values[value];
    if (entry?.[0] === "tensors") return entry[1].filter((item) => item >= 0);
    return entry?.[0] === "tensor" ? [value] : [];
  }

  // ---- control flow: a forward jump skips a region, a backward one repeats it

  findRegions() {
    const {method, data} = this;
    this.regions = method.jumps.map(([from, to]) => {
      const condition = data.values[data.calls[from][0][0]];
      if (to <= from) return {first: to, last: from, label: "loop", jump: from};
      const isAlways = condition?.[0] === "text" && condition[1] === "false" && !this.isComputed(data.calls[from][0][0]);
      return {first: from + 1, last: to - 1, jump: from, label: isAlways ? "otherwise" : "if " + this.labelOf(data.calls[from][0][0])};
    }).filter((region) => region.first <= region.last);
    this.regions.sort((a, b) => a.first - b.first || b.last - a.last);
    this.innermost = new Int32Array(method.steps.length).fill(-1);
    const open = [];
    this.regions.forEach((region, index) => {
      while (open.length > 0 && this.regions[open.at(-1)].last < region.first) open.pop();
      region.parent = open.at(-1) ?? -1;
      region.depth = open.length;
      open.push(index);
    });
    // Inner regions come later, so they replace outer ones.
    this.regions.forEach((region, index) => this.innermost.fill(index, region.first, region.last + 1));
  }

  // True for a number that changes at run time.
  isComputed(value) { return this.data.values[value]?.[2] === 1 && this.data.values[value][0] === "text"; }

  // True if `step` may be left out although `reader` runs.
  isConditional(step, reader) {
    for (let at = this.innermost[step]; at >= 0; at = this.regions[at].parent) {
      const {first, last, label} = this.regions[at];
      if (label !== "loop" && !(first <= reader && reader <= last)) return true;
    }
    return false;
  }

  // ---- nodes

  addNode(node) {
    node.id = this.nodes.length;
    node.graph = this;
    node.edgesIn = [];
    node.edgesOut = [];
    this.nodes.push(node);
    return node;
  }

  makeNodes() {
    for (const value of this.data.inputs) {
      const node = this.addNode({kind: "input", step: -1, operator: "", short: this.nameOf(value) || "input #" + value, made: value,
        args: [], writes: [value], reads: []});
      this.inputNodes.set(value, node);
    }
    for (let step = 0; step < this.method.steps.length; ++step) this.stepNodes.push(this.addNode(this.stepNode(step)));
    for (const value of this.data.outputs) {
      this.addNode({kind: "output", step: this.method.steps.length, operator: "", short: this.nameOf(value) || "output #" + value,
        made: value, args: [], writes: [], reads: [value]});
    }
    for (const node of this.nodes) this.describe(node);
  }

  stepNode(step) {
    const [values, writes, reads] = this.data.calls[step];
    const operator = this.method.operatorAt(step);
    const names = operator === "move" ? ["from", "to"] : operator === "jump" ? ["condition"] : operator === "free" ? ["value"]
      : this.data.arguments[this.method.steps[step]] ?? [];
    const args = values.map((value, i) => ({value, name: names[i] ?? (names.length > 0 ? "returns" : "argument " + i)}));
    // The slot after the last argument mostly holds the output once more.
    while (args.length > 1 && args.length > names.length && names.length > 0 &&
      args.slice(0, -1).some((arg) => arg.value === args.at(-1).value)) args.pop();
    const kind = operator === "jump" || operator === "move" || operator === "free" ? operator : "operator";
    return {kind, step, operator, short: operator === "jump" ? "jump if false" : shortOperator(operator), made: writes[0] ?? -1, args, writes, reads};
  }

  // The lines that the drawing shows.
  describe(node) {
    const kept = new Map();
    for (const arg of node.args) {
      for (const value of this.tensorsOf(arg.value)) {
        const box = this.boxOf.get(value);
        if (box && this.isKept(value) && !kept.has(box)) kept.set(box, box.name || arg.name);
      }
    }
    if (node.kind === "output" && this.isKept(node.made)) kept.set(this.boxOf.get(node.made), map.kinds[this.boxOf.get(node.made).kind][0]);
    node.type = node.made >= 0 ? this.typeOf(node.made) : node.kind === "jump" ? this.jumpText(node) : "";
    node.keptText = [...kept].map(([box, name]) => (box.kind === KIND.state ? "\u25c6 " : "") + name).join(", ");
    node.source = node.step >= 0 ? this.method.sourceAt(node.step) : "";
    node.title = node.kind === "input" || node.kind === "output" ? `${node.kind} ${node.short}` : `${node.step} ${node.operator}`;
  }

  wordsOf(node) {
    if (node.words !== undefined) return node.words;
    const used = new Set([...node.writes, ...node.reads, ...node.args.flatMap((arg) => this.tensorsOf(arg.value))]);
    const values = [...used].map((value) => `#${value} ${this.nameOf(value)} ${this.isTensor(value) ? this.typeOf(value) : ""}`);
    node.words = [node.title, node.kind, node.source, this.method.name, ...values, node.keptText].join(" ").toLowerCase();
    return node.words;
  }

  jumpText(node) {
    const target = this.targets.get(node.step);
    return target >= this.method.steps.length ? "to the end" : "to step " + target;
  }

  // ---- edges

  makeEdges() {
    const writers = new Map();   // by value: nodes in the order of steps
    for (const node of this.stepNodes) {
      for (const value of node.writes) {
        if (!writers.has(value)) writers.set(value, []);
        writers.get(value).push(node);
      }
    }
    this.writers = writers;
    this.edges = [];
    for (const node of this.nodes) {
      const done = new Set();
      for (const value of node.reads) {
        for (const from of this.producersOf(value, node.step)) {
          const key = from.id * this.data.values.length + value;
          if (from === node || done.has(key)) continue;
          done.add(key);
          const edge = {from, to: node, value};
          from.edgesOut.push(edge);
          node.edgesIn.push(edge);
          this.edges.push(edge);
        }
      }
    }
  }

  // The nodes that wrote what a step reads: the last writer, and those before it
  // as long as the later ones may have been skipped. What no step writes itself
  // is a view of something, or made of parts.
  producersOf(value, reader) {
    const found = new Set(), seen = new Set([value]), open = [value];
    while (open.length > 0 && found.size < MOST_PRODUCERS) {
      const at = open.pop();
      if (this.lastWriters(at, reader, found)) continue;
      if (this.inputNodes.has(at)) {
        found.add(this.inputNodes.get(at));
        continue;
      }
      const [kind, , whole, parts] = this.data.values[at];
      if (kind !== "tensor") continue;
      for (const next of parts.length > 0 ? parts : whole >= 0 ? [whole] : []) {
        if (!seen.has(next)) open.push(next);
        seen.add(next);
      }
    }
    return found;
  }

  // Adds writers to `found`; false if all of them may have been skipped.
  lastWriters(value, reader, found) {
    const list = this.writers.get(value) ?? [];
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].step < reader) low = middle + 1;
      else high = middle;
    }
    for (let i = low - 1; i >= 0 && i >= low - MOST_PRODUCERS; --i) {
      found.add(list[i]);
      if (!this.isConditional(list[i].step, reader)) return true;
    }
    return false;
  }
}

const graphs = new Map();

function graphAt(index) {
  if (!graphs.has(index)) graphs.set(index, new Graph(methods[index], graphData[index]));
  return graphs.get(index);
}
