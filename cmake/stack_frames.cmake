# The stack that functions of the runtime may use. It runs on threads with small
# stacks, so memory for tiles of numbers is asked for with the other memory of a
# method (runtime/kernels/core/thread_tiles.h), and the compiler refuses a
# function with a larger frame. Frames of code that is not optimised or is
# checked by a sanitizer are larger, and are not limited.

set(ETX_FRAME_BYTES 8192)
set(frame_option "")
if(ETX_WERROR AND NOT ETX_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  set(frame_option
    "$<$<CONFIG:Release,MinSizeRel>:-Wframe-larger-than=${ETX_FRAME_BYTES}>")
endif()

# Included behind the libraries etx_format, etx_runtime.
target_compile_options(etx_format PRIVATE ${frame_option})
target_compile_options(etx_runtime PRIVATE ${frame_option})
