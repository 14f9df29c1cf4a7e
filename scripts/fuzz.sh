#!/usr/bin/env bash
# Builds every entry of tests/hostile/fuzz for libFuzzer, with AddressSanitizer and
# UndefinedBehaviorSanitizer, and runs each on its corpus.
# scripts/setup.sh fuzz installs what it needs.
#
#   scripts/fuzz.sh <build directory> [seconds for each [reader ...]]
#
# With 0 seconds, it only builds. Prints a line for each reader: executions, edges
# of code that were reached, inputs kept. Inputs are kept in
# <build directory>/inputs/<reader>, from where the next run goes on, and findings
# in <build directory>/findings. Exits with 1 if there is a finding.
#
# With OUT set, as in the containers of OSS-Fuzz, it also puts the programs there,
# each with its corpus as fuzz_<reader>_seed_corpus.zip.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(mkdir -p "$1" && cd "$1" && pwd)
seconds=${2:-300}
shift $(($# < 2 ? $# : 2))

# The libraries count edges too, which leads libFuzzer to new code.
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON -DETX_FUZZ=ON \
  -DETX_SANITIZE=fuzzer-no-link,address,undefined -DCMAKE_C_COMPILER="${CC:-clang}" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 -DCMAKE_C_FLAGS_DEBUG=-g1 >/dev/null
readers=("$@")
if [ ${#readers[@]} = 0 ]; then
  mapfile -t readers < <(ninja -C "$build" -t targets all |
    sed -n "s/^fuzz_\([a-z0-9_]*\): C_EXECUTABLE.*/\1/p" | sort)
fi
[ ${#readers[@]} -gt 0 ] || { echo "no entries for fuzzers in $build" >&2; exit 1; }
cmake --build "$build" --target "${readers[@]/#/fuzz_}"

corpus_of() {
  case $1 in
    verify|memory) echo "$here/tests/hostile/corpus/pte" ;;
    *) echo "$here/tests/hostile/corpus/$1" ;;
  esac
}

if [ -n "${OUT:-}" ]; then
  for reader in "${readers[@]}"; do
    cp "$build/fuzz_$reader" "$OUT/"
    (cd "$(corpus_of "$reader")" && python3 -m zipfile -c "$OUT/fuzz_${reader}_seed_corpus.zip" -- *)
  done
fi
[ "$seconds" != 0 ] || exit 0

# 1 GiB for allocations: that a size is refused is no finding.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024:quarantine_size_mb=16:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/findings"

# run_one <reader>: prints its line; leaves the file <reader>.failed if there is a
# finding.
run_one() {
  local reader=$1 code=0 executions edges
  local log=$build/findings/$reader.log
  mkdir -p "$build/inputs/$reader"
  rm -f "$build/findings/$reader.failed"
  (cd "$build/findings" && nice -n 19 "$build/fuzz_$reader" -max_total_time="$seconds" \
    -rss_limit_mb=3000 -timeout=120 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$reader-" \
    "$build/inputs/$reader" "$(corpus_of "$reader")") >"$log" 2>&1 || code=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
  printf '%-12s %10s executions %7s edges %6s inputs\n' "$reader" "${executions:-?}" \
    "${edges:-?}" "$(find "$build/inputs/$reader" -type f | wc -l)"
  [ $code = 0 ] && return
  touch "$build/findings/$reader.failed"
  echo "$reader: a finding, see $log" >&2
  grep -m5 -E 'ERROR|runtime error|SUMMARY|Test unit written' "$log" >&2 || tail -5 "$log" >&2
}

# As many at a time as there are processors.
jobs=$(nproc)
for reader in "${readers[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  run_one "$reader" &
done
wait
failures=0
for reader in "${readers[@]}"; do
  [ ! -e "$build/findings/$reader.failed" ] || failures=$((failures + 1))
done
[ $failures = 0 ]
