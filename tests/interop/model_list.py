"""The list of small models that go both ways, and how a model is described.

A model is a module, its methods with example arguments, and a sequence of
calls. Each file models_<family>.py adds to the list:

    @model("linear")
    def linear():
        return Model(torch.nn.Linear(3, 4), {"forward": Method((rand(2, 3),))})
"""

from dataclasses import dataclass, field

import torch


@dataclass
class Method:
    """One entry point: the module's attribute of that name is exported."""
    args: tuple  # example arguments
    dynamic: tuple = None  # dynamic_shapes of torch.export, by argument
    strict: bool = False  # how torch.export traces it


@dataclass
class Model:
    module: torch.nn.Module
    methods: dict  # name to Method
    calls: list = None  # (method, arguments); None: each method twice
    share: bool = True  # share_mutable_buffers, where there are several methods
    initial: tuple = ()  # buffers whose initial value the stock file carries
    tolerance: float = 1e-5  # relative, and absolute below 1
    reinplace: bool = False  # run_reinplace_pass of the stock exporter
    # Where the stock side is known to be wrong: (file, runtime) to one line,
    # "stock" or "etx" each. Such a cell is not red; it names the defect.
    defects: dict = field(default_factory=dict)


_makers = []


def model(name):
    """Adds the function that makes the model `name` to the list."""

    def add(maker):
        family = maker.__module__.removeprefix("models_")
        assert all(name != known for _, known, _ in _makers), name
        _makers.append((family, name, maker))
        return maker

    return add


def all_models():
    """(family, name, maker) of every model, in order of families."""
    # Importing a file adds its models.
    import models_elementwise  # noqa: F401
    import models_reduction  # noqa: F401
    import models_shape  # noqa: F401
    import models_products  # noqa: F401
    import models_networks  # noqa: F401
    import models_dynamic  # noqa: F401
    import models_control  # noqa: F401
    import models_state  # noqa: F401
    import models_methods  # noqa: F401
    import models_defects  # noqa: F401
    return list(_makers)


def make(maker):
    """The model, with the same random numbers each time."""
    torch.manual_seed(11)
    made = maker()
    made.module.eval()
    if made.calls is None:
        made.calls = []
        for name, method in made.methods.items():
            made.calls.append((name, method.args))
            made.calls.append((name, tuple(another(a) for a in method.args)))
    return made


def rand(*sizes, dtype=torch.float32):
    """Normally distributed numbers."""
    return torch.randn(*sizes).to(dtype)


def ints(*sizes, low=0, high=10, dtype=torch.int64):
    return torch.randint(low, high, sizes).to(dtype)


def another(argument):
    """An argument of the same type and sizes with other content."""
    if not isinstance(argument, torch.Tensor):
        return argument
    if argument.dtype == torch.bool:
        return ~argument
    if argument.dtype.is_floating_point:
        noise = torch.randn(argument.shape).to(argument.dtype)
        return (argument * 0.5 + noise).to(
            memory_format=torch.preserve_format)
    # Indexes stay in range.
    return argument.flip(-1) if argument.dim() > 0 else argument.clone()
