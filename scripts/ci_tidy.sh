#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy on the libraries and the command.
# Findings are errors.
#
#   scripts/ci_tidy.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" ci
# Configure with clang, so that the compile commands have its options. Only a
# generated header is built.
cmake -S "$here" -B "$build" -G Ninja -DCMAKE_C_COMPILER=clang >/dev/null
cmake --build "$build" --target generated/cli/page/page_files.h >/dev/null
build=$(cd "$build" && pwd)

tidy() {
  clang-tidy --quiet -p "$1" "$2" 2>/dev/null || { echo "clang-tidy: findings in $2"; exit 1; }
}
export -f tidy
files=$(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
  grep -E "^$here/(format|planner|runtime|shared_memory|generate|tokenizer|exporter|cli)/" | sort -u)
echo "$files" | xargs -P "$(nproc)" -I '{}' bash -c 'tidy "$0" "$1"' "$build" '{}'
echo "clang-tidy: nothing found in $(echo "$files" | wc -l) files"
