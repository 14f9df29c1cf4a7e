# What `pip install .` builds: the package alone, and the exporter only where
# its libraries are. Included by the top file before its options are read.

set(ETX_PYTHON ON)
set(ETX_TESTS OFF CACHE BOOL "" FORCE)
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(ETX_EXPORTER_NEEDS QUIET yaml-0.1 jansson libzip)
endif()
if(NOT ETX_EXPORTER_NEEDS_FOUND)
  message(WARNING "libyaml, jansson or libzip is missing (Debian: libyaml-dev "
    "libjansson-dev libzip-dev): the package will run programs, not make them")
  set(ETX_EXPORTER OFF CACHE BOOL "" FORCE)
endif()
