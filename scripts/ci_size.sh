#!/usr/bin/env bash
# Measures the size of the kernels, with all element types and with float32 and
# int64 only, each compiled for size and for speed, beside ExecuTorch's
# libraries; and the size of the runtime without kernels, with all parts and with
# fewer. Fails if one exceeds its limit. Then tests the small builds: every vector
# of the remaining types passes, a program with another type is refused when it
# is loaded, and with fewer parts all tests of the remaining parts pass.
#
#   scripts/ci_size.sh [directory for the builds [Python that has executorch
#                      [a build of this tree for speed, with all types]]]
#
# A kernel library is the table of all kernels and everything that it references,
# including shape rules and schemas, as a stripped shared object without
# unreferenced sections. It exports only etx_all_kernels and the functions for
# loading. ExecuTorch's libraries are stripped too.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
builds=${1:-$here/build-size}
python=${2:-${ETX_TORCH_PYTHON:-$here/build-venv/bin/python}}
for_speed=${3:-}
"$here/scripts/setup.sh" ci
mkdir -p "$builds"

roots="etx_all_kernels etx_kernel_find_named etx_kernel_prepare etx_call_size_outputs"
{ echo "{ global:"; printf '%s;\n' $roots; echo "local: *; };"; } >"$builds/names"

# link_library <build> <shared object>: stripped.
link_library() {
  # shellcheck disable=SC2046
  gcc -shared -o "$2" -Wl,--gc-sections -Wl,--version-script="$builds/names" \
    $(printf -- '-Wl,-u,%s ' $roots) "$1/libetx_runtime.a" "$1/libetx_format.a"
  strip --strip-all "$2"
}

# make_library <directory> <build type> <types>: builds and links it.
make_library() {
  local build=$builds/$1
  cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE="$2" -DETX_DTYPES="$3" \
    -DETX_WERROR=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON >/dev/null
  cmake --build "$build" --target etx_runtime >"$builds/log" || { cat "$builds/log"; exit 1; }
  link_library "$build" "$build/kernels.so"
}

bytes_of() { stat -c %s "$1"; }
# Code and constants only, without unwind tables and the loader's sections.
code_of() { size -A "$1" | awk '/^\.(text|rodata|data)/ { n += $2 } END { print n }'; }

# make_core <directory>: links the runtime without kernels: opening and verifying
# a file, loading and running methods, state. Rows of operators and shape
# functions come with the kernels of a table, so they are left out.
# make_image also links it as an image: the part that a statically linked program
# of a board has, without a dynamic loader's tables and without padding to pages.
# The smallest images are compiled with link-time optimisation at a fixed address.
core_roots="etx_program_open etx_method_needed etx_method_init etx_method_set_input
  etx_method_run etx_method_output etx_shared_memory_needed etx_shared_memory_init
  etx_shared_memory_allocator etx_shared_memory_find etx_shared_memory_reset"
image_flags="-Oz -DNDEBUG -fno-pie -fno-inline-functions-called-once"
image_flags+=" -fno-partial-inlining -fno-caller-saves -malign-data=abi"
make_image() {
  # shellcheck disable=SC2046,SC2086
  gcc $image_flags -nostdlib -static -no-pie -o "$1/core-image" -Wl,--gc-sections \
    -Wl,--entry=etx_program_open -Wl,--unresolved-symbols=ignore-all \
    -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,max-page-size=32 \
    $(printf -- '-Wl,-u,%s ' $core_roots) \
    "$1/libetx_shared_memory.a" "$1/libetx_runtime.a" "$1/format-alone.a"
  strip --strip-all --remove-section=.comment "$1/core-image"
}
make_format_alone() {
  cmake --build "$1" --target etx_shared_memory >"$builds/log"
  cp "$1/libetx_format.a" "$1/format-alone.a"
  gcc-ar t "$1/format-alone.a" | grep '^op_' | xargs gcc-ar d "$1/format-alone.a"
}
make_core() {
  local build=$builds/$1
  make_format_alone "$build"
  { echo "{ global:"; printf '%s;\n' $core_roots; echo "local: *; };"; } >"$builds/core-names"
  # shellcheck disable=SC2046
  gcc -shared -o "$build/core-format-alone.so" -Wl,--gc-sections \
    -Wl,--version-script="$builds/core-names" $(printf -- '-Wl,-u,%s ' $core_roots) \
    "$build/libetx_shared_memory.a" "$build/libetx_runtime.a" "$build/format-alone.a"
  strip --strip-all "$build/core-format-alone.so"
  make_image "$build"
}

row() { printf '| %s | %s | %s |\n' "$1" "$(bytes_of "$2")" "$(code_of "$2")"; }

small="float32;int64"
make_library size-all MinSizeRel ""
make_library size-small MinSizeRel "$small"
if [ -n "$for_speed" ]; then
  mkdir -p "$builds/speed-all"
  link_library "$for_speed" "$builds/speed-all/kernels.so"
else
  make_library speed-all Release ""
fi
make_library speed-small Release "$small"
echo "| library | bytes, stripped | code and constants |"
echo "|---|---|---|"
row "etx, all types, for speed (Release)" "$builds/speed-all/kernels.so"
row "etx, float32 and int64, for speed" "$builds/speed-small/kernels.so"
row "etx, all types, for size (MinSizeRel)" "$builds/size-all/kernels.so"
row "etx, float32 and int64, for size" "$builds/size-small/kernels.so"

