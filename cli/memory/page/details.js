"use strict";
// Details of a box: beside the pointer, in the side panel, and for screen readers.
// Names come from the file, so all text is set through textContent.

const tip = document.getElementById("tip");
const MOST_LISTED = 40;

function stepText(method, step) {
  return `${step} ${method.operatorAt(step)}`;
}

function madeText(box) {
  if (box.roles & ROLE_INPUT) return "input, given by the caller";
  if (box.kind === KIND.constant) return "constant, in the file";
  if (box.kind === KIND.state) return "state, outlives the call";
  return box.maker < 0 ? "never written" : "written by step " + stepText(box.method, box.maker);
}

function livesText(box) {
  if (box.spans.length === 0) return "never used";
  const always = box.spans.length === 1 && box.spans[0][0] === 0 && box.spans[0][1] === box.method.columns;
  if (always) return "all steps";
  return "steps " + box.spans.map(([start, end]) =>
    end - start === 1 ? String(start) : `${start} to ${end - 1}`).join(", ");
}

function placeText(box) {
  if (box.arena === 0) return box.kind === KIND.constant ? "in the file" : "the caller's memory";
  return `arena ${box.arena}, ${numberText(box.offset)} to ${numberText(box.offset + box.bytes)}`;
}

function roleText(box) {
  const roles = [];
  if (box.roles & ROLE_INPUT) roles.push("input");
  if (box.roles & ROLE_OUTPUT) roles.push("output");
  if (box.roles & ROLE_VARIES) roles.push("sizes up to the bounds shown");
  return roles.join(", ");
}

function showTip(what, event) {
  tip.hidden = what === null;
  if (what === null) return;
  const {box} = what.rect;
  const lines = [madeText(box), box.type + (box.roles & ROLE_VARIES ? ", at its bounds" : ""),
    `${numberText(box.bytes)} bytes, ${placeText(box)}`, livesText(box)];
  if (box.roles & ROLE_OUTPUT) lines.push("output");
  if (box.views.length > 0) lines.push("views: " + box.views.slice(0, 8).map((v) => "#" + v).join(" ") + (box.views.length > 8 ? " \u2026" : ""));
  fillTip(box.title, lines);
  placeTip(what, event);
}

function fillTip(title, lines) {
  const head = document.createElement("b");
  head.textContent = title;
  tip.replaceChildren(head, ...lines.map((line) => {
    const span = document.createElement("span");
    span.textContent = line;
    return span;
  }));
  tip.hidden = false;
}

// Beside the pointer; beside the box if the keyboard chose it.
function placeTip(what, event) {
  let x, y;
  if (event) {
    x = event.clientX;
    y = event.clientY;
  } else {
    const frame = what.panel.over.getBoundingClientRect();
    const place = placeOf(what.panel.plane, what.rect);
    x = frame.left + Math.min(place.x + place.width, what.panel.stage.clientWidth - RIGHT);
    y = frame.top + place.y;
  }
  moveTip(x, y);
}

// Puts the tooltip beside a point of the window.
function moveTip(x, y) {
  const left = x + 16 + tip.offsetWidth > window.innerWidth ? x - 16 - tip.offsetWidth : x + 16;
  const top = y + 14 + tip.offsetHeight > window.innerHeight ? y - 14 - tip.offsetHeight : y + 14;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}

function say(box) {
  document.getElementById("said").textContent =
    `${box.title}, ${madeText(box)}, ${box.type}, ${box.bytes} bytes, ${placeText(box)}, ${livesText(box)}`;
}

// ---- side panel

function addFact(list, term, ...content) {
  const dt = document.createElement("dt");
  const dd = document.createElement("dd");
  dt.textContent = term;
  dd.append(...content);
  list.append(dt, dd);
}

function listSteps(list, term, method, steps) {
  if (steps.length === 0) return;
  const lines = steps.slice(0, MOST_LISTED).map((step) => {
    const isLink = typeof showInGraph === "function";
    const line = document.createElement(isLink ? "button" : "div");
    const source = method.sourceAt(step);
    if (isLink) {
      line.type = "button";
      line.title = "show it in the graph";
      line.addEventListener("click", () => showInGraph(method, step));
    }
    line.textContent = stepText(method, step) + (source === "" ? "" : `, from ${source}`);
    return line;
  });
  if (steps.length > MOST_LISTED) lines.push(`and ${steps.length - MOST_LISTED} more`);
  addFact(list, term, ...lines);
}

function listBoxes(list, term, items) {
  if (items.length === 0) return;
  addFact(list, term, ...items.slice(0, 12).map((box) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = box.title;
    button.addEventListener("click", () => goTo(box));
    return button;
  }));
}

// The boxes that have the same bytes directly before and after this one.
function neighbours(box) {
  const before = [], after = [];
  if (box.arena === 0 || box.kind === KIND.state || box.spans.length === 0) return {before, after};
  const start = box.spans[0][0], end = box.spans.at(-1)[1];
  let lastEnd = -1, firstStart = Infinity;
  const sharing = box.method.boxes.filter((other) => other !== box && other.arena === box.arena &&
    other.spans.length > 0 && other.offset < box.offset + box.bytes && box.offset < other.offset + other.bytes);
  for (const other of sharing) {
    const otherEnd = other.spans.at(-1)[1];
    if (otherEnd <= start) lastEnd = Math.max(lastEnd, otherEnd);
    if (other.spans[0][0] >= end) firstStart = Math.min(firstStart, other.spans[0][0]);
  }
  for (const other of sharing) {
    if (other.spans.at(-1)[1] === lastEnd) before.push(other);
    if (other.spans[0][0] === firstStart) after.push(other);
  }
  return {before, after};
}

// The boxes of the same state in other methods.
function elsewhere(box) {
  if (box.kind !== KIND.state) return [];
  return boxes.filter((other) => other !== box && other.kind === KIND.state && other.method !== box.method &&
    other.arena === box.arena && other.offset === box.offset && other.bytes === box.bytes);
}

function showDetails(box) {
  const aside = document.getElementById("details");
  const wasHidden = aside.hidden;
  aside.hidden = box === null;
  if (wasHidden !== aside.hidden) drawAll();
  if (box === null) return;
  const list = aside.querySelector("dl");
  aside.querySelector("h2").textContent = box.title;
  list.replaceChildren();
  addFact(list, "method", box.method.name);
  addFact(list, "kind", map.kinds[box.kind][0] + ": " + map.kinds[box.kind][1]);
  if (box.roles !== 0) addFact(list, "role", roleText(box));
  addFact(list, "from", madeText(box));
  addFact(list, "type", box.type);
  addFact(list, "bytes", `${numberText(box.bytes)} (${bytesText(box.bytes)})`);
  addFact(list, "place", placeText(box));
  addFact(list, "needed", livesText(box));
  if (box.views.length > 0) {
    addFact(list, "views", box.views.slice(0, MOST_LISTED).map((v) => "#" + v).join(" "));
  }
  listSteps(list, "written by", box.method, box.writes);
  listSteps(list, "read by", box.method, box.reads);
  const {before, after} = neighbours(box);
  listBoxes(list, "bytes before", before);
  listBoxes(list, "bytes after", after);
  const others = elsewhere(box);
  if (others.length > 0) {
    addFact(list, "also in", ...others.map((other) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = other.method.name;
      button.addEventListener("click", () => goTo(other));
      return button;
    }));
  }
}
