#!/usr/bin/env bash
# Tests the page of etx mem in Debian's chromium, headless.
#
#   scripts/ci_browser.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" browser
# Call it directly, not by ctest: here it must not be skipped.
python3 "$here/tests/cli/memory/check_page.py" "$build/etx" "$here"
