#!/usr/bin/env bash
# Prints which share of the branches of kernels tests take, for each folder of
# runtime/kernels. A branch of a template, or of code that all instruction sets share,
# is one branch, taken if the loops of any set took it. Sources of sets that this
# machine lacks are left out and named at the end.
#
#   scripts/coverage_kernels.sh <build directory>
#   scripts/branch_counts.py <build directory> --headers --list FOLDER    branches not taken
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON -DETX_COVERAGE=runtime/kernels >/dev/null
cmake --build "$build" --target check_ops tests/runtime/kernels/all
find "$build" -name '*.gcda' -delete
# Without changed vectors, whose results nobody looks at.
ctest --test-dir "$build" -j2 -R '^(runtime/kernels/|ops/vectors$)' \
  >"$build/tests.txt" || echo "some tests failed, see $build/tests.txt" >&2
lacking=()
if [ "$(uname -m)" = x86_64 ]; then
  # set:flag of the processor, as runtime/instruction_sets.def has the sets.
  for row in avx2:avx2 avx512:avx512vl avx512vnni:avx512_vnni; do
    grep -qw "${row#*:}" /proc/cpuinfo || lacking+=("${row%:*}")
  done
fi
"$here/scripts/branch_counts.py" "$build" --headers ${lacking:+--without "${lacking[@]}"}
