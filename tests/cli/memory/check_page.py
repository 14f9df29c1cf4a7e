#!/usr/bin/env python3
"""Tests the page of `etx mem` in a browser.

    check_page.py ETX SOURCE_ROOT [--shots FOLDER]

The boxes that the page draws are compared with the trace output of etx. The
browser generates real pointer and key events. Ends with 77 (skipped) if there is
no chromium.
"""

import json
import random
import re
import subprocess

import browser

MANY = 10000  # boxes with which the page must stay usable


def plan(etx, source, target, *options):
    subprocess.run([etx, "plan", source, "-o", target, *options], check=True,
                   capture_output=True)


def many_values(folder):
    """A graph with more than MANY values, some short, some long."""
    numbers = random.Random(7)
    recent, rows, live = [], {"x": 64}, ["x"]
    lines = ["etx: 1", "method: forward",
             'inputs: [{name: x, type: "float32[64, 16]"}]', "nodes:"]
    for i in range(MANY + 2000):
        name = f"v{i}"
        source = live[-1]
        if i % 3 == 2:
            other = numbers.choice(live[-40:] if i % 9 else live)
            if rows[other] == rows[source]:
                lines.append(f"  - {{out: {name}, op: aten.mul.Tensor, "
                             f"args: [{source}, {other}]}}")
                rows[name] = rows[source]
        if name not in rows and i % 50 == 0 and rows[source] < 512:
            lines.append(f"  - {{out: {name}, op: aten.cat.default, "
                         f"args: [[{source}, {source}], 0]}}")
            rows[name] = 2 * rows[source]
        elif name not in rows and i % 50 == 25 and rows[source] > 32:
            half = rows[source] // 2
            lines.append(f"  - {{out: {name}a, op: aten.slice.Tensor, "
                         f"args: [{source}, 0, 0, {half}]}}")
            lines.append(f"  - {{out: {name}, op: aten.exp.default, "
                         f"args: [{name}a]}}")
            rows[name] = half
        elif name not in rows:
            op = ("relu", "sigmoid", "tanh", "neg")[i % 4]
            lines.append(f"  - {{out: {name}, op: aten.{op}.default, "
                         f"args: [{source}]}}")
            rows[name] = rows[source]
        live.append(name)
    lines.append(f"outputs: [{live[-1]}]")
    folder.mkdir()
    (folder / "forward.yaml").write_text("\n".join(lines) + "\n")


class Case:
    """A program, its page opened, and its trace."""

    def __init__(self, etx, program, folder, chrome):
        self.page = folder / (program.stem + ".html")
        trace = folder / (program.stem + ".json")
        subprocess.run([etx, "mem", program, "--html", self.page, "--trace",
                        trace], check=True)
        self.events = json.loads(trace.read_text())["traceEvents"]
        self.chrome = chrome
        chrome.open(self.page)
        self.methods = {e["pid"]: e["args"]["name"] for e in self.events
                        if e["ph"] == "M" and e["name"] == "process_name"}

    def slices(self):
        """(method, arena, value, start, end, offset, end) of every span."""
        return sorted(
            (self.methods[e["pid"]], e["args"]["arena"], e["args"]["value"],
             e["ts"], e["ts"] + e["dur"], e["args"]["offset"],
             e["args"]["offset"] + e["args"]["bytes"])
            for e in self.events if e["ph"] == "X" and "args" in e)

    def drawn(self):
        """The same, as the page has it."""
        return sorted(map(tuple, self.chrome.run(
            "panels.filter(p => p.row.arena > 0).flatMap(p => p.rects.map(r =>"
            " [p.method.name, p.row.arena, r.box.value, r.x0, r.x1, r.y0, r.y1]))")))

    def show(self, panel):
        """Where the panel is on the screen, scrolled there; its axes."""
        return self.chrome.run(
            f"(() => {{ const p = panels[{panel}];"
            " p.over.scrollIntoView({block: 'center'});"
            " const f = p.over.getBoundingClientRect(), l = p.plane;"
            " return {x: f.left, y: f.top, left: l.left, right: l.right,"
            " top: l.top, bottom: l.bottom, columns: p.x.most, bytes: p.y.most};"
            "})()")

    def tip(self):
        return self.chrome.run(
            "document.getElementById('tip').hidden ? '' :"
            " document.getElementById('tip').innerText")


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_same_boxes(case):
    drawn, planned = case.drawn(), case.slices()
    expect(drawn == planned,
           f"the page has {len(drawn)} boxes, the trace {len(planned)}: "
           f"{list(set(drawn) ^ set(planned))[:3]}")
    return len(drawn)


