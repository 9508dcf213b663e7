#!/bin/bash
# build_suite.sh BUILD RUNNER ARGUMENTS...: build the programs that the runner names, one configuration and kind after the other.
set -u
build=$1
shift
list=$("$@") || exit $?
for folder in $(sed "s|^$build/||; s|/.*||" <<<"$list" | sort -u); do
    cfg=${folder%%-*}
    kind=${folder#*-}
    echo "building $folder"
    # shellcheck disable=SC2086
    ${MAKE:-make} -s ${JFLAG:-} CFG="$cfg" KIND="$kind" $(grep "^$build/$folder/" <<<"$list") || exit 1
done
