#!/bin/bash
# mutants.sh MAKE BUILD SUITE: every patch of mutants/ in a copy of the project; the suite must fail there. Exit
# status 1 when a patch does not apply, does not build, or is not found.
set -u
make=$1 build=$2 suite=$3
found=0 all=0
for patch in mutants/*.patch; do
    [ -e "$patch" ] || { echo "mutants: mutants/ holds no patch" >&2; exit 1; }
    all=$((all + 1))
    copy=$build/mutants/$(basename "$patch" .patch)
    rm -rf "$copy"
    mkdir -p "$copy/build"
    # the runtime of Verilator is the same
    for runtime in "$build"/verilated-*; do
        [ -d "$runtime" ] && ln -s "$(realpath "$runtime")" "$copy/build/"
    done
    tar -c --exclude="./$build" --exclude=./.git . | tar -x -C "$copy"
    if ! patch -s -p1 --fuzz=0 -d "$copy" <"$patch"; then
        echo "BROKEN   $patch: it does not apply"
        continue
    fi
    if ! $make -s -C "$copy" BUILD=build build >"$copy.log" 2>&1; then
        echo "BROKEN   $patch: it does not build ($copy.log)"
    elif $make -s -C "$copy" BUILD=build SUITE="$suite" regress >>"$copy.log" 2>&1; then
        echo "MISSED   $patch"
    else
        signature=$(grep -m 1 '^fail ' "$copy.log" | sed 's/ | .*//' | cut -c 6-120)
        echo "FOUND    $patch: ${signature:-$copy.log}"
        found=$((found + 1))
    fi
done
echo "$found of $all mutants found"
[ "$found" -eq "$all" ]
