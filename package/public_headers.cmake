# What is public: a header and everything that it includes.

# etx_public_headers(<header> <out>): paths from the root of the source tree,
# <header>'s own among them.
function(etx_public_headers header out)
  set(found ${header})
  set(waiting ${header})
  while(waiting)
    list(POP_FRONT waiting path)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${path} lines REGEX "^ *# *include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^\"]*\"([^\"]+)\".*$" "\\1" included "${line}")
      if(NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND waiting ${included})
      endif()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# etx_public_names(<out> <headers...>): functions and objects that the headers
# declare and a library must hold.
function(etx_public_names out)
  set(names)
  foreach(path IN LISTS ARGN)
    file(READ ${PROJECT_SOURCE_DIR}/${path} text)
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "#define[^\n]*(\\\\\n[^\n]*)*" "" text "${text}")
    string(REGEX REPLACE "static inline [^(]*\\(" "(" text "${text}")
    string(REGEX MATCHALL "etx_[a-z0-9_]+\\(" functions "${text}")
    string(REGEX MATCHALL "extern const [a-z0-9_]+(\\* const)? etx_[a-z0-9_]+"
      objects "${text}")
    list(APPEND names ${functions} ${objects})
  endforeach()
  list(TRANSFORM names REPLACE "^.*(etx_[a-z0-9_]+)\\(?$" "\\1")
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()
