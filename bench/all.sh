#!/usr/bin/env bash
# Measures etx beside other runtimes and writes the tables to docs/speed.md:
# about thirteen minutes on a machine with nothing else to do.
#
#   bench/all.sh PYTHON MODELS BUILD [LINES]
#
# PYTHON is the interpreter of the environment of setup_peers.sh, MODELS the directory
# where files are made once, BUILD a build of etx, LINES a directory for the raw
# measurements. With ETX_BENCH_MAKE=etx only etx's own files are made;
# contenders without files are left out.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
python=${1:?usage: bench/all.sh PYTHON MODELS BUILD [LINES]}
models=${2:?usage: bench/all.sh PYTHON MODELS BUILD [LINES]}
build=${3:?usage: bench/all.sh PYTHON MODELS BUILD [LINES]}
lines=${4:-$models/lines}
document=$here/../docs/speed.md
mkdir -p "$models" "$lines"
export PYTHONWARNINGS=ignore

own=()
[ "${ETX_BENCH_MAKE:-}" != etx ] ||
  own=(etx-float32 etx-int8 etx-int4 etx-batch-float32 etx-batch-int8)

# make SHAPE MODELS: every contender's files of one translator.
make() {
  ETX_BENCH_SHAPE=$1 "$python" "$here/build.py" --cache "$2" --etx "$build" \
    "${own[@]}"
}

# measure SECTION SHAPE MODELS ...: one table.
measure() {
  local section=$1 shape=$2 cache=$3
  shift 3
  ETX_BENCH_SHAPE=$shape "$python" "$here/run.py" --cache "$cache" \
    --etx "$build" --section "$section" --lines "$lines/$section.jsonl" \
    --markdown "$document" "$@"
}

ninja -C "$build" etx bench_worker bench_forward bench_lengths
make opus-mt "$models"
make trained "$models/trained"
"$python" "$here/build_models.py" --cache "$models" --etx "$build" \
  ${own[@]:+--only "${own[@]}"}

# Write new files to the disk now, not while something is measured.
sync
SECONDS=0
measure peers opus-mt "$models"
measure peers-batch opus-mt "$models" --rows 32
measure peers-trained trained "$models/trained"
"$python" "$here/run_models.py" --cache "$models" --etx "$build" \
  --lines "$lines/models.jsonl" --markdown "$document"
"$python" "$here/varying_lengths.py" --cache "$models/lengths" --etx "$build" \
  --lines "$lines/lengths.jsonl" --markdown "$document"
echo "measured in $SECONDS s"
