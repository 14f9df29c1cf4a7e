#!/usr/bin/env python3
"""Tests stack_bound.py with functions whose frames are known.

    stack_bound_test.py [compiler]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import stack_bound

COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "arm-none-eabi-gcc"

# Bytes that a frame may have besides its array.
SLACK = 100

SOURCE = r"""
typedef void (*action)(volatile char*);
typedef int (*measure)(volatile char*);
__attribute__((noinline)) static void small(volatile char* p) {
  volatile char own[100]; own[*p] = 1; *p = own[0];
}
__attribute__((noinline)) static void large(volatile char* p) {
  volatile char own[3000]; own[*p] = 2; *p = own[1]; small(p);
}
__attribute__((noinline)) static void stranger(volatile char* p) {
  volatile char own[9000]; own[*p] = 3; *p = own[2];
}
__attribute__((noinline)) static int other_type(volatile char* p) {
  volatile char own[7000]; own[*p] = 4; return own[3];
}
__attribute__((noinline)) static void twin_a(volatile char* p) {
  volatile char own[4000]; own[*p] = 5; *p = own[4];
}
__attribute__((noinline)) static void twin_b(volatile char* p) {
  volatile char own[4000]; own[*p] = 5; *p = own[4];
}
static const action actions[] = {small, large};
static const action twins[] = {twin_a, twin_b};
static const action unused[] = {stranger};
static const measure measures[] = {other_type};
void direct(volatile char* p) { large(p); *p = 0; }
void by_table(volatile char* p) { actions[*p & 1](p); *p = 0; }
void by_twins(volatile char* p) { twins[*p & 1](p); *p = 0; }
void by_strangers(volatile char* p) { unused[*p](p); *p = 0; }
int by_measure(volatile char* p) { return measures[*p](p) + 1; }
__attribute__((noinline)) static void apply(action f, volatile char* p) {
  f(p); *p = 1;
}
void by_argument(volatile char* p) { apply(*p ? small : large, p); *p = 0; }
"""

# One with a frame whose size depends on an argument.
VARYING = r"""
void varying(unsigned count, volatile char* p) {
  volatile char own[count]; own[0] = *p; *p = own[count - 1];
}
"""


def read(source, folder):
    path = pathlib.Path(folder) / "functions.c"
    path.write_text(source)
    object_file = path.with_suffix(".o")
    subprocess.run([COMPILER, "-Os", *stack_bound.dump_flags(object_file), "-c",
                    path, "-o", object_file], check=True)
    program = stack_bound.Program()
    program.read(object_file)
    return program


class StackBound(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.program = read(SOURCE, folder)

    def expect(self, entry, arrays):
        total, chain = stack_bound.bound(self.program, [entry])
        self.assertGreaterEqual(total, sum(arrays), chain)
        self.assertLessEqual(total, sum(arrays) + SLACK * (len(arrays) + 1), chain)

    def test_calls_by_name(self):
        self.expect("direct", [3000, 100])

    def test_a_table_reaches_its_deepest_function(self):
        self.expect("by_table", [3000, 100])

    def test_equal_functions_that_were_merged(self):
        self.expect("by_twins", [4000])

    def test_a_function_that_only_another_table_has_is_not_reached(self):
        self.expect("by_strangers", [9000])
        self.expect("by_table", [3000, 100])

    def test_pointers_reach_functions_of_their_type_only(self):
        self.expect("by_measure", [7000])

    def test_a_function_that_is_an_argument(self):
        self.expect("by_argument", [3000, 100])

    def test_a_frame_of_varying_size_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(SystemExit, "varying"):
                read(VARYING, folder)


if __name__ == "__main__":
    unittest.main()
