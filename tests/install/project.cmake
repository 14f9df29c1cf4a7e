# Words that the scripts of this folder share. All are run as
#   cmake -DSTAGE=<installation> -DWORK=<folder> -DSOURCE=<tests/install>
#     -DCC=<compiler> -DMODEL=<model.pte> -DMETHODS=<a;b> -P <script>

# execute(<command...>): its output in `output`; a failure ends the test.
macro(execute)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    string(JOIN " " words ${ARGV})
    message(FATAL_ERROR "${words}\nended with ${result}:\n${output}${errors}")
  endif()
endmacro()

# expect_same(<program>): prints what the libraries of this build compute.
macro(expect_same program)
  execute(${program} ${MODEL} ${METHODS})
  file(READ ${EXPECTED} expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "${program} prints\n${output}not\n${expected}")
  endif()
endmacro()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
