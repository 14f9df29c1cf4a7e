#!/usr/bin/env bash
# Tests threads under ThreadSanitizer: the thread pool with each way to wait,
# kernels that use it, asynchronous runs, regions, and the pool of instances.
#
#   scripts/ci_threads.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
"$here/scripts/setup.sh" test
cmake -S "$here" -B "$build" -G Ninja -DETX_TESTS=ON -DETX_WERROR=ON \
  -DETX_SANITIZE=thread -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 \
  -DCMAKE_C_FLAGS_DEBUG=-g1 >/dev/null
suites=(runtime/thread_pool_test runtime/thread_pool_generic_test
        runtime/instance_pool_test runtime/method_async_test
        cli/thread_results_test cli/parallel_regions_test)
targets=()
for suite in "${suites[@]}"; do targets+=("test_${suite/\//_}"); done
cmake --build "$build" --target "${targets[@]}"
names=$(IFS='|'; echo "${suites[*]}")
ctest --test-dir "$build" --output-on-failure --no-tests=error -j2 -R "^($names)\$"
