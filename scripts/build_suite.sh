#!/bin/bash
# build_suite.sh BUILD: build the programs whose paths, BUILD/[DESIGN/]CFG-KIND/PROGRAM, come on standard input, one
# folder after the other, and print "  READY PATH" for each. The runner calls it (regress/builder.h), and make coverage.
set -u
build=$1
list=$(cat)
declare -A programs
folders=()
while IFS= read -r path; do
    folder=${path#"$build"/}
    folder=${folder%/*}
    [ -n "${programs[$folder]:-}" ] || folders+=("$folder")
    programs[$folder]+=" $path.ready"
done <<<"$list"
for folder in "${folders[@]}"; do
    name=${folder##*/}
    design=${folder%"$name"}
    # shellcheck disable=SC2086
    "$(dirname "$0")/build.sh" ${design:+DUT=${design%/}} CFG="${name%%-*}" KIND="${name#*-}" ${programs[$folder]} ||
        exit 1
done
