# `etx select --amalgamate`: the sources of a program's own build compile without
# warnings, compute what the libraries compute, and are the same every time.
include(${SOURCE}/project.cmake)
set(options --amalgamate module --machine portable --keep etx_program_input_at
  --keep etx_dtype_bytes)
foreach(folder one two)
  execute(${ETX} select ${SMALL_MODEL} ${options} -o ${WORK}/${folder})
endforeach()
foreach(file etx.c etx.h selected_operators.yaml)
  file(READ ${WORK}/one/${file} one)
  file(READ ${WORK}/two/${file} two)
  if(NOT one STREQUAL two)
    message(FATAL_ERROR "${file} is not the same every time")
  endif()
endforeach()
set(strict -std=c11 -Wall -Wextra -Werror)
# Calls that the options of the build make dead are dropped without optimisation.
execute(${CC} ${strict} -O0 "-DETX_HEADER=\"etx.h\"" -I${WORK}/one
  ${SOURCE}/app.c ${WORK}/one/etx.c -lm -o ${WORK}/app)
execute(${APP} ${SMALL_MODEL} set_cache get_cache)
set(expected "${output}")
execute(${WORK}/app ${SMALL_MODEL} set_cache get_cache)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the selected sources print\n${output}not\n${expected}")
endif()
# A program with other operators is refused.
execute_process(COMMAND ${WORK}/app ${MODEL} ${METHODS} RESULT_VARIABLE result
  ERROR_VARIABLE errors)
if(result EQUAL 0 OR NOT errors MATCHES "MISSING_OPERATOR")
  message(FATAL_ERROR "another program is not refused:\n${errors}")
endif()

# Without heap and files, and the smaller for it.
execute(${ETX} select ${SMALL_MODEL} --amalgamate core --machine portable
  -o ${WORK}/core)
execute(${CC} ${strict} -fsyntax-only ${WORK}/core/etx.c)
file(SIZE ${WORK}/core/etx.c bytes)
if(bytes GREATER 600000)
  message(FATAL_ERROR "etx.c of the small program has ${bytes} bytes")
endif()
file(READ ${WORK}/core/etx.c text)
foreach(name etx_module_open etx_kernel_convolution_out_prepare __x86_64__ __builtin_cpu malloc)
  if(text MATCHES "${name}")
    message(FATAL_ERROR "etx.c of the small program has ${name}")
  endif()
endforeach()

# Recurrent layers, whose gates are loops of their own, and a program that has neither
# views nor dynamic sizes. The limit for the network of the boards is that of
# docs/size.md.
file(WRITE ${WORK}/plus/forward.yaml "etx: 1
method: forward
inputs:
  - {name: x, type: \"float32[4]\"}
nodes:
  - {out: sum, op: aten.add.Tensor, args: [x, x]}
outputs: [sum]
")
set(data ${SOURCE}/../data/pt2)
foreach(set ${WORK}/plus ${data}/recurrent ${data}/gru)
  execute(${ETX} plan ${set} -o ${WORK}/set.pte --quiet)
  get_filename_component(set ${set} NAME_WE)
  execute(${ETX} select ${WORK}/set.pte --amalgamate core --machine portable
    --leave-out messages -o ${WORK}/${set})
  execute(${CC} ${strict} -O0 -c ${WORK}/${set}/etx.c -o ${WORK}/${set}/etx.o)
endforeach()
file(SIZE ${WORK}/gru/etx.c bytes)
if(bytes GREATER 500000)
  message(FATAL_ERROR "etx.c of the recurrent network has ${bytes} bytes")
endif()

execute_process(COMMAND ${ETX} select ${SMALL_MODEL} --amalgamate core
  --keep etx_no_such -o ${WORK}/none RESULT_VARIABLE result ERROR_VARIABLE errors)
if(result EQUAL 0 OR NOT errors MATCHES "no function 'etx_no_such'" OR
   EXISTS ${WORK}/none)
  message(FATAL_ERROR "an unknown function is not refused:\n${errors}")
endif()