def at_pixel(frame, step, offset):
    x = frame["left"] + step / frame["columns"] * (frame["right"] - frame["left"])
    y = frame["bottom"] - offset / frame["bytes"] * (frame["bottom"] - frame["top"])
    return frame["x"] + x, frame["y"] + y


def expect_hover(case, most):
    """The pointer in the middle of a box shows that box."""
    chrome, tried = case.chrome, 0
    panels = chrome.run("panels.map(p => [p.method.name, p.row.arena, p.isShown])")
    for number, (method, arena, is_shown) in enumerate(panels):
        if not is_shown or arena == 0:
            continue
        own = [s for s in case.slices() if s[:2] == (method, arena) and s[5] < s[6]]
        frame = case.show(number)
        chrome.settle()
        frame = case.show(number)
        for _, _, value, start, end, low, high in random.Random(1).sample(
                own, min(most, len(own))):
            x, y = at_pixel(frame, (start + end) / 2, (low + high) / 2)
            wide = (end - start) / frame["columns"] * (frame["right"] - frame["left"])
            tall = (high - low) / frame["bytes"] * (frame["bottom"] - frame["top"])
            if wide < 2 or tall < 2:
                continue
            chrome.mouse("mouseMoved", x, y)
            tip = case.tip()
            over = {s[2] for s in own if s[3] <= (start + end) / 2 < s[4]
                    and s[5] <= (low + high) / 2 < s[6]}
            shown = re.search(r"#(\d+)\n", tip)
            expect(shown and int(shown.group(1)) in over,
                   f"at value {value} of {method} the page shows '{tip}'")
            if over == {value}:
                numbers = tip.replace("\u202f", "").replace(" ", "")
                expect(f"{high - low}bytes" in numbers and
                       f"arena{arena},{low}to{high}" in numbers,
                       f"'{tip}' is not {high - low} bytes at {low}")
                lives = re.search(r"^(all steps|steps .*)$", tip, re.MULTILINE)
                starts = re.findall(r"(\d+)(?: to \d+)?", lives.group(1))
                expect(str(start) in starts or lives.group(1) == "all steps",
                       f"'{tip}' does not start at {start}")
            tried += 1
    expect(tried > 0, "no box was large enough to be pointed at")
    return tried


def expect_pixels(case):
    """A large box really has another colour than its surroundings."""
    colour = case.chrome.run(
        "(() => { const p = panels.find(p => p.isShown && p.rects.length > 0);"
        " const r = p.rects.reduce((a, b) => (b.x1-b.x0)*(b.y1-b.y0) >"
        " (a.x1-a.x0)*(a.y1-a.y0) ? b : a), l = p.plane;"
        " const c = p.under.getContext('2d');"
        " const at = (x, y) => [...c.getImageData(Math.round(x), Math.round(y), 1, 1).data];"
        " return [at(l.toX((r.x0 + r.x1) / 2), l.toY(r.y0) - 4), at(1, 1)]; })()")
    expect(colour[0] != colour[1] and colour[0][3] == 255, f"nothing is drawn: {colour}")


def expect_search(case, word):
    chrome = case.chrome
    wanted = chrome.run(f"boxes.filter(b => b.operator.includes({word!r})).length")
    chrome.run("scrollTo(0, 0)")
    chrome.key("/")
    chrome.type(word)
    chrome.settle()
    expect(chrome.run("document.activeElement.id") == "search", "/ does not search")
    found = chrome.run("document.getElementById('found').textContent")
    expect(wanted > 0 and found.replace("\u202f", "").replace(" ", "") == f"{wanted}found",
           f"'{word}' gives '{found}', expected {wanted}")
    expect(chrome.run("matches.size") == wanted, "matches are not marked")
    chrome.key("Enter")
    chrome.settle()
    title = chrome.run("document.querySelector('#details h2').textContent")
    first = chrome.run("found[0].title")
    expect(title == first, f"Enter shows '{title}', expected '{first}'")
    chrome.run("setSearch('')")
    value = chrome.run("boxes[boxes.length - 1].value")
    chrome.run(f"setSearch('#{value}')")
    expect(chrome.run(f"found.every(b => b.value === {value} || b.views.includes({value}))")
           and chrome.run("found.length") > 0, "#value finds nothing")
    chrome.run("setSearch('')")
    expect(chrome.run("matches === null"), "an empty search marks something")


