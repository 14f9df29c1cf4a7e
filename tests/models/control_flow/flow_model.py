"""A model with control flow or with sizes that data decide, as the other files
of this folder describe them.
"""

import dataclasses

import torch

MODELS = {}  # by name: a function without arguments that returns a Flow


@dataclasses.dataclass
class Flow:
    """One method, calls of it in order, and what it cannot take."""

    model: torch.nn.Module
    # Inputs by what they stand for: the least size, a middle one, the most, 0.
    # Labels that start alike are several calls of one kind: "most, again".
    calls: dict
    dynamic: tuple = None  # dynamic_shapes of torch.export, one per input
    overflow: tuple = ()  # inputs that must be refused and change no state
    caps: tuple = ()  # NAME=N for --cap
    # The operator without which ExecuTorch's runtime cannot run it, or None.
    only_etx: str = None
    tolerance: float = 1e-4


class Method(torch.nn.Module):
    """A function as a module. Its parts are modules and buffers; buffers named
    in `states` are compared after each call.
    """

    def __init__(self, function, states=(), **parts):
        super().__init__()
        self.function, self.states = function, states
        for name, part in parts.items():
            if isinstance(part, torch.nn.Module):
                setattr(self, name, part)
            else:
                self.register_buffer(name, part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def flow(function):
    """Adds a model to the list under the name of its function."""
    assert function.__name__ not in MODELS and function.__doc__
    MODELS[function.__name__] = function
    return function


def number(value, dtype=torch.int64):
    return torch.tensor(value, dtype=dtype)


def zero():
    return torch.zeros((), dtype=torch.int64)


def bounded(count, most, least=0):
    """The number in a tensor as a size between `least` and `most`."""
    size = count.item()
    torch._check(size >= least)
    torch._check(size <= most)
    return size
