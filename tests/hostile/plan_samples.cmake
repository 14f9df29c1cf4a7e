# Plans small sets for the hostile tests to damage.
#
#   cmake -DETX=<etx> -DDATA=<tests/data/pt2> -DOUT=<directory> -P plan_samples.cmake
file(MAKE_DIRECTORY ${OUT})
foreach(set tiny kv counter swap weights)
  execute_process(COMMAND ${ETX} plan ${DATA}/${set} -o ${OUT}/${set}.pte
    RESULT_VARIABLE code OUTPUT_QUIET)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "etx plan ${set} ended with ${code}")
  endif()
endforeach()
