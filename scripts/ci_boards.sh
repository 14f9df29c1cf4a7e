#!/usr/bin/env bash
# Builds the applications of examples/boards for every board there, runs them under
# qemu, and prints the table of docs/boards.md. See run_boards.py for what fails.
#
#   scripts/ci_boards.sh [directory for the builds [a build of this tree]]
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$here/build-boards}
build=${2:-$here/build-test}
"$here/scripts/setup.sh" boards
python3 "$here/examples/boards/tools/stack_bound_test.py" arm-none-eabi-gcc
python3 "$here/examples/boards/tools/stack_bound_test.py" riscv64-unknown-elf-gcc
python3 "$here/examples/boards/tools/run_boards.py" --build "$build" -o "$out"
