#!/usr/bin/env python3
"""One method with variants beside methods that were planned for single lengths.

    variant_time.py ETX DIRECTORY [--lengths N...] [--width N] [--layers N]
                    [--repeats N] [--seconds X] [--threads N]

Exports `forward(ids, start)` of a Llama-shaped model with caches of 512 rows
for lengths from 1 to 512, and once more for each length alone, to DIRECTORY;
what is there is not exported again. Plans the first with a variant for length
1 and a budget for second layouts of weights, the others with --pack, and runs
both in turns at each length (`etx bench --compare`). Prints the median of the
ratios of the repeats, and the bytes of the files. Needs torch.
"""

import argparse
import json
import os
import statistics
import subprocess

ROWS, HEAD, WORDS = 512, 64, 4096


def make_model(width, layers):
    import torch
    from torch import nn
    from torch.nn import functional

    heads, inner = width // HEAD, 11 * width // 4
    groups = heads // 2

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
            return x * scale * self.weight

    def layer(inputs, outputs):
        return nn.Linear(inputs, outputs, bias=False)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = Norm(), Norm()
            self.q = layer(width, width)
            self.k = layer(width, groups * HEAD)
            self.v = layer(width, groups * HEAD)
            self.o = layer(width, width)
            self.gate, self.up = layer(width, inner), layer(width, inner)
            self.down = layer(inner, width)
            for name in ("keys", "values"):
                self.register_buffer(name, torch.zeros(1, groups, ROWS, HEAD))

        def forward(self, x, at, turn, seen):
            def split(y, count):
                return y.view(1, y.shape[1], count, HEAD).transpose(1, 2)

            y = self.before(x)
            self.keys.index_copy_(2, at, turn(split(self.k(y), groups)))
            self.values.index_copy_(2, at, split(self.v(y), groups))
            mixed = functional.scaled_dot_product_attention(
                turn(split(self.q(y), heads)),
                self.keys.repeat_interleave(2, 1),
                self.values.repeat_interleave(2, 1), attn_mask=seen)
            x = x + self.o(mixed.transpose(1, 2).reshape(1, -1, width))
            y = self.between(x)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Llama(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(WORDS, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = Norm(), layer(width, WORDS)
            rates = 500000.0 ** (-torch.arange(0, HEAD, 2).float() / HEAD)
            angles = torch.arange(ROWS).float()[:, None] * rates
            angles = torch.cat([angles, angles], 1)
            self.register_buffer("cosines", angles.cos())
            self.register_buffer("sines", angles.sin())
            self.register_buffer("places", torch.arange(ROWS))

        def forward(self, ids, start):
            at = start + torch.arange(ids.shape[1])
            cosine, sine = self.cosines[at], self.sines[at]

            def turn(x):
                first, second = x.chunk(2, -1)
                return x * cosine + torch.cat([-second, first], -1) * sine

            seen = (self.places[None, :] <= at[:, None])[None, None]
            x = self.table(ids)
            for block in self.blocks:
                x = block(x, at, turn, seen)
            return self.head(self.norm(x[:, -1:]))

    torch.manual_seed(0)
    return Llama().eval()


def export(root, width, layers, lengths):
    """Directories of the method for all lengths (0) and for each one."""
    paths = {length: os.path.join(root, f"{width}-{layers}-{length or 'all'}")
             for length in [0, *lengths]}
    missing = {length: path for length, path in paths.items()
               if not os.path.exists(os.path.join(path, "forward.pt2"))}
    if not missing:
        return paths
    import torch
    model = make_model(width, layers)
    for length, path in missing.items():
        shapes = None if length else (
            {1: torch.export.Dim("length", min=1, max=ROWS)}, {})
        inputs = torch.randint(0, WORDS, (1, length or 33)), torch.tensor([0])
        with torch.no_grad():
            program = torch.export.export(model, inputs, strict=False,
                                          dynamic_shapes=shapes)
        os.makedirs(path, exist_ok=True)
        torch.export.save(program, os.path.join(path, "forward.pt2"))
    return paths


def run(*words):
    return subprocess.run(words, check=True, text=True,
                          capture_output=True).stdout


def plan(etx, directory, name, *options):
    path = os.path.join(directory, name)
    run(etx, "plan", directory, "-o", path, "-q", *options)
    return path, os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("directory")
    parser.add_argument("--lengths", type=int, nargs="+",
                        default=[1, 16, 64, 256])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    words = parser.parse_args()
    paths = export(words.directory, words.width, words.layers, words.lengths)
    every, one = paths.pop(0), "ids[1]=1"
    _, plain = plan(words.etx, every, "plain.pte", "--pack")
    _, without = plan(words.etx, every, "variants.pte", "--pack",
                      "--specialize", one)
    program, budget = plan(words.etx, every, "budget.pte", "--specialize", one,
                           "--pack-budget", "4G")
    print(f"bytes: {plain}; with the variant {without}, {without / plain:.3f}; "
          f"with second layouts {budget}, {budget / plain:.3f}")
    for length, path in paths.items():
        apart, _ = plan(words.etx, path, "apart.pte", "--pack")
        rows = [json.loads(run(
            words.etx, "bench", "--compare", apart, program, "--method",
            "forward", "--threads", str(words.threads), "--seconds",
            str(words.seconds), "--dim", f"ids[1]={length}", "--json"))[0]
            for _ in range(words.repeats)]
        print(f"length {length}: ratio "
              f"{statistics.median(row['ratio'] for row in rows):.3f}, "
              f"{1e3 * min(row['file']['least'] for row in rows):.2f} ms apart,"
              f" {1e3 * min(row['other']['least'] for row in rows):.2f} ms",
              flush=True)


if __name__ == "__main__":
    main()
