#!/usr/bin/env python3
"""Writes runtime/kernels/registry/op_arguments.h from format/ops/op_schema.def.

    scripts/op_arguments.py

The header has one enumerator for each argument of each operator: its position,
for the functions of runtime/kernel.h that read arguments. The runtime builds
with a C compiler alone, so the header is kept in the tree. The test
ops/arguments compares it (operator_files.py).
"""

import os
import re
import sys

SCHEMA = 'format/ops/op_schema.def'
HEADER = 'runtime/kernels/registry/op_arguments.h'
GUARD = 'ETX_RUNTIME_KERNELS_REGISTRY_OP_ARGUMENTS_H'
HEAD = '''\
// Positions of arguments: ETX_ARG_<operator>_<argument>, where <operator> is
// the symbol of op_schema.def without "_out". A kernel that serves several
// operators uses the names of one of them for the positions that they share.
//
// Made by scripts/op_arguments.py; do not edit.

#ifndef %s
#define %s

''' % (GUARD, GUARD)
ROW = re.compile(r'^OP\((\w+), "[^"]*", "[^"]*", "([^"]*)"', re.M)


def names(arguments):
    """The argument names of an ATen text, in order."""
    parts = re.split(r',\s*(?![^\[(]*[\])])', arguments)
    return [part.split('=')[0].split()[-1]
            for part in parts if part.strip() not in ('', '*')]


def header(schema):
    """The text of the header."""
    text, seen = HEAD, {}
    for symbol, arguments in ROW.findall(schema):
        short = symbol[:-4] if symbol.endswith('_out') else symbol
        known = names(arguments)
        if not known:
            continue
        text += '// %s\nenum {\n' % symbol
        for at, name in enumerate(known):
            enumerator = 'ETX_ARG_%s_%s' % (short, name)
            if enumerator in seen:
                sys.exit('%s: %s and %s have the argument name %s in common: '
                         'rename one' % (SCHEMA, seen[enumerator], symbol,
                                         enumerator))
            seen[enumerator] = symbol
            text += '  %s = %d,\n' % (enumerator, at)
        text += '};\n\n'
    return text + '#endif\n'


def main():
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
    with open(os.path.join(source, SCHEMA)) as file:
        wanted = header(file.read())
    with open(os.path.join(source, HEADER), 'w') as file:
        file.write(wanted)


if __name__ == '__main__':
    main()
