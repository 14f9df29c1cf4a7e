cmake_minimum_required(VERSION 3.20)
# What every folder and file owes its reader: a card in each folder, no file
# too long to read in one sitting, one name per file, no path of the machine
# it was written on.
# Run as: cmake -DSOURCE=<root> -P tree.cmake

foreach(folder format planner exporter runtime runtime/module runtime/threads shared_memory cli samples python tests)
  if(NOT EXISTS ${SOURCE}/${folder}/README.md)
    message(SEND_ERROR "${folder} has no card (README.md)")
  endif()
endforeach()

file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/format/*.[ch]
  ${SOURCE}/planner/*.[ch] ${SOURCE}/exporter/*.[ch] ${SOURCE}/runtime/*.[ch]
  ${SOURCE}/shared_memory/*.[ch] ${SOURCE}/cli/*.[ch] ${SOURCE}/samples/*.[ch]
  ${SOURCE}/python/*.[ch] ${SOURCE}/python/*.py ${SOURCE}/tests/python/*.py)
set(names)
foreach(file IN LISTS files)
  file(STRINGS ${SOURCE}/${file} lines)
  list(LENGTH lines count)
  if(count GREATER 800)
    message(SEND_ERROR "${file} has ${count} lines; 800 is the most")
  endif()
  get_filename_component(name ${file} NAME)
  if(name IN_LIST names AND NOT name STREQUAL "main.c")
    message(SEND_ERROR "two files are called ${name}")
  endif()
  list(APPEND names ${name})
  file(READ ${SOURCE}/${file} text)
  if(text MATCHES "/(home|root|work)/")
    message(SEND_ERROR "${file} names a path of somebody's machine")
  endif()
endforeach()
list(LENGTH files count)
message(STATUS "${count} files looked at")
