#!/usr/bin/env bash
# Runs files of etx in ExecuTorch's runtime: plans every set for --target
# executorch and runs it with executorch.runtime from PyPI. Then compares small
# models of known architectures with PyTorch. If the packages cannot be
# installed, it prints that and ends with 0.
#
#   scripts/ci_interop.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
python=${ETX_TORCH_PYTHON:-}
if [ -z "$python" ]; then
  python=$("$here/scripts/torch_venv.sh" "$here/build-venv") ||
    { echo "interop: skipped, the packages cannot be installed"; exit 0; }
fi
sets=()
for set in tiny kv counter swap prefix mixed halves integers planes gru cnn branches loops scans recurrent late llama \
  small_sizes weights whisper quantized; do
  sets+=("$here/tests/data/pt2/$set")
done
# Each of the two uses one processor, so they run at the same time.
"$python" "$here/tests/interop/run_translator.py" "$build/etx" "$here/samples/translate/model" \
  >"$build/translator.txt" 2>&1 &
translator=$!
failed=0
"$python" "$here/tests/interop/run_interop.py" "$build/etx" "${sets[@]}" || failed=$?
# The same with scratch in two memories, of which the fast one is small.
"$python" "$here/tests/interop/run_interop.py" "$build/etx" --memory fast=512 --memory slow \
  "${sets[@]}" || failed=$?
wait $translator || failed=$?
cat "$build/translator.txt"
[ $failed = 0 ] || exit $failed
cmake -S "$here" -B "$build" -DETX_TORCH_PYTHON="$python" >/dev/null
cmake --build "$build"
ctest --test-dir "$build" --output-on-failure -j2 -L torch
# A few models in a few minutes; check_models.py --all runs all of them. Beside it,
# a sample of the table of docs/control-flow.md, which is whole without --sample and
# has each optional pass switched off by --each-pass, and a few random models whose
# caches drop their oldest rows.
"$python" "$here/tests/models/check_models.py" "$build/etx" >"$build/models.txt" 2>&1 &
models=$!
"$python" "$here/tests/models/check_control_flow.py" "$build/etx" --sample ||
  [ $? = 77 ] || failed=1
"$python" "$here/tests/models/check_caches.py" "$build/etx" --models 6 || failed=1
wait $models || [ $? = 77 ] || failed=1
cat "$build/models.txt"
exit $failed
