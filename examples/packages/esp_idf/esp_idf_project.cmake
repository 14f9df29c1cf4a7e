cmake_minimum_required(VERSION 3.20)
set(EXTRA_COMPONENT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/../..)
include($ENV{IDF_PATH}/tools/cmake/project.cmake)
project(etx_stateful)
