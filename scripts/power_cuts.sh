#!/usr/bin/env bash
# Simulated losses of power while files are written: outputs of commands, and saved
# sessions. The tests take a sample; this takes as many as are wanted.
#
#   scripts/power_cuts.sh <build directory of tests> [cuts of each]
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
export ETX_POWER_CUTS=${2:-1000000}
for suite in exporter_durable_power_test runtime_state_slots_test; do
  "$1/tests/test_$suite"
done
