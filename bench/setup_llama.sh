#!/usr/bin/env bash
# Builds llama.cpp and its contender for this machine, from the source archive of
# the package llama-cpp-python. Packages that are built already use fewer
# instructions than the processor has.
#
#   bench/setup_llama.sh DIRECTORY [JOBS]
#
# Makes DIRECTORY/bench_llama; takes ten to forty minutes of a processor.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
directory=${1:?usage: bench/setup_llama.sh DIRECTORY [JOBS]}
jobs=${2:-2}
version=0.3.36
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
archive=$directory/llama_cpp_python-$version.tar.gz
source=$directory/llama_cpp_python-$version/vendor/llama.cpp

[ -f "$archive" ] ||
  python3 -m pip download --quiet --no-deps --no-binary llama-cpp-python \
    --dest "$directory" "llama-cpp-python==$version"
[ -d "$source" ] || tar -xzf "$archive" -C "$directory"

launcher=()
! command -v ccache > /dev/null ||
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache
    -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S "$source" -B "$directory/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DGGML_CCACHE=OFF \
  -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=OFF \
  -DLLAMA_BUILD_SERVER=OFF "${launcher[@]}" > "$directory/configure.log"
nice ninja -C "$directory/build" -j"$jobs" llama

built=$directory/build
cc -O2 -std=c11 -Wall -Wextra -c "$here/llama_language.c" \
  -I"$source/include" -I"$source/ggml/include" -o "$directory/language.o"
libraries=("$(find "$built" -name libllama.a)")
for name in ggml ggml-cpu ggml-base; do
  libraries+=("$(find "$built" -name "lib$name.a")")
done
c++ "$directory/language.o" -Wl,--start-group "${libraries[@]}" \
  -Wl,--end-group -fopenmp -pthread -ldl -lm -o "$directory/bench_llama"
echo "made $directory/bench_llama"
