# Plans small sets for the hostile tests to damage, and dumps them as YAML.
#
#   cmake -DETX=<etx> -DDATA=<tests/data/pt2> -DOUT=<directory>
#     -P plan_samples.cmake
file(MAKE_DIRECTORY ${OUT}/planned ${OUT}/dumped)
foreach(set tiny kv counter swap weights loops scans late)
  execute_process(COMMAND ${ETX} plan ${DATA}/${set} -o ${OUT}/planned/${set}.pte
    RESULT_VARIABLE code OUTPUT_QUIET)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "etx plan ${set} ended with ${code}")
  endif()
  execute_process(COMMAND ${ETX} dump ${DATA}/${set} -o ${OUT}/dumped/${set}
    RESULT_VARIABLE code OUTPUT_QUIET)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "etx dump ${set} ended with ${code}")
  endif()
endforeach()
# Sets whose methods have varying sizes, for damage to what files state of them.
file(MAKE_DIRECTORY ${OUT}/planned_varying)
foreach(set whisper parts late small_sizes branches loops in_place halves
    gru varying)
  execute_process(COMMAND ${ETX} plan ${DATA}/${set}
      -o ${OUT}/planned_varying/${set}.pte
    RESULT_VARIABLE code OUTPUT_QUIET)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "etx plan ${set} ended with ${code}")
  endif()
endforeach()
