# The shared library shows what the public headers declare, each under the
# version, and nothing else; what a loader needs of the system is C alone.
# Run as: cmake -DNM=nm -DLIBRARY=libetx.so -DMAP=etx.map
#   -DKEPT=ffi_functions.txt -P symbols.cmake
cmake_policy(VERSION 3.20)
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE text)
# Some linkers list the version itself, as an absolute symbol.
string(REGEX REPLACE "[^\n]* A ETX_[^\n]*\n" "" text "${text}")
string(REGEX MATCHALL "[A-Za-z0-9_]+@@ETX_[0-9.]+" symbols "${text}")
string(REGEX MATCHALL "\n[^\n]* [TDRBWV] [^\n]*" all "\n${text}")
list(LENGTH symbols versioned)
list(LENGTH all shown)
if(NOT versioned EQUAL shown OR versioned LESS 100)
  message(FATAL_ERROR "${shown} names are shown, ${versioned} of them with a version:\n${text}")
endif()
file(READ ${MAP} map)
foreach(symbol IN LISTS symbols)
  string(REGEX REPLACE "@.*" "" name ${symbol})
  if(NOT map MATCHES "\n  ${name};")
    message(SEND_ERROR "${name} is shown but no public header declares it")
  endif()
endforeach()
# Bindings of other languages rely on these.
file(STRINGS ${KEPT} kept REGEX "^etx_ffi_")
string(REGEX MATCHALL "etx_ffi_[a-z_]+" shown "${text}")
list(REMOVE_DUPLICATES shown)
foreach(name IN LISTS kept shown)
  if(NOT name IN_LIST kept OR NOT name IN_LIST shown)
    message(SEND_ERROR "${name} is not in both, the library and ${KEPT}")
  endif()
endforeach()
foreach(name etx_module_open etx_method_run etx_shared_memory_fork
    etx_thread_pool_init etx_all_kernels etx_parallel_none)
  if(NOT text MATCHES " ${name}@@")
    message(SEND_ERROR "${name} is not shown")
  endif()
endforeach()
