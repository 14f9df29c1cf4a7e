# The runtime of etx, and the program that it was selected for.
if(CONFIG_ETX)
  zephyr_library_named(etx)
  zephyr_library_sources(src/etx.c src/etx_program.c src/etx_example.c)
  zephyr_library_compile_options(-ffp-contract=off)
  zephyr_include_directories(src)
endif()
