#!/bin/bash
# make repro: run one stored case (CASE=file; RUN=number [JOB=number]: of a failure of a regression), or the case of a
# test and a seed (TEST= SEED=), on the configuration that it names, in a build that checks every unit (KIND=tap), with
# a report of the failure in REPORT= (build/report/<test>-<cfg>-<seed>-<hash of the case and of how it runs>).
set -u
source "$(dirname "$0")/of_run.sh"
source "$(dirname "$0")/of_case.sh"
if [ -n "${CASE:-}" ]; then args=(--case "$CASE"); else args=(--seed "$SEED"); fi
[ "$KIND" = default ] && KIND=tap
top=$out
out=$out/$CFG-$KIND
case $TEST in
*[!a-z0-9_-]* | '') fail "test=$TEST: expected a name of small letters, digits, _ and -" ;;
unit-*) command=("$out/$TEST") ;;
python-*)
    command=("$out/tandem-python")
    if [ -n "${CASE:-}" ]; then args=(repro "$CASE"); else args=(test "${TEST#python-}" "${args[@]}"); fi
    ;;
*)
    command=("$out/tandem")
    if [ -n "${CASE:-}" ]; then args=(repro "$CASE"); else args=(test "$TEST" "${args[@]}"); fi
    ;;
esac
program=${command[0]}
fast=$top/$CFG-fast/$(basename "$program")
# shellcheck disable=SC2206
command+=("${args[@]}" ${KNOBS:-})
hash=$(case_hash "$KIND ${DEVICE:-} ${BREAK:-} ${INIT_SEED:-} ${PLUSARG:-} ${NO_CHECKS:-}")
REPORT=${REPORT:-$BUILD/report/$TEST-$CFG-${SEED//[!0-9a-zA-Z]/}-$hash}
[ -n "${DEVICE:-}" ] && command+=(--device "$DEVICE")
[ -n "${BREAK:-}" ] && command+=(--break "$BREAK")
[ -n "${INIT_SEED:-}" ] && command+=(--init-seed "$INIT_SEED")
[ -n "${PLUSARG:-}" ] && command+=(--plusarg "$PLUSARG")
[ -n "${NO_CHECKS:-}" ] && command+=(--no-checks)
[ -n "${WAVE:-}" ] && command+=(--wave "$WAVE")
command+=(--report "$REPORT")
# $1: kind of its build, for make
run() {
    "$(dirname "$0")/build.sh" DUT="$DUT" CFG="$CFG" KIND="$1" "${command[0]}" || exit 1
    echo "${command[*]}"
    "${command[@]}"
    status=$?
}
# newer than the RTL?
fresh() {
    [ -x "$1" ] && [ -z "$(find rtl -name '*.sv' -newer "$1" -print -quit 2>/dev/null)" ]
}
# After a change of the RTL the build that checks every unit takes a while: what the fast one says, if it is there,
# comes first.
if [ "$KIND" = tap ] && [ -z "${WAVE:-}" ] && ! fresh "$program" && fresh "$fast"; then
    command[0]=$fast
    run fast
    [ "$status" = 1 ] &&
        echo "repro: that is what the fast build shows; KIND=tap, which checks every unit, is being built"
    command[0]=$program
fi
run "$KIND"
# A failure that only another build shows is reported, if that build exists.
if [ "$status" = 0 ] && [ "$KIND" = tap ] && [ -z "${WAVE:-}" ]; then
    if [ -x "$fast" ]; then
        command[0]=$fast
        run fast
        [ "$status" = 1 ] && echo "repro: the fast build fails, the build with checks of units (KIND=tap) does not"
    else
        echo "repro: passed with checks of units (KIND=tap); if it failed in another build: make repro ... KIND=fast"
    fi
fi
exit "$status"
