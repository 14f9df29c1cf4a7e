#!/usr/bin/env python3
"""Random calls of elementwise operators, with the results that PyTorch gives.

    random_elementwise.py TARGET [--count N] [--seed N]

writes TARGET/random.jsonl and TARGET/random.safetensors in the format of
tests/data/ops/README.md: random types (mixed ones too), shapes that broadcast,
strides, numbers, corner values. Calls that PyTorch refuses become errors.
Operators that are exact are judged against PyTorch's own result, others
against the same operator in float64. Needs PyTorch.

tests/data/ops/random_elementwise holds what `--seed 1 --count 1200` writes.
"""
import argparse
import json
import math
import os

import numpy as np
import torch

A = torch.ops.aten
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ALL = FLOATS + INTEGERS + [torch.bool]
STORED = {torch.uint8: 'U8', torch.int8: 'I8', torch.int16: 'I16',
          torch.int32: 'I32', torch.int64: 'I64', torch.float16: 'F16',
          torch.float32: 'F32', torch.float64: 'F64', torch.bool: 'BOOL',
          torch.bfloat16: 'BF16'}
UNIT = {torch.float32: 2.0**-23, torch.float64: 2.0**-52,
        torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
SMALLEST = {torch.float32: 2.0**-126, torch.float64: 2.0**-1022,
            torch.float16: 2.0**-24, torch.bfloat16: 2.0**-126}
# Operators whose zero may have either sign.
ANY_ZERO = {'maximum', 'minimum', 'relu', 'clamp', 'hardtanh', 'floor_divide',
            'remainder', 'div_floor', 'relu6'}

# name -> units of the last place; 0: exact. Types: all.
UNARY = dict.fromkeys('abs ceil floor round trunc sign neg relu logical_not '
                      'isnan isinf bitwise_not square'.split(), 0)
UNARY.update(dict.fromkeys('exp log log2 log10 log1p expm1 sin cos asin acos '
                           'atan erf rsqrt tanh exp2'.split(), 4))
UNARY.update(dict.fromkeys('sigmoid sinh cosh tan asinh acosh atanh erfc '
                           'silu log_sigmoid'.split(), 8))
UNARY.update({'erfc': 16, 'mish': 16, 'sqrt': 1, 'reciprocal': 1})
# Arguments far outside only give infinities.
NARROW = {'exp', 'expm1', 'sinh', 'cosh', 'exp2', 'erfc'}
BINARY = 'maximum minimum logical_and logical_or logical_xor'.split()
BINARY_TENSOR = ('eq ne lt le gt ge fmod remainder bitwise_and bitwise_or '
                 'bitwise_xor bitwise_left_shift bitwise_right_shift').split()


class Cases:
    wild = False    # tensors with stride 0, and many elements, too

    def __init__(self, seed):
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.lines, self.tensors, self.index = [], [], {}

    # ------------------------------------------------ data

    def pick(self, items):
        return items[int(self.rng.integers(0, len(items)))]

    def chance(self, share):
        return self.rng.random() < share

    def sizes(self):
        if self.wild and self.chance(.2):
            return self.pick([
                [int(self.rng.integers(1, 7)), int(self.rng.integers(2, 40))],
                [int(self.rng.integers(200, 1200))],
                [int(n) for n in self.rng.integers(1, 4, 7)],
                [int(n) for n in self.rng.integers(2, 12, 3)]])
        if self.chance(.05):        # more than a block of 64
            return [int(self.rng.integers(1, 4)),
                    int(self.rng.integers(60, 140))]
        return [0 if self.chance(.03) else int(self.rng.integers(1, 6))
                for _ in range(int(self.rng.integers(0, 5)))]

    def part(self, sizes):
        """Sizes that broadcast to `sizes`."""
        kept = [1 if self.chance(.25) else n for n in sizes]
        return kept[int(self.rng.integers(0, len(kept) + 1)):] \
            if self.chance(.4) else kept

    def corners(self, dtype):
        if dtype == torch.bool:
            return [False, True]
        if dtype in INTEGERS:
            info = torch.iinfo(dtype)
            return [0, 1, 2, info.max, info.min, info.max - 1] + \
                ([-1, -2] if info.min else [])
        info = torch.finfo(dtype)
        return [0., -0., 1., -1., .5, -2.5, 3.5, info.max, info.min, info.tiny,
                info.eps, math.inf, -math.inf, math.nan, 1e-3]

    def values(self, sizes, dtype, span, corners):
        count = int(np.prod(sizes, dtype=np.int64))
        if dtype == torch.bool:
            return torch.from_numpy(self.rng.random(count) < .5).reshape(sizes)
        low = -span if dtype != torch.uint8 else 0
        if dtype in INTEGERS:
            span = min(span, 100)
            flat = self.rng.integers(math.ceil(max(low, -span)), span + 1,
                                     count)
        else:
            flat = self.rng.uniform(low, span, count)
        tensor = torch.from_numpy(np.asarray(flat)).to(dtype)
        if self.chance(corners):
            special = self.corners(dtype)
            for i in range(count):
                if self.chance(.3):
                    tensor[i] = self.pick(special)
        return tensor.reshape(sizes)

    def lay(self, tensor):
        """The same values in another layout, sometimes."""
        if self.wild and tensor.numel() > 1 and self.chance(.08):
            at = int(self.rng.integers(0, tensor.dim()))
            return tensor.narrow(at, 0, 1).expand(tensor.shape)
        if tensor.dim() == 0 or tensor.numel() == 0 or self.chance(.6):
            return tensor
        if self.chance(.6):
            order = list(self.rng.permutation(tensor.dim()))
            back = [order.index(i) for i in range(tensor.dim())]
            return tensor.permute(order).contiguous().permute(back)
        wide = torch.zeros([2 * n for n in tensor.shape], dtype=tensor.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in tensor.shape)]
        view.copy_(tensor)
        return view

    def tensor(self, sizes, dtype, span=9, corners=.3):
        return self.lay(self.values(sizes, dtype, span, corners))

    def number(self, dtype):
        kind = self.rng.random()
        if kind < .1:
            return self.chance(.5)
        if kind < .5 or dtype in INTEGERS and kind < .8:
            return int(self.rng.integers(0, 8)) if dtype == torch.uint8 else \
                int(self.rng.integers(-7, 8))
        return self.pick([.5, .1, -1.5, 2.25, 1 / 3, -7.7, 0., 1e-3])

    # ------------------------------------------------ writing

    def put(self, tensor):
        dense = tensor.detach().contiguous()
        raw = dense.view(torch.int16) if dense.dtype == torch.bfloat16 \
            else dense
        key = (dense.dtype, tuple(dense.shape), raw.numpy().tobytes())
        if key not in self.index:
            self.index[key] = 't%d' % len(self.tensors)
            self.tensors.append((self.index[key],) + key)
        return self.index[key]

    def argument(self, name, value):
        if value is None:
            return {'name': name, 'n': None}
        if isinstance(value, torch.Tensor):
            entry = {'name': name, 't': self.put(value)}
            if not value.is_contiguous() and value.numel():
                entry['strides'] = list(value.stride())
            return entry
        if isinstance(value, bool):
            return {'name': name, 'b': value}
        if isinstance(value, int):
            return {'name': name, 'i': value}
        if isinstance(value, str):
            return {'name': name, 's': value}
        return {'name': name, 'f': value if math.isfinite(value)
                else str(value)}

    def save(self, base):
        parts, header, offset = [], {}, 0
        for name, dtype, shape, raw in sorted(
                self.tensors, key=lambda t: -torch.empty(0, dtype=t[1])
                .element_size()):
            header[name] = {'dtype': STORED[dtype], 'shape': list(shape),
                            'data_offsets': [offset, offset + len(raw)]}
            offset += len(raw)
            parts.append(raw)
        text = json.dumps(header, separators=(',', ':')).encode()
        text += b' ' * (-len(text) % 8)
        with open(base + '.safetensors', 'wb') as out:
            out.write(len(text).to_bytes(8, 'little') + text + b''.join(parts))
        with open(base + '.jsonl', 'w') as out:
            for line in self.lines:
                out.write(json.dumps(line, separators=(',', ':')) + '\n')

    # ------------------------------------------------ results

    def add(self, op, names, values, call, units=0, zero='', around=0.0,
            alone=False):
        """One case; `call` takes the values. `alone`: halves meet one number
        of another type as it is, unrounded."""
        case = {'id': '%s#%d' % (op.replace('::', '.'), len(self.lines)),
                'op': op,
                'args': [self.argument(n, v) for n, v in zip(names, values)]}
        try:
            result = call(*values)
        except Exception as error:          # whatever PyTorch refuses with
            case.update(expect='error', reason=str(error).split('\n')[0][:80])
            self.lines.append(case)
            return
        half = result.dtype in (torch.float16, torch.bfloat16)
        if units and half and any(
                isinstance(v, torch.Tensor) and v.dtype != result.dtype and
                (not alone or v.dim() > 0) for v in values):
            return        # the operand may be rounded first
        absolute = relative = 0.0
        if units and result.dtype in UNIT:
            fine = call(*[wide(v, values) for v in values])
            result = fine.to(torch.float32).to(result.dtype) \
                if result.dtype != torch.float64 else fine
            unit = UNIT[result.dtype] if result.dtype == torch.float64 \
                else UNIT[torch.float32]
            relative = units * unit
            absolute = SMALLEST[result.dtype] + around * unit
            if half:
                relative += UNIT[result.dtype]
        case.update(expect='ok', atol=absolute, rtol=relative,
                    outs=[{'name': 'out', 't': self.put(result)}])
        if zero in ANY_ZERO:
            case['zero_sign'] = 'any'
        self.lines.append(case)

    # ------------------------------------------------ operators

    def unary(self):
        name = self.pick(sorted(UNARY))
        dtype = self.pick(ALL[:-1] if name == 'square' else ALL)
        span = 8 if name in NARROW else self.pick([1, 4, 50])
        x = self.tensor(self.sizes(), dtype, span,
                        0 if name in ('silu', 'mish') else .3)
        self.add('aten::%s.out' % name, ['self'], [x], getattr(A, name),
                 UNARY[name], name)

    def binary_values(self, second=9, corners=.3):
        sizes = self.sizes()
        if self.chance(.1):         # one number of another type
            pair = [self.tensor(sizes, self.pick(FLOATS), 9, corners),
                    self.tensor([], self.pick(ALL), second, corners)]
            return pair if self.chance(.7) else pair[::-1]
        a, b = self.pick(ALL), self.pick(ALL)
        if self.chance(.5):
            b = a
        x = self.tensor(self.part(sizes), a, 9, corners)
        y = self.tensor(self.part(sizes), b, second, corners)
        return x, y

    def binary(self):
        name = self.pick(BINARY + BINARY_TENSOR)
        # fmod of huge numbers is NaN in PyTorch.
        x, y = self.binary_values(70 if 'shift' in name else 9,
                                  0 if name == 'fmod' else .3)
        if name == 'remainder' and overflows(x, y):
            return                  # NaN in PyTorch's vectors, else a number
        overload = 'out' if name in BINARY else 'Tensor_out'
        self.add('aten::%s.%s' % (name, overload), ['self', 'other'], [x, y],
                 getattr(A, name), 0, name)

    def with_number(self):
        name = self.pick([n for n in BINARY_TENSOR if 'shift' not in n])
        x = self.tensor(self.sizes(), self.pick(ALL),
                        corners=0 if name == 'fmod' else .3)
        number = self.number(x.dtype)
        if name == 'remainder' and overflows(x, torch.tensor(number)):
            return
        self.add('aten::%s.Scalar_out' % name, ['self', 'other'],
                 [x, number], getattr(A, name), 0, name)

    def sum(self):
        name = self.pick(['add', 'sub'])
        x, y = self.binary_values()
        overload = 'out'
        if self.chance(.4):
            y, overload = self.number(x.dtype), 'Scalar_out'
        alpha = 1 if self.chance(.6) else self.number(x.dtype)
        self.add('aten::%s.%s' % (name, overload), ['self', 'other', 'alpha'],
                 [x, y, alpha],
                 lambda a, b, c: getattr(A, name)(a, b, alpha=c)
                 if isinstance(b, torch.Tensor) else getattr(A, name)(a, b, c),
                 0 if alpha == 1 else 4, around=0 if alpha == 1 else 500)

    def product(self):
        name = self.pick(['mul', 'div', 'floor_divide'])
        x, y = self.binary_values()
        overload = 'out'
        if self.chance(.4) and name != 'floor_divide':
            y, overload = self.number(x.dtype), 'Scalar_out'
        # A quotient by a number may be a product with its reciprocal.
        self.add('aten::%s.%s' % (name, overload), ['self', 'other'], [x, y],
                 getattr(A, name), 1 if name == 'div' else 0, name,
                 alone=True)

    def quotient(self):
        mode = self.pick([None, 'trunc', 'floor'])
        x, y = self.binary_values()
        name = 'out_mode'
        if self.chance(.4):
            y, name = self.number(x.dtype), 'Scalar_mode_out'
        self.add('aten::div.%s' % name, ['self', 'other', 'rounding_mode'],
                 [x, y, mode],
                 lambda a, b, m: A.div(a, b, rounding_mode=m),
                 1 if mode is None else 0, 'div_floor')

    def power(self):
        x, y = self.binary_values(3)
        kind = self.rng.random()
        if kind < .4:
            op, values = 'Tensor_Tensor_out', [x, y]
        else:
            # Numbers that are the same in every type.
            number = self.pick([2, 3, 0, 1, -1, .5, -.5, 1.5, -2.0, 2.5])
            op, values = 'Tensor_Scalar_out', [x, number]
            if kind > .8:
                op, values = 'Scalar_out', [number, y]
        self.add('aten::pow.' + op, ['self', 'exponent'], values, A.pow, 4,
                 alone=True)

    def angle(self):
        x, y = self.binary_values()
        self.add('aten::atan2.out', ['self', 'other'], [x, y], A.atan2, 4,
                 alone=True)

    def choice(self):
        sizes = self.sizes()
        mask = self.tensor(self.part(sizes), torch.bool)
        if self.chance(.5):
            x, y = self.binary_values()
            x = self.tensor(self.part(sizes), x.dtype)
            y = self.tensor(self.part(sizes), y.dtype)
            self.add('aten::where.self_out', ['condition', 'self', 'other'],
                     [mask, x, y], A.where)
            return
        x = self.tensor(sizes, self.pick(ALL))
        self.add('aten::masked_fill.Scalar_out', ['self', 'mask', 'value'],
                 [x, mask, self.number(x.dtype)], A.masked_fill)

    def bounds(self):
        sizes = self.sizes()
        x = self.tensor(self.part(sizes), self.pick(ALL))
        low, high = [None if self.chance(.3) else self.number(x.dtype)
                     for _ in range(2)]
        op = 'aten::clamp.out'
        if self.chance(.5):
            op = 'aten::clamp.Tensor_out'
            low, high = [None if v is None else
                         self.tensor(self.part(sizes), self.pick(ALL))
                         for v in (low, high)]
        self.add(op, ['self', 'min', 'max'], [x, low, high], A.clamp, 0,
                 'clamp')

    def activation(self):
        dtype = self.pick(FLOATS)
        x = self.tensor(self.sizes(), dtype, 6, 0)
        name = self.pick(['gelu', 'elu', 'leaky_relu', 'hardtanh', 'logit',
                          'glu', 'softplus', 'softshrink', 'hardswish',
                          'hardsigmoid', 'prelu'])
        op, around = 'aten::%s.out' % name, 50
        if name == 'gelu':
            self.add(op, ['self', 'approximate'],
                     [x, self.pick(['none', 'tanh'])],
                     lambda a, m: A.gelu(a, approximate=m), 8, around=around)
        elif name == 'elu':
            self.add(op, ['self', 'alpha', 'scale', 'input_scale'],
                     [x] + [self.pick([1, .5, 1.6732632423543772])
                            for _ in range(3)], A.elu, 8, around=around)
        elif name == 'leaky_relu':
            self.add(op, ['self', 'negative_slope'],
                     [x, self.pick([.01, .2, -.5, 2])], A.leaky_relu, 2)
        elif name == 'hardtanh':
            self.add(op, ['self', 'min_val', 'max_val'],
                     [self.tensor(self.sizes(), dtype),
                      self.pick([-1, 0, -2.5]), self.pick([1, 6., .3])],
                     A.hardtanh, 0, name)
        elif name == 'logit':
            x = (x / 14 + .5).clamp(.02, .98)
            self.add(op, ['self', 'eps'], [x, self.pick([None, 1e-6, .1])],
                     A.logit, 16, around=around)
        elif name == 'softshrink':
            self.add(op, ['self', 'lambd'], [x, self.pick([.5, 0, 1.25, 2])],
                     A.softshrink, 1)
        elif name in ('hardswish', 'hardsigmoid'):
            self.add(op, ['self'], [x], getattr(A, name), 4, around=12)
        elif name == 'prelu':
            count = x.shape[1] if x.dim() > 1 and self.chance(.6) else 1
            self.add('aten::prelu', ['self', 'weight'],
                     [x, self.values([count], dtype, 2, 0)], A.prelu, 1)
        elif name == 'softplus':
            self.add(op, ['self', 'beta', 'threshold'],
                     [x, self.pick([1, 2, .5]), self.pick([20, 5])],
                     A.softplus, 16)
        elif x.dim() == 0 or x.shape[-1] % 2 == 0:
            self.add(op, ['self', 'dim'], [x, -1], A.glu, 8)

    def known(self):
        """Where a number must not be rounded to the tensor's half type, or to
        float32; rows of one element with stride 0."""
        x = -(torch.arange(400) / 512 + 1.5)
        exact = (x.double() * .01).float()
        self.add('aten::leaky_relu.out', ['self', 'negative_slope'], [x, .01],
                 lambda *_: exact)
        for dtype in (torch.float32, torch.float16, torch.int32):
            rows = torch.tensor([[1], [-2]], dtype=dtype).expand(2, 70)
            self.add('aten::abs.out', ['self'], [rows], A.abs)
            self.add('aten::sigmoid.out', ['self'], [rows], A.sigmoid, 8)
        x = torch.tensor([3.3125, 1., 3.671875], dtype=torch.bfloat16)
        self.add('aten::rsub.Scalar_out', ['self', 'other', 'alpha'],
                 [x, -7.7, -2], A.rsub, 4, around=4)
        y = torch.tensor(2.333984375, dtype=torch.float16)
        for op, call in [('pow.Tensor_Tensor_out', A.pow),
                         ('atan2.out', A.atan2), ('div.out', A.div)]:
            second = 'exponent' if call == A.pow else 'other'
            self.add('aten::' + op, ['self', second], [x, y], call, 4,
                     alone=True)
            self.add('aten::' + op, ['self', second], [y, x], call, 4,
                     alone=True)

    def reversed(self):
        x = self.tensor(self.sizes(), self.pick(ALL))
        alpha = 1 if self.chance(.6) else self.number(x.dtype)
        self.add('aten::rsub.Scalar_out', ['self', 'other', 'alpha'],
                 [x, self.number(x.dtype), alpha], A.rsub,
                 0 if alpha == 1 else 4, around=0 if alpha == 1 else 500)

    def shifted(self):
        name = self.pick(['left', 'right'])
        x = self.tensor(self.sizes(), self.pick(INTEGERS))
        self.add('aten::bitwise_%s_shift.Tensor_Scalar_out' % name,
                 ['self', 'other'], [x, int(self.rng.integers(0, 7))],
                 getattr(A, 'bitwise_%s_shift' % name))

    def mixed(self):
        """Three tensors of one type that broadcast."""
        sizes, dtype = self.sizes(), self.pick(FLOATS)
        x, y, z = [self.tensor(self.part(sizes), dtype, 4, 0)
                   for _ in range(3)]
        name = self.pick(['lerp.Tensor_out', 'lerp.Scalar_out', 'addcmul.out',
                          'addcdiv.out'])
        if name == 'lerp.Tensor_out':
            self.add('aten::' + name, ['self', 'end', 'weight'],
                     [x, y, z / 4], A.lerp, 8, around=200)
        elif name == 'lerp.Scalar_out':
            self.add('aten::' + name, ['self', 'end', 'weight'],
                     [x, y, self.pick([.3, 0., 1., -.5, 2., .75])], A.lerp, 8,
                     around=200)
        else:
            z = z if 'mul' in name else (z.abs() + .5).to(dtype)
            form = getattr(A, name[:-4])
            self.add('aten::' + name, ['self', 'tensor1', 'tensor2', 'value'],
                     [x, y, z, self.pick([1, .5, -2., 2])],
                     lambda a, b, c, v: form(a, b, c, value=v), 4, around=500)

    def replaced(self):
        x = self.tensor(self.sizes(), self.pick(ALL), corners=.8)
        self.add('aten::nan_to_num.out', ['self', 'nan', 'posinf', 'neginf'],
                 [x] + [self.pick([None, 0., 2.5, -1.]) for _ in range(3)],
                 A.nan_to_num)


