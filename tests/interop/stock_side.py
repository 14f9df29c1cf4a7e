"""The stock exporter and ExecuTorch's runtime (package executorch)."""

# Adds the quantised operators to both the exporter and the runtime.
import executorch.kernels.quantized  # noqa: F401
import torch
from executorch.exir import (EdgeCompileConfig, ExecutorchBackendConfig,
                             to_edge)
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.runtime import Runtime, Verification

from eager_side import difference

INIT = "et_module_init"


def export_file(model, programs, path):
    """Writes the model as the stock exporter does."""
    shares = model.share and len(programs) > 1
    passes = []
    if model.initial:
        passes.append(InitializedMutableBufferPass(list(model.initial)))
    edge = to_edge(
        dict(programs),
        compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch(
        ExecutorchBackendConfig(
            passes=passes,
            memory_planning_pass=MemoryPlanningPass(
                share_mutable_buffers=shares),
            emit_mutable_buffer_names=True,
            run_reinplace_pass=model.reinplace))
    with open(path, "wb") as file:
        program.write_to_file(file)


class StockSession:
    """A file in ExecuTorch's runtime."""

    def __init__(self, path, is_etx):
        self.program = Runtime.get().load_program(
            path, verification=Verification.InternalConsistency)
        self.names = sorted(self.program.method_names)
        self.methods = {}
        self.is_etx = is_etx
        if INIT in self.names:
            self.method(INIT).execute([])
        if not is_etx:
            # A late load would write initial values again.
            for name in self.names:
                self.method(name)

    def method(self, name):
        if name not in self.methods:
            self.methods[name] = self.program.load_method(name)
        return self.methods[name]

    def given(self, value):
        """An input as the file needs it. The runtime does not reorder bytes;
        inputs of etx's files are always in default order."""
        if not isinstance(value, torch.Tensor):
            return value
        value = value.clone()
        return value.contiguous() if self.is_etx else value

    def state(self, name):
        # One loaded method that lists the state is enough: the package gives
        # all methods of a program the same arenas.
        last = None
        for method in self.methods.values():
            try:
                return method._method.get_attribute(name)
            except RuntimeError as error:
                last = error
        raise last


def run(path, calls, tolerance, is_etx):
    """Makes the calls; returns what differs, as lines."""
    session = StockSession(path, is_etx)
    wrong = []
    for index, call in enumerate(calls):

        def compare(what, found, expected):
            text = difference(found, expected, tolerance)
            if text is not None:
                wrong.append(f"call {index} {call.method}: {what}: {text}")

        inputs = [session.given(i) for i in call.inputs]
        outputs = list(session.method(call.method).execute(inputs))
        expected = [tensor for _, tensor in call.mutations] + call.outputs
        if len(outputs) != len(expected):
            wrong.append(f"call {index} {call.method}: {len(outputs)} outputs, "
                         f"expected {len(expected)}")
            continue
        for position, (found, want) in enumerate(zip(outputs, expected)):
            compare(f"output {position}", found, want)
        for name, want in call.state.items():
            compare(f"state '{name}'", session.state(name), want)
    return wrong
