"""Writes the set `static` of this folder: models that PT2E quantised before the
export, activations too, by the quantiser of XNNPACK (`signed`) and by that of
x86 in Inductor (`unsigned`).

    pip install torch==2.13 torchao==0.18 executorch==1.5.1 safetensors
    python make_static.py
"""

import torch
import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as inductor
from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as xnnpack
from make_sets import Recorder
from torch import nn
from torch.export import Dim, export
from torch.nn import functional as F
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Images(nn.Module):
    """Residuals, channels by themselves, squeezing and exciting, pooling, two
    ways that meet."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        self.each = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.mix = nn.Conv2d(16, 16, 1)
        self.groups = nn.Conv2d(16, 24, 3, padding=1, groups=2)
        self.squeeze = nn.Conv2d(24, 8, 1)
        self.excite = nn.Conv2d(8, 24, 1)
        self.tall = nn.Conv2d(24, 20, (3, 1), padding=(1, 0))
        self.point = nn.Conv2d(24, 12, 1)
        self.last = nn.Conv2d(32, 16, 3)
        self.hidden = nn.Linear(16, 32)
        self.out = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.relu(x + self.mix(F.relu6(self.each(x))))
        x = F.hardswish(self.groups(F.max_pool2d(x, 2)))
        scale = x.mean((2, 3), keepdim=True)
        x = x * F.hardsigmoid(self.excite(F.relu(self.squeeze(scale))))
        x = torch.cat([F.relu(self.tall(x)), F.relu(self.point(x))], 1)
        x = F.adaptive_avg_pool2d(F.relu(self.last(x)), 1).flatten(1)
        return (self.out(F.gelu(self.hidden(x))),)


class Moves(nn.Module):
    """Channels that change places, larger and padded images, lines, and a
    transposed convolution."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 16, 3, padding=1)
        self.branch = nn.Conv2d(8, 8, 1)
        self.wide = nn.Conv2d(16, 16, 3, dilation=2)
        self.back = nn.ConvTranspose2d(16, 4, 2, stride=2)
        self.line = nn.Conv1d(4, 12, 3, padding=1)
        self.each = nn.Conv1d(12, 12, 5, stride=2, groups=12)

    def forward(self, x):
        x = F.relu(self.first(x))
        kept, x = x.chunk(2, 1)
        x = torch.cat([kept, F.relu(self.branch(x))], 1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        x = F.pad(F.interpolate(x, scale_factor=2.0), (1, 1, 0, 1))
        x = self.back(F.relu(self.wide(x)))
        line = F.max_pool2d(x, 2)[:, :, 0]
        return self.each(F.relu(self.line(line))), x


class Tokens(nn.Module):
    """Layers over rows."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(24)
        self.up = nn.Linear(24, 40)
        self.down = nn.Linear(40, 24, bias=False)
        self.out = nn.Linear(24, 6)

    def forward(self, x):
        x = x + self.down(F.silu(self.up(self.norm(x))))
        return self.out(x), torch.tanh(x)


def signed():
    config = xnnpack.get_symmetric_quantization_config(is_per_channel=True)
    return xnnpack.XNNPACKQuantizer().set_global(config)


def unsigned():
    config = inductor.get_default_x86_inductor_quantization_config()
    return inductor.X86InductorQuantizer().set_global(config)


def quantize(model, quantizer, calls, sizes):
    graph = export(model.eval(), calls[0], dynamic_shapes=sizes).module()
    graph = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        for call in calls:
            graph(*call)
    return convert_pt2e(graph)


class Method(nn.Module):
    """One quantised graph by the name of its method."""

    states = ()

    def __init__(self, name, graph):
        super().__init__()
        setattr(self, f"of_{name}", graph)  # weights of methods are apart
        setattr(self, name, lambda x: getattr(self, f"of_{name}")(x))

    def eval(self):
        return self  # graphs of PT2E have no such switch


def main():
    torch.manual_seed(5)
    count = Dim("n", min=2, max=4)
    models = {"images": (Images, (1, 3, 24, 24), None),
              "moves": (Moves, (2, 4, 6, 8), None),
              "tokens": (Tokens, (3, 5, 24), {0: count})}
    quantizers = {"signed": signed, "unsigned": unsigned}
    recorder = Recorder(nn.Module(), "static")
    for name, (model, shape, dynamic) in models.items():
        for kind, quantizer in quantizers.items():
            method = f"{name}_{kind}"
            calls = [(torch.randn(shape),) for _ in range(4)]
            sizes = None if dynamic is None else (dynamic,)
            graph = quantize(model(), quantizer(), calls, sizes)
            recorder.model = Method(method, graph)
            recorder.method(method, calls[0], sizes)
            recorder.call(method, calls[1][0])
            if dynamic is not None:
                recorder.call(method, torch.randn(2, *shape[1:]))
    recorder.write(1e-6)


if __name__ == "__main__":
    main()
