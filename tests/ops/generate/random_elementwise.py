#!/usr/bin/env python3
"""Random calls of elementwise operators, with the results that PyTorch gives.

    random_elementwise.py TARGET [--seed N] [--count N] [--only KIND]

writes TARGET/random.jsonl and TARGET/random.safetensors in the format of
tests/data/ops/README.md: random types (mixed ones too), shapes that broadcast,
strides, numbers, corner values; COUNT cases in all, of the kinds whose name
contains KIND. Calls that PyTorch refuses become errors. Operators that are
exact are judged against PyTorch's own result, others against the same operator
in float64.

tests/data/ops/random_elementwise holds what `--seed 1 --count 1200` writes.
"""

import math
import os

import numpy as np
import torch

from random_calls import (ALL, BF16, BOOL, F16, F32, F64, FLOATS, I32, INTS,
                          U8, UNIT, Cases, Draw, Writer, command_line, encode)

A = torch.ops.aten
SMALLEST = {F32: 2.0**-126, F64: 2.0**-1022,
            F16: 2.0**-24, BF16: 2.0**-126}
# Operators whose results may be a zero of either sign.
ANY_ZERO = {'maximum', 'minimum', 'relu', 'clamp', 'hardtanh', 'floor_divide',
            'remainder', 'div_floor', 'relu6'}

# name -> tolerance in ULP; 0: exact. All dtypes.
UNARY = dict.fromkeys('abs ceil floor round trunc sign neg relu logical_not '
                      'isnan isinf bitwise_not square'.split(), 0)
UNARY.update(dict.fromkeys('exp log log2 log10 log1p expm1 sin cos asin acos '
                           'atan erf rsqrt tanh exp2'.split(), 4))
UNARY.update(dict.fromkeys('sigmoid sinh cosh tan asinh acosh atanh erfc '
                           'silu log_sigmoid'.split(), 8))
UNARY.update({'erfc': 16, 'mish': 16, 'sqrt': 1, 'reciprocal': 1})
# Bounds of arguments: outside of them all results are infinite.
NARROW = {'exp', 'expm1', 'sinh', 'cosh', 'exp2', 'erfc'}
BINARY = 'maximum minimum logical_and logical_or logical_xor'.split()
BINARY_TENSOR = ('eq ne lt le gt ge fmod remainder bitwise_and bitwise_or '
                 'bitwise_xor bitwise_left_shift bitwise_right_shift').split()


