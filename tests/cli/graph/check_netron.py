#!/usr/bin/env python3
"""Tests the drawing of `etx dump --netron` with the packages onnx and netron.

    check_netron.py ETX SOURCE_ROOT

onnx checks the file and reads the weights through it. Netron, if it and chromium
are there, opens the file in the browser. Ends with 77 (skipped) without onnx.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "memory"))

import browser

try:
    import onnx
    from onnx import numpy_helper
except ImportError:
    print("skipped: the package onnx is not installed")
    sys.exit(77)


WEIGHT = [1.5, -2.0, 0.25]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def draw(etx, program):
    drawing = program.with_suffix(".onnx")
    subprocess.run([etx, "dump", program, "--netron", "-o", drawing], check=True)
    return drawing


def read(drawing):
    """The graph, checked; with weights."""
    model = onnx.load(drawing)
    onnx.checker.check_model(model)
    return model.graph


def expect_weights(etx, folder):
    """Weights and edges of a graph that is written by hand."""
    (folder / "known").mkdir()
    (folder / "known" / "forward.yaml").write_text(
        "etx: 1\nmethod: forward\n"
        'inputs: [{name: x, type: "float32[2, 3]"}]\n'
        'buffers: [{name: w, type: "float32[3]"}]\n'
        "nodes:\n"
        "  - {out: a, op: aten.sin.default, args: [x]}\n"
        "  - {out: b, op: aten.mul.Tensor, args: [a, w]}\n"
        "outputs: [b]\n")
    head = b'{"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}'
    (folder / "known" / "weights.safetensors").write_bytes(
        struct.pack("<Q", len(head)) + head + struct.pack("<3f", *WEIGHT))
    program = folder / "known.pte"
    subprocess.run([etx, "plan", folder / "known", "-o", program, "-q",
                    "--passes=-fuse_elementwise"], check=True)
    graph = read(draw(etx, program))
    expect([node.op_type for node in graph.node] == ["sin", "mul"],
           [node.op_type for node in graph.node])
    sine, product = graph.node
    expect(sine.input[0] == graph.input[0].name and sine.input[0].startswith("x "),
           sine.input)
    expect(product.input[0] == sine.output[0], "mul does not read from sin")
    expect(product.output[0] == graph.output[0].name, "the output is not mul's")
    weights = {w.name: numpy_helper.to_array(w).tolist() for w in graph.initializer}
    expect(weights == {product.input[1]: WEIGHT}, weights)
    shape = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    expect(shape == [2, 3], shape)


def expect_netron(drawing, nodes):
    try:
        import netron
    except ImportError:
        print("netron is not installed; its page is not tested")
        return
    path = browser.find()
    if path is None:
        print("no chromium is installed; netron's page is not tested")
        return
    host, port = netron.start(str(drawing), browse=False)
    chrome = browser.Browser(path)
    try:
        url = f"http://{host}:{port}/"
        chrome.call("Network.setCookie", name="consent", value="1", url=url)
        chrome.open(url)
        shown = 0
        for _ in range(60):
            time.sleep(0.5)
            shown = chrome.run("document.querySelectorAll('.node-item-type').length")
            if shown:
                break
        text = chrome.run("document.body.innerText.slice(0, 200)")
        expect(shown >= nodes, f"netron draws {shown} of {nodes} nodes: {text}")
        print(f"netron draws {nodes} operators")
    finally:
        chrome.close()
        netron.stop()


def main():
    etx, root = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        expect_weights(etx, folder)
        for stem in ("branch", "loop"):
            program = folder / f"{stem}.pte"
            program.write_bytes(
                (root / "tests" / "data" / "exported" / f"{stem}.pte").read_bytes())
            read(draw(etx, program))
        program = folder / "translate.pte"
        subprocess.run([etx, "plan", root / "samples" / "translate" / "model" / "pt2",
                        "-o", program, "-q"], check=True)
        drawing = draw(etx, program)
        graph = read(drawing)
        written = [name for node in graph.node for name in node.output]
        expect(len(written) == len(set(written)), "a name has two contents")
        first = drawing.read_bytes()
        expect(draw(etx, program).read_bytes() == first,
               "the same program gives another drawing")
        expect_netron(drawing, len(graph.node))
    print("the drawing is right")


if __name__ == "__main__":
    main()
