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
# in <build directory>/findings. Exits with 1 if there is a finding. Every run adds
# a line to <build directory>/runs.txt, from which the sums over all runs are
# printed in the end.
#
# FUZZ_SEED is the seed of the random numbers; without it, each run has another one.
# FUZZ_JOBS is how many processors to use; without it, all of them.
#
# With OUT set, as in the containers of OSS-Fuzz, it also puts the programs there,
# each with its corpus as fuzz_<reader>_seed_corpus.zip.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || { sed -n '2,19s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(mkdir -p "$1" && cd "$1" && pwd)
seconds=${2:-300}
shift $(($# < 2 ? $# : 2))

# The libraries count edges too, which leads libFuzzer to new code. No -g: reports
# have the names of functions all the same, and the build takes a tenth less time.
# Loops for AVX-512, which take longest to compile, are left out.
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON -DETX_FUZZ=ON \
  -DETX_SANITIZE=fuzzer-no-link,address,undefined -DCMAKE_C_COMPILER="${CC:-clang}" \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O2 -DETX_WIDEST_SET=avx2 \
  -DCMAKE_EXE_LINKER_FLAGS='-fuse-ld=lld -Wl,--gc-sections' >/dev/null
readers=("$@")
if [ ${#readers[@]} = 0 ]; then
  mapfile -t readers < <(ninja -C "$build" -t targets all |
    sed -n "s/^fuzz_\([a-z0-9_]*\): C_EXECUTABLE.*/\1/p" | sort)
fi
[ ${#readers[@]} -gt 0 ] || { echo "no entries for fuzzers in $build" >&2; exit 1; }
jobs=${FUZZ_JOBS:-$(nproc)}
cmake --build "$build" --parallel "$jobs" --target "${readers[@]/#/fuzz_}"

corpus_of() {
  case $1 in
    verify|memory) echo "$here/tests/hostile/corpus/pte" ;;
    *) echo "$here/tests/hostile/corpus/$1" ;;
  esac
}

# The longest input: more bytes make every execution slower, and what a reader does
# with a longer file is more of the same.
most_bytes() {
  case $1 in
    json|yaml|program|csv|npy|safetensors) echo 4096 ;;
    snapshot) echo 256 ;;
    ptd) echo 2048 ;;
    pt2) echo 65536 ;;
    tokenizer) echo 8192 ;;
    *) echo 16384 ;;
  esac
}

if [ -n "${OUT:-}" ]; then
  for reader in "${readers[@]}"; do
    cp "$build/fuzz_$reader" "$OUT/"
    (cd "$(corpus_of "$reader")" && python3 -m zipfile -c "$OUT/fuzz_${reader}_seed_corpus.zip" -- *)
  done
fi
[ "$seconds" != 0 ] || exit 0

# 1 GiB for allocations: that a size is refused is no finding. quarantine_size_mb:
# what an execution or two have freed stays in the cache.
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024:quarantine_size_mb=1:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/findings"

# The limit for one input is long, because a process of low priority may wait.
#
# run_one <reader>: prints its line; leaves the file <reader>.failed if there is a
# finding.
run_one() {
  local reader=$1 code=0 executions edges
  local log=$build/findings/$reader.log
  mkdir -p "$build/inputs/$reader"
  rm -f "$build/findings/$reader.failed"
  (cd "$build/findings" && nice -n 19 "$build/fuzz_$reader" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" \
    -rss_limit_mb=3000 -timeout=300 -max_len="$(most_bytes "$reader")" -print_final_stats=1 -print_funcs=0 \
    -artifact_prefix="$build/findings/$reader-" \
    "$build/inputs/$reader" "$(corpus_of "$reader")") >"$log" 2>&1 || code=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
  printf '%-12s %10s executions %7s edges %6s inputs\n' "$reader" "${executions:-?}" \
    "${edges:-?}" "$(find "$build/inputs/$reader" -type f | wc -l)"
  echo "$reader ${executions:-0} ${edges:-0}" >>"$build/runs.txt"
  [ $code = 0 ] && return
  touch "$build/findings/$reader.failed"
  echo "$reader: a finding, see $log" >&2
  grep -m5 -E 'ERROR|runtime error|SUMMARY|Test unit written' "$log" >&2 || tail -5 "$log" >&2
  local input=$build/findings/$(sed -n 's/.*Test unit written to .*\///p' "$log" | tail -1)
  if [ -f "$input" ] && [ "$(stat -c %s "$input")" -le 8192 ]; then
    echo "the input, in base64:" >&2
    base64 "$input" >&2
  fi
}

for reader in "${readers[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  run_one "$reader" &
done
wait
awk '{ count[$1] += $2; all += $2; if ($3 > edges[$1]) edges[$1] = $3 }
  END { for (reader in count) printf "%-12s %10d executions %7d edges in all runs\n",
          reader, count[reader], edges[reader] | "sort"
        close("sort"); printf "all readers  %10d executions\n", all }' "$build/runs.txt"
failures=0
for reader in "${readers[@]}"; do
  [ ! -e "$build/findings/$reader.failed" ] || failures=$((failures + 1))
done
[ $failures = 0 ]
