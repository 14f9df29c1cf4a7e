# Writes etx.h and etx.c: all public headers in one, all sources of the runtime,
# shared memory, module and threads in the other.
#
#   awk -v root=DIR -v out=DIR -v version=0.1.0 -v avx2=avx2,fma,f16c
#     -v avx512=... -v avx512vnni=... -v dotprod=dotprod
#     -f amalgamate.awk FILE.c ...                          (paths from root)
#
# Headers with a guard are written once, before the sources; templates and .def
# lists where they are included. What would clash when files become one is told
# apart:
#
# * A name of file scope that two sources have gets its source's number. Where
#   the source has no member of that name it is a macro while the source lasts,
#   which the preprocessor applies wherever tokens come from; else the words
#   themselves are changed, members left alone.
# * Macros of a source end with it.
# * Sources for an instruction set (their names end in it) are compiled for that
#   set by the compiler's pragmas, those for a processor or a system stand
#   between #if and #endif.

function fail(text) {
  print "amalgamate: " text > "/dev/stderr"
  failed = 1
  exit 1
}

# The lines of a file, once: lines[path, 1..count_of[path]].
function load(path,    line, n, full) {
  if (path in count_of) return
  full = root "/" path
  n = 0
  while ((getline line < full) > 0) lines[path, ++n] = line
  close(full)
  if (n == 0) fail("cannot read " full)
  count_of[path] = n
  guarded[path] = 0
  if (path !~ /\.h$/) return
  for (line = 1; line <= n; ++line) {
    if (lines[path, line] ~ /^#ifndef ETX_[A-Z0-9_]*_H$/) guarded[path] = 1
  }
}

function included(line) {
  sub(/^[^"]*"/, "", line)
  sub(/".*$/, "", line)
  return line
}

# Writes a guarded header and those it needs into headers[], once.
function need_header(path, is_public,    i, line, other) {
  load(path)
  if (path in written) return
  written[path] = 1
  for (i = 1; i <= count_of[path]; ++i) {
    line = lines[path, i]
    if (line !~ /^ *# *include "/) continue
    other = included(line)
    load(other)
    if (guarded[other]) need_header(other, is_public)
  }
  put_header("", is_public)
  for (i = 1; i <= count_of[path]; ++i) {
    line = lines[path, i]
    if (line ~ /^ *# *include "/) {
      other = included(line)
      if (!guarded[other]) inline_header(other, is_public)
    } else {
      put_header(line, is_public)
    }
  }
}

function put_header(line, is_public) {
  if (is_public) {
    public_text[++public_count] = line
  } else {
    private_text[++private_count] = line
  }
  if (match(line, /^#define [A-Za-z_][A-Za-z0-9_]*/)) {
    header_macro[substr(line, 9, RLENGTH - 8)] = 1
  }
}

function inline_header(path, is_public,    i, line) {
  load(path)
  for (i = 1; i <= count_of[path]; ++i) {
    line = lines[path, i]
    if (line ~ /^ *# *include "/) fail(path " includes " line)
    if (path ~ /\.def$/ && line ~ /^ *(\/\/|$)/) continue
    put_header(line, is_public)
  }
}

# Appends a source, templates and lists in place, to body[unit, ...]. Headers of
# the system go in front of it, but those under a condition stay where they are.
function take(unit, path,    i, line, other) {
  load(path)
  for (i = 1; i <= count_of[path]; ++i) {
    line = lines[path, i]
    if (line ~ /^ *# *if/) ++conditions
    if (line ~ /^ *# *endif/) --conditions
    if (line ~ /^ *# *include "/) {
      other = included(line)
      load(other)
      if (guarded[other]) {
        need_header(other, 0)
      } else {
        take(unit, other)
      }
    } else if (line ~ /^ *# *include [A-Z]/) {
      sub(/^ *# *include /, "", line)
      take(unit, stands_for[line])
    } else if (line ~ /^ *# *include </ && !conditions) {
      if (system_of[unit] !~ ("\n" line "\n")) {
        system_of[unit] = system_of[unit] (system_of[unit] == "" ? "\n" : "") line "\n"
      }
    } else if (line ~ /^#define _[A-Z_]*SOURCE/ ||
               (path ~ /\.def$/ && line ~ /^ *(\/\/|$)/)) {
      continue
    } else {
      if (line ~ /^#define [A-Z_]+ "/) {
        split(line, words, " ")
        stands_for[words[2]] = included(line)
      }
      body[unit, ++body_count[unit]] = line
      is_list[unit, body_count[unit]] = path ~ /\.def$/
    }
  }
}

# Splits a line into token[1..token_count] and the text before each, gap[].
# What stands in quotes is one token that is no name; a comment ends the line.
function split_line(line,    first) {
  token_count = 0
  while (match(line, /[^ \t]/)) {
    gap[token_count + 1] = substr(line, 1, RSTART - 1)
    line = substr(line, RSTART)
    first = substr(line, 1, 1)
    if (substr(line, 1, 2) == "//") {
      match(line, /.*/)
    } else if (first == "\"") {
      match(line, /^"(\\.|[^"\\])*"/)
    } else if (first == "'") {
      match(line, /^'(\\.|[^'\\])*'/)
    } else if (first ~ /[A-Za-z_]/) {
      match(line, /^[A-Za-z_][A-Za-z0-9_]*/)
    } else if (first ~ /[0-9]/) {
      match(line, /^[0-9]([eEpP][-+]|[A-Za-z0-9_.])*/)
    } else if (line ~ /^(->|##)/) {
      RLENGTH = 2
    } else if (substr(line, 1, 3) == "...") {
      RLENGTH = 3
    } else {
      RLENGTH = 1
    }
    token[++token_count] = substr(line, 1, RLENGTH)
    line = substr(line, RLENGTH + 1)
  }
  gap[token_count + 1] = line
}

function is_name(text) { return text ~ /^[A-Za-z_]/ }

function define(unit, name) {
  if (name in keyword || (unit, name) in defines) return
  # A vector of <arm_neon.h> where a line ends.
  if (name ~ /^(u?int|float)[0-9]+x[0-9]+_t$/) return
  defines[unit, name] = 1
  name_of[unit, ++name_count[unit]] = name
  ++definers[name]
}

# Reads the body of a unit: names of file scope, macros, members.
function scan(unit,    i, whole, is_directive) {
  depth = parens = 0
  statement = before = whole = ""
  for (i = 1; i <= body_count[unit]; ++i) {
    is_directive = whole != "" || body[unit, i] ~ /^ *#/
    if (!is_directive) {
      split_line(body[unit, i])
      is_list_line = is_list[unit, i]
      scan_tokens(unit)
      continue
    }
    whole = whole body[unit, i]
    if (sub(/\\$/, " ", whole)) continue
    split_line(whole)
    scan_directive(unit)
    whole = ""
  }
}

# A directive, already split. Members may also be named in a macro's text.
function scan_directive(unit,    k, name, is_default) {
  for (k = 2; k <= token_count; ++k) {
    if (is_name(token[k]) && (token[k - 1] == "." || token[k - 1] == "->")) {
      member[unit, token[k]] = 1
    }
  }
  name = token[3]
  if (token[2] == "undef") delete macro_text[name]
  # The empty default of a list's macro.
  is_default = asked == name && (name in macro_text)
  asked = token[2] == "ifndef" ? name : ""
  if (token[2] != "define" || is_default) return
  if (!((unit, name) in ends)) {
    ends[unit, name] = 1
    macro_of[unit, ++macro_count[unit]] = name
  }
  macro_text[name] = parameters[name] = ""
  if (token[4] != "(" || gap[4] != "") return
  for (k = 5; k <= token_count && token[k] != ")"; ++k) {
    if (token[k] != ",") parameters[name] = parameters[name] " " token[k]
  }
  for (++k; k <= token_count; ++k) {
    gsub(/ /, "", token[k])
    macro_text[name] = macro_text[name] " " token[k]
  }
}

# The arguments of the call whose name is word[k], in word[1..count], joined by
# newlines; `call_end` becomes the place of the closing bracket.
function arguments_of(word, k, count,    depth_of_call, text) {
  depth_of_call = 1
  text = ""
  for (k += 2; k <= count; ++k) {
    if (word[k] == "(") ++depth_of_call
    if (word[k] == ")" && --depth_of_call == 0) break
    text = text (word[k] == "," && depth_of_call == 1 ? "\n" : word[k])
  }
  call_end = k
  return text
}

# Words that a call of a macro glues together (name##_f32), also through the
# macros that it calls, count as defined by the unit.
function scan_call(unit, name, arguments, level,    n, k, i, word, argument, parameter, made) {
  if (macro_text[name] == "" || level > 3) return
  n = split(parameters[name], parameter, " ")
  split(arguments, argument, "\n")
  for (i = 1; i <= n; ++i) value_of[level, parameter[i]] = argument[i]
  n = split(macro_text[name], word, " ")
  for (k = 1; k <= n; ++k) {
    if ((level, word[k]) in value_of) word[k] = value_of[level, word[k]]
  }
  for (k in value_of) if (index(k, level SUBSEP) == 1) delete value_of[k]
  for (k = 1; k <= n; ++k) {
    made = word[k]
    while (k < n && word[k + 1] == "##") {
      made = made word[k + 2]
      k += 2
      word[k] = made
      if (k == n || word[k + 1] != "##") define_made(unit, made)
    }
  }
  for (k = 1; k < n; ++k) {
    if (word[k] == "static") define_made(unit, declared_after(word, k, n))
    if (word[k + 1] == "(" && (word[k] in macro_text)) {
      scan_call(unit, word[k], arguments_of(word, k, n), level + 1)
    }
  }
}

# What the declaration that begins at word k declares.
function declared_after(word, k, n) {
  while (k < n && (word[k] == "__attribute__" || word[k + 1] !~ /^[(=;\[]$/)) {
    if (word[k] == "__attribute__") while (k < n && word[k] != ")") ++k
    ++k
  }
  return word[k]
}

function define_made(unit, made) {
  if (made ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && made !~ /^(etx|ETX)_/) define(unit, made)
}

function scan_tokens(unit,    k, t, next_token) {
  for (k = 1; k <= token_count; ++k) {
    t = token[k]
    if (t ~ /^\/\//) continue
    next_token = k < token_count ? token[k + 1] : ""
    if (next_token == "(" && (t in macro_text)) {
      scan_call(unit, t, arguments_of(token, k, token_count), 1)
    }
    # Rows of a list end as their macro says, not with a semicolon.
    if (depth == 0 && is_list_line) continue
    if (is_name(t) && (before == "." || before == "->")) member[unit, t] = 1
    if (depth > 0 && opener[depth] == "members" && is_name(t) &&
        next_token ~ /^[;,:)\[]$/) {
      member[unit, t] = 1
    }
    if (t == "(") ++parens
    if (t == ")") --parens
    if (t == "{") {
      opener[++depth] = statement ~ /(^| )enum( |$)/ && statement !~ /\(/ ? "enum" : \
        (statement ~ /(^| )(struct|union) [A-Za-z0-9_ ]*$/ ? "members" : "block")
      kept[depth] = statement
      statement = depth == 1 ? statement : ""
    } else if (t == "}") {
      if (depth > 1) statement = kept[depth]
      if (depth == 1 && opener[1] == "block" && statement !~ /=/) statement = ""
      --depth
    } else if (depth == 0) {
      scan_outer(unit, t, next_token)
    } else {
      if (opener[depth] == "enum" && is_name(t) &&
          parens == 0 && before ~ /^[{,)]$/ && next_token ~ /^[,=}]?$/) {
        define(unit, t)
      }
      statement = t == ";" ? "" : statement " " t
      if (depth == 1 && opener[1] != "enum") statement = kept[1]
    }
    before = t
  }
}

# A token outside of all braces.
function scan_outer(unit, t, next_token) {
  # The name may end the line before.
  if (parens == 0 && (t == ";" || t == "__attribute__") && statement ~ /^ typedef / &&
      is_name(before)) {
    define(unit, before)
  }
  if (t == ";") {
    statement = ""
    return
  }
  # A call of a macro that ends without a semicolon, before this declaration.
  if (parens == 0 && t ~ /^(static|typedef|enum|struct|const)$/ &&
      statement ~ /^ [A-Z_0-9]+ \(.*\)$/) {
    statement = ""
  }
  if (is_name(t)) {
    if (parens == 0 && statement ~ /^ static / && statement !~ /[(=]/ &&
        t != "__attribute__" && next_token ~ /^[(=;,\[]?$/) {
      define(unit, t)
    }
    if (statement ~ / (struct|enum|union)$/ && (next_token == "{" || next_token == ";")) {
      define(unit, t)
    }
    if (statement ~ /^ typedef / && before == "*" && next_token == ")" &&
        statement ~ /\( \*$/) {
      define(unit, t)
    }
  }
  if (parens == 0 && t == ")" && statement ~ /__attribute__[^)]*\( \( [^)]*\)?$/) {
    sub(/ __attribute__.*$/, "", statement)
    return
  }
  statement = statement " " t
}

# A call of a macro outside of functions, from line i on: it may glue its
# arguments to other words, so names are macros here. Returns its last line.
function put_call(unit, i,    k, first, open, names, count) {
  count = open = 0
  for (first = i; i <= body_count[unit]; ++i) {
    split_line(body[unit, i])
    for (k = 1; k <= token_count; ++k) {
      if (token[k] == "(") ++open
      if (token[k] == ")") --open
      if ((unit, token[k]) in word_mode) names[++count] = token[k]
    }
    if (open <= 0) break
  }
  for (k = 1; k <= count; ++k) {
    print "#undef " names[k] "\n#define " names[k] " " names[k] "_" unit > source
  }
  for (; first <= i; ++first) print body[unit, first] > source
  for (k = 1; k <= count; ++k) print "#undef " names[k] > source
  return i
}

# Names that the text itself must change for: word_mode[unit, name].
function put_body(unit,    i, k, t, changed, line, in_members) {
  depth = 0
  before = statement = ""
  for (i = 1; i <= body_count[unit]; ++i) {
    line = body[unit, i]
    if (line ~ /^ *# *define /) {
      # A name may be a function here and, on another machine, a macro.
      split_line(line)
      if ((unit, token[3]) in is_macro) print "#undef " token[3] > source
    }
    if (!has_words[unit] || is_list[unit, i]) {
      print line > source
      continue
    }
    if (depth == 0 && line ~ /^[A-Z][A-Z0-9_]*\(/) {
      i = put_call(unit, i)
      continue
    }
    split_line(line)
    changed = ""
    for (k = 1; k <= token_count; ++k) {
      t = token[k]
      in_members = depth > 0 && opener[depth] == "members" &&
                   k < token_count && token[k + 1] ~ /^[;,:)\[]$/
      changed = changed gap[k]
      if ((unit, t) in word_mode && before != "." && before != "->" && !in_members) {
        changed = changed t "_" unit
      } else {
        changed = changed t
      }
      if (t == "{") {
        opener[++depth] = statement ~ /(struct|union) [A-Za-z0-9_ ]*$/ ? "members" : "block"
      }
      if (t == "}" && depth > 0) --depth
      statement = t == ";" || t == "{" || t == "}" ? "" : statement " " t
      if (t !~ /^\/\//) before = t
    }
    print changed gap[token_count + 1] > source
  }
}

function condition_of(path) {
  if (path ~ /\/x86\//) return "defined(__x86_64__)"
  if (path ~ /\/arm64\//) return "defined(__AARCH64EL__)"
  if (path ~ /\/portable\//) return "!defined(__x86_64__) && !defined(__AARCH64EL__)"
  if (path ~ /_file_posix\.c$/) return "!defined(ETX_CORE_ONLY) && !defined(__wasi__)"
  if (path ~ /_file_read\.c$/) return "!defined(ETX_CORE_ONLY) && defined(__wasi__)"
  if (path ~ /_host_linux\.c$/) return "defined(ETX_WITH_THREADS) && defined(__linux__)"
  if (path ~ /_host_generic\.c$/) return "defined(ETX_WITH_THREADS) && !defined(__linux__)"
  if (path ~ /^runtime\/threads\//) return "defined(ETX_WITH_THREADS)"
  if (path ~ /^runtime\/(module|pool)\//) return "!defined(ETX_CORE_ONLY)"
  return ""
}

function set_of(path) {
  if (path ~ /_avx2\.c$/) return avx2
  if (path ~ /_avx512\.c$/) return avx512
  if (path ~ /_avx512vnni\.c$/) return avx512vnni
  if (path ~ /_dotprod\.c$/) return dotprod
  return ""
}

function put_unit(unit, path,    i, name, condition, set) {
  condition = condition_of(path)
  set = set_of(path)
  print "" > source
  print "// " path > source
  if (condition != "") print "#if " condition > source
  printf "%s", substr(system_of[unit], 2) > source
  for (i = 1; i <= name_count[unit]; ++i) {
    name = name_of[unit, i]
    if (definers[name] < 2 && !(name in header_name)) continue
    if ((unit, name) in member) {
      word_mode[unit, name] = 1
      has_words[unit] = 1
    } else {
      print "#define " name " " name "_" unit > source
      ends_names[unit, ++ends_count[unit]] = name
      is_macro[unit, name] = 1
    }
  }
  if (set != "") put_set(set)
  put_body(unit)
  if (set != "") print "ETX_SET_END" > source
  for (i = 1; i <= macro_count[unit]; ++i) print "#undef " macro_of[unit, i] > source
  for (i = 1; i <= ends_count[unit]; ++i) print "#undef " ends_names[unit, i] > source
  if (condition != "") print "#endif" > source
}

function put_set(set) {
  print "#ifdef __clang__" > source
  print "_Pragma(\"clang attribute push(__attribute__((target(\\\"" set \
    "\\\"))), apply_to = function)\")" > source
  print "#else" > source
  print "#pragma GCC push_options" > source
  if (set == dotprod) {
    # The assembler wants its architecture, too; and functions of <arm_neon.h>
    # are inlined where all is known that the build has asked for.
    print "#ifndef __ARM_FEATURE_DOTPROD" > source
    print "#pragma GCC target(\"arch=armv8.2-a+dotprod+fp16+crypto\")" > source
    print "#endif" > source
  } else {
    print "#pragma GCC target(\"" set "\")" > source
  }
  print "#endif" > source
}

BEGIN {
  split("if for while switch return sizeof do else case int char void float " \
        "double static const _Static_assert __attribute__ _Alignas", words, " ")
  for (i in words) keyword[words[i]] = 1
  # What the system's headers declare.
  split("access alarm brk chown clock clone close connect creat dup encrypt " \
        "exit gamma getw index j0 j1 jn kill link lockf nice open pause pipe " \
        "profil psignal raise read remove rename sbrk select send shutdown " \
        "signal sleep splice stat swab sync syscall tee time times truncate " \
        "vfork wait write y0 y1 yn", words, " ")
  for (i in words) header_name[words[i]] = 1
  header = out "/etx.h"
  source = out "/etx.c"
  load("package/etx.h")
  for (i = 1; i <= count_of["package/etx.h"]; ++i) {
    line = lines["package/etx.h", i]
    if (line ~ /^ *# *include "/) need_header(included(line), 1)
  }
  for (unit = 1; unit < ARGC; ++unit) take(unit, ARGV[unit])
  for (i = 1; i <= private_count; ++i) body[0, i] = private_text[i]
  body_count[0] = private_count
  scan(0)
  for (i = 1; i <= name_count[0]; ++i) header_name[name_of[0, i]] = 1
  for (unit = 1; unit < ARGC; ++unit) scan(unit)

  print "// etx " version ": a runtime for programs of several methods over" > header
  print "// shared state. Goes with etx.c. Made by package/amalgamate.awk." > header
  print "// SPDX-License-Identifier: Apache-2.0" > header
  print "//" > header
  print "//   cc -std=c11 -O2 etx.c app.c -lm -o app" > header
  print "//" > header
  print "// -DETX_CORE_ONLY leaves out what needs files and a heap (etx_module_...), and" > header
  print "// what needs atomic words of 64 bits (etx_instance_pool_...)." > header
  print "// -DETX_WITH_THREADS brings the thread pool in (etx_thread_pool_...)." > header
  print "#ifndef ETX_ETX_H\n#define ETX_ETX_H\n" > header
  print "#include <stdarg.h>\n#include <stdbool.h>\n#include <stddef.h>" > header
  print "#include <stdint.h>\n#include <string.h>\n" > header
  print "#define ETX_VERSION \"" version "\"\n" > header
  print "#ifdef __cplusplus\nextern \"C\" {\n#endif" > header
  for (i = 1; i <= public_count; ++i) print public_text[i] > header
  print "\n#ifdef __cplusplus\n}\n#endif\n\n#endif" > header

  print "// etx " version ": see etx.h." > source
  print "// SPDX-License-Identifier: Apache-2.0" > source
  print "#if !defined(ETX_CORE_ONLY) && defined(__linux__)\n#define _GNU_SOURCE" > source
  print "#elif !defined(ETX_CORE_ONLY)\n#define _POSIX_C_SOURCE 200809L\n#endif\n" > source
  # Results do not depend on these, but for contraction, which they forbid.
  print "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF" > source
  print "#pragma clang diagnostic ignored \"-Wpass-failed\"" > source
  print "#pragma clang diagnostic ignored \"-Wtautological-compare\"" > source
  print "#define ETX_SET_END _Pragma(\"clang attribute pop\")" > source
  print "#elif defined(__GNUC__)" > source
  print "#pragma GCC optimize(\"fp-contract=off,no-math-errno,no-trapping-math\")" > source
  # Checks of an enumeration, which may be too small for what they refuse.
  print "#pragma GCC diagnostic ignored \"-Wtype-limits\"" > source
  print "#define ETX_SET_END _Pragma(\"GCC pop_options\")\n#endif\n" > source
  print "#include \"etx.h\"" > source
  for (i = 1; i <= private_count; ++i) print private_text[i] > source
  for (unit = 1; unit < ARGC; ++unit) put_unit(unit, ARGV[unit])
  close(header)
  close(source)
  exit failed
}
