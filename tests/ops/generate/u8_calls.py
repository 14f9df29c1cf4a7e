"""Calls of image operators and layers on quantised uint8 tensors. Sums are
computed by the same formula in float64, which is exact; the steps after them are
computed in float32. Results are compared exactly.

c: the cases of an operator, d: the random draws (see quantizing_calls.py).
"""

import torch
from torch.nn.functional import conv2d, linear, max_pool2d, pad

from random_calls import F32, I8, I32, I64, U8


def panels_of(weight, groups):
    """[O, I, kernel ..] as panels of sixteen output channels of a group."""
    own = weight.movedim(1, -1).reshape(groups, weight.shape[0] // groups, -1)
    count, inner = -(-own.shape[1] // 16), -(-own.shape[2] // 4)
    whole = torch.zeros([groups, count * 16, inner * 4], dtype=I8)
    whole[:, :own.shape[1], :own.shape[2]] = own
    whole = whole.reshape(groups * count, 16, inner, 4)
    return whole.transpose(1, 2).contiguous()


class Result:
    """What becomes of the sums of a call."""

    def __init__(self, d, weight, zero):
        channels, terms = weight.shape[0], weight[0].numel()
        self.offsets = (-zero * weight.flatten(1).sum(1, dtype=I64)).to(I32)
        if d.chance(0.3):
            self.offsets = d.whole([channels], -9999, 9999, I32)
        spread = 300 / (4096 * terms**0.5)
        self.scales = d.uniform([channels], spread / 9, spread)
        if d.chance(0.25):
            self.scales.fill_(0.5)  # ties
        self.bias = d.uniform([channels], -9, 9) if d.chance(0.5) else None
        self.zero = d.pick([0, 128, d.int(0, 255)])
        self.low = d.pick([0, 0, d.int(0, 100), self.zero])
        self.high = d.pick([255, 255, d.int(self.low, 255)])
        self.dtype = d.pick([U8, U8, F32])

    def channels(self):
        return dict(offsets=self.offsets, scales=self.scales, bias=self.bias)

    def rest(self):
        return dict(out_zero_point=self.zero, out_min=self.low,
                    out_max=self.high, dtype=self.dtype)

    def of(self, f):
        if self.dtype == F32:
            return f
        f = torch.round(f).double() + self.zero
        return f.clamp(self.low, self.high).to(U8)

    def of_sums(self, sums):
        """Of exact sums [.., channels]."""
        f = (sums + self.offsets.double()).to(F32) * self.scales
        return self.of(f if self.bias is None else f + self.bias)


def spoil(d, arguments, ways):
    """Some calls have an argument that is refused. True if this one has."""
    if not d.chance(0.1):
        return False
    name, value = d.pick(ways)
    arguments[name] = value
    return True


WAYS = [("out_zero_point", 256), ("out_min", -1), ("out_max", 256),
        ("dtype", I8), ("offsets", torch.zeros([1, 1], dtype=I32))]


def image(d, channels):
    """An image [N, H, W, C], windows that fit it, and its zero point."""
    kernel = [d.pick([1, 2, 3]) for _ in range(2)]
    stride, dilation = ([d.pick([1, 1, most]) for _ in range(2)]
                        for most in (2, 3))
    padding = [d.pick([0, k // 2, 1]) for k in kernel]
    sizes = [d.int(max(1, (k - 1) * s + 1 - 2 * p), 9)
             for k, s, p in zip(kernel, dilation, padding)]
    images = 0 if d.chance(0.05) else d.int(1, 2)
    x = d.whole([images, *sizes, channels], 0, 255, U8)
    return x, kernel, stride, padding, dilation, d.pick([0, 255, d.int(0, 255)])


def convolved(x, zero, weight, stride, padding, dilation, groups):
    x = x.double().permute(0, 3, 1, 2)
    x = pad(x, [padding[1]] * 2 + [padding[0]] * 2, value=float(zero))
    sums = conv2d(x, weight.double(), None, stride, 0, dilation, groups)
    return sums.permute(0, 2, 3, 1).contiguous()


def convolution(c, d):
    groups = d.pick([1, 1, 2])
    own, results = d.pick([3, 4, d.int(1, 12)]), d.pick([8, d.int(1, 20)])
    x, kernel, stride, padding, dilation, zero = image(d, groups * own)
    weight = d.whole([groups * results, own, *kernel], -128, 127, I8)
    r = Result(d, weight, zero)
    arguments = dict(input=x, zero_point=zero,
                     panels=panels_of(weight, groups), **r.channels(),
                     kernel_size=kernel, stride=stride, padding=padding,
                     dilation=dilation, groups=groups, **r.rest())
    if spoil(d, arguments, [*WAYS, ("zero_point", -1), ("groups", 5),
                            ("kernel_size", [kernel[0] + 4, kernel[1]])]):
        c.add(arguments)
        return
    sums = convolved(x, zero, weight, stride, padding, dilation, groups)
    c.add(arguments, [("out", r.of_sums(sums))])


def depthwise(c, d):
    channels = d.pick([3, 16, d.int(1, 40)])
    x, kernel, stride, padding, dilation, zero = image(d, channels)
    weight = d.whole([channels, 1, *kernel], -128, 127, I8)
    r = Result(d, weight, zero)
    arguments = dict(input=x, zero_point=zero,
                     weight=weight[:, 0].permute(1, 2, 0).contiguous(),
                     **r.channels(), stride=stride, padding=padding,
                     dilation=dilation, **r.rest())
    if spoil(d, arguments, [*WAYS, ("zero_point", 256), ("stride", [0, 1])]):
        c.add(arguments)
        return
    sums = convolved(x, zero, weight, stride, padding, dilation, channels)
    c.add(arguments, [("out", r.of_sums(sums))])


def layer(c, d):
    k, n = d.pick([16, d.int(1, 44)]), d.pick([16, d.int(1, 30)])
    x = d.whole([*d.shape(0, 2, 8), k], 0, 255, U8)
    weight = d.whole([n, k], -128, 127, I8)
    r = Result(d, weight, d.int(0, 255))
    arguments = dict(input=x, panels=panels_of(weight, 1), **r.channels(),
                     **r.rest())
    if spoil(d, arguments, WAYS):
        c.add(arguments)
        return
    sums = linear(x.double(), weight.double())
    c.add(arguments, [("out", r.of_sums(sums))])


def pool(c, d):
    x, kernel, stride, padding, dilation, _ = image(d, d.int(1, 40))
    if d.chance(0.9):
        padding = [min(p, k // 2) for p, k in zip(padding, kernel)]
    arguments = dict(self=x, kernel_size=kernel,
                     stride=d.pick([stride, kernel]), padding=padding,
                     dilation=dilation, ceil_mode=d.chance(0.5))

    def largest(x, *more):
        y = max_pool2d(x.double().permute(0, 3, 1, 2), *more)
        return y.permute(0, 2, 3, 1).contiguous().to(U8)

    c.native(arguments, largest)


def mean(c, d):
    x = d.whole([d.int(0, 2), d.int(1, 8), d.int(1, 8), d.int(1, 40)], 0, 255,
                U8)
    zero, scale = d.int(0, 255), d.real(0.5, 2) / (x.shape[1] * x.shape[2])
    r = Result(d, torch.zeros([1, 1], dtype=I8), 0)
    arguments = dict(self=x, zero_point=zero, scale=scale, **r.rest())
    if spoil(d, arguments, [*WAYS[:4], ("zero_point", -1)]):
        c.add(arguments)
        return
    sums = (x.to(I64) - zero).sum([1, 2], keepdim=True)
    f = sums.to(F32) * torch.tensor(scale, dtype=F32)
    c.add(arguments, [("out", r.of(f))])


# Steps with only one correct float32 result.
ONE = {"neg": torch.neg, "abs": torch.abs, "relu": torch.relu,
       "square": torch.square, "relu6": torch.nn.functional.relu6}
TWO = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul,
       "minimum": torch.minimum, "maximum": torch.maximum}


def steps(d, others):
    words, depth = ["x"], 1
    for _ in range(d.int(1, 7)):
        if depth > 1 and d.chance(0.6):
            words.append(d.pick(sorted(TWO)))
            depth -= 1
        elif depth < 4 and d.chance(0.6):
            words.append(d.pick(["x", *map(str, range(others))]))
            depth += 1
        else:
            words.append(d.pick(sorted(ONE)))
    return words + [d.pick(sorted(TWO)) for _ in range(depth - 1)]


def computed(words, x, others):
    stack = []
    for word in words:
        if word in ONE:
            stack.append(ONE[word](stack.pop()))
        elif word in TWO:
            b, a = stack.pop(), stack.pop()
            stack.append(TWO[word](a, b))
        else:
            stack.append(x if word == "x" else others[int(word)])
    return stack[0].expand(x.shape)


def operand(d, shape):
    """A tensor, its scale and zero point, and the floats it stands for."""
    scale, zero = d.real(0.005, 0.1), d.int(0, 255)
    if d.chance(0.3):
        x = d.uniform(shape, -9, 9)
        return x, scale, zero, x
    x = d.whole(shape, 0, 255, U8)
    factor = torch.tensor(scale, dtype=F32)
    return x, scale, zero, (x.to(I32) - zero).to(F32) * factor


def chain(c, d):
    shape = d.shape(1, 4)
    kinds = [shape, shape, [1], shape[-1:]]
    x, *own, floats = operand(d, shape)
    # The format cannot express the type of an empty list.
    others, scales, zeros, real = zip(*(operand(d, d.pick(kinds))
                                        for _ in range(d.int(1, 3))))
    words = steps(d, len(others))
    r = Result(d, torch.zeros([1, 1], dtype=I8), 0)
    out_scale = d.real(0.01, 0.3)
    arguments = dict(self=x, scale=own[0], zero_point=own[1],
                     others=list(others), scales=list(scales),
                     zero_points=list(zeros), steps=" ".join(words),
                     out_scale=out_scale, **r.rest())
    if spoil(d, arguments, [*WAYS[:4], ("zero_point", 256),
                            ("scales", [0.5] * 4), ("steps", "x 9 add"),
                            ("steps", "x cosh")]):
        c.add(arguments)
        return
    f = computed(words, floats, real)
    if r.dtype == U8:
        f = f * torch.tensor(1.0 / out_scale, dtype=F32)
    c.add(arguments, [("out", r.of(f).contiguous())])


OPERATORS = {"etx::convolution_u8.out": convolution,
             "etx::depthwise_u8.out": depthwise,
             "etx::linear_u8.out": layer,
             "etx::max_pool2d_u8.out": pool, "etx::mean_u8.out": mean,
             "etx::chain_u8.out": chain}
