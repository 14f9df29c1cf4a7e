#!/usr/bin/env bash
# Every operator's vectors through kernels built by gcc and clang, without and
# with optimisation: all pass, and the bits of all results are the same.
#
#   scripts/ci_vectors.sh [directory for the builds [directory of vectors]]
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
builds=${1:-$here/build-vectors}
vectors=${2:-$here/tests/data/ops}
"$here/scripts/setup.sh" ci
expected=
for compiler in gcc clang; do
  for level in -O0 -O3; do
    build=$builds/$compiler$level
    cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON -DETX_WERROR=ON \
      -DCMAKE_C_COMPILER=$compiler -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=$level >/dev/null
    cmake --build "$build" --target check_ops >"$builds/log" || { cat "$builds/log"; exit 1; }
    printf '%s %s: ' $compiler $level
    found=$("$build/check_ops" "$vectors" -b) || { echo "$found"; exit 1; }
    echo "$found" | tail -1
    [ "${expected:=$found}" = "$found" ] || { echo "other bits: $found, expected $expected" >&2; exit 1; }
  done
done