class ArrayDraw(Draw):
    """Draws with NumPy."""

    def __init__(self, seed):
        super().__init__(seed)
        self.arrays = np.random.Generator(np.random.PCG64(seed))

    def share(self):
        return self.arrays.random()

    def chance(self, share):
        return self.share() < share

    def int(self, low, high):
        return int(self.arrays.integers(low, high + 1))

    def pick(self, items):
        return items[self.int(0, len(items) - 1)]

    def shuffled(self, count):
        return list(self.arrays.permutation(count))

    def sizes(self):
        if self.wild and self.chance(.2):
            return self.pick([
                [self.int(1, 6), self.int(2, 39)],
                [self.int(200, 1199)],
                [int(n) for n in self.arrays.integers(1, 4, 7)],
                [int(n) for n in self.arrays.integers(2, 12, 3)]])
        if self.chance(.05):        # more than a block of 64
            return [self.int(1, 3), self.int(60, 139)]
        return [0 if self.chance(.03) else self.int(1, 5)
                for _ in range(self.int(0, 4))]

    def part(self, sizes):
        """Sizes that broadcast to `sizes`."""
        kept = [1 if self.chance(.25) else n for n in sizes]
        return kept[self.int(0, len(kept)):] if self.chance(.4) else kept

    def corners(self, dtype):
        if dtype == BOOL:
            return [False, True]
        if dtype in INTS:
            info = torch.iinfo(dtype)
            return [0, 1, 2, info.max, info.min, info.max - 1] + \
                ([-1, -2] if info.min else [])
        info = torch.finfo(dtype)
        return [0., -0., 1., -1., .5, -2.5, 3.5, info.max, info.min, info.tiny,
                info.eps, math.inf, -math.inf, math.nan, 1e-3]

    def values(self, sizes, dtype, span, corners):
        count = int(np.prod(sizes, dtype=np.int64))
        if dtype == BOOL:
            flat = self.arrays.random(count) < .5
            return torch.from_numpy(flat).reshape(sizes)
        low = -span if dtype != U8 else 0
        if dtype in INTS:
            span = min(span, 100)
            flat = self.arrays.integers(math.ceil(max(low, -span)), span + 1,
                                        count)
        else:
            flat = self.arrays.uniform(low, span, count)
        tensor = torch.from_numpy(np.asarray(flat)).to(dtype)
        if self.chance(corners):
            special = self.corners(dtype)
            for i in range(count):
                if self.chance(.3):
                    tensor[i] = self.pick(special)
        return tensor.reshape(sizes)

    def lay(self, tensor):
        if self.wild and tensor.numel() > 1 and self.chance(.08):
            return self.spread(tensor)
        if tensor.dim() == 0 or tensor.numel() == 0 or self.chance(.6):
            return tensor
        if self.chance(.6):
            return self.reordered(tensor)
        return self.gapped(tensor, [2] * tensor.dim())

    def tensor(self, sizes, dtype, span=9, corners=.3):
        return self.lay(self.values(sizes, dtype, span, corners))

    def number(self, dtype):
        kind = self.share()
        if kind < .1:
            return self.chance(.5)
        if kind < .5 or dtype in INTS and kind < .8:
            return self.int(0 if dtype == U8 else -7, 7)
        return self.pick([.5, .1, -1.5, 2.25, 1 / 3, -7.7, 0., 1e-3])


class ElementwiseCases(Cases):
    def add(self, op, names, values, call, units=0, zero='', around=0.0,
            alone=False):
        """One case; `call` takes the values. `alone`: halves meet one number
        of another type as it is, unrounded."""
        count = len(self.writer.cases)
        case = {'id': '%s#%d' % (op.replace('::', '.'), count), 'op': op,
                'args': [encode(self.writer, n, v)
                         for n, v in zip(names, values)]}
        try:
            result = call(*values)
        except Exception as error:          # whatever PyTorch refuses with
            case.update(expect='error', reason=str(error).split('\n')[0][:80])
            self.writer.cases.append(case)
            return
        half = result.dtype in (F16, BF16)
        if units and half and any(
                isinstance(v, torch.Tensor) and v.dtype != result.dtype and
                (not alone or v.dim() > 0) for v in values):
            return        # the operand may be rounded first
        absolute = relative = 0.0
        if units and result.dtype in UNIT:
            fine = call(*[wide(v, values) for v in values])
            result = fine if result.dtype == F64 else \
                fine.to(F32).to(result.dtype)
            unit = UNIT[F64 if result.dtype == F64 else F32]
            relative = units * unit
            absolute = SMALLEST[result.dtype] + around * unit
            if half:
                relative += UNIT[result.dtype]
        case.update(expect='ok', atol=absolute, rtol=relative,
                    outs=[{'name': 'out', 't': self.writer.put(result)}])
        if zero in ANY_ZERO:
            case['zero_sign'] = 'any'
        self.writer.cases.append(case)


# ------------------------------------------------ operators

def unary(c, d):
    name = d.pick(sorted(UNARY))
    dtype = d.pick(ALL[:-1] if name == 'square' else ALL)
    span = 8 if name in NARROW else d.pick([1, 4, 50])
    x = d.tensor(d.sizes(), dtype, span,
                    0 if name in ('silu', 'mish') else .3)
    c.add('aten::%s.out' % name, ['self'], [x], getattr(A, name),
             UNARY[name], name)


def binary_values(d, second=9, corners=.3):
    sizes = d.sizes()
    if d.chance(.1):         # one number of another type
        pair = [d.tensor(sizes, d.pick(FLOATS), 9, corners),
                d.tensor([], d.pick(ALL), second, corners)]
        return pair if d.chance(.7) else pair[::-1]
    a, b = d.pick(ALL), d.pick(ALL)
    if d.chance(.5):
        b = a
    x = d.tensor(d.part(sizes), a, 9, corners)
    y = d.tensor(d.part(sizes), b, second, corners)
    return x, y


