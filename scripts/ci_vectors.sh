#!/usr/bin/env bash
# Runs every operator's vectors through kernels built by gcc and clang, with and
# without optimisation. All must pass, and all results must be bit-equal.
#
#   scripts/ci_vectors.sh [directory for the builds [directory of vectors
#                         [builds of gcc and clang that are optimised already]]]
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
builds=${1:-$here/build-vectors}
vectors=${2:-$here/tests/data/ops}
"$here/scripts/setup.sh" ci
expected=
mkdir -p "$builds"

# build <directory> <compiler> <level>
build() {
  cmake -S "$here" -B "$1" -G Ninja -DETX_TESTS=ON -DETX_WERROR=ON \
    -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$3" >/dev/null
  cmake --build "$1" --target check_ops >"$builds/log" || { cat "$builds/log"; exit 1; }
}

# compare <name> <directory>
compare() {
  printf '%s: ' "$1"
  found=$("$2/check_ops" "$vectors" -b) || { echo "$found"; exit 1; }
  echo "$found" | tail -1
  [ "${expected:=$found}" = "$found" ] ||
    { echo "the results differ: found $found, expected $expected" >&2; exit 1; }
}

optimised=("${3:-}" "${4:-}")
for compiler in gcc clang; do
  build "$builds/$compiler-O0" $compiler -O0
  compare "$compiler -O0" "$builds/$compiler-O0"
  ready=${optimised[0]}
  optimised=("${optimised[@]:1}")
  if [ -z "$ready" ]; then
    ready=$builds/$compiler-O3
    build "$ready" $compiler -O3
  fi
  compare "$compiler -O3" "$ready"
done
