#!/usr/bin/env python3
"""Test vectors of one elementwise operator, with the results of PyTorch.

    operator_vectors.py OPERATOR [--ulp N] [--count N] [--seed N] [--target DIR]

OPERATOR is a name of op_schema.def with its overload, such as aten::atan2.out.
Writes DIR/<name>.jsonl and DIR/<name>.safetensors (DIR: tests/data/ops/
elementwise) in the format of tests/data/ops/README.md: all element types, mixed
ones too, shapes that broadcast, strides, corner values. Calls that PyTorch
refuses are expected to be refused.

--ulp 0, the default, is for operators whose results are exact. With --ulp N,
PyTorch computes the expected results in float64, and N units in the last place
are allowed.

An operator whose arguments are not tensors and numbers that may have any value
needs a function of its own in random_elementwise.py or a <kind>_calls.py.
"""

import argparse
import os
import re
import sys

import torch

from random_calls import ALL, Draw, Writer
from random_elementwise import ArrayDraw, ElementwiseCases

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, '../../../format/ops/op_schema.def')
TARGET = os.path.join(HERE, '../../data/ops/elementwise')


def arguments_of(operator):
    """Pairs (type, name) of the arguments before the out arguments."""
    with open(SCHEMA) as file:
        rows = re.findall(r'^OP\(\w+, "([^"]+)", "([^"]*)", "([^"]*)"',
                          file.read(), re.M)
    for name, overload, text in rows:
        if '%s.%s' % (name, overload) == operator:
            parts = [part.split('=')[0].split() for part in text.split(', ')]
            return [part for part in parts
                    if len(part) == 2 and '!' not in part[0]]
    sys.exit('%s: no row of format/ops/op_schema.def' % operator)


def draw_values(arguments, draw):
    sizes, dtype, values = draw.sizes(), draw.pick(ALL), []
    for kind, name in arguments:
        if kind == 'Tensor':
            own = dtype if draw.chance(.7) else draw.pick(ALL)
            part = sizes if len(arguments) == 1 else draw.part(sizes)
            values.append(draw.tensor(part, own))
        elif kind == 'Scalar':
            values.append(draw.number(dtype))
        else:
            sys.exit('argument %s is a %s: write a function for this operator '
                     'in random_elementwise.py' % (name, kind))
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('operator')
    parser.add_argument('--ulp', type=int, default=0)
    parser.add_argument('--count', type=int, default=24)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--target', default=TARGET)
    options = parser.parse_args()
    arguments = arguments_of(options.operator)
    short = re.sub(r'^\w+::', '', options.operator).split('.')[0]
    name = 'aten::' + options.operator.split('::')[1]
    # torch.special's functions have the prefix in ATen's names.
    aten = torch.ops.aten
    call = getattr(aten, short if hasattr(aten, short) else 'special_' + short)
    Draw.wild = False
    torch.set_num_threads(1)
    draw = ArrayDraw(options.seed)
    writer = Writer(os.path.join(options.target, short))
    cases = ElementwiseCases('', writer)
    while len(writer.cases) < options.count:
        cases.add(name, [argument[1] for argument in arguments],
                  draw_values(arguments, draw), call, options.ulp)
    # Tensors of the largest elements first, so that all are aligned.
    writer.blobs.sort(key=lambda blob: -blob[1].itemsize)
    writer.save()


if __name__ == '__main__':
    main()
