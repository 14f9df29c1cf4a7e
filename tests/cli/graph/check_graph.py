#!/usr/bin/env python3
"""Tests the page of `etx inspect --html` in a browser.

    check_graph.py ETX SOURCE_ROOT [--shots FOLDER]

Graphs whose edges are known by hand are compared with what the page draws. The
browser generates real pointer and key events. Ends with 77 (skipped) if there is
no chromium.
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "memory"))

import browser

MANY = 10000       # operators with which the page must stay usable
MOST_SECONDS = 20  # until they are drawn: about 1 on an idle machine
PHONE = 375        # pixels


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def plan(etx, source, target, *options):
    subprocess.run([etx, "plan", source, "-o", target, *options], check=True,
                   capture_output=True)


class Page:
    def __init__(self, etx, program, folder, chrome):
        self.path = folder / (program.stem + ".html")
        subprocess.run([etx, "inspect", program, "--html", self.path], check=True)
        self.chrome = chrome
        chrome.open(self.path)
        expect(not chrome.complaints(), chrome.complaints())

    def run(self, expression):
        return self.chrome.run(expression)

    def edges(self):
        """(writer, value, reader); steps, or names of inputs and outputs."""
        return sorted(map(tuple, self.run(
            "graphView.graph.edges.map(({from, to, value}) => ["
            " from.kind === 'input' ? from.short : String(from.step),"
            " graphView.graph.labelOf(value),"
            " to.kind === 'output' ? 'output' : String(to.step)])")))

    def point_of(self, node):
        """The middle of a node on the screen."""
        self.run(f"graphView.reveal({node}); "
                 "graphView.stage.scrollIntoView({block: 'nearest'})")
        self.chrome.settle()
        return self.run(
            f"(() => {{ const n = {node}, v = graphView.view;"
            " const f = graphView.canvas.getBoundingClientRect();"
            " return [f.left + (n.x + n.width / 2 - v.x) * v.scale,"
            " f.top + (n.y + NODE_HEIGHT / 2 - v.y) * v.scale]; })()")

    def details(self):
        return self.run("document.getElementById('graph-details').hidden ? '' :"
                        " document.getElementById('graph-details').innerText")


KNOWN = """etx: 1
method: forward
inputs: [{name: x, type: "float32[2, 8]"}, {name: mask, type: "float32[2, 8]"}]
buffers: [{name: total, type: "float32[2, 8]", init: 0}]
nodes:
  - {out: a, op: aten.sin.default, args: [x]}
  - {out: b, op: aten.cumsum.default, args: [a, 1]}
  - {out: c, op: aten.add.Tensor, args: [total, b]}
  - {out: d, op: aten.softmax.int, args: [c, 1]}
  - {out: e, op: aten.mul.Tensor, args: [d, mask]}