def binary(c, d):
    name = d.pick(BINARY + BINARY_TENSOR)
    # fmod of huge numbers is NaN in PyTorch.
    x, y = binary_values(d, 70 if 'shift' in name else 9,
                              0 if name == 'fmod' else .3)
    if name == 'remainder' and overflows(x, y):
        return                  # NaN in PyTorch's vectors, else a number
    overload = 'out' if name in BINARY else 'Tensor_out'
    c.add('aten::%s.%s' % (name, overload), ['self', 'other'], [x, y],
             getattr(A, name), 0, name)


def with_number(c, d):
    name = d.pick([n for n in BINARY_TENSOR if 'shift' not in n])
    x = d.tensor(d.sizes(), d.pick(ALL),
                    corners=0 if name == 'fmod' else .3)
    number = d.number(x.dtype)
    if name == 'remainder' and overflows(x, torch.tensor(number)):
        return
    c.add('aten::%s.Scalar_out' % name, ['self', 'other'],
             [x, number], getattr(A, name), 0, name)


def total(c, d):
    name = d.pick(['add', 'sub'])
    x, y = binary_values(d)
    overload = 'out'
    if d.chance(.4):
        y, overload = d.number(x.dtype), 'Scalar_out'
    alpha = 1 if d.chance(.6) else d.number(x.dtype)
    c.add('aten::%s.%s' % (name, overload), ['self', 'other', 'alpha'],
             [x, y, alpha],
             lambda a, b, c: getattr(A, name)(a, b, alpha=c)
             if isinstance(b, torch.Tensor) else getattr(A, name)(a, b, c),
             0 if alpha == 1 else 4, around=0 if alpha == 1 else 500)


def product(c, d):
    name = d.pick(['mul', 'div', 'floor_divide'])
    x, y = binary_values(d)
    overload = 'out'
    if d.chance(.4) and name != 'floor_divide':
        y, overload = d.number(x.dtype), 'Scalar_out'
    # A division by a number may be a multiplication by its reciprocal.
    c.add('aten::%s.%s' % (name, overload), ['self', 'other'], [x, y],
             getattr(A, name), 1 if name == 'div' else 0, name,
             alone=True)


def quotient(c, d):
    mode = d.pick([None, 'trunc', 'floor'])
    x, y = binary_values(d)
    name = 'out_mode'
    if d.chance(.4):
        y, name = d.number(x.dtype), 'Scalar_mode_out'
    c.add('aten::div.%s' % name, ['self', 'other', 'rounding_mode'],
             [x, y, mode],
             lambda a, b, m: A.div(a, b, rounding_mode=m),
             1 if mode is None else 0, 'div_floor')


def power(c, d):
    x, y = binary_values(d, 3)
    kind = d.share()
    if kind < .4:
        op, values = 'Tensor_Tensor_out', [x, y]
    else:
        # Numbers that every dtype represents exactly.
        number = d.pick([2, 3, 0, 1, -1, .5, -.5, 1.5, -2.0, 2.5])
        op, values = 'Tensor_Scalar_out', [x, number]
        if kind > .8:
            op, values = 'Scalar_out', [number, y]
    c.add('aten::pow.' + op, ['self', 'exponent'], values, A.pow, 4,
             alone=True)


def angle(c, d):
    x, y = binary_values(d)
    c.add('aten::atan2.out', ['self', 'other'], [x, y], A.atan2, 4,
             alone=True)


def choice(c, d):
    sizes = d.sizes()
    mask = d.tensor(d.part(sizes), BOOL)
    if d.chance(.5):
        x, y = binary_values(d)
        x = d.tensor(d.part(sizes), x.dtype)
        y = d.tensor(d.part(sizes), y.dtype)
        c.add('aten::where.self_out', ['condition', 'self', 'other'],
                 [mask, x, y], A.where)
        return
    x = d.tensor(sizes, d.pick(ALL))
    c.add('aten::masked_fill.Scalar_out', ['self', 'mask', 'value'],
             [x, mask, d.number(x.dtype)], A.masked_fill)


