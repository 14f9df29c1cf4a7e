#!/usr/bin/env python3
"""Runs recorded call sequences of .pt2 sets in the stock ExecuTorch runtime.

    run_interop.py ETX [--memory NAME=BYTES]... SET_DIRECTORY...

Each set (a directory with cases.json, expected.safetensors and .pt2 archives,
and perhaps the core ATen form in core/) is planned with
`ETX plan --target executorch`, loaded with the Python package `executorch` and
called as cases.json says; with --memory, which etx plan takes, the runtime gives
each memory a buffer. et_module_init comes first and at every reset. Compared
are outputs, mutated inputs (in the caller's tensors and as leading outputs) and
every state, read through the method's attribute of that name.

Ends with 0 if everything agreed, 1 if something differed, 77 (skipped) if the
package is not there.
"""

import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import executorch.extension.llm.custom_ops.custom_ops  # its kernels
    import executorch.kernels.quantized
    from executorch.runtime import Runtime, Verification
    from safetensors.torch import load_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

INIT = "et_module_init"

# Results that ExecuTorch's runtime does not write, by set. Its product of
# matrices over an inner dimension of size 0 leaves the output as it was.
UNWRITTEN = {"small_sizes": {"c009.out6"}}


def value_of(description, tensors):
    """The Python value that cases.json describes."""
    (kind, value), = description.items()
    if kind == "tensor":
        return tensors[value]
    return None if kind == "none" else value


def differs(found, expected, case):
    """What is wrong with `found`, or None."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor):
            return f"a tensor was expected, found {type(found).__name__}"
        if found.dtype != expected.dtype:
            return f"type {found.dtype}, expected {expected.dtype}"
        if found.shape != expected.shape:
            return f"shape {list(found.shape)}, expected {list(expected.shape)}"
        if not expected.dtype.is_floating_point:
            return None if torch.equal(found, expected) else "values differ"
        # The mean of nothing is not a number, in both.
        if torch.allclose(found, expected, rtol=case["rtol"],
                          atol=case["atol"], equal_nan=True):
            return None
        if not torch.equal(found.isnan(), expected.isnan()):
            return "one of the two has values that are not numbers"
        worst = (found - expected).abs().nan_to_num(nan=0.0).max().item()
        return f"largest difference {worst:g}"
    if isinstance(expected, float):
        if math.isnan(expected) and math.isnan(found):
            return None
        good = abs(found - expected) <= case["atol"] + case["rtol"] * abs(
            expected)
        return None if good else f"{found}, expected {expected}"
    return None if found == expected else f"{found}, expected {expected}"


class Session:
    """A planned program in ExecuTorch's runtime, and its state as expected."""

    def __init__(self, path):
        self.program = Runtime.get().load_program(
            path, verification=Verification.InternalConsistency)
        # Methods are loaded at their first call, as a host does that knows
        # nothing of state: a late load must change none.
        self.methods = {}
        self.names = sorted(self.program.method_names)

    def method(self, name):
        if name not in self.methods:
            self.methods[name] = self.program.load_method(name)
        return self.methods[name]

    def reset(self):
        if INIT in self.names:
            self.method(INIT).execute([])

    def state(self, name):
        # The init method lists every state.
        return self.method(INIT)._method.get_attribute(name)


def check_call(session, call, tensors, case, state, report):
    inputs = [value_of(i, tensors) for i in call["inputs"]]
    inputs = [i.clone() if isinstance(i, torch.Tensor) else i for i in inputs]
    outputs = list(session.method(call["method"]).execute(inputs))
    mutated = call.get("input_mutations", [])
    for position, mutation in enumerate(mutated):
        wrong = differs(outputs[position], tensors[mutation["tensor"]], case)
        if wrong:
            report(f"input {mutation['input']} afterwards: {wrong}")
        wrong = differs(inputs[mutation["input"]], tensors[mutation["tensor"]],
                        case)
        if wrong:
            report(f"the caller's input {mutation['input']}: {wrong}")
    outputs = outputs[len(mutated):]
    expected = [value_of(o, tensors) for o in call["outputs"]]
    if len(outputs) != len(expected):
        report(f"{len(outputs)} outputs, expected {len(expected)}")
    for position, (found, want) in enumerate(zip(outputs, expected)):
        if call["outputs"][position].get("tensor") in case.get("unwritten", ()):
            continue
        wrong = differs(found, want, case)
        if wrong:
            report(f"output {position}: {wrong}")
    for name, key in call.get("state", {}).items():
        if key in tensors:
            state[name] = tensors[key]
    for name, want in state.items():
        wrong = differs(session.state(name), want, case)
        if wrong:
            report(f"state '{name}': {wrong}")


def run_set(path, case, tensors, title):
    session = Session(path)
    session.reset()
    state = {}
    problems = 0
    for index, call in enumerate(case["calls"]):
        if call.get("reset"):
            session.reset()
            state = {}
            continue
        if call.get("refused"):  # ExecuTorch's runtime may run it all the same
            continue

        def report(message):
            nonlocal problems
            problems += 1
            print(f"{title}: call {index} of '{call['method']}': {message}")

        try:
            check_call(session, call, tensors, case, state, report)
        except RuntimeError as error:
            report(str(error).splitlines()[0])
    if problems == 0:
        print(f"{title}: {len(case['calls'])} calls agree")
    return problems == 0


def plan(etx, options, directory, output, title):
    command = [etx, "plan", directory, "-o", output, "--target", "executorch"]
    command += options
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{title}: etx plan ended with {done.returncode}\n{done.stderr}")
    return done.returncode == 0


def main():
    directories = sys.argv[2:]
    options = []
    while directories[:1] == ["--memory"]:
        options += directories[:2]
        directories = directories[2:]
    if not directories:
        print(__doc__)
        return 2
    good = True
    for directory in directories:
        with open(os.path.join(directory, "cases.json")) as file:
            case = json.load(file)
        tensors = load_file(os.path.join(directory, "expected.safetensors"))
        name = os.path.basename(directory.rstrip("/"))
        case["unwritten"] = UNWRITTEN.get(name, set())
        for form in ("", "core"):
            methods = os.path.join(directory, form)
            if not os.path.isdir(methods):
                continue
            title = os.path.join(name, form)
            with tempfile.TemporaryDirectory() as scratch:
                output = os.path.join(scratch, "model.pte")
                planned = plan(sys.argv[1], options, methods, output, title)
                good &= planned and run_set(output, case, tensors, title)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
