# Builds for WebAssembly with clang and wasi-libc:
#
#   cmake -S . -B build-wasm --preset wasm
#
# ETX_WASM_CLANG names the compiler; the default is the newest of the Debian
# packages clang-19, clang-16 and clang.
set(CMAKE_SYSTEM_NAME WASI)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})  # Platform/WASI.cmake
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(ETX_WASM_CLANG "" CACHE STRING "The clang that compiles for WebAssembly")
# Compiler checks run in a project of their own, which must see the same value.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ETX_WASM_CLANG)
if(ETX_WASM_CLANG)
  set(clang ${ETX_WASM_CLANG})
else()
  find_program(clang NAMES clang-19 clang-16 clang REQUIRED NO_CACHE)
endif()
set(CMAKE_C_COMPILER ${clang})
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
foreach(tool IN ITEMS ar ranlib)  # of the same version, which know WebAssembly
  string(TOUPPER ${tool} upper)
  execute_process(COMMAND ${clang} --print-prog-name=llvm-${tool}
    OUTPUT_VARIABLE CMAKE_${upper} OUTPUT_STRIP_TRAILING_WHITESPACE)
endforeach()
set(CMAKE_C_FLAGS_INIT "-msimd128")
# The linker gives a program 64 kB of stack, and a program that needs more writes
# over its data without a message. With the stack first, it stops with an access
# out of bounds.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,stack-size=1048576 -Wl,--stack-first")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
