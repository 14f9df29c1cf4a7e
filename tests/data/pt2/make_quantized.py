"""Writes the set `quantized` of this folder.

    pip install torch==2.13 executorch==1.5.1 safetensors
    python make_quantized.py
"""

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401
from make_sets import Recorder
from torch.export import Dim

Q = torch.ops.quantized_decomposed
I8 = torch.int8
IN, OUT = 32, 24


class Quantized(torch.nn.Module):
    """Weights of 8, 4 and 2 bits, and activations that are quantised as fixed
    beforehand, tensor by tensor and row by row."""

    states = ()

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.put("weight", torch.randint(-127, 128, (OUT, IN)).to(I8))
        self.put("scales", torch.rand(OUT) * 0.01 + 0.001)
        self.put("zeros", torch.zeros(OUT, dtype=torch.int64))
        self.put("shifts", torch.randint(-3, 4, (OUT,)))
        self.put("bias", torch.randn(OUT))
        self.put("bytes", torch.randint(-128, 128, (9, 8)).to(I8))
        self.put("halves", torch.randint(0, 256, (9, 4)).to(torch.uint8))
        self.put("quarters", torch.randint(0, 256, (9, 2)).to(torch.uint8))
        self.put("steps", torch.rand(9, 2) * 0.1 + 0.01)
        self.put("halfway", (torch.rand(9) * 0.1 + 0.01).half())

    def put(self, name, tensor):
        self.register_buffer(name, tensor)

    def whole(self, zeros):
        return Q.dequantize_per_channel(
            self.weight, self.scales, zeros, 0, -127, 127, I8
        )

    def embed(self, at):
        """Rows of tables, one of them with scales of another type."""
        return (
            Q.embedding_byte(self.bytes, self.steps, None, -128, 127, at),
            Q.embedding_4bit(self.halves, self.steps, self.steps, -8, 7, at),
            Q.embedding_2bit.dtype(
                self.quarters, self.halfway, None, -2, 1, at, dtype=torch.float32
            ),
        )

    def fixed(self, x):
        """As models are quantised for integer kernels."""
        x = Q.quantize_per_tensor(x, 0.03, -7, -128, 127, I8)
        x = Q.dequantize_per_tensor(x, 0.03, -7, -128, 127, I8)
        y = torch.nn.functional.linear(x, self.whole(self.zeros), self.bias)
        y = Q.quantize_per_tensor(torch.relu(y), 0.05, -128, -128, 127, I8)
        return Q.dequantize_per_tensor(y, 0.05, -128, -128, 127, I8), y

    def moving(self, x):
        """Ranges of the whole input, when it comes."""
        scale, zero = Q.choose_qparams.tensor(x, -128, 127, 1e-6, I8)
        q = Q.quantize_per_tensor.tensor(x, scale, zero, -128, 127, I8)
        x = Q.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, I8)
        shifted = torch.nn.functional.linear(x, self.whole(self.shifts))
        return q, shifted, x @ self.whole(None).T

    def tokens(self, x):
        """Ranges of each row."""
        scales, zeros = Q.choose_qparams_per_token_asymmetric(x, I8)
        q = Q.quantize_per_token(x, scales, zeros, -128, 127, I8)
        x = Q.dequantize_per_token(
            q, scales, zeros, -128, 127, I8, torch.float32
        )
        return q, torch.nn.functional.linear(x, self.whole(self.zeros))

    def channels(self, x):
        """Quantised along a dimension that is not the first."""
        x = x[:, :OUT]
        scales = self.scales.double() + 0.02
        q = Q.quantize_per_channel(x, scales, self.shifts, 1, -128, 127, I8)
        return q, Q.dequantize_per_channel(
            q, scales, self.shifts, -1, -128, 127, I8
        )

    def attend(self, query, key, value):
        """The query stands at row 3 of a cache."""
        return (
            torch.ops.llama.custom_sdpa(query, key, value, 3, None, 0.0, True),
        )


def main():
    recorder = Recorder(Quantized(), "quantized")
    rows = Dim("n", min=1, max=8)
    recorder.method("embed", (torch.zeros(3, dtype=torch.int64),), ({0: rows},))
    for name in ("fixed", "moving", "tokens", "channels"):
        recorder.method(name, (torch.randn(3, IN),), ({0: rows},))
    heads = [torch.randn(2, n, h, 8) for n, h in ((2, 4), (6, 2), (6, 2))]
    recorder.method("attend", tuple(heads))
    torch.manual_seed(5)
    recorder.call("embed", torch.tensor([0, 8, 3, 3]))
    for name in ("fixed", "moving", "tokens", "channels"):
        for count in (3, 8, 1):
            recorder.call(name, torch.randn(count, IN))
    recorder.call("attend", *heads)
    recorder.write(2e-5)


if __name__ == "__main__":
    main()
