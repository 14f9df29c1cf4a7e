"""etx as exporter and as runtime, through its command line."""

import json
import os
import subprocess

import torch
from safetensors.torch import save_file


class Refused(Exception):
    """etx ended with an error; the text is what it wrote."""


def command(etx, *words):
    done = subprocess.run([etx, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def plan(etx, functional, directory, path, target="executorch"):
    """Saves the methods as archives and plans them, source lines included: data
    that is not for the runtimes and must not be in their way."""
    os.makedirs(directory, exist_ok=True)
    for name, program in functional.items():
        torch.export.save(program, os.path.join(directory, f"{name}.pt2"))
    code, _, errors = command(etx, "plan", directory, "-o", path, "--target",
                              target, "--source-lines")
    if code != 0:
        raise Refused(errors.strip())


def write_case(calls, directory, tolerance, with_state):
    """The calls as `etx run --case` reads them."""
    os.makedirs(directory, exist_ok=True)
    tensors = {}

    def describe(value, key):
        if value is None:
            return {"none": True}
        if isinstance(value, torch.Tensor):
            tensors[key] = value.contiguous()
            return {"tensor": key}
        kind = {bool: "bool", int: "int", float: "float", str: "string"}
        return {kind[type(value)]: value}

    def describe_all(values, key):
        return [describe(v, f"{key}{i}") for i, v in enumerate(values)]

    rows = []
    for index, call in enumerate(calls):
        key = f"c{index:03}"
        rows.append({
            "method": call.method,
            "inputs": describe_all(call.inputs, f"{key}.in"),
            "outputs": describe_all(call.outputs, f"{key}.out"),
            "input_mutations": [{
                "input": position,
                **describe(tensor, f"{key}.after{position}")
            } for position, tensor in call.mutations],
            "state": {
                name: describe(tensor, f"{key}.state.{name}")["tensor"]
                for name, tensor in call.state.items()
            } if with_state else {},
        })
    save_file(tensors, os.path.join(directory, "expected.safetensors"))
    with open(os.path.join(directory, "cases.json"), "w") as file:
        json.dump({"format": 1, "atol": tolerance, "rtol": tolerance,
                   "calls": rows}, file)


def run(etx, path, calls, directory, tolerance, with_state=True):
    """Makes the calls; returns what differs, as lines."""
    write_case(calls, directory, tolerance, with_state)
    code, answer, errors = command(etx, "run", path, "--case", directory,
                                   "--json")
    if code not in (0, 6):
        raise Refused(errors.strip())
    return [
        f"call {d['call']} {d['method']}: {d['what']}: {d['why']}"
        for d in json.loads(answer)["differences"]
    ]


def verify(etx, path):
    """Proves the plan of a file; what is wrong, or None."""
    code, _, errors = command(etx, "verify", path)
    return None if code == 0 else errors.strip()
