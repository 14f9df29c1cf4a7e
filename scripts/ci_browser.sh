#!/usr/bin/env bash
# Tests the pages of etx mem and etx inspect in Debian's chromium, headless.
#
#   scripts/ci_browser.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" browser
# Call them directly, not by ctest: here they must not be skipped.
python3 "$here/tests/cli/memory/check_page.py" "$build/etx" "$here"
python3 "$here/tests/cli/graph/check_graph.py" "$build/etx" "$here"
