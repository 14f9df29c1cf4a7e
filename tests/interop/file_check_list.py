"""The list of checks on files, and what they share."""

import json
import os

import numpy
import torch
from executorch.exir import (EdgeCompileConfig, ExecutorchBackendConfig,
                             to_edge)
from executorch.runtime import Runtime, Verification

import etx_side

_checks = []


def check(side, sentence):
    """Adds a function of (etx, directory) to the list; `side` is "theirs" or
    "ours", for whose files it looks at."""

    def add(function):
        _checks.append((side, sentence, function))
        return function

    return add


def all_checks():
    return list(_checks)


def export(module, *args, **options):
    with torch.no_grad():
        return torch.export.export(module.eval(), args, **options)


def lower(programs, constant_methods=None, **config):
    """The stock exporter's program manager."""
    edge = to_edge(
        programs, constant_methods=constant_methods,
        compile_config=EdgeCompileConfig(_check_ir_validity=False))
    return edge.to_executorch(ExecutorchBackendConfig(**config))


def save(program, directory, name="model.pte"):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(program.buffer)
    return path


def load(path, **options):
    return Runtime.get().load_program(
        path, verification=Verification.InternalConsistency, **options)


def ok(etx, *words):
    """Runs etx; what it printed."""
    code, out, errors = etx_side.command(etx, *words)
    assert code == 0, f"etx {' '.join(words)} ended with {code}: {errors}"
    return out


def refused(etx, code, part, *words):
    """Runs etx, which has to end with `code` and say `part`."""
    found, _, errors = etx_side.command(etx, *words)
    assert found == code, f"ended with {found}, expected {code}: {errors}"
    assert part in errors, f"'{part}' is not in: {errors}"


def call(etx, directory, path, method, inputs, *words):
    """One call in etx: its outputs, as numpy arrays by name."""
    for index, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            file = os.path.join(directory, f"in{index}.npy")
            numpy.save(file, value.numpy())
            words += ("--in", f"input_{index}={file}")
    answer = json.loads(ok(etx, "run", path, method, "--json", *words))
    return {name: value_of(value) for name, value in answer.items()}


def value_of(value):
    """A result of `etx run --json`: an array, or a plain value."""
    if not isinstance(value, dict):
        return value
    return numpy.array(value["data"]).reshape(value["sizes"])


def same(found, expected, tolerance=1e-5):
    """Asserts that two arrays (or tensors) agree."""
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert numpy.allclose(found, expected, rtol=tolerance,
                          atol=tolerance), (found, expected)
