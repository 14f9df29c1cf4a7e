#!/usr/bin/env bash
# Calls methods with random sizes, with each optional pass and each mechanism of
# varying sizes switched off by itself, overnight: tests/cli/random_symbols_test
# says what is compared. All directories get 100 calls a turn, so that each has
# got equally many when the script is stopped.
# Usage: scripts/random_sizes.sh [--record FILE] BUILD TURNS DIRECTORY... Prints a
# line for each directory of a turn, and the seed and the message of each that
# fails. The turn is the seed of its calls. With --record, lines are added to FILE,
# and a turn of a directory that passed there is not run again: the same words
# continue a run that was stopped. Start another FILE for another build.
# Recorded sets lie in tests/data/pt2; tests/bench/sized_models.py and
# sized_unseen.py make whole models. Passes keep others from fusing operators, so
# bits are compared between calls of one plan, and not between plans.
set -euo pipefail

record=/dev/null
if [ "${1:-}" = --record ]; then
  record=${2:?--record needs a file}
  touch "$record"
  shift 2
fi
build=${1:?usage: $0 [--record FILE] BUILD TURNS DIRECTORY...}
turns=${2:?usage: $0 [--record FILE] BUILD TURNS DIRECTORY...}
shift 2
calls=100
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Whether the record has a line that starts with these words and is no failure.
has_passed() {
  awk -v start="$1" 'index($0, start) == 1 && !/ s: FAILED/ { found = 1 }
                     END { exit !found }' "$record"
}

failed=0
earlier=0
for ((turn = 1; turn <= turns; ++turn)); do
  for methods in "$@"; do
    if has_passed "turn $turn, $methods, "; then
      earlier=$((earlier + 1))
      continue
    fi
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
      $((SECONDS - start)) "$result" | tee -a "$record"
  done
done
((earlier == 0)) || printf '%d passed before\n' "$earlier"
printf '%d failed\n' "$failed"
((failed == 0))
