#!/bin/bash
# build_suite.sh BUILD RUNNER ARGUMENTS...: build the programs that the runner names, BUILD/[DESIGN/]CFG-KIND/PROGRAM,
# one folder after the other.
set -u
build=$1
shift
list=$("$@") || exit $?
for folder in $(sed "s|^$build/||; s|/[^/]*$||" <<<"$list" | sort -u); do
    echo "building $folder"
    name=${folder##*/}
    design=${folder%"$name"}
    # shellcheck disable=SC2086,SC2046
    "$(dirname "$0")/build.sh" ${design:+DUT=${design%/}} CFG="${name%%-*}" KIND="${name#*-}" \
        $(grep "^$build/$folder/[^/]*$" <<<"$list") || exit 1
done
