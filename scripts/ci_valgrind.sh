#!/usr/bin/env bash
# Runs planning, a call sequence and the samples under valgrind: no invalid
# access, no use of uninitialised bytes, nothing leaked.
#
#   scripts/ci_valgrind.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" ci
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
check=(valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite)
for set in tiny kv counter swap prefix gru weights; do
  "${check[@]}" "$build/etx" plan "$here/tests/data/pt2/$set" -o "$out/$set.pte" >/dev/null
  "${check[@]}" "$build/etx" verify "$out/$set.pte" >/dev/null
  "${check[@]}" "$build/etx" run "$out/$set.pte" --case "$here/tests/data/pt2/$set" >/dev/null
done
"$build/etx" plan "$here/samples/translate/model/pt2" -o "$out/translate.pte" >/dev/null
"${check[@]}" "$build/translate" --model "$out/translate.pte" "good morning" >/dev/null
echo "valgrind: nothing found"
