#!/usr/bin/env bash
# Builds and tests everything with clang, and checks that the builds of gcc and
# clang plan every set of methods in the tree to the same bytes.
#
#   scripts/ci_clang.sh <clang build directory> <gcc build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
clang_build=$1
gcc_build=$2
"$here/scripts/setup.sh" ci
cmake -S "$here" -B "$clang_build" -G Ninja -DETX_TESTS=ON -DETX_WERROR=ON -DETX_SHARED=ON \
  -DCMAKE_C_COMPILER=clang -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld >/dev/null
cmake --build "$clang_build"
ctest --test-dir "$clang_build" --output-on-failure -j2 -LE 'architecture|hostile|browser|docs'

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
compared=0
for set in "$here"/tests/data/pt2/*/ "$here"/tests/data/pt2/*/core/ \
           "$here"/samples/translate/model/pt2/ "$here"/samples/stateful_model/; do
  for target in etx executorch; do
    gcc_code=0 clang_code=0
    "$gcc_build/etx" plan "$set" --target $target -o "$out/gcc.pte" >"$out/gcc.txt" 2>&1 || gcc_code=$?
    "$clang_build/etx" plan "$set" --target $target -o "$out/clang.pte" >"$out/clang.txt" 2>&1 || clang_code=$?
    if [ $gcc_code != $clang_code ]; then
      echo "exit codes differ for $set --target $target: $gcc_code and $clang_code" >&2
      exit 1
    fi
    [ $gcc_code = 0 ] || continue
    cmp "$out/gcc.pte" "$out/clang.pte"
    compared=$((compared + 1))
  done
done
[ $compared -ge 10 ] || { echo "only $compared plans compared" >&2; exit 1; }
echo "$compared plans: the same bytes from gcc and clang builds"
