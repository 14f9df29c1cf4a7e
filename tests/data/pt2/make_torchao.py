"""Writes the set `torchao` of this folder: layers quantised by torchao's own
recipes before the export, and one as PT2E leaves it.

    pip install torch==2.13 torchao==0.18 safetensors
    python make_torchao.py
"""

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401
import torchao.quantization as recipes
from make_sets import Recorder
from torch.export import Dim
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.utils import unwrap_tensor_subclass

Q = torch.ops.quantized_decomposed
IN, OUT = 64, 24
RECIPES = {
    "weights": recipes.Int8WeightOnlyConfig(),
    "rows": recipes.Int8DynamicActivationInt8WeightConfig(),
    "halves": recipes.IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=PerGroup(32)),
    "channels": recipes.IntxWeightOnlyConfig(
        weight_dtype=torch.int8, granularity=PerAxis(0)),
    "tokens": recipes.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32)),
}


class Layers(torch.nn.Module):
    states = ()

    def __init__(self):
        super().__init__()
        torch.manual_seed(11)
        self.layers = torch.nn.ModuleDict()
        for name, recipe in RECIPES.items():
            layer = torch.nn.Sequential(torch.nn.Linear(IN, OUT))
            recipes.quantize_(layer, recipe)
            self.layers[name] = unwrap_tensor_subclass(layer)
            setattr(self, name, self.method(name))
        whole = torch.randint(-127, 128, (OUT, IN)).to(torch.int8)
        self.register_buffer("whole", whole)

    def method(self, name):
        return lambda x: (self.layers[name](x),)

    def tensor(self, x):
        """One scale for the whole weight, and a bias of 0."""
        weight = Q.dequantize_per_tensor(self.whole, 0.01, 0, -127, 127,
                                         torch.int8)
        return (torch.nn.functional.linear(x, weight),)


def main():
    recorder = Recorder(Layers(), "torchao")
    rows = Dim("n", min=2, max=8)
    names = [*RECIPES, "tensor"]
    for name in names:
        recorder.method(name, (torch.randn(3, IN),), ({0: rows},))
    for name in names:
        for count in (3, 8, 2):
            recorder.call(name, torch.randn(count, IN))
    recorder.write(2e-5)


if __name__ == "__main__":
    main()
