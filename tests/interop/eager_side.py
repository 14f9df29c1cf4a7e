"""What PyTorch answers: exported methods, and every call with its results."""

import contextlib
import copy
from dataclasses import dataclass

import torch
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree


@dataclass
class Call:
    """A call and what PyTorch made of it."""
    method: str
    inputs: list
    outputs: list
    mutations: list  # (position of an input, its content afterwards)
    state: dict  # name to content afterwards, of every state


@contextlib.contextmanager
def called_forward(module, name):
    """Lets `module.forward` be the method `name`."""
    if name == "forward":
        yield
        return
    module.forward = getattr(module, name)
    try:
        yield
    finally:
        del module.forward


def export(model):
    """Two forms of each method, over one copy of the module: as exported, and
    without effects (for whom buffers and inputs change only at the end)."""
    module = copy.deepcopy(model.module)
    programs = {}
    for name, method in model.methods.items():
        with called_forward(module, name), torch.no_grad():
            programs[name] = torch.export.export(
                module, copy.deepcopy(method.args),
                dynamic_shapes=method.dynamic, strict=method.strict)
    return programs, {
        name: program.run_decompositions({})
        for name, program in programs.items()
    }


def mutated_inputs(program):
    """Positions of the inputs that a method without effects changes, in order
    of its outputs."""
    names = list(program.graph_signature.user_inputs)
    return [
        names.index(spec.target)
        for spec in program.graph_signature.output_specs
        if spec.kind == OutputKind.USER_INPUT_MUTATION
    ]


def state_names(programs):
    """Buffers that some method changes."""
    names = set()
    for program in programs.values():
        names |= set(program.graph_signature.buffers_to_mutate.values())
    return sorted(names)


def own(value):
    """A copy that later calls do not change."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def reference(model, functional):
    """Every call of the model in order, on one module."""
    module = copy.deepcopy(model.module)
    states = state_names(functional)
    done = []
    for name, args in model.calls:
        args = copy.deepcopy(args)
        inputs = [own(a) for a in args]
        with torch.no_grad():
            outputs = pytree.tree_flatten(getattr(module, name)(*args))[0]
        buffers = dict(module.named_buffers())
        done.append(Call(
            name, inputs, [own(o) for o in outputs],
            [(i, own(args[i])) for i in mutated_inputs(functional[name])],
            {state: own(buffers[state]) for state in states}))
    return done


def difference(found, expected, tolerance):
    """What is wrong with `found`, or None."""
    if not isinstance(expected, torch.Tensor):
        if isinstance(expected, float) and isinstance(found, (int, float)):
            good = abs(found - expected) <= tolerance * max(1, abs(expected))
            return None if good else f"{found}, expected {expected}"
        return None if found == expected else f"{found}, expected {expected}"
    if not isinstance(found, torch.Tensor):
        return f"a tensor was expected, found {type(found).__name__}"
    if found.dtype != expected.dtype:
        return f"type {found.dtype}, expected {expected.dtype}"
    if found.shape != expected.shape:
        return f"shape {list(found.shape)}, expected {list(expected.shape)}"
    if not expected.dtype.is_floating_point:
        return None if torch.equal(found, expected) else "values differ"
    if torch.allclose(found.double(), expected.double(), rtol=tolerance,
                      atol=tolerance, equal_nan=True):
        return None
    gap = (found.double() - expected.double()).abs().max().item()
    return f"largest difference {gap:g}"
