# Writes text files as arrays of C.
#
#   awk -f embed_text.awk NAME=first first.h NAME=second second.c > arrays.c

BEGIN { print "#include \"cli/amalgamate/embedded_sources.h\"\n" }

function end_array() {
  if (array == "") return
  print "    ;\nconst size_t " array "_bytes = sizeof " array " - 1;\n"
}

FNR == 1 {
  end_array()
  array = NAME
  print "const char " array "[] ="
}

{
  gsub(/\\/, "&&")
  gsub(/"/, "\\\\&")
  print "    \"" $0 "\\n\""
}

END { end_array() }
