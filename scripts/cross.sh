#!/usr/bin/env bash
# Builds the core libraries for another processor and runs their tests, including
# the operators' vectors, under qemu. Packages for the target are downloaded to
# the build directory; the system's package state is not changed.
#
#   scripts/cross.sh arm64|armhf [build directory]
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
arch=${1:?usage: scripts/cross.sh arm64|armhf [build directory]}
build=${2:-$here/build-$arch}
case $arch in
  arm64) triple=aarch64-linux-gnu; processor=aarch64; qemu=qemu-aarch64 ;;
  # A 64-bit kernel reports aarch64 to 32-bit programs, too.
  armhf) triple=arm-linux-gnueabihf; processor=aarch64; qemu=qemu-arm ;;
  *) echo "cross.sh: unknown architecture '$arch', expected arm64 or armhf" >&2; exit 2 ;;
esac

"$here/scripts/setup.sh" ci
mkdir -p "$build"
build=$(cd "$build" && pwd)

# cmocka and jansson for the target, unpacked in the build directory.
root=$build/sysroot
if [ ! -e "$root/usr/include/cmocka.h" ] || [ ! -e "$root/usr/include/jansson.h" ]; then
  mkdir -p "$build/lists/partial" "$build/cache/archives/partial" "$root"
  options=(-o APT::Architecture=$arch -o APT::Architectures=$arch
           -o Dir::State::lists="$build/lists" -o Dir::Cache="$build/cache"
           -o APT::Sandbox::User=root -o Debug::NoLocking=true)
  # A failed update is not fatal: a mirror may be changing one list. The download
  # below fails if a package is missing.
  apt-get "${options[@]}" update -qq || true
  (cd "$build/cache" && apt-get "${options[@]}" download -qq \
    libcmocka-dev libcmocka0 libjansson-dev libjansson4)
  for package in "$build"/cache/*.deb; do dpkg-deb -x "$package" "$root"; done
  rm -rf "$build/lists"
fi

cat > "$build/toolchain.cmake" <<TOOLCHAIN
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $triple-gcc)
set(CMAKE_C_COMPILER_TARGET $triple-)
set(CMAKE_CROSSCOMPILING_EMULATOR $qemu -L /usr/$triple)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath,$root/usr/lib/$triple")
TOOLCHAIN
export PKG_CONFIG_LIBDIR=$root/usr/lib/$triple/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
cmake -S "$here" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" \
  -DETX_EXPORTER=OFF -DETX_TESTS=ON -DETX_WERROR=ON >/dev/null
cmake --build "$build"
# Under qemu a 32-bit process cannot list the directories of the corpora.
ctest --test-dir "$build" --output-on-failure -j2 -LE '^(architecture|host)$' \
  -E '^hostile/(replay_|bit_flip_test)'
# Also test a processor without dot product instructions.
if [ "$arch" = arm64 ]; then
  QEMU_CPU=cortex-a53 ctest --test-dir "$build" --output-on-failure -j2 \
    -R '^runtime/(.*/)?kernels_(quantized_(products|linear)|products|gemm|u8|u8_chain|u8_loops|loops)_test$'
fi