def bounds(c, d):
    sizes = d.sizes()
    x = d.tensor(d.part(sizes), d.pick(ALL))
    low, high = [None if d.chance(.3) else d.number(x.dtype)
                 for _ in range(2)]
    op = 'aten::clamp.out'
    if d.chance(.5):
        op = 'aten::clamp.Tensor_out'
        low, high = [None if v is None else
                     d.tensor(d.part(sizes), d.pick(ALL))
                     for v in (low, high)]
    c.add(op, ['self', 'min', 'max'], [x, low, high], A.clamp, 0,
             'clamp')


def activation(c, d):
    dtype = d.pick(FLOATS)
    x = d.tensor(d.sizes(), dtype, 6, 0)
    name = d.pick(['gelu', 'elu', 'leaky_relu', 'hardtanh', 'logit',
                      'glu', 'softplus', 'softshrink', 'hardswish',
                      'hardsigmoid', 'prelu'])
    op, around = 'aten::%s.out' % name, 50
    if name == 'gelu':
        c.add(op, ['self', 'approximate'],
                 [x, d.pick(['none', 'tanh'])],
                 lambda a, m: A.gelu(a, approximate=m), 8, around=around)
    elif name == 'elu':
        c.add(op, ['self', 'alpha', 'scale', 'input_scale'],
                 [x] + [d.pick([1, .5, 1.6732632423543772])
                        for _ in range(3)], A.elu, 8, around=around)
    elif name == 'leaky_relu':
        c.add(op, ['self', 'negative_slope'],
                 [x, d.pick([.01, .2, -.5, 2])], A.leaky_relu, 2)
    elif name == 'hardtanh':
        c.add(op, ['self', 'min_val', 'max_val'],
                 [d.tensor(d.sizes(), dtype),
                  d.pick([-1, 0, -2.5]), d.pick([1, 6., .3])],
                 A.hardtanh, 0, name)
    elif name == 'logit':
        x = (x / 14 + .5).clamp(.02, .98)
        c.add(op, ['self', 'eps'], [x, d.pick([None, 1e-6, .1])],
                 A.logit, 16, around=around)
    elif name == 'softshrink':
        c.add(op, ['self', 'lambd'], [x, d.pick([.5, 0, 1.25, 2])],
                 A.softshrink, 1)
    elif name in ('hardswish', 'hardsigmoid'):
        c.add(op, ['self'], [x], getattr(A, name), 4, around=12)
    elif name == 'prelu':
        count = x.shape[1] if x.dim() > 1 and d.chance(.6) else 1
        c.add('aten::prelu', ['self', 'weight'],
                 [x, d.values([count], dtype, 2, 0)], A.prelu, 1)
    elif name == 'softplus':
        c.add(op, ['self', 'beta', 'threshold'],
                 [x, d.pick([1, 2, .5]), d.pick([20, 5])],
                 A.softplus, 16)
    elif x.dim() == 0 or x.shape[-1] % 2 == 0:
        c.add(op, ['self', 'dim'], [x, -1], A.glu, 8)


def known(c, d):
    """Where a number must not be rounded to the tensor's half type, or to
    float32; rows of one element with stride 0."""
    x = -(torch.arange(400) / 512 + 1.5)
    exact = (x.double() * .01).float()
    c.add('aten::leaky_relu.out', ['self', 'negative_slope'], [x, .01],
             lambda *_: exact)
    for dtype in (F32, F16, I32):
        rows = torch.tensor([[1], [-2]], dtype=dtype).expand(2, 70)
        c.add('aten::abs.out', ['self'], [rows], A.abs)
        c.add('aten::sigmoid.out', ['self'], [rows], A.sigmoid, 8)
    x = torch.tensor([3.3125, 1., 3.671875], dtype=BF16)
    c.add('aten::rsub.Scalar_out', ['self', 'other', 'alpha'],
             [x, -7.7, -2], A.rsub, 4, around=4)
    y = torch.tensor(2.333984375, dtype=F16)
    for op, call in [('pow.Tensor_Tensor_out', A.pow),
                     ('atan2.out', A.atan2), ('div.out', A.div)]:
        second = 'exponent' if call == A.pow else 'other'
        c.add('aten::' + op, ['self', second], [x, y], call, 4,
                 alone=True)
        c.add('aten::' + op, ['self', second], [y, x], call, 4,
                 alone=True)


