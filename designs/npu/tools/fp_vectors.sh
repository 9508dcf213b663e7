#!/bin/bash
# scripts/fp_vectors.sh GENERATOR [option ...] -- PROGRAM ...: the vectors of every operation through the programs
# unit-<fp unit> that they are for; one line each. Exit status 1 when a vector fails, and when a program gets no vectors
# at all.
set -u -o pipefail
generator=$1
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
shift
status=0
list=$("$generator" --list) || exit 1
for program in "$@"; do
    unit=${program##*/unit-}
    ops=$(awk -v unit="$unit" '{ for (i = 2; i <= NF; i++) if ($i == unit) print $1 }' <<<"$list")
    if [ -z "$ops" ]; then
        echo "FAIL unit-$unit: no operation of $generator is for it"
        status=1
    fi
    for op in $ops; do
        if ! out=$("$generator" "$op" "${options[@]}" | "$program" --vectors - 2>&1); then
            echo "$out" | sed '$!d' | sed "s/^/$op: /"
            echo "$out" | sed '$d'
            status=1
        else
            echo "$out" | sed '$!d' | sed "s/^/$op: /"
        fi
    done
done
exit $status
