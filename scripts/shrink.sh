#!/bin/bash
# make shrink: make a stored case (CASE=file; RUN=number [JOB=number]: of a failure of a regression), or the case of a
# test and a seed (TEST= SEED=), small; on the configuration that it names, in a build that checks every unit (KIND=tap)
# unless KIND= says otherwise. The small case goes to OUTPUT= (beside the stored one,
# build/cases/<test>-<cfg>-<seed>-small.case). Without KIND= it must also fail in the fast build, if that exists, as the
# stored one does there; else it is searched for again, in the fast build.
set -u
source "$(dirname "$0")/of_run.sh"
source "$(dirname "$0")/of_case.sh"
[ -z "${CASE:-}" ] || [ -z "${KNOBS:-}" ] ||
    fail "$KNOBS: a stored case has its own knobs; knobs need TEST= and SEED="
case $TEST in
python-*)
    fail "$TEST: cases of testcases in Python are not made smaller by a program; pin knobs by hand:" \
        "make repro TEST=$TEST SEED=... knob=value"
    ;;
*[!a-z0-9_-]* | '') fail "test=$TEST: expected a name of small letters, digits, _ and -" ;;
esac
name=tandem
case $TEST in unit-*) name=$TEST ;; esac
fast=
if [ "$KIND" = default ]; then
    KIND=tap
    [ "$name" = tandem ] && [ -x "$out/$CFG-fast/$name" ] && fast=$out/$CFG-fast/$name
fi
program=$out/$CFG-$KIND/$name
"$(dirname "$0")/build.sh" DUT="$DUT" CFG="$CFG" KIND="$KIND" "$program" || exit 1
if [ -z "${CASE:-}" ]; then
    CASE=$BUILD/cases/$TEST-$CFG-${SEED//[!0-9a-zA-Z]/}${KNOBS:+-$(case_hash)}.case
    mkdir -p "$BUILD/cases" || exit 1
    # shellcheck disable=SC2086
    "$program" test "$TEST" ${KNOBS:-} --seed "$SEED" --print-case >"$CASE.$$" || {
        status=$?
        rm -f "$CASE.$$"
        exit "$status"
    }
    mv "$CASE.$$" "$CASE" || exit 1
fi
small=${OUTPUT:-${CASE%.case}-small.case}
options=(--output "$small")
[ -n "${KEEP:-}" ] && options+=(--keep "$KEEP")
[ -n "${DEVICE:-}" ] && options+=(--device "$DEVICE")
# shellcheck disable=SC2206
options+=(${ARGS:-})

# $1: program; the rest of the options
shrink() {
    echo "$1 shrink $CASE ${options[*]}"
    "$1" shrink "$CASE" "${options[@]}"
}
shrink "$program" || exit
[ -n "$fast" ] || exit 0

# the options that say how a case runs; the others are those of shrinking
setup=()
for ((i = 0; i < ${#options[@]}; i++)); do
    case ${options[i]} in
    --output | --keep | --seconds | --jobs) i=$((i + 1)) ;;
    --quiet | --same-unit | --signature-only) ;;
    *) setup+=("${options[i]}") ;;
    esac
done
# how a case fails in the fast build: the first two words of the signature; empty: it passes
effect() {
    local result=$BUILD/shrink.$$
    "$fast" repro "$1" "${setup[@]}" --quiet --case-dir "$BUILD" --result "$result" >/dev/null 2>&1
    sed -n 's/^signature=//p' "$result" | cut -d : -f 1,2
    rm -f "$result"
}
"$(dirname "$0")/build.sh" DUT="$DUT" CFG="$CFG" KIND=fast "$fast" || exit 1
want=$(effect "$CASE")
[ -n "$want" ] || exit 0
got=$(effect "$small")
if [ "$got" = "$want" ]; then
    echo "shrink: the fast build shows $want with the small case, too"
    exit 0
fi
case " ${ARGS:-} " in *" --signature-only "*) again= ;; *) again=1 ;; esac
echo "shrink: the small case no longer shows $want in the fast build" \
    "(${got:-it passes there})${again:+; again in the fast build}"
[ -z "$again" ] || shrink "$fast"