make_core size-all
row "etx, no kernels, for size" "$builds/size-all/core-format-alone.so"
row "etx, no kernels, as a part of a static program" "$builds/size-all/core-image"

# make_without <directory> <parts> [options of cmake]: a build without some of its
# parts (format/base/build_parts.h), and its tests. Those of kernels call them
# without a program, so that parts make no difference: only the last build, which
# has small tiles, runs them.
make_without() {
  local build=$builds/$1
  # shellcheck disable=SC2046,SC2086
  cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DETX_WERROR=ON \
    -DETX_TESTS=ON -DETX_EXPORTER=OFF $(printf -- '-DETX_%s=OFF ' $2) \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON ${3:-} >/dev/null
  cmake --build "$build" >"$builds/log" || { cat "$builds/log"; exit 1; }
  make_core "$1"
  ctest --test-dir "$build" -j2 --output-on-failure -LE '^(architecture|host)$' \
    ${4:+-E "$4"} >"$builds/log" ||
    { cat "$builds/log"; exit 1; }
}
# make_small_image <directory> <parts>: the image of a build without them.
make_small_image() {
  local build=$builds/$1
  # shellcheck disable=SC2046
  cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DETX_EXPORTER=OFF \
    $(printf -- '-DETX_%s=OFF ' $2) -DCMAKE_C_FLAGS_MINSIZEREL="$image_flags" \
    -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON >/dev/null
  make_format_alone "$build"
  make_image "$build"
}
make_without size-silent MESSAGES "" "/kernels_"
row "etx, no kernels, no messages" "$builds/size-silent/core-format-alone.so"
row "etx, no kernels, no messages, as a part of a static program" "$builds/size-silent/core-image"
make_without size-static "MESSAGES DYNAMIC" "" "/kernels_"
make_small_image image-static "MESSAGES DYNAMIC"
row "etx, no kernels, no messages, static methods only, as a part of a static program" \
  "$builds/image-static/core-image"
# Small tiles, too, which must not change a result.
make_without size-least "MESSAGES DYNAMIC VERIFIER" -DETX_TILE_BYTES=1024
make_small_image image-least "MESSAGES DYNAMIC VERIFIER"
row "etx, the same without the verifier" "$builds/image-least/core-image"

# The limits. Raise one only on purpose.
check_budget() {
  local bytes
  bytes=$(bytes_of "$builds/$1")
  [ "$bytes" -le "$2" ] || { echo "$1: $bytes bytes, at most $2 are allowed" >&2; exit 1; }
}
check_budget speed-all/kernels.so 2288000
check_budget speed-small/kernels.so 1612000
check_budget size-all/kernels.so 1105000
check_budget size-small/kernels.so 817000
check_budget size-all/core-format-alone.so 109000
check_budget size-all/core-image 88000
check_budget size-silent/core-image 63000
check_budget image-static/core-image 26128
check_budget image-least/core-image 16560

if libraries=$("$python" -c 'import executorch, os; print(list(executorch.__path__)[0])' 2>/dev/null); then
  for name in optimized quantized; do
    cp "$libraries/lib/libexecutorch_kernels_$name.so" "$builds/stock-$name.so"
    strip --strip-all "$builds/stock-$name.so"
    row "stock, $name kernels, all types" "$builds/stock-$name.so"
  done
  cp "$libraries/lib/libexecutorch.so" "$builds/stock-core.so"
  strip --strip-all "$builds/stock-core.so"
  row "stock, no kernels" "$builds/stock-core.so"
  [ "$(bytes_of "$builds/speed-all/kernels.so")" -lt "$(bytes_of "$builds/stock-optimized.so")" ]
fi

build=$builds/size-small
cmake --build "$build" --target check_ops etx >"$builds/log" || { cat "$builds/log"; exit 1; }
printf 'vectors with %s: ' "$small"
"$build/check_ops" "$here/tests/data/ops" | tail -1

# Programs with only what they need; the last table of docs/size.md.
"$here/scripts/selected_sizes.py" "$build" -o "$builds/selected"

# Static models with shared state: every build must give the same results.
for model in counter gru lines swap weights; do
  "$build/etx" plan "$here/tests/data/pt2/$model" -o "$builds/$model.pte" --quiet
  "$builds/size-silent/tests/run_patterned" "$builds/$model.pte" >"$builds/expected"
  for parts in static least; do
    "$builds/size-$parts/tests/run_patterned" "$builds/$model.pte" | cmp - "$builds/expected"
  done
done

# A sum of doubles: it can be planned, but not loaded.
mkdir -p "$builds/doubles"
cat >"$builds/doubles/forward.yaml" <<'YAML'
etx: 1
method: forward
inputs:
  - {name: x, type: "float64[2]"}
nodes:
  - {out: y, op: aten.add.Tensor, args: [x, x]}
outputs: [y]
YAML
"$build/etx" plan "$builds/doubles" -o "$builds/doubles.pte" >/dev/null
if "$build/etx" run "$builds/doubles.pte" forward --in 'x=[1, 2]' 2>"$builds/refusal"; then
  echo "a program with float64 was not refused" >&2
  exit 1
fi
grep "'self' of 'aten::add.out' has type 'float64'.*'float64' to the CMake option ETX_DTYPES" "$builds/refusal"
