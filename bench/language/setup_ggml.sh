#!/usr/bin/env bash
# Builds llama.cpp or whisper.cpp and its contender for this machine, from the
# source archive of a package of Python. Packages that are built already use fewer
# instructions than the processor has.
#
#   bench/language/setup_ggml.sh llama|whisper DIRECTORY [JOBS]
#
# Makes DIRECTORY/bench_llama or DIRECTORY/bench_whisper. llama.cpp takes ten to
# forty minutes of a processor, whisper.cpp five to twenty.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
usage='usage: bench/language/setup_ggml.sh llama|whisper DIRECTORY [JOBS]'
peer=${1:?$usage}
directory=${2:?$usage}
jobs=${3:-2}
case $peer in
  llama) package=llama-cpp-python version=0.3.36 folder=vendor/llama.cpp ;;
  whisper) package=pywhispercpp version=1.5.1 folder=whisper.cpp ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
stem=${package//-/_}-$version
source=$directory/$stem/$folder

[ -f "$directory/$stem.tar.gz" ] ||
  python3 -m pip download --quiet --no-deps --no-binary "$package" \
    --dest "$directory" "$package==$version"
[ -d "$source" ] || tar -xzf "$directory/$stem.tar.gz" -C "$directory"

launcher=()
! command -v ccache > /dev/null ||
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
parts=()
for part in COMMON TESTS EXAMPLES TOOLS SERVER; do
  parts+=("-D${peer^^}_BUILD_$part=OFF")
done
cmake -S "$source" -B "$directory/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DGGML_CCACHE=OFF "${parts[@]}" \
  "${launcher[@]}" > "$directory/configure.log"
nice ninja -C "$directory/build" -j"$jobs" "$peer"

built=$directory/build
cc -O2 -std=c11 -Wall -Wextra -c "$here/${peer}_language.c" \
  -I"$source/include" -I"$source/ggml/include" -o "$directory/language.o"
libraries=()
for name in "$peer" ggml ggml-cpu ggml-base; do
  libraries+=("$(find "$built" -name "lib$name.a")")
done
c++ "$directory/language.o" -Wl,--start-group "${libraries[@]}" \
  -Wl,--end-group -fopenmp -pthread -ldl -lm -o "$directory/bench_$peer"
echo "made $directory/bench_$peer"
