"""Elementwise operators, several per model."""

import torch
import torch.nn.functional as F
from torch import nn

from model_list import Method, Model, ints, model, rand


def simple(function, *args, **options):
    """A model of one function without state."""

    class Fixed(nn.Module):
        pass

    # torch.export reads the names of arguments, so each count has a class.
    names = ", ".join(f"x{i}" for i in range(len(args)))
    scope = {"function": function}
    exec(f"def forward(self, {names}):\n  return function({names})", scope)
    Fixed.forward = scope["forward"]
    return Model(Fixed(), {"forward": Method(args)}, **options)


@model("arithmetic with broadcasting")
def arithmetic():
    return simple(
        lambda a, b: (a + b, a - 2 * b, a * b, a / (b * b + 1), 3 - a,
                      torch.add(a, b, alpha=0.5), a.neg(), a.abs()),
        rand(2, 1, 4), rand(3, 1))


@model("comparisons and logic")
def comparisons():
    return simple(
        lambda a, b, m: (a < b, a >= 0.25, a == b, a != 1, a <= b, a > b,
                         (a > 0) & m, (a > 0) | m, (a > 0) ^ m, ~m,
                         torch.logical_and(a, m), torch.isnan(a),
                         torch.isinf(a)),
        torch.tensor([[0.25, 1.0, float("nan")], [-2.0, float("inf"), 0.0]]),
        torch.tensor([0.25, 2.0, 1.0]), torch.tensor([True, False, True]))


@model("unary functions")
def functions():
    return simple(
        lambda a, p: (a.exp(), p.log(), p.sqrt(), p.rsqrt(), a.sin(), a.cos(),
                      a.tanh(), a.sigmoid(), a.erf(), a.atan(), a.floor(),
                      a.ceil(), a.round(), a.trunc(), p.reciprocal(),
                      a.expm1(), p.log1p(), a.sign(), p.log2(), p.log10(),
                      a.sinh(), a.cosh(), a.tan(), a.pow(2), p.pow(0.3),
                      torch.asin(a.tanh()), torch.acos(a.tanh())),
        rand(3, 5), rand(4, 3).abs() + 0.1)


@model("activations")
def activations():
    return simple(
        lambda a: (F.relu(a), F.gelu(a), F.gelu(a, approximate="tanh"),
                   F.silu(a), F.leaky_relu(a, 0.1), F.elu(a), F.hardtanh(a),
                   F.hardswish(a), F.hardsigmoid(a), F.softplus(a), F.mish(a),
                   F.relu6(a), F.logsigmoid(a), F.glu(a), F.selu(a)),
        rand(3, 6))


@model("integers")
def integers():
    return simple(
        lambda a, b: (a + b, a * b, a // 3, a % 5, torch.remainder(a, b),
                      torch.div(a, b, rounding_mode="trunc"), a & b, a | b,
                      a ^ b, ~a, a.abs(), torch.maximum(a, b),
                      torch.minimum(a, b),
                      torch.bitwise_and(a, 6)),
        torch.tensor([-7, 7, 2147483647, -2147483648, 5], dtype=torch.int32),
        torch.tensor([3, -3, 2, 7, 5], dtype=torch.int32),
        defects={("stock", "stock"): "division and remainder of negative "
                 "integers round towards zero; large integers are divided as "
                 "floats"})


@model("alpha with one element on the left")
def alpha():
    return simple(
        lambda a, b: (torch.add(b, a, alpha=2.0), torch.add(2.5, a, alpha=3.0),
                      torch.baddbmm(torch.zeros(2, 4, 4), a, a, alpha=0.5),
                      torch.sub(b, a, alpha=2.0)),
        rand(2, 4, 4), rand(1),
        defects={("stock", "stock"): "alpha scales the left argument if it "
                 "has one element"})


@model("half precision")
def half():
    return simple(
        lambda a, b: (a + b, a * b, a.exp(), a.sigmoid(), a.sum(-1),
                      a.float() @ b.float().t()),
        rand(3, 4, dtype=torch.float16), rand(3, 4, dtype=torch.float16),
        tolerance=2e-3)


@model("bfloat16")
def brain():
    return simple(
        lambda a, b: (a + b, a * b, F.relu(a), a.mean(-1), a @ b.t()),
        rand(3, 4, dtype=torch.bfloat16), rand(3, 4, dtype=torch.bfloat16),
        tolerance=2e-2)


@model("double precision")
def double():
    return simple(
        lambda a, b: (a + b, a @ b.t(), a.exp(), a.mean(), F.softmax(a, -1)),
        rand(3, 4, dtype=torch.float64), rand(3, 4, dtype=torch.float64),
        tolerance=1e-12)


@model("where and clamp")
def choices():
    return simple(
        lambda a, b, m: (torch.where(m, a, b), a.clamp(-0.5, 0.5),
                         a.clamp(min=0.1), a.masked_fill(m, -1.0),
                         torch.where(a > 0, a, 0.0), a.clamp(b - 1, b),
                         torch.maximum(a, b), torch.fmod(a, 0.3)),
        rand(2, 3), rand(2, 3), torch.tensor([[True, False, True]]))


@model("casts")
def casts():
    return simple(
        lambda a, i: (a.to(torch.int32), i.float(), a.bool(), i.to(torch.int8),
                      a.double(), i.half(), a.to(torch.bfloat16).float(),
                      i.bool(), a.to(torch.uint8), i + a, i / 2),
        rand(2, 3).abs() * 4, ints(2, 3, low=-9, high=9))


@model("tensor creation")
def created():
    return simple(
        lambda a: (torch.zeros_like(a), torch.full((2, 3), 7.5),
                   torch.arange(5), torch.arange(1.0, 3.0, 0.5),
                   torch.ones(2, dtype=torch.int32), a.new_full((3,), 2.0),
                   torch.full_like(a, 4), torch.tril(a), torch.triu(a, 1),
                   torch.eye(3), torch.linspace(0, 1, 5)),
        rand(3, 3))


@model("operator aliases")
def aliases():
    return simple(
        lambda a, b: (torch.multiply(a, b), torch.subtract(a, b, alpha=2),
                      torch.divide(a, b), torch.true_divide(a, 3),
                      torch.divide(a, b, rounding_mode="floor"),
                      torch.greater(a, b), torch.less_equal(a, 0.5),
                      torch.not_equal(a, b), torch.absolute(a),
                      torch.negative(a), torch.fix(a), torch.arctan(a),
                      torch.arctan2(a, b), torch.special.expit(a),
                      torch.special.erf(a), torch.clip(a, b - 1, b),
                      torch.clamp_min(a, b), torch.concat([a, b]),
                      F.hardshrink(a), F.softshrink(a, 0.25), torch.frac(a)),
        rand(3, 4), rand(3, 4))
