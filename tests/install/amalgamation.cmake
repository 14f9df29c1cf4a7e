include(${SOURCE}/project.cmake)
set(strict -std=c11 -Wall -Wextra -Werror)
execute(${CC} ${strict} -fsyntax-only -DETX_CORE_ONLY ${FILES}/etx.c)
execute(${CC} ${strict} -fsyntax-only -DETX_WITH_THREADS ${FILES}/etx.c)
# The core includes headers that every compiler of C11 has, and those of instruction sets.
execute_process(COMMAND ${CC} -std=c11 -DETX_CORE_ONLY -fsyntax-only -H ${FILES}/etx.c
  ERROR_VARIABLE included COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)\\. [^\n]*" included "${included}")
foreach(header IN LISTS included)
  if(NOT header MATCHES "/(float|limits|math|stdarg|stdbool|stddef|stdint|string|immintrin|arm_neon)\\.h$" AND
     NOT header MATCHES "etx\\.h$")
    message(FATAL_ERROR "etx.c without the hosted layer includes a header that boards do not have: ${header}")
  endif()
endforeach()
if("${included}" STREQUAL "")
  message(FATAL_ERROR "the compiler lists no headers")
endif()
# The build has already compiled etx.c with -O2.
if(OBJECT)
  execute(${CC} ${strict} "-DETX_HEADER=\"etx.h\"" -I${FILES} ${SOURCE}/app.c
    ${OBJECT} -lm -o ${WORK}/app)
  expect_same(${WORK}/app)
  # The hosted layer asks Linux for large pages, and gives pages back to it.
  if(CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux")
    execute_process(COMMAND ${NM} -u ${OBJECT} OUTPUT_VARIABLE missing COMMAND_ERROR_IS_FATAL ANY)
    if(NOT missing MATCHES "madvise")
      message(FATAL_ERROR "etx.c does not call madvise: module_file_posix.c was compiled without it")
    endif()
  endif()
endif()
