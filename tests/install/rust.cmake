# The example in Rust against the installed shared library, by rustc alone.
# Run as: cmake -DRUSTC=rustc -DEXAMPLE=examples/rust ... -P rust.cmake
if(NOT RUSTC)
  message("skipped: rustc is missing (Debian: rustc)")
  return()
endif()
# The rustc of rustup runs a toolchain, which may not be installed.
execute_process(COMMAND ${RUSTC} --version RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(NOT result EQUAL 0)
  message("skipped: ${RUSTC} --version fails")
  return()
endif()
include(${SOURCE}/project.cmake)
file(GLOB_RECURSE library ${STAGE}/*/libetx.so)
get_filename_component(folder "${library}" DIRECTORY)
execute(${RUSTC} --edition 2021 -O -D warnings ${EXAMPLE}/stateful_model.rs
  -o ${WORK}/stateful_model -L ${folder} -C link-arg=-Wl,-rpath,${folder})
execute(${WORK}/stateful_model ${MODEL})
set(expected "the cache holds 10 rows of 20\n1 2 3 0\n4 5 6 0\n\
after the reset the first number is 0\n\
BAD_ARGUMENT: input 'data' is float64, expected float32\n\
NOT_FOUND: the program has no method 'set_cash'\n\
OUT_OF_RANGE: there is no output 0, the method has 0\n")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "printed\n${output}not\n${expected}")
endif()
execute_process(COMMAND ${WORK}/stateful_model /nowhere.pte
  RESULT_VARIABLE result ERROR_VARIABLE errors)
if(NOT result EQUAL 1 OR NOT errors MATCHES "HOST_FAILED: .*/nowhere.pte")
  message(FATAL_ERROR "a missing file ended with ${result}:\n${errors}")
endif()
