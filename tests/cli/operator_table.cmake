# The command prints a table of operators. The test ops/document compares it with
# docs/operators.md.
# Run as: cmake -DPROGRAM=<etx> -P operator_table.cmake

execute_process(COMMAND ${PROGRAM} ops --markdown OUTPUT_VARIABLE printed
  ERROR_VARIABLE message RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${message}")
endif()
# Operators of etx's own are never planned for ExecuTorch's runtime.
if(printed MATCHES "\n\\| [^|\n]+ \\| [^|\n]+ \\| [^|\n]*`etx::[^|\n]*\\| [^\n]+\n")
  message(FATAL_ERROR "an operator of etx for ExecuTorch's runtime: ${CMAKE_MATCH_0}")
endif()
if(printed MATCHES "\n\\| `([^|\n]+)` \\| [^|\n]*`(etx::[^`\n]*)`[^|\n]* \\| the same \\|")
  message(FATAL_ERROR "${CMAKE_MATCH_1} becomes ${CMAKE_MATCH_2} for ExecuTorch's runtime, "
    "which does not have it: its row in the exporter must say what ExecuTorch's runtime "
    "gets, or 'etx_only' (LOWER_ETX in exporter/ir/aten_operators.def)")
endif()
