#!/bin/bash
# One RTL has one trace hash: the same cases in the fast, debug and sanitizer builds, portable and for this machine
# (make check only: it builds them all).
set -u
cd "$(dirname "$0")/.." || exit 1
if [ -z "${TANDEM_CHECK:-}" ]; then
    echo "not run: make check only (it builds four programs)"
    exit 0
fi
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL SAN KIND HOST BUILD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
first=
for build in "n4 fast native" "n4 fast " "n4 debug native" "n4 san native"; do
    read -r cfg kind arch <<<"$build"
    make -s -j2 CFG="$cfg" KIND="$kind" ARCH="$arch" BUILD="$work/build-$kind-$arch" \
        "$work/build-$kind-$arch/$cfg-$kind/tandem" >"$work/log" 2>&1 || {
        tail -n 5 "$work/log"
        exit 1
    }
    lines=$(for test in conv regs bus_error chain; do
        "$work/build-$kind-$arch/$cfg-$kind/tandem" test "$test" --run-seed 9 --count 6 --case-dir "$work/cases" |
            grep -oE 'PASS test=[a-z_]+|cycles=[0-9]+|hash=[0-9a-f]+' | tr '\n' ' '
    done)
    [ "$(grep -o PASS <<<"$lines" | wc -l)" -eq 4 ] || { echo "$build: not all passed: $lines"; exit 1; }
    first=${first:-$lines}
    [ "$lines" = "$first" ] || { echo "$build: $lines"; echo "first: $first"; exit 1; }
done
echo "4 builds alike: $first"
