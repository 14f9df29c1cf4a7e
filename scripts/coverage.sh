#!/usr/bin/env bash
# Prints which share of the branches tests take, for each folder that decides what a
# file from a stranger may do: the readers and the verifier of files, the runtime
# without kernels, shared memory, the proof of `etx verify`, and the planner.
#
#   scripts/coverage.sh <build directory>
#   scripts/branch_counts.py <build directory> --list FOLDER    branches not taken
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON \
  -DETX_COVERAGE="format/flatbuffers;format/pte;runtime;shared_memory;cli/verify;planner" >/dev/null
cmake --build "$build" --target etx corpus_tool tests/{format,runtime,shared_memory,planner,hostile,ops}/all \
  $(ninja -C "$build" -t targets all | sed -n 's/^\(test_cli_\(verify\|kept\|cache\|variants\|late\|size\|sized\|second\|parallel\|board\)_[a-z0-9_]*\): .*/\1/p')
find "$build" -name '*.gcda' -delete
# Without the tests of kernels and long loops of damage, which decide nothing more.
ctest --test-dir "$build" -j2 -R '^(format|runtime|shared_memory|planner|hostile|ops)/|^cli/(verify|kept|cache|variants|late|size|sized|second|parallel|board)_' \
  -E '^runtime/kernels/|^hostile/(mutation|bit_flip|method_mutation|drawn_program)_test' \
  >"$build/tests.txt" || echo "some tests failed, see $build/tests.txt" >&2
"$here/scripts/branch_counts.py" "$build"
