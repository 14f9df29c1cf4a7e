# Installs the build into a folder of the test's own.
file(REMOVE_RECURSE ${STAGE})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BINARY} --prefix ${STAGE}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "cmake --install ended with ${result}:\n${output}")
endif()
# Nothing in it may lead back to where it was built.
file(GLOB_RECURSE texts ${STAGE}/*.h ${STAGE}/*.def ${STAGE}/*.cmake ${STAGE}/*.pc)
list(LENGTH texts count)
if(count LESS 25)
  message(FATAL_ERROR "only ${count} headers and build files were installed")
endif()
foreach(path IN LISTS texts)
  file(STRINGS ${path} lines)
  string(FIND "${lines}" "${SOURCE_ROOT}/" at)
  if(NOT at EQUAL -1)
    message(SEND_ERROR "${path} names the source tree")
  endif()
endforeach()
foreach(name man/man1/etx.1 bash-completion/completions/etx zsh/site-functions/_etx
    fish/vendor_completions.d/etx.fish)
  file(GLOB found ${STAGE}/share/${name})
  if(NOT found)
    message(SEND_ERROR "share/${name} was not installed")
  endif()
endforeach()
# What the libraries of this build compute.
execute_process(COMMAND ${APP} ${MODEL} ${METHODS} RESULT_VARIABLE result
  OUTPUT_FILE ${EXPECTED})
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${APP} ended with ${result}")
endif()
