"""Traces of recorded calls, and what `etx select` makes of them.

  check_trace.py ETX SOURCE BUILD CC    the command, the source tree, a build

For all recorded sets of calls:

* A trace has the operators and types of the instructions that ran. The oracle is
  the profile of the same calls, which another observer records from the tensors
  that the kernels got.
* What was traced is within what the program can use.

And for one program: a trace of another program is refused with line and column; a
build that is narrowed to the traces of all methods gives the results of the full
build; one that is narrowed to the trace of one method runs it and refuses each
kind of cell that was not traced: an operator, a type, varying sizes, control flow.
"""

import argparse
import json
import pathlib
import re
import tempfile

from selected_application import build_application, expect, run

CAPS = {"routed": ("indices.u0=64", "spread.u0=64", "unlimited.u0=64")}
TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5,
         "float32": 6, "float64": 7, "complex64": 9, "complex128": 10, "bool": 11,
         "bfloat16": 15}

METHOD = """etx: 1
method: {name}
{dims}inputs:
  - {{name: x, type: "{type}"}}
nodes:
  - {{out: y, op: {op}, args: [x, x]}}
outputs: [y]
"""


def method(name, op, type, dims=""):
    return METHOD.format(name=name, op=op, type=type, dims=dims)


METHODS = {
    "floats": method("floats", "aten.add.Tensor", "float32[2]"),
    "integers": method("integers", "aten.add.Tensor", "int64[2]"),
    "products": method("products", "aten.mul.Tensor", "float32[2]"),
    "sizes": method("sizes", "aten.add.Tensor", "float32[n]",
                    "dims: {n: {min: 1, max: 4}}\n"),
    "all": method("all", "aten.mul.Tensor", "int64[n]",
                  "dims: {n: {min: 1, max: 4}}\n"),
}
INPUTS = {name: ["--in", "x=[1, 2]"] for name in METHODS}
# What a build for `floats` alone lacks, in the words of the runtime and of select.
LACKS = {
    "integers": "'aten::add.out' has no int64",
    "products": "'aten::mul.out' is missing",
    "sizes": "no dynamic_sizes",
    "all": "'aten::mul.out' is missing, no dynamic_sizes",
}
SELECT_LACKS = {
    "integers": "aten::add.out with int64",
    "products": "aten::mul.out",
    "sizes": "dynamic_sizes",
    "all": "dynamic_sizes",
}


def rows_of(text, key):
    """The rows of a map or list of a trace, as {name: [items]}."""
    rows = {}
    inside = False
    for line in text.splitlines():
        if not line.startswith((" ", "-")):
            inside = line.startswith(f"{key}:")
        elif inside and line.startswith("  \""):
            name = line.strip()[1:-2]
            rows[name] = []
        elif inside and line.startswith("  - "):
            rows[name].append(line[5:-1])
        elif inside and line.startswith("- "):
            rows[line[2:].strip('"')] = []
    return rows


def types_of(key):
    return {int(t.split(";")[0]) for t in key[3:].split("|") if t}


