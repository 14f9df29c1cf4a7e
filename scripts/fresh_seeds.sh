#!/usr/bin/env bash
# Runs the tests that draw random inputs with seeds that nobody tried, to find
# what the fixed seed of the other runs does not: overnight, not for each change.
# Usage: scripts/fresh_seeds.sh BUILD [ROUNDS]. Prints each seed that fails.
set -euo pipefail

build=${1:?usage: $0 BUILD [ROUNDS]}
rounds=${2:-20}
here=$(cd "$(dirname "$0")/.." && pwd)

# The names that ctest gives to the files that start from a seed.
pattern=$(cd "$here/tests" && grep -rl --include='*_test.c' test_random_start . |
  sed 's|^\./||; s|\.c$||' | paste -sd'|')
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for ((round = 1; round <= rounds; ++round)); do
  seed=$((RANDOM << 30 | RANDOM << 15 | RANDOM))
  printf 'round %d of %d: seed %d\n' "$round" "$rounds" "$seed"
  if ! ETX_TEST_SEED=$seed ctest --test-dir "$build" -j "$(nproc)" \
    -R "^($pattern)\$" --no-tests=error >"$log" 2>&1; then
    sed -n '/The following tests FAILED/,$p' "$log"
    failed=$((failed + 1))
  fi
done
printf '%d of %d seeds failed\n' "$failed" "$rounds"
((failed == 0))
