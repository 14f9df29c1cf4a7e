# What readelf shows of the files that a host gets: addresses of functions are
# bound when the program starts and are read-only then, the code may lie anywhere,
# the stack is not code, library functions are the checked ones, and files for
# x86-64 may run with a shadow stack, if the compiler can mark them so.
#
#   cmake -DFILES=<files> -DSHADOW_STACK=<bool> -P hardened_files.cmake

find_program(READELF NAMES readelf llvm-readelf REQUIRED)

function(expect text pattern file what)
  if(NOT text MATCHES "${pattern}")
    message(SEND_ERROR "${file}: ${what}: expected '${pattern}' in the output of readelf")
  endif()
endfunction()

foreach(file IN LISTS FILES)
  execute_process(COMMAND ${READELF} -hlnWd --dyn-syms ${file}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  expect("${text}" "GNU_RELRO" ${file} "tables of addresses are writable")
  expect("${text}" "BIND_NOW|FLAGS_1[^\n]*NOW" ${file} "addresses are bound late")
  expect("${text}" "Type: +DYN" ${file} "the code has a fixed address")
  expect("${text}" "GNU_STACK[^\n]* RW " ${file} "the stack is executable")
  expect("${text}" "__stack_chk_fail" ${file} "there is no stack protector")
  expect("${text}" "__[a-z]+_chk" ${file} "library functions are not checked")
  if(SHADOW_STACK)
    expect("${text}" "x86 feature:[^\n]*SHSTK" ${file} "there is no mark for shadow stacks")
  endif()
  message(STATUS "${file}: hardened")
endforeach()
