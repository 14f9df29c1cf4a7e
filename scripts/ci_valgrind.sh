#!/usr/bin/env bash
# Runs planning, recorded calls and the translator under valgrind. Fails on
# invalid accesses, uses of uninitialised bytes and leaks.
#
#   scripts/ci_valgrind.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" ci
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

check() {
  valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$@" >/dev/null
}

check_set() {
  check "$build/etx" plan "$here/tests/data/pt2/$1" -o "$out/$1.pte" &&
    check "$build/etx" verify "$out/$1.pte" &&
    check "$build/etx" run "$out/$1.pte" --case "$here/tests/data/pt2/$1"
}

check_translator() {
  "$build/etx" plan "$here/samples/translate/model/pt2" -o "$out/translate.pte" >/dev/null &&
    check "$build/translate" --model "$out/translate.pte" "good morning"
}

# One check per processor at a time; each is a function call in a shell of its own.
export -f check check_set check_translator
export here build out
printf '%s\n' check_translator "check_set "{weights,gru,prefix,swap,counter,kv,tiny} |
  xargs -P "$(nproc)" -I '{}' bash -c '{} || { echo "valgrind: {} failed" >&2; exit 1; }'
echo "valgrind: nothing found"