def expect_keyboard(case):
    chrome = case.chrome
    chrome.run("panels.find(p => p.isShown && p.rects.length > 1).over.focus()")
    chrome.key("ArrowRight")
    first = chrome.run("pointed.rect.box.title")
    chrome.key("ArrowRight")
    chrome.settle()
    expect(first in chrome.run("[...boxes].map(b => b.title).join()"), first)
    expect(chrome.run("document.getElementById('said').textContent").startswith(
        chrome.run("pointed.rect.box.title")), "screen readers do not get the value")
    before = chrome.run("activePanel.x.high - activePanel.x.low")
    chrome.key("+", "+")
    expect(chrome.run("activePanel.x.high - activePanel.x.low") < before or before <= 2,
           "+ does not zoom")
    chrome.key("0", "0")
    expect(chrome.run("activePanel.x.isAll && activePanel.y.isAll"), "0 is not all")
    chrome.key("Enter")
    expect(not chrome.run("document.getElementById('details').hidden"),
           "Enter keeps no details")
    chrome.key("Escape")
    expect(chrome.run("document.getElementById('details').hidden"),
           "Escape does not let go")


def expect_table(case):
    chrome = case.chrome
    chrome.run("document.getElementById('show-table').click()")
    count = chrome.run("table.rows.length")
    shown = chrome.run("document.querySelectorAll('#values tbody tr').length")
    expect(shown == min(count, 200) and count > 0, f"{shown} rows of {count}")
    chrome.run("[...document.querySelectorAll('#values th button')]"
               ".find(b => b.textContent === 'bytes').click()")
    sizes = chrome.run("table.rows.map(b => b.bytes)")
    expect(sizes == sorted(sizes, reverse=True), "the table is not sorted by bytes")
    expect(chrome.run("document.querySelector('#values tbody tr').cells.length") == 12,
           "a row has other columns")
    chrome.run("document.getElementById('show-picture').click()")


def expect_theme(case):
    chrome = case.chrome
    before = chrome.run("getComputedStyle(document.body).backgroundColor")
    chrome.run("document.getElementById('theme').click()")
    chrome.settle()
    after = chrome.run("getComputedStyle(document.body).backgroundColor")
    expect(before != after, "light and dark look the same")
    chrome.run("document.getElementById('theme').click()")
    chrome.settle()


def expect_many(case):
    """Random points of a large picture, by brute force; times are printed."""
    chrome = case.chrome
    count = expect_same_boxes(case)
    expect(count >= MANY, f"{count} boxes, expected {MANY}")
    own = case.slices()
    frame = case.show(0)
    columns, bytes_ = frame["columns"], frame["bytes"]
    numbers = random.Random(3)
    points = [(numbers.uniform(0, columns), numbers.uniform(0, bytes_))
              for _ in range(500)]
    for s in numbers.sample(own, 500):
        points.append((numbers.uniform(s[3], s[4]), numbers.uniform(s[5], s[6])))
    hits = chrome.run(
        f"{json.dumps(points)}.map(([s, b]) => {{"
        " const l = panels[0].plane;"
        " const r = panels[0].hit(l.toX(s), l.toY(b));"
        " return r === null ? null : [r.box.value, r.x0, r.x1, r.y0, r.y1]; })")
    near_x = 3 * columns / (frame["right"] - frame["left"])
    near_y = 3 * bytes_ / (frame["bottom"] - frame["top"])
    for (step, offset), hit in zip(points, hits):
        over = {s[2] for s in own if s[3] <= step < s[4] and s[5] <= offset < s[6]}
        near = {s[2] for s in own if s[3] - near_x <= step <= s[4] + near_x
                and s[5] - near_y <= offset <= s[6] + near_y}
        if over:
            expect(hit and hit[0] in over, f"{hit} at {step}, {offset}: {over}")
        else:
            expect((hit[0] if hit else None) in (near or {None}),
                   f"{hit} at {step}, {offset}: nothing is there")
    times = chrome.run(
        "(() => { const t = [], f = panels[0].over.getBoundingClientRect();"
        " let start = performance.now(); drawAll(); drawNow();"
        " panels[0].under.getContext('2d').getImageData(100, 100, 1, 1);"
        " const draw = performance.now() - start;"
        " for (let i = 0; i < 1000; ++i) { start = performance.now();"
        " panels[0].over.dispatchEvent(new PointerEvent('pointermove',"
        " {clientX: f.left + 70 + (i * 37) % (f.width - 80), clientY: f.top + 10 + (i * 61) % 380}));"
        " t.push(performance.now() - start); }"
        " t.sort((a, b) => a - b);"
        " const n = performance.getEntriesByType('navigation')[0];"
        " return [n.loadEventEnd, draw, t[500], t[990]]; })()")
    print("{} boxes: loaded and drawn after {:.0f} ms, drawn again in {:.0f} ms, "
          "hover {:.1f} ms (99 %: {:.1f} ms)".format(count, *times))


