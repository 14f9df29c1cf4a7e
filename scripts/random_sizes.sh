#!/usr/bin/env bash
# Calls methods with random sizes, with each optional pass and each mechanism of
# varying sizes switched off by itself, overnight: tests/cli/random_symbols_test
# says what is compared. All directories get 100 calls a turn, so that each has
# got equally many when the script is stopped.
# Usage: scripts/random_sizes.sh BUILD TURNS DIRECTORY... Prints a line for each
# directory of a turn, and the seed and the message of each that fails.
# Recorded sets lie in tests/data/pt2; tests/bench/sized_models.py and
# sized_unseen.py make whole models. Passes keep others from fusing operators, so
# bits are compared between calls of one plan, and not between plans.
set -euo pipefail

build=${1:?usage: $0 BUILD TURNS DIRECTORY...}
turns=${2:?usage: $0 BUILD TURNS DIRECTORY...}
shift 2
calls=100
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for ((turn = 1; turn <= turns; ++turn)); do
  for methods in "$@"; do
    start=$SECONDS
    if nice -n 19 "$build/tests/test_cli_random_symbols_test" "$calls" "$turn" \
      --other-bits "$methods" >"$log" 2>&1; then
      result=$(sed -n 's/^.*: \([0-9]* calls compared.*\)/\1/p' "$log" |
        paste -sd';')
    else
      failed=$((failed + 1))
      result="FAILED: $(grep -m 1 'ERROR: ' "$log" || tail -n 1 "$log")"
    fi
    printf 'turn %d, %s, %d s: %s\n' "$turn" "$methods" \
      $((SECONDS - start)) "$result"
  done
done
printf '%d failed\n' "$failed"
((failed == 0))
