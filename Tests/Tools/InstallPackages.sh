#!/bin/bash
# Installs the packages of packages.txt that this machine lacks. When none is missing it needs neither network nor root.
# Usage: InstallPackages.sh [--check]    --check only names what is missing (exit code 1 if anything is)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
list=$root/packages.txt

if ! command -v dpkg-query >/dev/null; then
    echo "InstallPackages: this is not a Debian system; the packages needed are listed in packages.txt." >&2
    exit 0
fi

missing=()
while read -r name; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$name")
done < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

[ ${#missing[@]} -gt 0 ] || exit 0

if [ "${1:-}" = --check ]; then
    echo "InstallPackages: missing: ${missing[*]}"
    exit 1
fi

if [ "$(id -u)" = 0 ]; then
    asRoot=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null; then
    asRoot=(sudo env DEBIAN_FRONTEND=noninteractive)
else
    echo "InstallPackages: missing packages: ${missing[*]}" >&2
    echo "InstallPackages: neither root nor sudo here; as root run: apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "InstallPackages: installing ${missing[*]}"
# A list of packages that is out of date is no reason to stop: the installation says what it could not find.
"${asRoot[@]}" apt-get update -q </dev/null || echo "InstallPackages: apt-get update failed; going on with the lists present" >&2
if ! "${asRoot[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null; then
    echo "InstallPackages: apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
