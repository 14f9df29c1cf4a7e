#!/usr/bin/env bash
# Tests the pages of etx mem and etx inspect in Debian's chromium, headless.
# Then the drawing of etx dump --netron with onnx and netron from PyPI; if they
# cannot be installed, it prints that and leaves the test out.
#
#   scripts/ci_browser.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" browser
# Call them directly, not by ctest: here they must not be skipped.
python3 "$here/tests/cli/memory/check_page.py" "$build/etx" "$here"
python3 "$here/tests/cli/graph/check_graph.py" "$build/etx" "$here"
venv=$build/netron-venv
python3 -m venv "$venv"
if "$venv/bin/pip" install -q onnx netron 2>"$build/netron-pip.log"; then
  "$venv/bin/python" "$here/tests/cli/graph/check_netron.py" "$build/etx" "$here"
else
  echo "netron: skipped, the packages cannot be installed: $(tail -1 "$build/netron-pip.log")"
fi
