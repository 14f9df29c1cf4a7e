cmake_minimum_required(VERSION 3.20)
# Every header of the libraries compiles alone, as C11; those an application
# includes also as C++17 with the types it gets.
# Run as: cmake -DSOURCE=<root> -DCC=cc -DCXX=c++ -P headers.cmake

file(GLOB_RECURSE headers RELATIVE ${SOURCE} ${SOURCE}/format/*.h
  ${SOURCE}/planner/*.h ${SOURCE}/exporter/*.h ${SOURCE}/runtime/*.h
  ${SOURCE}/shared_memory/*.h)
set(count 0)
foreach(header IN LISTS headers)
  # Templates and internal headers are read by the files they belong to.
  if(header MATCHES "_internal\\.h$|forbidden\\.h$|_template\\.h$")
    continue()
  endif()
  set(unit ${WORK}/header_alone.c)
  file(WRITE ${unit} "#include \"${header}\"\ntypedef int header_stands_alone;\n")
  execute_process(COMMAND ${CC} -std=c11 -Wall -Wextra -Werror -fsyntax-only
    -I${SOURCE} ${unit} RESULT_VARIABLE result ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${header} does not compile alone:\n${text}")
  endif()
  math(EXPR count "${count} + 1")
endforeach()
if(count LESS 20)
  message(FATAL_ERROR "only ${count} headers found: is SOURCE right?")
endif()
if(CXX)
  foreach(header runtime/module/module.h shared_memory/shared_memory.h runtime/method.h
      runtime/threads/thread_pool.h)
    set(unit ${WORK}/header_alone.cc)
    file(WRITE ${unit} "extern \"C\" {\n#include \"${header}\"\n}\n")
    execute_process(COMMAND ${CXX} -std=c++17 -fsyntax-only -I${SOURCE} ${unit}
      RESULT_VARIABLE result ERROR_VARIABLE text)
    if(NOT result EQUAL 0)
      message(SEND_ERROR "${header} does not compile as C++:\n${text}")
    endif()
  endforeach()
endif()
message(STATUS "${count} headers stand alone")
