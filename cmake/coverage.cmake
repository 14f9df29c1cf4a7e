# With ETX_COVERAGE, tests count the branches that they take in the sources of
# these folders, which are compiled without optimisation: scripts/coverage.sh.
# Counts are exact in runs with threads, too.
# Conditions that no input changes have no branch (format/base/reachability.h).
foreach(folder IN LISTS ETX_COVERAGE)
  file(GLOB_RECURSE counted CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  if(folder STREQUAL runtime)  # its other libraries are folders of their own
    list(FILTER counted EXCLUDE REGEX "/runtime/(kernels|module|pool|threads)/")
  endif()
  set(counting_target etx_format)
  if(folder MATCHES "^cli" AND TARGET etx_cli)
    set(counting_target etx_cli)
  endif()
  set_property(SOURCE ${counted} TARGET_DIRECTORY ${counting_target}
    APPEND PROPERTY COMPILE_OPTIONS --coverage -fprofile-update=atomic -O0
    -DETX_COVERAGE_BUILD
    -Dalways_inline=unused)  # every copy would have branches of its own
endforeach()
if(ETX_COVERAGE)
  target_link_options(etx_options INTERFACE --coverage)
endif()
