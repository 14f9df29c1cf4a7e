#!/usr/bin/env bash
# Makes a release of the last commit: checks that it can be one, builds the wheels
# (scripts/wheels.sh), writes their lists of parts (scripts/sbom.py) and checksums,
# and sets a signed tag. Publishes nothing: push the tag and upload the files when
# you have looked at them.
#
#   scripts/release.sh <scratch directory>
#
# Needs a key that git signs with (user.signingkey), and what scripts/wheels.sh needs.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$here"
refuse() {
  echo "release: $1" >&2
  exit 1
}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
tag=v$version
[ -z "$(git status --porcelain)" ] || refuse "the tree has changes that are not committed"
grep -q "^project(etx VERSION $version " CMakeLists.txt ||
  refuse "CMakeLists.txt does not have version $version of pyproject.toml"
grep -q "^## \[$version\]" CHANGELOG.md || refuse "CHANGELOG.md has no section [$version]"
! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || refuse "the tag $tag exists already"
git config user.signingkey >/dev/null || refuse "git has no user.signingkey to sign with"

scripts/wheels.sh "$work"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
files=$work/files
rm -rf "$files"
mkdir -p "$files"
cp "$work"/wheels/*.whl "$files"
git archive --prefix="etx-$version/" -o "$files/etx-$version.tar" HEAD
gzip -n "$files/etx-$version.tar"
for wheel in "$files"/*.whl; do
  processor=$(basename "$wheel" .whl | grep -oE 'x86_64|aarch64')
  scripts/sbom.py "$wheel" --static "$work/$processor/prefix" -o "$wheel.cdx.json"
done
(cd "$files" && sha256sum -- * >SHA256SUMS)

# The tag states the checksums, so its signature holds for the files, too.
{ printf 'etx %s\n\n' "$version"; cat "$files/SHA256SUMS"; } >"$work/message"
git tag -s -F "$work/message" "$tag"
git tag -v "$tag"
echo "release: $tag is signed; its files are in $files"
