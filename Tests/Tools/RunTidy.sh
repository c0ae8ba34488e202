#!/bin/bash
# Runs clang-tidy over the sources of a build. Usage: RunTidy.sh BUILD_FOLDER [FILE...]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1
shift
if [ $# -gt 0 ]; then
    files=("$@")
else
    mapfile -t files < <(find "$root/Source" -name '*.cpp' | sort)
fi
printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -n 1 clang-tidy -p "$build" --quiet --warnings-as-errors='*' \
        --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings generated' >&2)
