#!/usr/bin/env bash
# Installs missing packages, builds with warnings as errors, runs all tests.
#
#   scripts/test.sh [build directory] [more options for cmake ...]
#
# ETX_TESTS_WITHOUT=REGEX leaves out the tests with such a label.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$here/build-test}
shift || true
"$here/scripts/setup.sh" test
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON -DETX_WERROR=ON -DETX_SHARED=ON "$@" >/dev/null
cmake --build "$build"
ctest --test-dir "$build" --output-on-failure -j2 ${ETX_TESTS_WITHOUT:+-LE "$ETX_TESTS_WITHOUT"}
