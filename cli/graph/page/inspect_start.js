"use strict";
// The three views of the page. The part of the address behind # names the view,
// so that the browser's back button returns to the graph.

const views = ["graph", "memory", "facts"];
const graphView = new GraphView();
let hasMemory = false;

function shownView() {
  const name = location.hash.slice(1);
  return views.includes(name) ? name : "graph";
}

function switchTo(name) {
  for (const view of views) {
    byId(view + "-view").hidden = view !== name;
    byId("to-" + view).setAttribute("aria-current", view === name ? "page" : "false");
  }
  tip.hidden = true;
  if (name === "graph") graphView.drawSoon();
  if (name !== "memory") return;
  if (!hasMemory) startMemory();
  else layOut();
  hasMemory = true;
}

function goToView(name) {
  if (shownView() !== name) location.hash = name;
  switchTo(name);
}

function showInMemory(box) {
  goToView("memory");
  goTo(box);
  say(box);
}

// From a step of the memory view to its node.
function showInGraph(method, step) {
  goToView("graph");
  graphView.select(graphAt(method.index).stepNodes[step], null, true);
}

for (const view of views) byId("to-" + view).addEventListener("click", () => goToView(view));
window.addEventListener("hashchange", () => switchTo(shownView()));
document.addEventListener("keydown", (event) => {
  if (shownView() !== "graph") return;
  if (event.key === "/" && document.activeElement !== byId("graph-search")) {
    event.preventDefault();
    byId("graph-search").focus();
  } else if (event.key === "Escape") {
    graphView.select(null, null, false);
    graphView.point(null);
  }
});
document.title = map.file;
switchTo(shownView());
graphView.start();
