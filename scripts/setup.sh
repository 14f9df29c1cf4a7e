#!/usr/bin/env bash
# Installs missing packages on a Debian machine.
#
#   scripts/setup.sh build    compiler, CMake, libyaml, jansson, libzip
#   scripts/setup.sh test     the same, cmocka, and programs that tests call
#   scripts/setup.sh ci       the same, other compilers, ccache, qemu, valgrind, Python
#   scripts/setup.sh browser  only the packages for the tests of pages
#   scripts/setup.sh boards   only the packages for examples/boards
#   scripts/setup.sh wasm     only the packages for WebAssembly
#   scripts/setup.sh fuzz     the packages for tests, and libFuzzer
#   scripts/setup.sh docs     only the packages for the API reference
set -euo pipefail

packages=(gcc libc6-dev cmake ninja-build pkg-config libyaml-dev libjansson-dev libzip-dev)
for_tests=(libcmocka-dev binutils g++ flatbuffers-compiler groff-base python3 valgrind)
case ${1:-build} in
  build) ;;
  test) packages+=("${for_tests[@]}") ;;
  browser) packages=(chromium fonts-dejavu-core python3) ;;
  boards) packages=(gcc gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm
                    gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc
                    gcc-aarch64-linux-gnu picolibc-aarch64-linux-gnu cmake python3) ;;
  wasm) packages=(clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32 wasi-libc cmake ninja-build
                  nodejs chromium fonts-dejavu-core python3) ;;
  fuzz) packages+=("${for_tests[@]}" clang lld libclang-rt-14-dev) ;;
  docs) packages=(cmake doxygen python3 python3-venv) ;;
  ci) packages+=("${for_tests[@]}" ccache clang clang-tidy lld libclang-rt-14-dev libc6-dbg qemu-user python3-venv rustc
                 gcc-aarch64-linux-gnu libc6-dev-arm64-cross
                 gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
                 gcc-s390x-linux-gnu libc6-dev-s390x-cross) ;;
  *) echo "setup.sh: unknown set '$1', expected build, test, ci, browser, boards, wasm, fuzz or docs" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$state" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} = 0 ] && exit 0

echo "installing: ${missing[*]}"
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup.sh: not root and no sudo; install by hand: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
# A failed update is not fatal: a mirror may be changing one list. The
# installation fails if a package is missing.
"${as_root[@]}" apt-get update -qq || true
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
