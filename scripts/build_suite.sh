#!/bin/bash
# build_suite.sh BUILD RUNNER ARGUMENTS...: build the programs that the runner names, one configuration and kind after the other.
set -u
build=$1
shift
list=$("$@") || exit $?
for folder in $(sed "s|^$build/||; s|/.*||" <<<"$list" | sort -u); do
    echo "building $folder"
    if [[ $folder == example-* ]]; then # another design: its folders say themselves what they are builds of
        # shellcheck disable=SC2086
        ${MAKE:-make} -s ${JFLAG:-} $(grep "^$build/$folder/" <<<"$list") || exit 1
        continue
    fi
    cfg=${folder%%-*}
    kind=${folder#*-}
    # shellcheck disable=SC2086
    ${MAKE:-make} -s ${JFLAG:-} CFG="$cfg" KIND="$kind" $(grep "^$build/$folder/" <<<"$list") || exit 1
done
