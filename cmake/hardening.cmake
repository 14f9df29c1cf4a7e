# Options that make a defect harder to exploit, for what runs on a host and reads
# strangers' files: the command, the reader of archives, the module layer and the
# Python modules. The libraries of the runtime are compiled without them: they are
# for boards, too, and the verifier stands before them.

option(ETX_HARDEN "Stack protector, checked library functions, read-only tables of addresses" ON)

# Functions that overrun a buffer of known size, or their return address, end the
# program. Checked functions exist only in optimised code.
function(etx_hardened)
  if(NOT ETX_HARDEN OR ETX_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -fstack-protector-strong
      -fstack-clash-protection
      $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|SHARED|MODULE")
      target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack)
    endif()
  endforeach()
endfunction()
