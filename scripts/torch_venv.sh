#!/usr/bin/env bash
# A virtual environment with the stock runtime, PyTorch and what the tests read
# files with. Made if it is not there; prints the path of its Python. Ends with 1,
# and the end of pip's messages, where it cannot be installed.
#   scripts/torch_venv.sh <directory of the environment>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
venv=$1
if [ ! -x "$venv/bin/python" ]; then
  "$here/scripts/setup.sh" ci >&2
  python3 -m venv "$venv" >&2
fi
# One that was interrupted is completed: the last of the packages says so.
if ! "$venv/bin/python" -c 'import executorch.runtime, transformers' 2>/dev/null; then
  "$venv/bin/pip" install -q torch==2.13.0 executorch==1.5.1 safetensors pyyaml \
    transformers==4.57.6 >"$venv/pip.log" 2>&1 || { tail -3 "$venv/pip.log" >&2; exit 1; }
fi
echo "$venv/bin/python"
