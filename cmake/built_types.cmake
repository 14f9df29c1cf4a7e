# Names of element types to the bits of ETX_BUILT_DTYPES (runtime/built_types.h,
# which adds what these types bring along).

# Sets `out_bits` to a bit for each of `names`, by the codes of the rows in
# `file`. Unknown names are an error.
function(etx_dtype_bits names file out_bits)
  file(STRINGS ${file} rows REGEX "^DTYPE")
  set(bits 0)
  set(known "")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "\"([a-z0-9_]+)\", ([0-9]+)," match "${row}")
    list(APPEND known ${CMAKE_MATCH_1})
    if(CMAKE_MATCH_1 IN_LIST names)
      math(EXPR bits "${bits} | (1 << ${CMAKE_MATCH_2})" OUTPUT_FORMAT HEXADECIMAL)
    endif()
  endforeach()
  foreach(name IN LISTS names)
    if(NOT name IN_LIST known)
      list(JOIN known ", " known)
      message(FATAL_ERROR "ETX_DTYPES: '${name}' is not an element type; expected types of ${known}")
    endif()
  endforeach()
  set(${out_bits} ${bits} PARENT_SCOPE)
endfunction()

# Sets `out_set` to the constant of the instruction set `name`, by the rows in
# `file`. An unknown name is an error.
function(etx_instruction_set name file out_set)
  file(STRINGS ${file} rows REGEX "^SET")
  set(known "")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^SET.([A-Z0-9]+), \"([a-z0-9]+)\"" match "${row}")
    list(APPEND known ${CMAKE_MATCH_2})
    if(CMAKE_MATCH_2 STREQUAL name)
      set(${out_set} ETX_SET_${CMAKE_MATCH_1} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN known ", " known)
  message(FATAL_ERROR "ETX_WIDEST_SET: '${name}' is not an instruction set; expected one of ${known}")
endfunction()
