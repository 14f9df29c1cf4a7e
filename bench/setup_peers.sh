#!/usr/bin/env bash
# Makes a Python environment for the contenders.
#
#   bench/setup_peers.sh DIRECTORY
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
directory=${1:?usage: bench/setup_peers.sh DIRECTORY}
python3 -m venv "$directory"
"$directory/bin/pip" install --quiet -r "$here/requirements.txt"
echo "$directory/bin/python $here/run.py --help"
