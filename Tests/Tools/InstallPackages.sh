#!/bin/bash
# Installs the packages of packages.txt that this machine lacks. When none is missing it needs neither network nor root.
# Usage: InstallPackages.sh [--check] [demo|product|test]
#   demo, product, test   the last section of packages.txt to install; by default all
#   --check               only names the missing packages (exit code 1 if a required one is missing)
set -euo pipefail

check=
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
last=${1:-test}
case $last in
demo | product | test) ;;
*)
    echo "InstallPackages: '$last' is no section of packages.txt; the sections are demo, product and test." >&2
    exit 2
    ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
list=$root/packages.txt

if ! command -v dpkg-query >/dev/null; then
    echo "InstallPackages: this is not a Debian system; the packages needed are listed in packages.txt." >&2
    exit 0
fi

missing=()
optional=() # marked by '?'
while read -r line; do
    name=${line%\?}
    status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
    if [ "$status" = installed ]; then
        continue
    elif [ "$name" = "$line" ]; then
        missing+=("$name")
    else
        optional+=("$name")
    fi
done < <(awk -v last="$last" '
    /^\[/ { if (done) exit; done = ($0 == "[" last "]"); next }
    { sub(/#.*/, ""); gsub(/[[:space:]]/, "") }
    $0 != ""' "$list")

[ ${#missing[@]} -gt 0 ] || [ ${#optional[@]} -gt 0 ] || exit 0

if [ -n "$check" ]; then
    [ ${#optional[@]} = 0 ] || echo "InstallPackages: missing, but optional: ${optional[*]}"
    [ ${#missing[@]} -gt 0 ] || exit 0
    echo "InstallPackages: missing: ${missing[*]}"
    exit 1
fi

if [ "$(id -u)" = 0 ]; then
    asRoot=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null; then
    asRoot=(sudo env DEBIAN_FRONTEND=noninteractive)
elif [ ${#missing[@]} = 0 ]; then
    echo "InstallPackages: continuing without ${optional[*]}"
    exit 0
else
    echo "InstallPackages: missing packages: ${missing[*]}" >&2
    echo "InstallPackages: neither root nor sudo here; as root run: apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "InstallPackages: installing" ${missing[@]+"${missing[@]}"} ${optional[@]+"${optional[@]}"}
# An outdated list of packages is no reason to stop, because the installation reports missing packages.
patience=()
[ ${#missing[@]} -gt 0 ] || patience=(-o Acquire::Retries=0 -o Acquire::http::Timeout=10)
"${asRoot[@]}" apt-get update -q ${patience[@]+"${patience[@]}"} </dev/null || echo "InstallPackages: apt-get update failed; continuing with the present lists" >&2
install=("${asRoot[@]}" apt-get install -y -q --no-install-recommends)
if [ ${#missing[@]} -gt 0 ] && ! "${install[@]}" "${missing[@]}" </dev/null; then
    echo "InstallPackages: apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
if [ ${#optional[@]} -gt 0 ] && ! "${install[@]}" "${optional[@]}" </dev/null; then
    echo "InstallPackages: continuing without ${optional[*]}" >&2
fi
