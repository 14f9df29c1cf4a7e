"""Attention of one token over caches of float32, float16, bfloat16 and int8.

    python bench/cache_types.py [--lengths 2048 8192 32768] [--heads 4] [--shared 8]

Eight query heads share each of four heads of 64 elements, as in Llama 3; with
`--heads 8 --shared 1` each has its own, as in GPT-2. Queries are float32, and
int8 is the float32 model planned with kv="int8". The programs run in turns; time
is that of the processor. The difference to PyTorch's result over the same caches
is printed beside it.
"""

import argparse
import os
import statistics
import tempfile
import time

import etx
import numpy
import torch

TYPES = {
    "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
    "int8": torch.float32,
}
WIDTH = 64


class Cached(torch.nn.Module):
    def __init__(self, heads, length, dtype):
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, length, WIDTH, dtype=dtype))

    def fill(self, keys, values):
        self.keys.copy_(keys.to(self.keys.dtype))
        self.values.copy_(values.to(self.values.dtype))
        return keys.sum()

    def decode(self, query):
        keys, values = self.keys.to(torch.float32), self.values.to(torch.float32)
        return torch.nn.functional.scaled_dot_product_attention(query, keys, values, enable_gqa=True)


def rounded(rows):
    factor = rows.abs().amax(-1, keepdim=True) / 127
    return torch.round(rows / factor) * factor


def opened(length, name, rows, query):
    module = Cached(rows[0].shape[1], length, TYPES[name])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pte")
        exported = etx.export(module, {"fill": rows, "decode": (query,)})
        exported.plan(path, kv="int8" if name == "int8" else None)
        session = etx.load(path).session()
    session.fill(*(part.numpy() for part in rows))
    module.fill(*map(rounded, rows) if name == "int8" else rows)
    wanted = module.decode(query).numpy()
    found = session.decode(query.numpy())
    return session, float(numpy.abs(found - wanted).max() / numpy.abs(wanted).max())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="*", default=[2048, 8192, 32768])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--shared", type=int, default=8)
    options = parser.parse_args()
    print("| keys | type | ms | times as fast | difference |\n|---|---|---|---|---|")
    for length in options.lengths:
        generator = torch.Generator().manual_seed(1)
        heads = options.heads
        rows = tuple(torch.randn(1, heads, length, WIDTH, generator=generator) for _ in range(2))
        query = torch.randn(1, heads * options.shared, 1, WIDTH, generator=generator)
        sessions = {name: opened(length, name, rows, query) for name in TYPES}
        calls = max(1, 65536 // length)
        times = {name: [] for name in TYPES}
        for _ in range(options.rounds):
            for name, (session, _) in sessions.items():
                start = time.process_time()
                for _ in range(calls):
                    session.decode(query.numpy())
                times[name].append((time.process_time() - start) / calls)
        for name, (_, difference) in sessions.items():
            ratios = [a / b for a, b in zip(times["float32"], times[name])]
            print(f"| {length} | {name} | {1e3 * statistics.median(times[name]):.3f} | "
                  f"{statistics.median(ratios):.2f} | {difference:.1e} |")


if __name__ == "__main__":
    main()
