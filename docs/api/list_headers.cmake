# Prints the public headers and the lists that they include, one a line:
#
#   cmake -DPROJECT_SOURCE_DIR=<root of the source tree> -P list_headers.cmake
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/../../package/public_headers.cmake)
etx_public_headers(package/etx.h headers)
foreach(path IN LISTS headers)
  if(path MATCHES "\\.h$")
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${path})
  endif()
endforeach()
