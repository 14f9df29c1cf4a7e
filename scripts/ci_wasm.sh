#!/usr/bin/env bash
# Builds etx.wasm and tests it: recorded sets and the translator under Node.js,
# the page of examples/web in headless chromium.
#
#   scripts/ci_wasm.sh BUILD [DIRECTORY [LINES]]
#
# BUILD has etx of this tree; the build for WebAssembly goes into DIRECTORY
# (build-wasm). LINES of the translator are compared (60; all are 500).
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
etx=$(realpath "$1/etx")
out=${2:-$here/build-wasm}
lines=${3:-60}
model=$here/samples/translate/model
tests=$here/tests/javascript
"$here/scripts/setup.sh" wasm

cd "$here"
cmake --preset wasm -B "$out" -G Ninja >/dev/null
ninja -C "$out" etx_javascript >/dev/null

mkdir -p "$out/sets" "$out/page"
for cases in "$here"/tests/data/pt2/*/cases.json; do
  set=$(basename "$(dirname "$cases")")
  # Sets that need options of etx plan, such as --cap, are left out.
  "$etx" plan "$(dirname "$cases")" -o "$out/sets/$set.pte" --quiet 2>/dev/null || true
done
"$etx" plan "$model/pt2" -o "$out/page/translate.pte" --quiet
cp "$out/etx.wasm" "$here/javascript/etx.mjs" "$here"/examples/web/*.mjs \
  "$here/examples/web/index.html" "$model/vocab.txt" "$out/page"

gcc -O2 -I"$here" "$tests/fma_hash.c" -lm -o "$out/fma_hash"
clang-19 --target=wasm32-wasi -O2 -msimd128 -ffp-contract=off -nostartfiles \
  -Wl,--no-entry -I"$here" "$tests/fma_hash.c" -o "$out/fma_hash.wasm"
expected=$("$out/fma_hash")
found=$(node "$tests/fma_hash.mjs" "$out/fma_hash.wasm")
[ "$expected" = "$found" ] || {
  echo "fma_hash: $found in WebAssembly, expected $expected as on this machine" >&2
  exit 1
}
node "$tests/wrapper_test.mjs" "$out/etx.wasm" "$out/sets/counter.pte" "$out/sets/kv.pte" >/dev/null
node "$tests/recorded_sets_test.mjs" "$out/etx.wasm" "$out/sets" "$here/tests/data/pt2"
node "$tests/translator_test.mjs" "$out/etx.wasm" "$out/page/translate.pte" "$model" "$lines"
python3 "$tests/check_translator_page.py" "$out/page" "$model/test.tsv"
