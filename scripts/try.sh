#!/usr/bin/env bash
# A first try after checkout: installs missing packages, builds, plans the two
# methods of the translator into one program, and translates three sentences.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$here/build
"$here/scripts/setup.sh" build
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=OFF >/dev/null
cmake --build "$build"

"$build/etx" plan "$here/samples/translate/model/batch" -o "$build/translate.pte"
echo
"$build/translate" --model "$build/translate.pte" --beam 4 --stats \
  "the train leaves at half past seven" \
  "it costs twenty-one euros and five cents" \
  "on the third of march 2024 there are eighty-one people"
