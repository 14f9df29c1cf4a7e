"""Caches in random models, against eager PyTorch.

    python tests/models/check_caches.py ETX [--models N] [--seed N]

Each model has attention over caches of random sizes and layouts. Some write rows beyond
the capacity, which `overflow: ring` takes modulo the capacity. Others drop the first row
and append one, by roll or by cat, which `overflow: slide` turns into a ring. They are
called one row at a time until every row was overwritten twice. In the rest a call appends
any number of rows, to caches of half types too and with windows, by a method for several
rows and one for a single row; calls for which there is no room must be refused and change
nothing. All are exported in both forms, planned and proved. The plan must have no copy of
a cache: a step moves the new rows alone.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch.export import Dim

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "data", "pt2"))
from make_sets import Recorder  # noqa: E402

warnings.filterwarnings("ignore")


class Layer(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        kv = d["kv_heads"] * d["head"]
        self.q = torch.nn.Linear(d["width"], d["heads"] * d["head"])
        self.kv = torch.nn.Linear(d["width"], 2 * kv)
        self.out = torch.nn.Linear(d["heads"] * d["head"], d["width"])
        shape = [d["batch"], d["kv_heads"], d["head"]]
        shape.insert(d["dim"], d["capacity"])
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(shape, dtype=getattr(torch, d["dtype"])))

    def append(self, cache, row, position):
        d = self.d
        if d["kind"] == "rows":
            cache.index_copy_(d["dim"], position, row.to(cache.dtype))
        elif d["kind"] == "ring":
            index = position if torch.compiler.is_exporting() else position % d["capacity"]
            cache.index_copy_(d["dim"], index, row)
        elif d["kind"] == "roll":
            rolled = cache.roll(-1, dims=d["dim"])
            last = torch.tensor([-1])
            rolled[(slice(None),) * d["dim"] + (last,)] = row
            cache.copy_(rolled)
        else:
            rest = cache.narrow(d["dim"], 1, d["capacity"] - 1)
            cache.copy_(torch.cat((rest, row), d["dim"]))

    def forward(self, x, position):
        d = self.d
        shape = (d["batch"], x.shape[1], -1, d["head"])
        q = self.q(x).view(shape).transpose(1, 2)
        rows = [t.reshape(shape) for t in self.kv(x).chunk(2, -1)]
        if d["dim"] == 2:
            rows = [t.transpose(1, 2) for t in rows]
        self.append(self.keys, rows[0], position)
        self.append(self.values, rows[1], position)
        k, v = self.keys.to(x.dtype), self.values.to(x.dtype)
        if d["dim"] == 1:
            k, v = k.transpose(1, 2), v.transpose(1, 2)
        seen = self.seen(torch.arange(d["capacity"]), position)[None, None]
        mask = seen if d["is_bool"] else torch.where(seen, 0.0, -torch.inf)
        y = F.scaled_dot_product_attention(
            q, k, v, mask, enable_gqa=d["heads"] != d["kv_heads"])
        return x + self.out(y.transpose(1, 2).reshape(d["batch"], x.shape[1], -1))

    def seen(self, place, position):
        """Which rows each new row attends to."""
        d = self.d
        if d["kind"] == "rows":
            ages = position[:, None] - place
            return (ages >= 0) & (ages < d["window"])
        if d["kind"] == "ring":
            return (place <= position)[None]
        return (place >= d["capacity"] - 1 - position)[None]


class Model(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.states = ["position", *(f"layers.{i}.{name}" for i in range(d["layers"])
                                     for name in ("keys", "values"))]
        self.layers = torch.nn.ModuleList(Layer(d) for _ in range(d["layers"]))
        self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

    def step(self, x):
        for layer in self.layers:
            x = layer(x, self.position)
        self.position.add_(1)
        return (x,)

    def several(self, x):
        position = self.position + torch.arange(x.shape[1])
        for layer in self.layers:
            x = layer(x, position)
        self.position.add_(x.shape[1])
        return (x,)

    def __getattr__(self, name):
        return self.get_buffer(name) if "." in name else super().__getattr__(name)


def expect_rings(recorder, dim, capacity):
    """Turns the caches of eager PyTorch, whose oldest row is the first, into rings."""
    for key, cache in recorder.tensors.items():
        if key.endswith((".keys", ".values")):
            position = int(recorder.tensors[key.split(".")[0] + ".position"])
            recorder.tensors[key] = cache.roll(position % capacity, dim).contiguous()


def draw_sizes(draw):
    kv_heads = draw.randint(1, 3)
    kind = draw.choice(("ring", "roll", "cat", "rows", "rows"))
    capacity = draw.randint(2, 17)
    return {"kind": kind, "kv_heads": kv_heads, "heads": kv_heads * draw.randint(1, 3),
            "head": draw.choice((2, 4, 8)), "width": draw.choice((4, 6, 16)),
            "batch": draw.randint(1, 2), "dim": draw.randint(1, 2),
            "capacity": capacity, "window": draw.choice((capacity, draw.randint(1, capacity))),
            "dtype": draw.choice(("float32", "float16", "bfloat16") if kind == "rows"
                                 else ("float32",)),
            "layers": draw.randint(1, 2),
            "is_bool": draw.random() < 0.5}


def call_with_rows(recorder, sizes, draw):
    """Calls that append some rows until there is no room for a single one."""
    def rows(count):
        return torch.randn(sizes["batch"], count, sizes["width"])

    count = Dim("count", min=1, max=sizes["capacity"])
    recorder.method("several", (rows(2),), ({1: count},))
    recorder.method("step", (rows(1),))
    room = sizes["capacity"]
    while room > 0 or draw.random() < 0.7:
        number = draw.choice((1, 1, draw.randint(1, sizes["capacity"])))
        name = "step" if number == 1 and draw.random() < 0.5 else "several"
        if number <= room:
            recorder.call(name, rows(number))
            room -= number
        else:
            recorder.refuse(name, rows(number))


def moves_old_rows(report):
    """True if a copy in the plan's report is of a cache, or is made in each step. A call of
    several rows may repeat elements of the new rows."""
    copies = report.split("copies that remain")[1].split("total:")[0]
    return any(word in copies for word in (".keys", ".values", "step:"))


def check_model(etx, sizes, folder, draw):
    """The texts of what differs."""
    recorder = Recorder(Model(sizes), folder)
    if sizes["kind"] == "rows":
        call_with_rows(recorder, sizes, draw)
    else:
        x = torch.randn(sizes["batch"], 1, sizes["width"])
        recorder.method("step", (x,))
        for _ in range(3 * sizes["capacity"] + 2):
            recorder.call("step", torch.randn_like(x))
    slid = dict(recorder.tensors)
    overflow = {"ring": "ring", "rows": "error"}.get(sizes["kind"], "slide")
    problems = []
    for form in ("", "core"):
        methods, file = os.path.join(folder, form), os.path.join(folder, "model.pte")
        with open(os.path.join(methods, "program.yaml"), "w") as out:
            out.write(f"caches: {{layers: {{dim: {sizes['dim']}, length: position, "
                      f"overflow: {overflow}}}}}\n")
        plan = subprocess.run([etx, "plan", methods, "-o", file], capture_output=True, text=True)
        if plan.returncode != 0:
            problems.append(plan.stderr)
            continue
        if moves_old_rows(plan.stdout):
            problems.append(form + " moves more than the new rows:\n" + plan.stdout)
        recorder.tensors = dict(slid)
        if f"{2 * sizes['layers']} sliding cache" in plan.stdout:
            expect_rings(recorder, sizes["dim"], sizes["capacity"])
        elif overflow == "slide":
            problems.append(form + " keeps a cache that slides:\n" + plan.stdout)
        recorder.write(2e-5)
        for command in (["verify", file], ["run", file, "--case", folder]):
            done = subprocess.run([etx, *command], capture_output=True, text=True)
            if done.returncode != 0:
                problems.append(f"{form} etx {command[0]}: {done.stdout}{done.stderr}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("etx")
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = 0
    for number in range(options.models):
        seed = options.seed + number
        torch.manual_seed(seed)
        draw = random.Random(seed)
        sizes = draw_sizes(draw)
        with tempfile.TemporaryDirectory() as folder:
            problems = check_model(options.etx, sizes, folder, draw)
        failed += bool(problems)
        for problem in problems:
            print(f"model {seed}, {sizes}: {problem}")
    print(f"{options.models} models, {failed} with differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