outputs: [e]
mutates: {total: c}
"""


def expect_known(page):
    """Operators, tensors, states and edges of a graph written by hand."""
    operators = page.run("graphView.graph.stepNodes.map(n => n.short)")
    order = {name: step for step, name in enumerate(operators)}
    for name in ("sin", "cumsum", "add", "_softmax", "mul"):
        expect(operators.count(name) == 1, operators)
    edges = {(source, reader) for source, _, reader in page.edges()}
    for source, reader in (("x", "sin"), ("sin", "cumsum"), ("cumsum", "add"),
                           ("_softmax", "mul"), ("mask", "mul")):
        start = str(order.get(source, source))
        expect((start, str(order[reader])) in edges,
               f"no edge from {source} to {reader}: {edges}")
    expect((str(order["mul"]), "output") in edges, edges)
    expect(page.run("graphView.graph.nodes.filter(n => n.kind === 'input')"
                    ".map(n => n.type).join()") == "float32[2, 8],float32[2, 8]",
           "the types of the inputs are not shown")
    expect("\u25c6 total" in page.run(
        "graphView.graph.stepNodes.map(n => n.keptText).join()"),
        "the state is not named")
    return order


def expect_pointer(page, order):
    """Clicks on the canvas: an operator's arguments, then a tensor's memory."""
    chrome = page.chrome
    softmax = f"graphView.graph.stepNodes[{order['_softmax']}]"
    chrome.click(*page.point_of(softmax))
    chrome.settle()
    shown = page.details()
    for word in ("_softmax", "self", "dim", "half_to_float", "false",
                 "float32[2, 8]", "read by"):
        expect(word in shown, f"no '{word}' in {shown}")
    value = page.run(f"{softmax}.made")
    place = page.run(
        "(() => { const b = [...document.querySelectorAll('#graph-details dt')]"
        ".find(t => t.textContent === 'out').nextSibling.firstChild;"
        " b.scrollIntoView({block: 'nearest'});"
        " const f = b.getBoundingClientRect();"
        " return [f.left + f.width / 2, f.top + f.height / 2]; })()")
    chrome.click(*place)
    chrome.settle()
    expect(page.run("!document.getElementById('memory-view').hidden"),
           "a click on a tensor does not lead to its memory")
    expect(page.run(f"kept.rect.box.value === {value} ||"
                    f" kept.rect.box.views.includes({value})"),
           "another box is shown")
    page.run("history.back()")
    page.run("new Promise(done => setTimeout(done, 200))")
    expect(page.run("!document.getElementById('graph-view').hidden"),
           "the back button does not return to the graph")
    page.run("showInMemory(boxes.find(b => b.maker >= 0))")
    chrome.settle()
    page.run("document.querySelector('#details dd button').click()")
    chrome.settle()
    expect(page.run("graphView.selected !== null && shownView() === 'graph'"),
           "a step of the memory view does not lead to the graph")


def expect_edge_hit(page):
    """The pointer on an edge shows its tensor; a click shows the details."""
    chrome = page.chrome
    page.run("graphView.showMethod(methods.find(m => m.name === 'forward').index)")
    chrome.settle()
    x, y, label = page.run(
        "(() => { const e = graphView.graph.edges.find(e => e.to.layer === e.from.layer + 1),"
        " v = graphView.view, f = graphView.canvas.getBoundingClientRect();"
        " graphView.reveal(e.from);"
        " const at = curveAt(e.from.item.x, e.to.item.x, 0.5);"
        " return [f.left + (at - v.x) * v.scale, f.top + ((e.from.y + NODE_HEIGHT + e.to.y) / 2 - v.y) * v.scale,"
        " graphView.graph.labelOf(e.value)]; })()")
    chrome.mouse("mouseMoved", x, y)
    tip = page.run("document.getElementById('tip').innerText")
    expect(tip.startswith(label), f"the edge of {label} shows '{tip}'")
    chrome.click(x, y)
    chrome.settle()
    expect("show in memory" in page.details(), page.details())


def expect_keys(page):
    chrome = page.chrome
    page.run("graphView.select(null, null, false); graphView.canvas.focus()")
    chrome.key("ArrowDown")
    first = page.run("graphView.selected.id")
    chrome.key("ArrowDown")
    chrome.settle()
    expect(page.run(f"graphView.graph.nodes[{first}].edgesOut"
                    ".some(e => e.to === graphView.selected)"),
           "the arrow does not follow an edge")
    expect(page.run("document.getElementById('said').textContent").startswith(
        page.run("graphView.selected.title")), "screen readers get nothing")
    before = page.run("graphView.view.scale")
    chrome.key("+", "+")
    expect(page.run("graphView.view.scale") > before, "+ does not zoom")
    chrome.key("0", "0")
    chrome.settle()
    inside = page.run(
        "graphView.graph.nodes.every(n => { const v = graphView.view;"
        " return n.x >= v.x && n.x + n.width <= v.x + graphView.width / v.scale &&"
        " n.y >= v.y && n.y + n.height <= v.y + graphView.height / v.scale; })")
    expect(inside, "0 does not show everything")
    chrome.key("Escape")
    expect(page.details() == "", "Escape does not let go")


def expect_search(page, word, count):
    chrome = page.chrome
    page.run("scrollTo(0, 0); document.activeElement.blur()")
    chrome.key("/")
    chrome.type(word)
    chrome.settle()
    expect(page.run("document.activeElement.id") == "graph-search",
           "/ does not search")
    found = page.run("document.getElementById('graph-found').textContent")
    number = found.split(" ")[0].replace("\u202f", "")
    expect(number == str(count), f"'{word}' gives '{found}', expected {count}")
    chrome.key("Enter")
    chrome.settle()
    expect(page.run("graphView.found[0] === graphView.selected"),
           "Enter does not go to the first match")
    visible = page.run(
        "(() => { const n = graphView.selected, v = graphView.view;"
        " return n.y >= v.y && n.y + n.height <= v.y + graphView.height / v.scale; })()")
    expect(visible, "the match is not in the window")
    page.run("graphView.setSearch('')")


def expect_layout(page):
    """Edges go down, nodes do not overlap."""
    wrong = page.run(
        "graphView.graph.edges.filter(e => e.from.y >= e.to.y).length")
    expect(wrong == 0, f"{wrong} edges go up")
    overlaps = page.run(
        "graphView.layout.layers.reduce((sum, layer) => { const nodes ="
        " layer.filter(i => i.node).map(i => i.node).sort((a, b) => a.x - b.x);"
        " return sum + nodes.filter((n, i) => i > 0 &&"
        " nodes[i - 1].x + nodes[i - 1].width > n.x).length; }, 0)")
    expect(overlaps == 0, f"{overlaps} nodes overlap")


def expect_pixels(page):
    """Nodes have another colour than the paper, in light and in dark."""
    for _ in range(2):
        page.run("document.getElementById('theme').click()")
        page.chrome.settle()
        page.run("graphView.showStart()")
        page.chrome.settle()
        inside, outside = page.run(
            "(() => { const n = graphView.graph.nodes[0], v = graphView.view;"
            " const at = (x, y) => [...graphView.context.getImageData("
            "Math.round((x - v.x) * v.scale), Math.round((y - v.y) * v.scale), 1, 1).data];"
            " return [at(n.x + n.width / 2, n.y + 6), at(n.x - 4, n.y - 6)]; })()")
        expect(inside[3] == 255 and outside[3] == 0,
               f"nothing is drawn: {inside}, {outside}")


def expect_regions(etx, data, folder, chrome):
    """Control flow of programs of the stock exporter."""
    page = Page(etx, data / "branch.pte", folder, chrome)
    regions = page.run("graphView.graph.regions.map(r => [r.label, r.first, r.last])")
    expect(regions == [["if #0", 1, 3], ["otherwise", 4, 5]], regions)
    writers = sorted(edge[0] for edge in page.edges() if edge[2] == "output")
    expect(writers == ["2", "5"], f"the output comes from {writers}")
    expect_layout(page)
    page = Page(etx, data / "loop.pte", folder, chrome)
    regions = page.run("graphView.graph.regions.map(r => [r.label, r.first, r.last])")
    expect(regions == [["loop", 1, 7]], regions)
    expect_layout(page)
    inside = page.run(
        "graphView.graph.stepNodes.every(n => { const r = graphView.graph.regions[0];"
        " const is = r.y <= n.y && n.y + n.height <= r.y + r.height;"
        " return is === (r.first <= n.step && n.step <= r.last); })")
    expect(inside, "the frame of the loop holds other steps")


def many_operators(folder):
    """MANY operators in a few branches; returns how many are of one kind."""
    lines = ["etx: 1", "method: forward",
             'inputs: [{name: x, type: "float32[8, 8]"}]', "nodes:"]
    names, count = ["x"], 0
    for i in range(MANY):
        source = names[-1]
        if i % 4 == 3:
            other = names[max(0, len(names) - 2 - (i * 7) % 60)]
            lines.append(f"  - {{out: v{i}, op: aten.mul.Tensor, args: [{source}, {other}]}}")
            count += 1
        else:
            op = ("tanh", "sin", "cos")[i % 3]
            lines.append(f"  - {{out: v{i}, op: aten.{op}.default, args: [{source}]}}")
        names.append(f"v{i}")
    lines.append(f"outputs: [{names[-1]}]")
    folder.mkdir()
    (folder / "forward.yaml").write_text("\n".join(lines) + "\n")
    return count


def expect_many(page, count):
    nodes, drawn = page.run(
        "[graphView.graph.stepNodes.length, graphView.drawnAt]")
    expect(nodes >= MANY, f"{nodes} nodes")
    times = page.run(
        "['showStart', 'showAll'].map(name => { graphView[name]();"
        " const start = performance.now(); graphView.draw();"
        " graphView.context.getImageData(1, 1, 1, 1);"
        " return performance.now() - start; })")
    print("{} nodes: drawn {:.0f} ms after the page was asked for, drawn again in "
          "{:.0f} ms (the first steps), {:.0f} ms (all)".format(nodes, drawn, *times))
    expect(drawn < 1000 * MOST_SECONDS, f"drawn after {drawn:.0f} ms")
    expect_layout(page)
    expect_search(page, "aten::mul.out", count)


def hostile_program(etx, folder):
    """A program whose names are long, and one of them an attack."""
    attack = b"</script><img src=x onerror=window.hacked=1><script>window.hacked=1"
    name, long, method = "n" * len(attack), "a_long_name_" * 15, "m" * 60
    (folder / "hostile").mkdir()
    (folder / "hostile" / f"{method}.yaml").write_text(
        f'etx: 1\nmethod: {method}\n'
        f'inputs: [{{name: {long}, type: "float32[4]"}}]\n'
        f'buffers: [{{name: {name}, type: "float32[4]", init: 0}}]\n'
        f"nodes:\n  - {{out: y, op: aten.add.Tensor, args: [{long}, {name}]}}\n"
        f"outputs: [y]\nmutates: {{{name}: y}}\n")
    program = folder / ("<img src=x onerror=window.hacked=1>" + "long" * 20 + ".pte")
    plan(etx, folder / "hostile", program)
    content = program.read_bytes()
    expect(name.encode() in content, "the name is not in the program")
    program.write_bytes(content.replace(name.encode(), attack))
    return program


def expect_harmless(page):
    page.run("graphView.graph.nodes.forEach(n => graphView.select(n, null, true))")
    page.run("graphView.setSearch('script')")
    page.run("showInMemory(boxes.find(b => b.kind === KIND.state))")
    page.run("document.getElementById('show-table').click()")
    page.run("goToView('facts')")
    page.chrome.settle()
    expect(page.run("typeof window.hacked") == "undefined", "a name ran as a script")
    expect(page.run("document.querySelectorAll('img').length") == 0,
           "a name became an element")


def expect_phone(etx, program, folder, chrome, shots):
    """On a telephone nothing is wider than the screen."""
    try:
        chrome.call("Emulation.setDeviceMetricsOverride", width=PHONE, height=740,
                    deviceScaleFactor=1, mobile=False)
        page = Page(etx, program, folder, chrome)
        for view in ("graph", "memory", "facts"):
            page.run(f"goToView('{view}')")
            chrome.settle()
            if view == "graph":
                page.run("graphView.select(graphView.graph.stepNodes[0], null, true)")
                chrome.settle()
            browser.shoot(chrome, shots, f"phone_{view}")
            expect_narrow(chrome, view)
        page.run("goToView('memory'); document.getElementById('show-table').click()")
        chrome.settle()
        expect_narrow(chrome, "table")
        memory = folder / "memory.html"
        subprocess.run([etx, "mem", program, "--html", memory], check=True)
        chrome.open(memory)
        browser.shoot(chrome, shots, "phone_mem")
        expect_narrow(chrome, "etx mem")
    finally:
        chrome.call("Emulation.setDeviceMetricsOverride", width=1400, height=1000,
                    deviceScaleFactor=1, mobile=False)


def expect_narrow(chrome, what):
    wide = chrome.run("document.documentElement.scrollWidth")
    expect(wide <= PHONE, f"{what} is {wide} pixels wide on a telephone")


def run(options, folder, chrome):
    etx, root = options.etx, options.source
    (folder / "known").mkdir()
    (folder / "known" / "forward.yaml").write_text(KNOWN)
    plan(etx, folder / "known", folder / "known.pte", "--passes=-fuse_elementwise")
    page = Page(etx, folder / "known.pte", folder, chrome)
    first = page.path.read_bytes()
    order = expect_known(page)
    expect_layout(page)
    expect_pixels(page)
    expect_pointer(page, order)
    expect_edge_hit(page)
    expect_keys(page)
    expect_search(page, "cumsum", 1)
    expect(not chrome.complaints(), chrome.complaints())
    page = Page(etx, folder / "known.pte", folder, chrome)
    expect(page.path.read_bytes() == first, "the same program gives another page")
    print("a known graph: edges, pointer, keys, search")
    expect_regions(etx, root / "tests" / "data" / "exported", folder, chrome)
    print("regions of a branch and of a loop")
    plan(etx, root / "samples" / "translate" / "model" / "pt2",
         folder / "translate.pte", "--source-lines")
    page = Page(etx, folder / "translate.pte", folder, chrome)
    expect_layout(page)
    browser.shoot(chrome, options.shots, "graph")
    module = page.run("graphView.graph.stepNodes.find(n => n.source !== '')"
                      ".source.split(', ')[0].replace('module ', '').toLowerCase()")
    expect_search(page, module, page.run(
        "methods.flatMap(m => m.steps.map((_, step) => m.sourceAt(step)))"
        f".filter(s => s.toLowerCase().includes({json.dumps(module)})).length"))
    count = many_operators(folder / "many")
    plan(etx, folder / "many", folder / "many.pte", "--passes=-fuse_elementwise")
    expect_many(Page(etx, folder / "many.pte", folder, chrome), count)
    program = hostile_program(etx, folder)
    expect_harmless(Page(etx, program, folder, chrome))
    expect(not chrome.complaints(), chrome.complaints())
    expect_phone(etx, program, folder, chrome, None)
    expect_phone(etx, folder / "translate.pte", folder, chrome, options.shots)
    print("names that are attacks or long; a telephone's screen")


if __name__ == "__main__":
    browser.check_pages(run)