def from_number(c, d):
    x = d.tensor(d.sizes(), d.pick(ALL))
    alpha = 1 if d.chance(.6) else d.number(x.dtype)
    c.add('aten::rsub.Scalar_out', ['self', 'other', 'alpha'],
             [x, d.number(x.dtype), alpha], A.rsub,
             0 if alpha == 1 else 4, around=0 if alpha == 1 else 500)


def shifted(c, d):
    name = d.pick(['left', 'right'])
    x = d.tensor(d.sizes(), d.pick(INTS))
    c.add('aten::bitwise_%s_shift.Tensor_Scalar_out' % name,
             ['self', 'other'], [x, d.int(0, 6)],
             getattr(A, 'bitwise_%s_shift' % name))


def mixed(c, d):
    """Three tensors of one type that broadcast."""
    sizes, dtype = d.sizes(), d.pick(FLOATS)
    x, y, z = [d.tensor(d.part(sizes), dtype, 4, 0)
               for _ in range(3)]
    name = d.pick(['lerp.Tensor_out', 'lerp.Scalar_out', 'addcmul.out',
                      'addcdiv.out'])
    if name == 'lerp.Tensor_out':
        c.add('aten::' + name, ['self', 'end', 'weight'],
                 [x, y, z / 4], A.lerp, 8, around=200)
    elif name == 'lerp.Scalar_out':
        c.add('aten::' + name, ['self', 'end', 'weight'],
                 [x, y, d.pick([.3, 0., 1., -.5, 2., .75])], A.lerp, 8,
                 around=200)
    else:
        z = z if 'mul' in name else (z.abs() + .5).to(dtype)
        form = getattr(A, name[:-4])
        c.add('aten::' + name, ['self', 'tensor1', 'tensor2', 'value'],
                 [x, y, z, d.pick([1, .5, -2., 2])],
                 lambda a, b, c, v: form(a, b, c, value=v), 4, around=500)


def replaced(c, d):
    x = d.tensor(d.sizes(), d.pick(ALL), corners=.8)
    c.add('aten::nan_to_num.out', ['self', 'nan', 'posinf', 'neginf'],
             [x] + [d.pick([None, 0., 2.5, -1.]) for _ in range(3)],
             A.nan_to_num)


def overflows(x, y):
    quotients = x.double() / y.double()
    big = quotients.isfinite() & (quotients.abs() > 3e38)
    return torch.result_type(x, y).is_floating_point and bool(big.any())


def wide(value, values):
    """A value for the evaluation in float64; integers become float32 first
    where no operand is a double."""
    if not isinstance(value, torch.Tensor) or value.dtype == F64:
        return value
    if value.dtype.is_floating_point:
        return value.double()
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    if any(t.dtype == F64 for t in tensors):
        return value.double()
    return value.to(F32).double()


# Repeated entries are drawn more often.
KINDS = [unary] * 4 + [binary] * 4 + [
    with_number, total, product, quotient, power, angle, choice, bounds,
    activation, activation, from_number, shifted, mixed, replaced]


def main():
    options = command_line(__doc__, count=200)
    draw = ArrayDraw(options.seed)
    writer = Writer(os.path.join(options.target, 'random'))
    cases = ElementwiseCases('', writer)
    kinds = [k for k in KINDS if options.only in k.__name__]
    if options.only in 'known':
        known(cases, draw)
    while kinds and len(writer.cases) < options.count:
        draw.pick(kinds)(cases, draw)
    # The largest dtypes first, so that all tensors are aligned.
    writer.blobs.sort(key=lambda blob: -blob[1].itemsize)
    writer.save()


if __name__ == '__main__':
    main()
