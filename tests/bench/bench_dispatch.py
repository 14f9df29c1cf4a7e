"""Measures dispatch, the overhead of one small operator: etx and other runtimes.

    python tests/bench/bench_dispatch.py BUILD --markdown docs/speed.md

The programs are chains of operators on 8 floats; each reads the result of the
one before it. A figure is a slope: the time of a long chain less that of one
operator, divided by the number of operators, so it does not include the call of
the method. The systems take turns, several times. The minimum is the cost of
the code; the median includes the load of the machine. Run `ninja
bench_dispatch` in BUILD first. Packages that are not installed are left out.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import write_markdown

HERE = os.path.dirname(os.path.abspath(__file__))
LONG, TURNS = 1000, 3
os.environ["OMP_NUM_THREADS"] = "1"


def timed(call, seconds=0.3):
    """The minimum of the nanoseconds of a call."""
    for _ in range(5):
        call()
    best, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter_ns()
        call()
        best = min(best, time.perf_counter_ns() - start)
    return best


def slope(make):
    """The slope between two chains, each a function to call."""
    long, short = make(LONG), make(1)
    return (timed(long) - timed(short)) / (LONG - 1)


class Etx:
    name = "etx"

    def __init__(self, build, directory):
        self.binary = os.path.join(build, "bench_dispatch")
        self.version = "this tree"
        self.loads = []

    def measure(self):
        text = subprocess.run([self.binary], capture_output=True, text=True,
                              check=True).stdout
        figures = {}
        for line in text.splitlines():
            row = json.loads(line)
            pool = "" if row["threads"] == 1 else ", pool of 2"
            figures[row["chain"] + pool] = row["ns_per_op"]
            if row["threads"] == 1:
                figures["load " + row["chain"]] = row["load_ns_per_op"]
                if row["chain"] == "empty":
                    figures["call"] = row["run_ns"]["1"]
        return figures

    def instructions(self, directory):
        """Machine instructions of one operator; the count is reproducible."""
        if shutil.which("valgrind") is None:
            return {}
        found = {}
        for chain in ("empty", "add", "product"):
            counts = []
            for length in (1000, 2000):
                text = subprocess.run(
                    ["valgrind", "--tool=callgrind",
                     "--toggle-collect=etx_method_run",
                     f"--callgrind-out-file={directory}/callgrind",
                     self.binary, chain, str(length), "10"],
                    capture_output=True, text=True, check=True).stderr
                counts.append(int(text.rsplit("Collected :", 1)[1].split()[0]))
            found[chain] = (counts[1] - counts[0]) / 1000 / 10
        return found


class ExecuTorch:
    """ExecuTorch's C++ runtime, with an empty operator registered there."""
    name = "ExecuTorch"

    def __init__(self, build, directory):
        import torch
        from bench_operators import build_binary
        from importlib.metadata import version
        self.version = version("executorch")
        self.binary = build_binary(build, directory)
        self.files = {}
        library = torch.library.Library("etx_bench", "DEF")
        library.define("nothing(Tensor self) -> Tensor")
        library.define("nothing.out(Tensor self, *, Tensor(a!) out) "
                       "-> Tensor(a!)")
        torch.library.impl(library, "nothing", "CompositeExplicitAutograd")(
            lambda x: x.clone())
        torch.library.impl(library, "nothing.out",
                           "CompositeExplicitAutograd")(
            lambda x, *, out: out.copy_(x))
        for chain in ("empty", "add", "product"):
            self.files[chain] = [self.export(chain, n, directory)
                                 for n in (LONG, 1)]
        self.inputs = {}
        for chain in self.files:
            self.inputs[chain] = []
            for i, tensor in enumerate(self.example(chain)):
                path = os.path.join(directory, f"{chain}{i}.bin")
                tensor.numpy().tofile(path)
                self.inputs[chain].append(path)

    @staticmethod
    def example(chain):
        import torch
        if chain == "product":
            return torch.rand(1, 8), torch.eye(8)
        return (torch.rand(8),) + (() if chain == "empty"
                                   else (torch.full((8,), 1e-3),))

    def export(self, chain, count, directory):
        import torch
        from executorch.exir import EdgeCompileConfig, to_edge

        class Chain(torch.nn.Module):
            def forward(self, x, *y):
                for _ in range(count):
                    if chain == "empty":
                        x = torch.ops.etx_bench.nothing(x)
                    else:
                        x = torch.mm(x, y[0]) if chain == "product" \
                            else x + y[0]
                return x

        program = torch.export.export(Chain(), self.example(chain),
                                      strict=False)
        edge = to_edge(program, compile_config=EdgeCompileConfig(
            _check_ir_validity=chain != "empty"))
        path = os.path.join(directory, f"{chain}{count}.pte")
        with open(path, "wb") as file:
            edge.to_executorch().write_to_file(file)
        return path

    def measure(self):
        figures = {}
        for chain, files in self.files.items():
            text = subprocess.run(
                [self.binary, *files, str(LONG), "15", *self.inputs[chain]],
                capture_output=True, text=True, check=True).stdout
            figures[chain] = min(json.loads(text)["stock"])
        return figures


