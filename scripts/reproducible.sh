#!/usr/bin/env bash
# Builds the wheel twice from the last commit, in two directories, and compares
# the bytes; then the library as two files (etx select --amalgamate), made by the
# command of each wheel. scripts/wheels.sh makes the wheels of a release with the
# same settings. Needs the network for scikit-build-core, and takes two builds.
#
#   scripts/reproducible.sh <scratch directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q scikit-build-core==1.1.2 numpy

commit=$(git -C "$here" rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# build_one <directory>: the directory's name is a part of no file.
build_one() {
  local place=$1
  rm -rf "$place"
  mkdir -p "$place/source"
  # A wheel keeps the permissions of the files that it is made from.
  (umask 022 && git -C "$here" archive "$commit" | tar -x --no-same-permissions -C "$place/source")
  CFLAGS="-ffile-prefix-map=$place=." LDFLAGS=-s "$work/venv/bin/pip" wheel -q \
    --no-build-isolation --no-deps -w "$place/wheel" -C build-dir="$place/build" "$place/source"
  "$work/venv/bin/pip" install -q --no-deps --target "$place/site" "$place"/wheel/*.whl
  "$place/site/bin/etx" plan "$here/samples/stateful_model" -o "$place/model.pte" --quiet
  "$place/site/bin/etx" select "$place/model.pte" -o "$place/sources" --amalgamate core
}

build_one "$work/first"
build_one "$work/another/place/second"

compare() {
  cmp "$work/first/$1" "$work/another/place/second/$1"
  sha256sum "$work/first/$1"
}
wheel=wheel/$(basename "$work"/first/wheel/*.whl)
compare "$wheel"
compare sources/etx.c
compare sources/etx.h
echo "reproducible: the wheel and the amalgamation have equal bytes"
