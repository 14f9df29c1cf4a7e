#!/usr/bin/env bash
# Builds the site with the guides and the API reference: Doxygen reads the public
# headers, Sphinx the Python package and the guides. Warnings are errors, so every
# public name has a description and every link has a target. The first page is
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
# Run the filter once by itself, because Doxygen ignores its errors.
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
# Nested structs are described with the outer struct, not a second time.
sed -i '/<innerclass .*_1_1/d' "$build"/xml/*_8h.xml

ETX_DOXYGEN_XML=$build/xml \
  "$venv/bin/sphinx-build" -q -W -n -c "$here/docs/api" -d "$build/doctrees" -b html \
  "$here" "$build/html"
# Replace the numbers that stand for unnamed enums.
find "$build/html/docs/api" -name 'c-*.html' -exec \
  sed -i 's#<span class="pre">@[0-9]*</span>#<span class="pre">enum</span>#g' {} +
# The site has the folders of the source tree; its first page is in docs/api.
cat >"$build/html/index.html" <<'HTML'
<!DOCTYPE html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/api/index.html">
<title>etx</title>
<a href="docs/api/index.html">etx</a>
HTML
echo "API reference: $build/html/index.html"
