# The list of types that kernels take, compared with what they take.
# Run as: cmake -DPROGRAM=<kernel_types> -DDATA=<vectors> -DLIST=<file> -P types.cmake

execute_process(COMMAND ${PROGRAM} ${DATA} OUTPUT_VARIABLE found RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} failed")
endif()
file(STRINGS ${LIST} rows REGEX "^TYPES")
list(JOIN rows "\n" listed)
if(NOT "${listed}\n" STREQUAL "${found}")
  message(FATAL_ERROR "${LIST} is not what kernels take; its head says how to make it")
endif()