class Checks:
    def __init__(self, options, folder):
        self.etx = options.etx.resolve()
        self.source = options.source.resolve()
        self.build = options.build.resolve()
        self.cc = options.cc
        self.folder = folder
        self.sets = self.source / "tests/data/pt2"

    def plan(self, name):
        caps = CAPS.get(name, ())
        out = self.folder / f"{name}.pte"
        if not out.exists():
            run(self.etx, "plan", self.sets / name, "-o", out, "--quiet",
                *(w for cap in caps for w in ("--cap", cap)))
        return out

    def trace(self, program, calls, name):
        out = self.folder / f"{name}.yaml"
        run(self.etx, "run", program, *calls, "--trace-ops", out)
        return out

    def profile(self, program, calls):
        """The types of the tensors of each operator that ran."""
        out = self.folder / "profile.json"
        run(self.etx, "run", program, *calls, "--profile", out)
        ran = {}
        for event in json.loads(out.read_text())["traceEvents"]:
            if event.get("cat") != "operator":
                continue
            types = re.findall(r"(\w+)\[", event["args"]["tensors"])
            ran.setdefault(event["name"], set()).update(TYPES[t] for t in types)
        return ran

    def narrowed(self):
        graphs = self.folder / "methods"
        graphs.mkdir()
        for name, text in METHODS.items():
            (graphs / f"{name}.yaml").write_text(text)
        program = self.folder / "methods.pte"
        run(self.etx, "plan", graphs, "-o", program, "--quiet")
        traces = {name: self.trace(program, [name, *INPUTS[name]], name)
                  for name in METHODS}
        self.foreign(program, traces["floats"])
        everything = [w for t in traces.values() for w in ("--trace", t)]
        whole, part = self.folder / "whole", self.folder / "part"
        done = run(self.etx, "select", program, *everything, "--narrow", "-o",
                   whole)
        expect("left out" not in done.stdout, done.stdout)
        full = run(build_application(self, "full", None), program, *METHODS).stdout
        small = run(build_application(self, "small", whole), program, *METHODS).stdout
        expect(small == full, f"a narrowed build gives\n{small}and not\n{full}")
        done = run(self.etx, "select", program, "--trace", traces["floats"],
                   "--narrow", "-o", part)
        app = build_application(self, "narrow", part)
        header = (part / "etx_selected.h").read_text()
        fingerprint = re.search(r'FINGERPRINT "(\w+)"', header)[1]
        expect("#define ETX_SELECTED_NARROWED 1" in header, header)
        expect(run(app, program, "floats").stdout.splitlines()[0] ==
               full.splitlines()[0], "the traced method gives another result")
        for name, lacks in LACKS.items():
            refusal = run(app, program, name, code=1).stderr
            expect(f"does not have: {lacks}; this build ({fingerprint}) has only"
                   in refusal and "--trace-ops" in refusal, f"{name}: {refusal}")
            listed = f"{program}, method {name}: {SELECT_LACKS[name]}"
            expect(listed in done.stdout, f"{listed} is not in\n{done.stdout}")

    def control_flow(self):
        """A build that is narrowed to a method without branches refuses one with."""
        graphs = self.folder / "branching"
        graphs.mkdir()
        branch = sorted((self.sets / "cond").glob("*.pt2"))[0]
        (graphs / branch.name).write_bytes(branch.read_bytes())
        (graphs / "floats.yaml").write_text(METHODS["floats"])
        program = self.folder / "branching.pte"
        run(self.etx, "plan", graphs, "-o", program, "--quiet")
        trace = self.trace(program, ["floats", *INPUTS["floats"]], "branching")
        part = self.folder / "straight"
        done = run(self.etx, "select", program, "--trace", trace, "--narrow", "-o",
                   part)
        listed = f"{program}, method {branch.stem}: "
        features = [line for line in done.stdout.splitlines() if listed in line
                    and "control_flow" in line]
        expect(features, done.stdout)
        app = build_application(self, "straight_app", part)
        run(app, program, "floats")
        refusal = run(app, program, branch.stem, code=1).stderr
        # The message names the first cells that are missing and counts the others.
        expect("is missing" in refusal and "--trace-ops" in refusal, refusal)

    def foreign(self, program, trace):
        """Traces that are not within the program."""
        other = self.trace(self.plan("kv"), ["--case", self.sets / "kv"], "kv")
        done = run(self.etx, "select", program, "--trace", other, "-o",
                   self.folder / "none", code=2)
        place = next(i for i, line in enumerate(other.read_text().splitlines(), 1)
                     if "index.Tensor_out" in line)
        expect(f"{other}:{place}:3: operator 'aten::index.Tensor_out' is not called"
               in done.stderr, done.stderr)
        wrong = self.folder / "wrong.yaml"
        wrong.write_text(trace.read_text().replace("v1/6;", "v1/5;"))
        done = run(self.etx, "select", program, "--trace", wrong, "-o",
                   self.folder / "none", code=2)
        expect(re.search(f"{wrong}:\\d+:5: operator 'aten::add.out' is not called "
                         "with 'v1/5;", done.stderr), done.stderr)
        run(self.etx, "select", program, "--narrow", "-o", self.folder / "none",
            code=2)
        expect(not (self.folder / "none").exists(), "a refusal leaves files")

    def recorded(self, name):
        program = self.plan(name)
        calls = ["--case", self.sets / name]
        trace = self.trace(program, calls, name)
        kernels = rows_of(trace.read_text(), "et_kernel_metadata")
        for operator, types in self.profile(program, calls).items():
            expect(operator in kernels, f"{name}: {operator} is not in the trace")
            traced = set().union(*(types_of(k) for k in kernels[operator]))
            # A key has only the first tensor of a list; a profile has none.
            expect(types <= traced, f"{name}: {operator} ran with {types}, the "
                   f"trace has {traced}")
        done = run(self.etx, "select", program, "--trace", trace, "-o",
                   self.folder / f"{name}_selected")
        again = run(self.etx, "select", program, "--trace", trace, "--trace",
                    trace, "-o", self.folder / f"{name}_again")
        expect(done.stdout.replace("_selected", "_again") == again.stdout,
               f"{name}: the same trace twice changes the selection")
        for operator in kernels:
            listed = re.search(f"^  {re.escape(operator)}$", done.stdout, re.M)
            expect(not listed, f"{name}: {operator} ran and is listed as unreached")


def main():
    parser = argparse.ArgumentParser()
    for name in ("etx", "source", "build"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("cc")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(options, pathlib.Path(folder))
        names = sorted(p.name for p in checks.sets.iterdir()
                       if (p / "cases.json").exists())
        expect(len(names) >= 40, f"only {len(names)} recorded sets")
        for name in names:
            checks.recorded(name)
        checks.narrowed()
        checks.control_flow()


if __name__ == "__main__":
    main()
