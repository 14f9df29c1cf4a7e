# Packages of `etx select --package`: their sources compile without warnings, and
# the example computes what the libraries of this build compute.
include(${SOURCE}/project.cmake)
string(REPLACE "|" ";" LIBRARIES "${LIBRARIES}")
file(WRITE ${WORK}/main.c "#include <stdio.h>
#include \"etx_example.h\"
static void write_line(const char* line) { puts(line); }
int main(void) { return etx_example_run(write_line); }
")
set(strict -std=c11 -Wall -Wextra -Werror)
set(manifest_zephyr zephyr/module.yml samples/stateful/src/main.c)
set(manifest_esp-idf idf_component.yml examples/stateful/main/main.c)
set(manifest_arduino library.properties examples/Stateful/Stateful.ino)
set(manifest_cmsis etx.etx.pdsc examples/stateful/main.c)
foreach(kind zephyr esp-idf arduino cmsis)
  set(package ${WORK}/${kind})
  execute(${ETX} select ${SMALL_MODEL} --package ${kind} -o ${package})
  foreach(file ${manifest_${kind}})
    file(READ ${package}/${file} text)
    if(text MATCHES "@VERSION@")
      message(FATAL_ERROR "${kind}/${file} has no version")
    endif()
  endforeach()
  foreach(file etx.c etx.h etx_program.c etx_program.h etx_example.c etx_example.h)
    file(SHA256 ${package}/src/${file} hash)
    if(NOT DEFINED hash_${file})
      set(hash_${file} ${hash})
    elseif(NOT hash STREQUAL hash_${file})
      message(FATAL_ERROR "${kind}: src/${file} differs from that of zephyr")
    endif()
  endforeach()
endforeach()

set(package ${WORK}/zephyr/src)
execute(${CC} ${strict} -O0 -I${package} ${package}/etx.c ${package}/etx_program.c
  ${package}/etx_example.c ${WORK}/main.c -lm -o ${WORK}/app)
execute(${WORK}/app)
set(packaged "${output}")

# The same with the libraries, whose table is that of `etx select`.
execute(${ETX} select ${SMALL_MODEL} -o ${WORK}/table)
foreach(file etx_program.c etx_program.h etx_example.c etx_example.h)
  file(COPY ${package}/${file} DESTINATION ${WORK}/full)
endforeach()
execute(${CC} ${strict} -O0 -include ${WORK}/table/etx_selected.h -I${WORK}/table
  -I${WORK}/full -I${STAGE}/include -I${STAGE}/include/etx
  ${WORK}/full/etx_program.c ${WORK}/full/etx_example.c ${WORK}/main.c
  ${WORK}/table/etx_selected.c ${LIBRARIES} -lm -o ${WORK}/full/app)
execute(${WORK}/full/app)
if(NOT output STREQUAL packaged OR NOT output MATCHES
   "get_cache: .*set_cache: .*get_cache: ")
  message(FATAL_ERROR "the package prints\n${packaged}not\n${output}")
endif()

execute_process(COMMAND ${ETX} select ${SMALL_MODEL} ${MODEL} --package zephyr
  -o ${WORK}/two RESULT_VARIABLE result ERROR_VARIABLE errors)
if(result EQUAL 0 OR NOT errors MATCHES "a package has one program")
  message(FATAL_ERROR "two programs are not refused:\n${errors}")
endif()
