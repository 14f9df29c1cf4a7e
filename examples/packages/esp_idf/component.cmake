# The runtime of etx, and the program that it was selected for.
idf_component_register(
  SRCS src/etx.c src/etx_program.c src/etx_example.c
  INCLUDE_DIRS src)
target_compile_options(${COMPONENT_LIB} PRIVATE -ffp-contract=off)
