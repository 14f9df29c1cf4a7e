#!/usr/bin/env bash
# Runs the commands of a document in a folder of its own, and compares their
# output with the output that the document shows.
#
#   run_document.sh <document.md> <source tree> <build> <installation> <work folder>
#
# Blocks are run from top to bottom:
#
#   ```console          "$ command" lines are run; the lines below each are its
#                       output. Without output, nothing is compared. "..." stands
#                       for any text, on a line by itself for any lines
#   indented            each line is a command, as in the top README
#   any other ```       after <!-- file: NAME --> the block is written to NAME
#
# <!-- fails --> before a console block: its commands must end with a code other
# than 0. <!-- not run: REASON --> before a block: the block is skipped. A block
# that is neither run nor written nor marked is an error, so that none is
# forgotten.
set -uo pipefail

document=$1 source=$2 build=$3 stage=$4 work=$5
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
# The reader's files: the tree with a build in it, and an installation.
ln -s "$source"/{samples,scripts,docs,examples} .
ln -s "$build" build
[ "${document##*/}" = README.md ] &&
  ln -s "$source/tests/data/pt2/kv" methods  # as if exported from PyTorch
[ "${document##*/}" = custom-operators.md ] &&
  ln -s "$source/tests/data/custom_operator/exported" methods
export PATH="$build:$stage/bin:$PATH"
PKG_CONFIG_PATH=$(dirname "$(find "$stage" -name etx.pc)")
export PKG_CONFIG_PATH LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/*}
export CMAKE_PREFIX_PATH=$stage ETX_SOURCE_TREE=$source

failures=0 commands=0 number=0
complain() {
  echo "$document:$number: $1"
  failures=$((failures + 1))
}

# matches <expected lines> <printed lines>: names of two arrays.
matches() {
  local -n want=$1 got=$2
  local i=0 j=0 line
  while [ $i -lt ${#want[@]} ]; do
    if [ "${want[i]}" = "..." ]; then
      i=$((i + 1))
      [ $i -ge ${#want[@]} ] && return 0
      while [ $j -lt ${#got[@]} ] && ! like "${want[i]}" "${got[j]}"; do j=$((j + 1)); done
    fi
    line=${want[i]}
    [ $j -lt ${#got[@]} ] && like "$line" "${got[j]}" || return 1
    i=$((i + 1)) j=$((j + 1))
  done
  [ $j -eq ${#got[@]} ]
}

# like <pattern> <line>: "..." matches any text, all else is literal.
like() {
  local pattern=$1 quoted=
  while [[ $pattern == *...* ]]; do
    quoted+=$(printf %q "${pattern%%...*}")*
    pattern=${pattern#*...}
  done
  quoted+=$(printf %q "$pattern")
  case $quoted in *\$\'*) [ "$1" = "$2" ] ;; *) eval "[[ \$2 == $quoted ]]" ;; esac
}

run() {
  local command=$1 code
  commands=$((commands + 1))
  printed=$(timeout 120 bash -c "$command" 2>&1 </dev/null)
  code=$?
  if [ "$fails" = 1 ] && [ $code = 0 ]; then complain "does not fail: $command"; fi
  if [ "$fails" = 0 ] && [ $code != 0 ]; then complain "ended with $code: $command"$'\n'"$printed"; fi
  [ ${#expected[@]} = 0 ] && return
  local lines=()
  [ -n "$printed" ] && mapfile -t lines <<<"$printed"
  matches expected lines || complain "prints something else: $command"$'\n'"$printed"
}

# One console block, its lines in block[].
run_console() {
  local command= line
  expected=()
  for line in "${block[@]}" '$ '; do
    if [[ $line == '$ '* ]]; then
      [ -n "$command" ] && run "$command"
      command=${line#\$ }
      expected=()
    elif [[ $command == *\\ ]]; then
      command=${command%\\}$line
    else
      expected+=("$line")
    fi
  done
}

finish_block() {
  if [ -n "$left_alone" ]; then
    :
  elif [ -n "$name" ]; then
    mkdir -p "$(dirname "$name")"
    printf '%s\n' "${block[@]}" >"$name"
  elif [ "$kind" = console ]; then
    run_console
  elif [ "$kind" = indented ]; then
    expected=()
    for line in "${block[@]}"; do run "$line"; done
  else
    complain "a block of '$kind' that is neither run nor a file"
  fi
  kind= name= left_alone= fails=0 block=()
}

kind= name= left_alone= fails=0 block=() before=
while IFS= read -r text || [ -n "$text" ]; do
  number=$((number + 1))
  if [ "$kind" = indented ]; then
    if [[ $text == '    '* ]]; then block+=("${text:4}"); continue; fi
    finish_block
  elif [ -n "$kind" ]; then
    if [[ $text == '```'* ]]; then finish_block; else block+=("$text"); fi
    before=$text
    continue
  fi
  case $text in
    '<!-- file: '*) name=${text#<!-- file: } name=${name% -->} ;;
    '<!-- fails -->') fails=1 ;;
    '<!-- not run: '*) left_alone=1 ;;
    '```'*) kind=${text#\`\`\`} kind=${kind:-plain} ;;
    '    '*) [ -z "$before" ] && { kind=indented; block=("${text:4}"); } ;;
  esac
  before=$text
done <"$document"
[ -n "$kind" ] && finish_block

echo "$document: $commands commands, $failures failures"
[ $commands -gt 0 ] && [ $failures = 0 ]
