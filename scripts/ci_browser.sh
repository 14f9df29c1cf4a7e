#!/usr/bin/env bash
# The page of etx mem in Debian's chromium, without a window.
#
#   scripts/ci_browser.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" browser
# Here it must not be skipped, so its own words and its own exit code count.
python3 "$here/tests/cli/check_page.py" "$build/etx" "$here"
