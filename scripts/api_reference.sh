#!/usr/bin/env bash
# The site of guides and API reference: Doxygen reads the public headers, Sphinx
# the Python package and the guides. Warnings are errors: what is public has a
# description, and no link leads nowhere. The first page is
# <build directory>/html/index.html.
#
#   scripts/api_reference.sh <build directory>
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: scripts/api_reference.sh <build directory>}
"$here/scripts/setup.sh" docs
mkdir -p "$build"
build=$(cd "$build" && pwd)
venv=$build/venv
if ! "$venv/bin/python" -c 'import breathe, furo, myst_parser, numpy' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q -r "$here/docs/api/requirements.txt" >"$build/pip.log" 2>&1 ||
    { tail -3 "$build/pip.log" >&2; exit 1; }
fi

headers=$(cmake -DPROJECT_SOURCE_DIR="$here" -P "$here/docs/api/list_headers.cmake")
export ETX_PUBLIC_HEADERS=$headers
rm -rf "$build/xml" "$build/html"
# Doxygen goes on without the text of a filter that fails.
for header in $headers; do
  "$venv/bin/python" "$here/docs/api/doxygen_filter.py" "$here/$header" >/dev/null
done
{
  cat "$here/docs/api/Doxyfile"
  echo "INPUT = $headers" | tr '\n' ' '
  echo
  echo "INPUT_FILTER = \"$venv/bin/python $here/docs/api/doxygen_filter.py\""
  echo "STRIP_FROM_PATH = \"$here\""
  echo "INCLUDE_PATH = \"$here\""
  echo "OUTPUT_DIRECTORY = \"$build\""
} >"$build/Doxyfile"
(cd "$here" && doxygen "$build/Doxyfile")
# Structs within structs stand with these, not once more by themselves.
sed -i '/<innerclass .*_1_1/d' "$build"/xml/*_8h.xml

ETX_DOXYGEN_XML=$build/xml \
  "$venv/bin/sphinx-build" -q -W -n -c "$here/docs/api" -d "$build/doctrees" -b html \
  "$here" "$build/html"
# Enums without a name are called by a number.
find "$build/html/docs/api" -name 'c-*.html' -exec \
  sed -i 's#<span class="pre">@[0-9]*</span>#<span class="pre">enum</span>#g' {} +
# The root of the source tree is that of the site; its first page lies in docs/api.
cat >"$build/html/index.html" <<'HTML'
<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/api/index.html">
<title>etx</title>
<a href="docs/api/index.html">etx</a>
HTML
echo "API reference: $build/html/index.html"
