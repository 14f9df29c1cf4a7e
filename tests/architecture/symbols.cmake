cmake_minimum_required(VERSION 3.20)
# The four core libraries may not reach for an allocator, stdio or abort.
# Run as: cmake -DNM=nm -DARCHIVES=a.a;b.a -P symbols.cmake

set(forbidden malloc calloc realloc free aligned_alloc posix_memalign memalign
  printf fprintf sprintf snprintf vprintf vfprintf vsprintf vsnprintf puts fputs
  fputc putchar fwrite fread fopen fclose stdout stderr abort exit _exit
  __assert_fail atexit alloca setjmp _setjmp longjmp strdup qsort getenv system
  __printf_chk __fprintf_chk __snprintf_chk __vsnprintf_chk)
# What a freestanding compiler may call by itself, and the few that are meant.
set(total 0)
foreach(archive IN LISTS ARCHIVES)
  execute_process(COMMAND ${NM} -u ${archive} OUTPUT_VARIABLE text
    RESULT_VARIABLE result ERROR_QUIET)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} cannot read ${archive}")
  endif()
  string(REGEX MATCHALL "U [A-Za-z_0-9@.]+" symbols "${text}")
  foreach(symbol IN LISTS symbols)
    string(REGEX REPLACE "^U ([A-Za-z_0-9]+).*$" "\\1" symbol "${symbol}")
    math(EXPR total "${total} + 1")
    if(symbol IN_LIST forbidden)
      message(SEND_ERROR "${archive} needs '${symbol}'")
    endif()
  endforeach()
endforeach()
if(total EQUAL 0)
  message(FATAL_ERROR "no undefined symbol found at all: are the archives right?")
endif()
message(STATUS "${total} undefined symbols, none forbidden")
