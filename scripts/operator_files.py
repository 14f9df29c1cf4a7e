#!/usr/bin/env python3
"""Rewrites the files that are made from format/ops/op_schema.def.

    scripts/operator_files.py BUILD                 rewrites them
    scripts/operator_files.py BUILD --check WHAT    compares; the exit code is 1 if
                                                    WHAT is out of date

BUILD is a build directory with -DETX_TESTS=ON; programs are built in it. The
files, and the name of each for --check:

    arguments  runtime/kernels/registry/op_arguments.h   (op_arguments.py)
    types      runtime/kernels/registry/kernel_types.def (BUILD/kernel_types)
    loops      runtime/kernels/registry/kernel_loops.def (kernel_loops.py)
    document   docs/operators.md                         (BUILD/etx ops --markdown)

`--check coverage` fails if an operator has no test vector in tests/data/ops.
Test vectors are not written by this script: see runtime/kernels/README.md.
"""

import argparse
import os
import re
import subprocess
import sys

import kernel_loops
import op_arguments

TYPES = 'runtime/kernels/registry/kernel_types.def'
DOCUMENT = 'docs/operators.md'
VECTORS = 'tests/data/ops'
COMMAND = 'scripts/operator_files.py BUILD'
# Operators without vectors: a view has no bytes that a vector could compare.
UNTESTED = {'part_view_default', 'part_after_default'}


class Files:
    def __init__(self, source, build):
        self.source, self.build = source, build

    def path(self, name):
        return os.path.join(self.source, name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def write(self, name, text):
        if text == self.read(name):
            return
        with open(self.path(name), 'w') as file:
            file.write(text)
        print('rewritten: ' + name)

    def output_of(self, program, *arguments):
        return subprocess.run([os.path.join(self.build, program), *arguments],
                              check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def make(self, *targets):
        subprocess.run(['cmake', '--build', self.build, '--target', *targets],
                       check=True, stdout=subprocess.DEVNULL)

    def types(self):
        """The correct text of kernel_types.def."""
        head = re.split(r'^TYPES', self.read(TYPES), 1, re.M)[0]
        return head + self.output_of('kernel_types', self.path(VECTORS))

    def document(self):
        return self.output_of('etx', 'ops', '--markdown')


def differences(name, present, wanted):
    """Prints which lines of a file are missing or wrong; True if there are any."""
    if present == wanted:
        return False
    before, after = present.splitlines(), wanted.splitlines()
    known, right = set(before), set(after)
    print('%s is out of date.' % name, file=sys.stderr)
    for line in after:
        if line not in known:
            print('  missing line: ' + line, file=sys.stderr)
    for line in before:
        if line not in right:
            print('  wrong line:   ' + line, file=sys.stderr)
    print('To rewrite it: ' + COMMAND, file=sys.stderr)
    return True


def untested(files):
    """Prints which operators have no vectors; True if there are any."""
    listed = files.output_of('kernel_types', files.path(VECTORS), '--untested')
    missing = [symbol for symbol in listed.split() if symbol not in UNTESTED]
    for symbol in missing:
        print('%s: no case of the operator %s (format/ops/op_schema.def) '
              'succeeds.\nAdd a file of cases with '
              'tests/ops/generate/operator_vectors.py, see '
              'runtime/kernels/README.md.' % (VECTORS, symbol),
              file=sys.stderr)
    return bool(missing)


def check(files, what):
    if what == 'coverage':
        return untested(files)
    name, wanted = {
        'arguments': (op_arguments.HEADER, lambda: op_arguments.header(
            files.read(op_arguments.SCHEMA))),
        'types': (TYPES, files.types),
        'loops': (kernel_loops.OUTPUT, lambda: kernel_loops.text(files.source)),
        'document': (DOCUMENT, files.document)}[what]
    return differences(name, files.read(name), wanted())


def rewrite(files):
    files.write(op_arguments.HEADER,
                op_arguments.header(files.read(op_arguments.SCHEMA)))
    files.write(kernel_loops.OUTPUT, kernel_loops.text(files.source))
    files.make('kernel_types')
    files.write(TYPES, files.types())
    files.make('etx')      # prints the rows of kernel_types.def
    files.write(DOCUMENT, files.document())
    untested(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('build')
    parser.add_argument('--source', default=os.path.join(
        os.path.dirname(os.path.abspath(__file__)), '..'))
    parser.add_argument('--check', choices=['arguments', 'types', 'coverage',
                                            'loops', 'document'])
    given = parser.parse_args()
    files = Files(given.source, given.build)
    if given.check:
        return 1 if check(files, given.check) else 0
    rewrite(files)
    return 0


if __name__ == '__main__':
    sys.exit(main())
