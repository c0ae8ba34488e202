#!/bin/bash
# Makes the packages of a build folder, moves them into a folder and lists their sums: MakePackages.sh BUILD FOLDER
set -euo pipefail

build=$1
folder=$2
# The packages depend on the sources alone: files get the time of the last change.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
umask 022

rm -rf "$build/packages"
(cd "$build" && cpack --config CPackConfig.cmake >cpack.log 2>&1) || { cat "$build/cpack.log"; exit 1; }
mkdir -p "$folder"
find "$build/packages" -maxdepth 1 \( -name '*.deb' -o -name '*.tar.gz' \) -exec mv {} "$folder" \;
(cd "$folder" && find . -maxdepth 1 \( -name '*.deb' -o -name '*.tar.gz' \) -printf '%f\n' | LC_ALL=C sort |
    xargs sha256sum >SHA256SUMS)
cat "$folder/SHA256SUMS"