class StaticRuntime:
    name = "Static Runtime"

    def __init__(self, build, directory):
        import torch
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self.version = torch.__version__
        self.torch, self.keep = torch, []

    def make(self, chain, count):
        torch = self.torch

        class Chain(torch.nn.Module):
            def forward(self, x, y):
                for _ in range(count):
                    x = torch.mm(x, y) if chain == "product" else x + y
                return x

        example = ExecuTorch.example(chain)
        traced = torch.jit.freeze(torch.jit.trace(Chain().eval(), example))
        module = torch._C._jit_to_static_module(traced._c)
        self.keep.append((traced, module))
        return lambda: module(*example)

    def measure(self):
        self.keep = []
        return {chain: slope(lambda n: self.make(chain, n))
                for chain in ("add", "product")}


class OnnxRuntime:
    name = "ONNX Runtime"

    def __init__(self, build, directory):
        import numpy
        import onnx
        import onnxruntime
        self.numpy, self.onnx, self.library = numpy, onnx, onnxruntime
        self.version = onnxruntime.__version__

    def make(self, chain, count):
        numpy, helper = self.numpy, self.onnx.helper
        kind = "MatMul" if chain == "product" else "Add"
        row, other = ([1, 8], [8, 8]) if chain == "product" else ([8], [8])
        names = ["x"] + [f"x{i}" for i in range(1, count)] + ["out"]
        nodes = [helper.make_node(kind, [names[i], "y"], [names[i + 1]])
                 for i in range(count)]

        def info(name, sizes):
            return helper.make_tensor_value_info(
                name, self.onnx.TensorProto.FLOAT, sizes)

        graph = helper.make_graph(nodes, "chain",
                                  [info("x", row), info("y", other)],
                                  [info("out", row)])
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        options = self.library.SessionOptions()
        options.intra_op_num_threads = 1
        session = self.library.InferenceSession(
            model.SerializeToString(), options,
            providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        y = numpy.eye(8) if chain == "product" else numpy.full(other, 1e-3)
        binding.bind_cpu_input("x", numpy.ones(row, numpy.float32))
        binding.bind_cpu_input("y", y.astype(numpy.float32))
        binding.bind_output("out", "cpu")
        return lambda: session.run_with_iobinding(binding)

    def measure(self):
        return {chain: slope(lambda n: self.make(chain, n))
                for chain in ("add", "product")}


class Eager:
    name = "PyTorch, eager"

    def __init__(self, build, directory):
        import torch
        self.torch, self.version = torch, torch.__version__

    def make(self, chain, count):
        torch = self.torch
        x, y = ExecuTorch.example(chain)
        work = torch.mm if chain == "product" else torch.add

        def call():
            z = x
            for _ in range(count):
                z = work(z, y)
        return call

    def measure(self):
        return {chain: slope(lambda n: self.make(chain, n))
                for chain in ("add", "product")}


def number(values):
    if not values:
        return ""
    digits = 1 if min(values) < 100 else 0
    return f"{min(values):.{digits}f} / {statistics.median(values):.{digits}f}"


def table(systems, found, instructions):
    chains = ["empty", "add", "product"]
    text = ["| ns an operator, least / median | empty | 8 additions | row of 8 "
            "by 8 x 8 | version |", "|---|---|---|---|---|"]

    def row(name, suffix, system, version):
        cells = [number([turn[chain + suffix] for turn in found[system]
                         if chain + suffix in turn]) for chain in chains]
        text.append(f"| {name} | " + " | ".join(cells) + f" | {version} |")

    for system in systems:
        row(system.name, "", system.name, system.version)
        if system.name == "etx":
            row("etx, pool of 2 threads", ", pool of 2", "etx", "")
    if instructions:
        text.append("| etx, machine instructions | " + " | ".join(
            f"{instructions[chain]:.0f}" for chain in chains) + " | |")
    ours = found["etx"]
    text += ["", f"In etx, a call of a method with one empty operator takes "
             f"{min(t['call'] for t in ours):.0f} ns. Loading takes "
             f"{min(t['load empty'] for t in ours):.0f} ns per empty operator, "
             f"{min(t['load add'] for t in ours):.0f} ns per addition, "
             f"{min(t['load product'] for t in ours):.0f} ns per matrix "
             "product.", ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--markdown", metavar="FILE")
    options = parser.parse_args()
    systems = []
    with tempfile.TemporaryDirectory() as directory:
        for kind in (Etx, ExecuTorch, StaticRuntime, OnnxRuntime, Eager):
            try:
                systems.append(kind(options.build, directory))
            except ImportError as error:
                print(f"{kind.name}: left out: {error}", file=sys.stderr)
        found = {system.name: [] for system in systems}
        for turn in range(TURNS):
            at = turn % len(systems)
            for system in systems[at:] + systems[:at]:
                found[system.name].append(system.measure())
        instructions = systems[0].instructions(directory)
    content = (f"Load of the machine at the end: {os.getloadavg()[0]:.1f}.\n\n"
               + table(systems, found, instructions))
    print(content)
    if options.markdown:
        write_markdown(options.markdown, {"dispatch": content})


if __name__ == "__main__":
    main()
