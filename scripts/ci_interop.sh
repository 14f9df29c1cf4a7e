#!/usr/bin/env bash
# Our files in the stock runtime: plans every set for --target executorch and
# runs it with executorch.runtime from PyPI; small models of known architectures
# against PyTorch. Where the packages cannot be installed it says so and leaves.
#
#   scripts/ci_interop.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
python=${ETX_TORCH_PYTHON:-}
if [ -z "$python" ]; then
  venv=$here/build-venv
  if [ ! -x "$venv/bin/python" ]; then
    "$here/scripts/setup.sh" ci
    python3 -m venv "$venv" || { echo "interop: skipped, no virtual environment"; exit 0; }
  fi
  if ! "$venv/bin/python" -c 'import executorch.runtime' 2>/dev/null; then
    "$venv/bin/pip" install -q torch==2.13.0 executorch==1.5.1 safetensors pyyaml 2>"$venv/pip.log" ||
      { echo "interop: skipped, the packages cannot be installed"; tail -3 "$venv/pip.log"; exit 0; }
  fi
  python=$venv/bin/python
fi
sets=()
for set in tiny kv counter swap prefix mixed integers planes gru cnn branches llama \
  weights whisper quantized; do
  sets+=("$here/tests/data/pt2/$set")
done
# Both use one processor: beside each other.
"$python" "$here/tests/interop/run_translator.py" "$build/etx" "$here/samples/translate/model" \
  >"$build/translator.txt" 2>&1 &
translator=$!
failed=0
"$python" "$here/tests/interop/run_interop.py" "$build/etx" "${sets[@]}" || failed=$?
wait $translator || failed=$?
cat "$build/translator.txt"
[ $failed = 0 ] || exit $failed
cmake -S "$here" -B "$build" -DETX_TORCH_PYTHON="$python" >/dev/null
cmake --build "$build"
ctest --test-dir "$build" --output-on-failure -j2 -L torch
# A few models in a few minutes; --all of run_models.py takes them all.
if ! "$python" -c 'import transformers' 2>/dev/null; then
  "$python" -m pip install -q transformers==4.57.6 2>/dev/null ||
    echo "interop: no models, transformers cannot be installed"
fi
"$python" "$here/tests/models/run_models.py" "$build/etx" || [ $? = 77 ]
