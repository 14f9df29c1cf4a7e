# Options that make a defect harder to exploit, for what runs on a host and reads
# strangers' files: the command, the reader of archives, the module layer and the
# Python modules. The libraries of the runtime are compiled without them: they are
# for boards, too, and the verifier stands before them.

option(ETX_HARDEN "Stack protector, checked library functions, read-only tables of addresses" ON)

# Marks for the shadow stack of x86-64, with which the processor compares return
# addresses. Of the two parts of CET this is the one that Linux has for programs;
# it costs no instruction. The linker sets the mark, because Debian's start files
# do not have it.
set(shadow_stack_compile "")
set(shadow_stack_link "")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND
   CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  include(CheckCCompilerFlag)
  check_c_compiler_flag("-fcf-protection=return -Wl,-z,shstk" ETX_HAS_SHADOW_STACK)
  if(ETX_HAS_SHADOW_STACK)
    set(shadow_stack_compile -fcf-protection=return)
    set(shadow_stack_link -Wl,-z,shstk)
  endif()
endif()

# Functions that overrun a buffer of known size, or their return address, end the
# program. Checked functions exist only in optimised code.
function(etx_hardened)
  if(NOT ETX_HARDEN OR ETX_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -fstack-protector-strong
      -fstack-clash-protection ${shadow_stack_compile}
      $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|SHARED|MODULE")
      target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack
        ${shadow_stack_link})
    endif()
  endforeach()
endfunction()
