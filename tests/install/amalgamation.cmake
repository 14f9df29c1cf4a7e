include(${SOURCE}/project.cmake)
set(strict -std=c11 -Wall -Wextra -Werror)
execute(${CC} ${strict} -fsyntax-only -DETX_CORE_ONLY ${FILES}/etx.c)
execute(${CC} ${strict} -fsyntax-only -DETX_WITH_THREADS ${FILES}/etx.c)
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
