# docs/operators.md is up to date: the same text as etx ops --markdown prints.
# Run as: cmake -DPROGRAM=<etx> -DDOCUMENT=<docs/operators.md> -P operator_table.cmake

execute_process(COMMAND ${PROGRAM} ops --markdown OUTPUT_VARIABLE printed
  ERROR_VARIABLE message RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${message}")
endif()
file(READ ${DOCUMENT} written)
if(NOT printed STREQUAL written)
  message(FATAL_ERROR "${DOCUMENT} is out of date: write it with 'etx ops --markdown'")
endif()
# No operator of etx:: is used for the target executorch.
if(printed MATCHES "\n\\| [^|\n]+ \\| [^|\n]+ \\| [^|\n]*`etx::[^|\n]*\\| [^\n]+\n")
  message(FATAL_ERROR "for the stock runtime: ${CMAKE_MATCH_0}")
endif()
