#!/usr/bin/env python3
"""Exports small models of known architectures, with what PyTorch answers.

    export_models.py DIRECTORY [NAME...]

For each name DIRECTORY/NAME gets forward.pt2 (functional ATen), the core ATen
form in core/, and calls with their answers as cases.json and
expected.safetensors, which `etx run --case` takes. Without names: all.
"""

import copy
import os
import sys
import time

import torch

from architectures import ARCHITECTURES
from model_files import described, quiet, save_case, save_program

# Tolerances relative to the largest value of an output, and to each value.
ABSOLUTE, RELATIVE = 1e-5, 1e-4


def flat(value):
    """Tensors and numbers of inputs or outputs, in order."""
    return torch.utils._pytree.tree_leaves(value)


def record(program, sample, tensors):
    """Calls of the sample on its own copy of the model, with the answers."""
    model = copy.deepcopy(sample.model)
    changed = [spec.target for spec in program.graph_signature.output_specs
               if spec.kind == torch.export.graph_signature.OutputKind
               .BUFFER_MUTATION]
    buffers = dict(model.named_buffers())
    calls, largest = [], 0.0
    inputs = ([(call, {}) for call in sample.calls] or
              [((), keywords) for keywords in sample.keywords])
    for number, (positional, keywords) in enumerate(inputs):
        mark = f"c{number:03d}"
        outputs = flat(model(*positional, **keywords))
        calls.append({
            "method": "forward",
            "inputs": [described(v, f"{mark}.in{i}", tensors)
                       for i, v in enumerate(flat((positional, keywords)))],
            "outputs": [described(v, f"{mark}.out{i}", tensors)
                        for i, v in enumerate(outputs)],
            "input_mutations": [],
            "state": {name: described(buffers[name], f"{mark}.state.{name}",
                                      tensors)["tensor"] for name in changed},
        })
        for value in outputs:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                largest = max(largest, value.abs().max().item())
    return calls, largest


def export(name, directory):
    torch.manual_seed(0)
    sample = ARCHITECTURES[name]()
    sample.model.eval()
    example = sample.calls[0] if sample.calls else ()
    keywords = sample.keywords[0] if sample.keywords else None
    program = torch.export.export(copy.deepcopy(sample.model), example,
                                  keywords, strict=sample.strict,
                                  dynamic_shapes=sample.dynamic)
    save_program(program, directory)
    tensors = {}
    calls, largest = record(program.run_decompositions({}), sample, tensors)
    case = {"format": 1, "atol": ABSOLUTE * largest, "rtol": RELATIVE,
            "methods": {"forward": "forward.pt2"}, "calls": calls}
    save_case(case, tensors, directory)


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    quiet()
    bad = 0
    for name in sys.argv[2:] or ARCHITECTURES:
        start = time.monotonic()
        try:
            with torch.no_grad():
                export(name, os.path.join(sys.argv[1], name))
            print(f"{name}: exported in {time.monotonic() - start:.1f} s",
                  flush=True)
        except Exception as error:  # the others are exported all the same
            bad += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