def overflows(x, y):
    quotients = x.double() / y.double()
    big = quotients.isfinite() & (quotients.abs() > 3e38)
    return torch.result_type(x, y).is_floating_point and bool(big.any())


def wide(value, values):
    """A value for the evaluation in float64; integers become float32 first
    where no operand is a double."""
    if not isinstance(value, torch.Tensor) or value.dtype == torch.float64:
        return value
    if value.dtype.is_floating_point:
        return value.double()
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    if any(t.dtype == torch.float64 for t in tensors):
        return value.double()
    return value.to(torch.float32).double()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('target')
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--wild', action='store_true',
                        help='stride 0 and larger sizes too')
    options = parser.parse_args()
    Cases.wild = options.wild
    torch.set_num_threads(1)
    cases = Cases(options.seed)
    kinds = [cases.unary] * 4 + [cases.binary] * 4 + [
        cases.with_number, cases.sum, cases.product, cases.quotient,
        cases.power, cases.angle, cases.choice, cases.bounds,
        cases.activation, cases.activation, cases.reversed, cases.shifted,
        cases.mixed, cases.replaced]
    cases.known()
    while len(cases.lines) < options.count:
        cases.pick(kinds)()
    os.makedirs(options.target, exist_ok=True)
    cases.save(os.path.join(options.target, 'random'))


if __name__ == '__main__':
    main()