def hostile_program(etx, folder):
    """A program whose state has the name of an attack."""
    attack = b"</script><img src=x onerror=window.hacked=1><script>window.hacked=1"
    name = "n" * len(attack)
    (folder / "hostile").mkdir()
    (folder / "hostile" / "m.yaml").write_text(
        'etx: 1\nmethod: m\ninputs: [{name: x, type: "float32[4]", mutable: true}]\n'
        f'buffers: [{{name: {name}, type: "float32[4]", init: 0}}]\n'
        f"nodes:\n  - {{out: y, op: aten.add.Tensor, args: [x, {name}]}}\n"
        f"outputs: [y]\nmutates: {{{name}: y}}\n")
    program = folder / "<img src=x onerror=window.hacked=1>.pte"
    plan(etx, folder / "hostile", program)
    content = program.read_bytes()
    expect(name.encode() in content, "the name is not in the program")
    program.write_bytes(content.replace(name.encode(), attack))
    return program


def expect_harmless(case):
    chrome = case.chrome
    expect(chrome.run("boxes.some(b => b.name.startsWith('</script>'))"),
           "the hostile name is lost")
    expect_hover(case, 4)
    chrome.run("goTo(boxes.find(b => b.name.startsWith('</script>')))")
    chrome.run("document.getElementById('show-table').click()")
    chrome.settle()
    expect(chrome.run("typeof window.hacked") == "undefined", "a name ran as a script")
    expect(chrome.run("document.querySelectorAll('img').length") == 0,
           "a name became an element")


def run(options, folder, chrome):
    etx, data = options.etx, options.source / "tests" / "data"
    plan(etx, options.source / "samples" / "translate" / "model" / "pt2",
         folder / "translate.pte")
    plan(etx, data / "pt2" / "cnn", folder / "cnn.pte")
    for program, word in ((folder / "translate.pte", "layer_norm"),
                          (folder / "cnn.pte", "convolution"),
                          (data / "exported" / "branch.pte", "mul"),
                          (data / "exported" / "loop.pte", "add")):
        case = Case(etx, program, folder, chrome)
        count = expect_same_boxes(case)
        pointed = expect_hover(case, 60)
        expect_pixels(case)
        expect_search(case, word)
        expect_keyboard(case)
        expect_table(case)
        expect_theme(case)
        browser.shoot(chrome, options.shots, program.stem)
        expect(not chrome.complaints(), chrome.complaints())
        print(f"{program.name}: {count} boxes as planned, {pointed} pointed at")
    many_values(folder / "many")
    plan(etx, folder / "many", folder / "many.pte",
         "--passes=-fuse_elementwise")
    case = Case(etx, folder / "many.pte", folder, chrome)
    expect_many(case)
    expect_search(case, "mul")
    browser.shoot(chrome, options.shots, "many")
    expect(not chrome.complaints(), chrome.complaints())
    case = Case(etx, hostile_program(etx, folder), folder, chrome)
    expect_harmless(case)
    expect(not chrome.complaints(), chrome.complaints())


if __name__ == "__main__":
    browser.check_pages(run)
