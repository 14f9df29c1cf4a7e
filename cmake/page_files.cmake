# Writes files as arrays of C: the parts of pages, for the program that puts them
# together.
# Run as: cmake "-DFILES=<file>;<file>" -DOUTPUT=<header> -P page_files.cmake

cmake_minimum_required(VERSION 3.20)
set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n  " bytes "${bytes}")
  string(APPEND arrays "static const unsigned char page_file_${index}[] = {\n  ${bytes}\n};\n")
  string(APPEND rows "  {\"${name}\", page_file_${index}, sizeof page_file_${index}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// From ${index} files, by page_files.cmake.\n${arrays}static const page_file page_files[] = {\n${rows}};\n")
