# Names of element types to the bits that runtime/built_types.h wants.
#
# What types bring along: bool, int64 and float32 are what operators make of
# any other type; two that meet in a third bring that (promotion.c); complex128
# is seen as pairs of float64.

# Appends `name` to the list in `list`.
function(etx_dtype_bring list name)
  set(names ${${list}})
  list(APPEND names ${name})
  set(${list} "${names}" PARENT_SCOPE)
endfunction()

# Sets `out_bits` to a bit for each of `names` and what they bring along, by
# the codes of the rows in `file`. Unknown names are an error.
function(etx_dtype_bits names file out_bits)
  etx_dtype_bring(names bool)
  etx_dtype_bring(names int64)
  etx_dtype_bring(names float32)
  if(int8 IN_LIST names AND uint8 IN_LIST names)
    etx_dtype_bring(names int16)
  endif()
  if(complex64 IN_LIST names AND float64 IN_LIST names)
    etx_dtype_bring(names complex128)
  endif()
  if(complex128 IN_LIST names)
    etx_dtype_bring(names float64)
    etx_dtype_bring(names complex64)
  endif()
  list(REMOVE_DUPLICATES names)
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
