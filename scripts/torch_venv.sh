#!/usr/bin/env bash
# Makes a virtual environment with ExecuTorch, PyTorch and the packages that tests
# need, if it does not exist, and prints the path of its Python. If a package
# cannot be installed, prints the end of pip's messages and ends with 1.
#
#   scripts/torch_venv.sh <directory of the environment>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
venv=$1
if [ ! -x "$venv/bin/python" ]; then
  "$here/scripts/setup.sh" ci >&2
  python3 -m venv "$venv" >&2
fi
# An interrupted installation is completed: the last packages are then missing.
if ! "$venv/bin/python" -c 'import executorch.runtime, transformers' 2>/dev/null; then
  "$venv/bin/pip" install -q torch==2.13.0 executorch==1.5.1 safetensors pyyaml \
    transformers==4.57.6 >"$venv/pip.log" 2>&1 || { tail -3 "$venv/pip.log" >&2; exit 1; }
fi
echo "$venv/bin/python"
