"""Traces of recorded calls, and what `etx select` makes of them.

  check_trace.py ETX SOURCE BUILD CC [--all]

For recorded sets of calls (a sample; all of them with --all):

* A trace has the operators and types of the instructions that ran. The oracle is
  the profile of the same calls, which another observer records from the tensors
  that the kernels got.
* What was traced is within what the program can use.
* A build that is narrowed to the trace of all calls makes these calls.

And for single programs: traces that are not within a program are refused with
line and column, and builds that are narrowed refuse each kind of cell that was
not traced: an operator, a type, a feature.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SAMPLE = ("kv", "cond", "gru", "loops", "mixed", "counter")
CAPS = {"routed": ("indices.u0=64", "spread.u0=64", "unlimited.u0=64")}
TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5,
         "float32": 6, "float64": 7, "complex64": 9, "complex128": 10, "bool": 11,
         "bfloat16": 15}


def run(*words, code=0):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True)
    if done.returncode != code:
        sys.exit(f"{words} ended with {done.returncode}, expected {code}:\n"
                 f"{done.stdout}{done.stderr}")
    return done


def expect(condition, text):
    if not condition:
        sys.exit(text)


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


def sets_of(checks, options):
    if not options.all:
        return SAMPLE
    return sorted(p.name for p in checks.sets.iterdir()
                  if (p / "cases.json").exists())


def main():
    parser = argparse.ArgumentParser()
    for name in ("etx", "source", "build"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("cc")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(options, pathlib.Path(folder))
        names = sets_of(checks, options)
        for name in names:
            checks.recorded(name)
        print(f"{len(names)} recorded sets")


if __name__ == "__main__":
    main()
