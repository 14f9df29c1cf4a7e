"""Records tests/data/custom_operator: the methods of examples/custom_operator/model.py,
which call operators of its own, as torch.export writes them (`exported`) and after
run_decompositions (`decomposed`), with calls and what eager PyTorch answers.

    python3 tests/models/custom_operators.py
"""

import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "examples", "custom_operator")]

import model  # noqa: E402
import model_files  # noqa: E402


def record():
    """Calls of all methods in a random order over one state."""
    generator = torch.Generator().manual_seed(35)
    state = {"total": torch.zeros(3), "peak": torch.zeros(3)}
    modules = {name: module for name, module, _, _ in model.methods()}
    tensors, calls = {}, []
    for index in range(24):
        name = ("push", "peak", "get")[torch.randint(3, (1,), generator=generator).item()]
        rows = 4 + torch.randint(13, (1,), generator=generator).item()
        sizes = {"push": (rows, 3), "peak": (3,), "get": None}[name]
        inputs = () if sizes is None else (torch.randn(sizes, generator=generator),)
        for key, value in state.items():
            setattr(modules[name], key, value)
        outputs = modules[name](*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        key = f"c{index:03d}"
        calls.append({
            "method": name,
            "inputs": [model_files.described(x, f"{key}.in{i}", tensors)
                       for i, x in enumerate(inputs)],
            "outputs": [model_files.described(x, f"{key}.out{i}", tensors)
                        for i, x in enumerate(outputs)],
            "input_mutations": [],
            "state": {s: model_files.described(v, f"{key}.{s}", tensors)["tensor"]
                      for s, v in state.items()},
        })
    return calls, tensors


def main():
    model_files.quiet()
    for form in ("exported", "decomposed"):
        directory = os.path.join(ROOT, "tests", "data", "custom_operator", form)
        model.export(directory, form == "decomposed")
        calls, tensors = record()
        case = {"format": 1, "atol": 1e-5, "rtol": 1e-5,
                "methods": {name: name + ".pt2" for name, _, _, _ in model.methods()},
                "calls": calls}
        model_files.save_case(case, tensors, directory)


if __name__ == "__main__":
    main()
