"use strict";
// Tooltip and details of a node or a tensor of the graph. Names come from the
// file, so all text is set through textContent.

const MOST_BUTTONS = 24;

function graphButton(text, title, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.title = title;
  button.addEventListener("click", act);
  return button;
}

function spanOf(text) {
  const span = document.createElement("span");
  span.textContent = text;
  return span;
}

function nodeTip(node) {
  const {graph} = node;
  const lines = node.args.filter((arg) => graph.data.values[arg.value]?.[0] !== "none")
    .slice(0, 8).map((arg) => `${arg.name}: ${argumentText(graph, arg.value)}`);
  if (node.kind === "input" || node.kind === "output") lines.push(node.type);
  if (node.source !== "") lines.push("from " + node.source);
  return [node.title, lines];
}

function tensorTip(graph, value) {
  const box = graph.boxOf.get(value);
  const lines = [graph.typeOf(value)];
  if (box) lines.push(`${numberText(box.bytes)} bytes, ${placeText(box)}`, livesText(box));
  return [graph.labelOf(value), lines];
}

function argumentText(graph, value) {
  const entry = graph.data.values[value];
  if (!entry) return "none";
  if (entry[0] === "none") return "none";
  if (entry[0] === "text") return graph.isComputed(value) ? `${graph.labelOf(value)} (computed)` : entry[1];
  if (entry[0] === "integers") {
    const shown = entry[1].slice(0, MOST_LISTED).map((item) => argumentText(graph, item));
    return `[${shown.join(", ")}${entry[1].length > MOST_LISTED ? ", \u2026" : ""}]`;
  }
  if (entry[0] === "tensors") {
    const shown = entry[1].slice(0, 6).map((item) => item < 0 ? "none" : graph.labelOf(item));
    return `[${shown.join(", ")}${entry[1].length > 6 ? ", \u2026" : ""}]`;
  }
  return `${graph.labelOf(value)} ${entry[1]}`;
}

// A tensor as a button that leads to its place in memory.
function tensorButton(graph, value) {
  const box = graph.boxOf.get(value);
  const text = `${graph.labelOf(value)} ${graph.typeOf(value)}`;
  if (!box) return spanOf(text);
  return graphButton(text, `${numberText(box.bytes)} bytes, ${placeText(box)}; show it in memory`, () => showInMemory(box));
}

function nodeButton(node) {
  const text = node.step < 0 || node.kind === "output" ? node.title : `${node.step} ${node.short}`;
  return graphButton(text, node.source === "" ? node.title : `${node.title}, from ${node.source}`, () => graphView.select(node, null, true));
}

function buttonsOf(items, make) {
  const buttons = items.slice(0, MOST_BUTTONS).map(make);
  if (items.length > MOST_BUTTONS) buttons.push(spanOf(`and ${numberText(items.length - MOST_BUTTONS)} more`));
  return buttons;
}

function addArguments(list, node) {
  const {graph} = node;
  for (const arg of node.args) {
    const tensors = graph.tensorsOf(arg.value);
    const content = tensors.length > 0 ? buttonsOf(tensors, (value) => tensorButton(graph, value))
      : [spanOf(argumentText(graph, arg.value))];
    addFact(list, arg.name, ...content);
  }
}

function unique(items) {
  return [...new Set(items)];
}

function addNeighbours(list, node) {
  const before = unique(node.edgesIn.map((edge) => edge.from));
  const after = unique(node.edgesOut.map((edge) => edge.to));
  if (before.length > 0) addFact(list, "reads from", ...buttonsOf(before, nodeButton));
  if (after.length > 0) addFact(list, "read by", ...buttonsOf(after, nodeButton));
}

// Calls of the same operator, and the copies of the method for other sizes.
function addVariants(list, node) {
  if (node.kind === "operator") {
    const same = node.graph.stepNodes.filter((other) => other.operator === node.operator);
    const overloads = unique(node.graph.stepNodes.filter((other) => other.kind === "operator" && other.short === node.short)
      .map((other) => other.operator));
    const find = graphButton(`${countText(same.length, "call")} in this method`, "search for them",
      () => graphView.setSearch(node.operator));
    addFact(list, "same operator", find, ...overloads.filter((name) => name !== node.operator)
      .map((name) => graphButton(name, "search for this variant", () => graphView.setSearch(name))));
  }
  const whole = methodOf(node.graph.method.name);
  const variants = methods.filter((method) => method !== node.graph.method && methodOf(method.name) === whole);
  if (variants.length > 0) {
    addFact(list, "variants", ...variants.map((method) =>
      graphButton(method.name, "the same method, planned for other sizes", () => graphView.showMethod(method.index))));
  }
}

// "forward@1" is a variant of "forward".
function methodOf(name) {
  return name.replace(/@\d\d?$/, "");
}

function showNodeDetails(node) {
  const list = openGraphDetails(node.title);
  const {graph} = node;
  addFact(list, "method", graph.method.name);
  if (node.operator !== "") addFact(list, "operator", node.operator);
  if (node.kind === "jump") addFact(list, "jumps", node.type);
  if (node.source !== "") addFact(list, "source", ...node.source.split(", ").map((line) => {
    const div = document.createElement("div");
    div.textContent = line;
    return div;
  }));
  if (node.kind === "input" || node.kind === "output") {
    const content = graph.isTensor(node.made) ? tensorButton(graph, node.made) : spanOf(argumentText(graph, node.made));
    addFact(list, "value", content);
  }
  addArguments(list, node);
  addNeighbours(list, node);
  addVariants(list, node);
}

function showTensorDetails(graph, value) {
  const list = openGraphDetails("tensor " + graph.labelOf(value));
  const box = graph.boxOf.get(value);
  addFact(list, "method", graph.method.name);
  addFact(list, "type", graph.typeOf(value));
  if (box) {
    addFact(list, "bytes", `${numberText(box.bytes)} (${bytesText(box.bytes)})`);
    addFact(list, "place", placeText(box));
    addFact(list, "needed", livesText(box));
    addFact(list, "memory", graphButton("show in memory", "its place in the memory plan", () => showInMemory(box)));
  }
  const edges = graph.edges.filter((edge) => edge.value === value);
  const before = unique(edges.map((edge) => edge.from)), after = unique(edges.map((edge) => edge.to));
  if (before.length > 0) addFact(list, "written by", ...buttonsOf(before, nodeButton));
  if (after.length > 0) addFact(list, "read by", ...buttonsOf(after, nodeButton));
}

function openGraphDetails(title) {
  const aside = byId("graph-details");
  aside.hidden = false;
  aside.scrollTop = 0;
  aside.querySelector("h2").textContent = title;
  const list = aside.querySelector("dl");
  list.replaceChildren();
  return list;
}
