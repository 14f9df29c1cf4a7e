#!/usr/bin/env bash
# Checks that the planner gives the same plans with gcc and clang, with and
# without optimisation, on 32-bit ARM and on a big-endian processor (s390x) under
# qemu, for the problems of tests/data and for random ones.
#
#   scripts/ci_planner.sh [directory for the builds [random problems]]
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
builds=${1:-$here/build-planner}
count=${2:-1500}
"$here/scripts/setup.sh" ci
mkdir -p "$builds"
problems=()
for file in "$here"/tests/data/plans/*.csv "$here"/tests/data/minimalloc/*.csv; do
  [ "${file##*/}" = bounds.csv ] || problems+=("$file")
done

# run <name> <compiler and flags> <emulator>: builds the planner from its sources
# alone, as another project would use it, and prints the plans.
run() {
  # shellcheck disable=SC2046,SC2086
  $2 -std=c11 -Wall -Wextra -Werror -I"$here" $(find "$here/planner" -name '*.c') \
    "$here"/format/base/*.c "$here/tests/planner/plan_print.c" -o "$builds/$1"
  $3 "$builds/$1" -n "$count" -t 500 "${problems[@]}" >"$builds/$1.txt"
}
names=(gcc-O2 gcc-O0 clang-O2 arm s390x)
pids=()
run gcc-O2 "gcc -O2" "" & pids+=($!)
run gcc-O0 "gcc -O0" "" & pids+=($!)
run clang-O2 "clang -O2" "" & pids+=($!)
run arm "arm-linux-gnueabihf-gcc -O2 -static" qemu-arm & pids+=($!)
run s390x "s390x-linux-gnu-gcc -O2 -static" qemu-s390x & pids+=($!)
failed=0
for i in "${!pids[@]}"; do
  wait "${pids[$i]}" || { echo "planner: ${names[$i]} failed" >&2; failed=1; }
done
[ $failed = 0 ]
for name in "${names[@]:1}"; do
  cmp "$builds/${names[0]}.txt" "$builds/$name.txt"
done
echo "the same plans from ${names[*]}: $(tail -1 "$builds/${names[0]}.txt")"
