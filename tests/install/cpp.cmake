include(${SOURCE}/project.cmake)
file(GLOB_RECURSE files ${STAGE}/*/etx.pc)
get_filename_component(folder "${files}" DIRECTORY)
get_filename_component(libraries ${folder} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
execute(${PKG_CONFIG} --cflags --libs etx)
separate_arguments(words UNIX_COMMAND "${output}")
set(expected "1 2 4 5 \n0 0 0 0 \n0 0 0 \n1 2 3 \n\
BAD_ARGUMENT: 'cache' is asked for as a tensor of 'float64', which it is not\n\
NOT_FOUND: the program has no method 'no_such_method'\n")
foreach(options -O1 "-O1;-fno-exceptions;-fno-rtti")
  execute(${CXX} -std=c++17 -Wall -Wextra -Werror ${options}
    "-DETX_HEADER=<etx/etx.hpp>" ${SOURCE}/app.cpp -o ${WORK}/app ${words}
    -Wl,-rpath,${libraries})
  execute(${WORK}/app ${MODEL})
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${options}: printed\n${output}not\n${expected}")
  endif()
endforeach()
# Beside the amalgamation it is the same file.
file(COPY ${STAGE}/include/etx/etx.hpp ${FILES}/etx.h DESTINATION ${WORK})
execute(${CXX} -std=c++17 -Wall -Wextra -Werror -fsyntax-only
  "-DETX_HEADER=\"etx.hpp\"" -I${WORK} ${SOURCE}/app.cpp)
