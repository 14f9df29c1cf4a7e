#!/usr/bin/env python3
"""Calls of operators whose results have sizes that depend on elements, and of
operators that such models use, with PyTorch's results.

    random_by_data.py TARGET [--seed N] [--count N] [--only PART]

Writes TARGET/<operator>.jsonl and .safetensors in the format of
tests/data/ops/README.md: no element, one, many, duplicates, NaN, several types
and layouts. A call that PyTorch refuses becomes an error case. Operators of
torchvision are left out if it is not installed; --torchvision names its library
_C.so if it cannot be imported.

tests/data/ops/by_data holds what `--seed 1 --count 24` writes.
"""

import argparse
import math
import os

import torch

from random_calls import (ALL, BF16, BOOL, F16, F32, F64, I8, I16, I32, I64,
                          INTS, U8, Cases, Draw, Skip, encode, generate,
                          layout)

SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0]


class ByDataDraw(Draw):
    def few_values(self, shape, dtype):
        """Many duplicates; floats with NaN and both zeros, now and then."""
        if dtype == BOOL:
            return torch.rand(shape, generator=self.torch) < self.pick(
                [0.5, 0.0, 1.0])
        most = self.pick([1, 3, 8, 100])
        low = 0 if dtype == U8 else -most
        t = torch.randint(low, most + 1, shape, generator=self.torch)
        t = t.to(dtype)
        if dtype == I64 and self.chance(0.2):
            t = t * (2**55 + 1)
        if t.is_floating_point():
            t = t / self.pick([1, 4])
            if t.numel() and self.chance(0.4):
                for _ in range(self.int(1, 4)):
                    t.view(-1)[self.int(0, t.numel() - 1)] = self.pick(SPECIAL)
        return t

    def vector(self, dtype, most=200):
        count = self.pick([0, 1, 2, 3, self.int(4, 20), self.int(20, most)])
        return self.lay(self.few_values([count], dtype))


# ------------------------------------------------ arguments

def unique2(d):
    dtype = d.pick(ALL)
    x = d.lay(d.few_values(d.shape(0, 3), dtype))
    if x.is_floating_point() and x.numel() > 16 and x.isnan().sum() > 1:
        raise Skip  # PyTorch's sort then does not keep the order of NaN
    return [x, d.chance(0.7), d.chance(0.6), d.chance(0.6)], {}


def has_ordered_slices(x):
    """PyTorch's sort of slices has no defined order if there is NaN."""
    return not (x.is_floating_point() and x.isnan().any())


def unique_dim(d):
    x = d.lay(d.few_values(d.shape(0 if d.chance(0.1) else 1, 3, 5, 30),
                           d.pick(ALL)))
    if not has_ordered_slices(x):
        raise Skip
    return [x, d.dim(x.dim()), d.chance(0.5), d.chance(0.5),
            d.chance(0.5)], {}


def unique_consecutive(d):
    x = d.few_values(d.shape(0, 3), d.pick(ALL))
    if x.dim() == 1 and d.chance(0.6):
        x = x.sort().values
    x = d.lay(x)
    dim = None if d.chance(0.5) else d.dim(x.dim())
    return [x, d.chance(0.6), d.chance(0.6), dim], {}


def bincount(d):
    x = d.vector(d.pick([*INTS, BOOL] if d.chance(0.1) else INTS))
    if x.dtype != BOOL and x.dtype != U8 and d.chance(0.9):
        x = x.clamp(min=0) if x.dtype != I64 else x.clamp(0, 300)
    weights = None
    if d.chance(0.5):
        weights = d.lay(d.values([x.numel() + (1 if d.chance(0.05) else 0)],
                                 d.pick(ALL)))
        if x.numel() == 0:
            raise Skip  # PyTorch then ignores the type of the weights
    return [x, weights, d.pick([0, 0, 1, 7, 300, -1 if d.chance(0.2) else 2]
                               )], {}


def histc(d):
    dtype = d.pick([F32, F32, F64, I64] if d.chance(0.1) else [F32, F64])
    x = d.lay(d.few_values(d.shape(0, 3), dtype))
    least, most = d.pick([(0, 0), (0, 3), (-1.5, 2.5), (0.1, 0.7), (2, 2),
                          (3, 0) if d.chance(0.2) else (-100, 100)])
    return [x, d.pick([1, 3, 4, 10, 100, 0 if d.chance(0.1) else 7]), least,
            most], {}


def nonzero_static(d):
    x = d.lay(d.few_values(d.shape(0, 3), d.pick(ALL)))
    size = d.pick([0, 1, 3, d.int(0, 40), -1 if d.chance(0.1) else 5])
    return [x], {"size": size, "fill_value": d.pick([-1, -1, 0, 7])}


def running_extreme(d):
    x = d.lay(d.few_values(d.shape(0, 3), d.pick(ALL)))
    dim, limit = d.dim(x.dim()), max(x.dim(), 1)
    if x.numel() == 0 and not -limit <= dim < limit:
        raise Skip  # PyTorch then does not look at the dimension
    return [x, dim], {}


