# Prints the public headers of C and C++, one a line:
#
#   cmake -DPROJECT_SOURCE_DIR=<root of the source tree> -P list_headers.cmake
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/../../package/public_headers.cmake)
etx_public_headers(package/etx.h headers)
foreach(path IN LISTS headers ITEMS tokenizer/tokenizer.h package/etx.hpp)
  if(path MATCHES "\\.(h|hpp)$")
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${path})
  endif()
endforeach()
