# Compares the list of dtypes of each kernel with the dtypes that it accepts.
# Run as: cmake -DPROGRAM=<kernel_types> -DDATA=<vectors> -DLIST=<file> -P types.cmake

execute_process(COMMAND ${PROGRAM} ${DATA} OUTPUT_VARIABLE found RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} failed")
endif()
file(STRINGS ${LIST} rows REGEX "^TYPES")
list(JOIN rows "\n" listed)
if(NOT "${listed}\n" STREQUAL "${found}")
  message(FATAL_ERROR "${LIST} does not list the dtypes that kernels accept; "
    "the comment at its top says how to write it")
endif()
