"""Writes the set `halves` of this folder: float16 and bfloat16 tensors with numbers
and scalar tensors that these types cannot hold. PyTorch rounds them in sums, but
not in products and quotients.

    pip install torch==2.13 safetensors
    python make_halves.py
"""

import torch
from make_sets import Recorder
from torch.export import Dim

NUMBER = 0.3


class Halves(torch.nn.Module):
    states = ()

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(NUMBER))
        self.register_buffer("count", torch.tensor(4099))

    def sums(self, x):
        return (x + NUMBER, NUMBER - x, x - self.scale, x + 4099)

    def products(self, x):
        return x * NUMBER, x * self.scale, x * self.count, (x * 0.7) * NUMBER

    def quotients(self, x):
        return (x / NUMBER, x / self.scale, NUMBER / x, x / 4099,
                torch.div(x, NUMBER, rounding_mode="floor"),
                torch.div(x, NUMBER, rounding_mode="trunc"), x // NUMBER)

    def blended(self, x):
        return (torch.lerp(x, x.flip(0), NUMBER),
                torch.addcmul(x, x, x, value=NUMBER),
                torch.addcdiv(x, x, x.abs() + 1, value=NUMBER))

    def limited(self, x):
        return (x.clamp(-NUMBER, 4099), torch.where(x > NUMBER, x, NUMBER),
                torch.maximum(x, self.scale), x.remainder(NUMBER))

    def mixed(self, x):
        return x[0, 0] * NUMBER, x[0, 0] / NUMBER, x[:1, :1] * NUMBER


def write_halves():
    recorder = Recorder(Halves(), "halves")
    rows = Dim("rows", min=2, max=9)
    for dtype, suffix in ((torch.float16, "f16"), (torch.bfloat16, "bf16")):
        for name in ("sums", "products", "quotients", "blended", "limited",
                     "mixed"):
            method = f"{name}_{suffix}"
            setattr(recorder.model, method, getattr(recorder.model, name))
            recorder.method(method, (torch.zeros(3, 17, dtype=dtype),),
                            ({0: rows},))
            for count in (3, 9, 2):
                x = torch.randn(count, 17) * 3
                x[0, 1] = NUMBER  # equal to the number once both are rounded
                recorder.call(method, x.to(dtype))
    recorder.write(0)


if __name__ == "__main__":
    torch.manual_seed(7)
    write_halves()