def boxes(d, count, dtype, most=20.0):
    corners = torch.rand([count, 2], generator=d.torch, dtype=F64) * most
    sizes = torch.rand([count, 2], generator=d.torch, dtype=F64) * most / 2
    both = torch.cat([corners, corners + sizes], 1)
    if d.chance(0.3):
        both = both.round()
    if count and d.chance(0.2):
        both[d.int(0, count - 1)] = both[d.int(0, count - 1)].clone()
    if count and d.chance(0.15):
        both[d.int(0, count - 1), d.int(0, 3)] = d.pick(SPECIAL)
    return both.to(dtype)


def nms(d):
    dtype = d.pick([F32, F32, F64])
    count = d.pick([0, 1, 2, d.int(3, 20), d.int(20, 150)])
    scores = torch.rand([count], generator=d.torch, dtype=F64).to(dtype)
    if d.chance(0.4):
        scores = (scores * 8).round() / 8  # ties
    if count and d.chance(0.15):
        scores[d.int(0, count - 1)] = d.pick(SPECIAL)
    if d.chance(0.05):
        scores = scores.to(F64 if dtype == F32 else F32)
    return [d.lay(boxes(d, count, dtype)), d.lay(scores),
            d.pick([0.0, 0.1, 0.3, 0.5, 0.5, 0.7, 1.0])], {}


def roi_align(d):
    dtype = d.pick([F32, F32, F64])
    images, rows, columns = d.int(1, 2), d.int(1, 9), d.int(1, 9)
    x = d.values([images, d.pick([1, 3, 3, 66]), rows, columns], dtype)
    count = d.pick([0, 1, 2, 5])
    regions = boxes(d, count, dtype, 10.0)
    if not regions.isfinite().all():
        raise Skip  # torchvision converts NaN to an integer
    if d.chance(0.2):
        regions = regions[:, [2, 3, 0, 1]]  # negative sizes
    batch = torch.randint(0, images, [count, 1], generator=d.torch)
    regions = torch.cat([batch.to(dtype), regions], 1)
    return [d.lay(x), d.lay(regions), d.pick([1.0, 0.5, 0.25]), d.int(1, 4),
            d.int(1, 4), d.pick([-1, 0, 1, 2, 3]), d.chance(0.5)], {}


OPERATORS = {
    "aten::_unique2": unique2,
    "aten::unique_dim": unique_dim,
    "aten::unique_consecutive": unique_consecutive,
    "aten::bincount": bincount,
    "aten::histc": histc,
    "aten::nonzero_static": nonzero_static,
    "aten::cummax": running_extreme,
    "aten::cummin": running_extreme,
}
TORCHVISION = {"torchvision::nms": nms, "torchvision::roi_align": roi_align}


# ------------------------------------------------ cases

def outputs_of(op):
    """The names of the out arguments."""
    if op.startswith("torchvision"):
        return ["out"]
    schema = getattr(torch.ops.aten, op.partition("::")[2]).out._schema
    return [a.name for a in schema.arguments if a.is_out]


class ByDataCases(Cases):
    def one_more(self, make, draw):
        given, named = make(draw)
        space, _, name = self.op.partition("::")
        form = getattr(getattr(torch.ops, space), name).default
        arguments = [*zip((a.name for a in form._schema.arguments),
                          [*given, *named.values()])]
        case = {"id": f"{name}#b{len(self.writer.cases):03d}",
                "op": self.op + ".out",
                "args": [encode(self.writer, key, value, ordered=True,
                                real=key in ("iou_threshold", "spatial_scale"))
                         for key, value in arguments]}
        try:
            results = form(*given, **named)
        except (RuntimeError, IndexError, ValueError) as error:
            if "std::vector" in str(error):
                raise Skip from error  # roi_align of negative sizes
            case.update(expect="error", reason=str(error).split("\n")[0][:80])
            self.writer.cases.append(case)
            return
        results = results if isinstance(results, tuple) else (results,)
        # PyTorch does not say which of equal zeros it keeps.
        case.update(expect="ok", atol=0.0, rtol=0.0, zero_sign="any", outs=[
            {"name": key, "t": self.writer.put(value)}
            for key, value in zip(outputs_of(self.op), results)])
        self.writer.cases.append(case)


def command_line():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", help="directory of the files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24,
                        help="cases of each operator")
    parser.add_argument("--only", default="", metavar="PART",
                        help="operators whose name contains it")
    parser.add_argument("--torchvision", metavar="FILE",
                        help="the library of torchvision's operators")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.torchvision:
        torch.ops.load_library(options.torchvision)
    return options


if __name__ == "__main__":
    chosen = command_line()
    known = hasattr(torch.ops.torchvision, "nms")
    generate(chosen, {**OPERATORS, **(TORCHVISION if known else {})},
             ByDataCases, ByDataDraw)
