"""A directory that `etx plan` and `etx run --case` take: an exported program in
functional and in core ATen, calls, and what PyTorch answers.
"""

import json
import os
import warnings

import torch
from safetensors.torch import save_file


def quiet():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)


def save_program(program, directory):
    """forward.pt2 in functional ATen, core/forward.pt2 in core ATen."""
    os.makedirs(os.path.join(directory, "core"), exist_ok=True)
    torch.export.save(program.run_decompositions({}),
                      os.path.join(directory, "forward.pt2"))
    torch.export.save(program.run_decompositions(),
                      os.path.join(directory, "core", "forward.pt2"))


def described(value, key, tensors):
    """A value as cases.json says it; tensors are kept aside."""
    if isinstance(value, torch.Tensor):
        tensors[key] = value.detach().clone().contiguous()
        return {"tensor": key}
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float")):
        if isinstance(value, kind):
            return {name: value}
    return {"none": True}


def save_case(case, tensors, directory):
    """cases.json last: where it is, all is there."""
    save_file(tensors, os.path.join(directory, "expected.safetensors"))
    with open(os.path.join(directory, "cases.json"), "w") as file:
        json.dump(case, file, indent=1)
