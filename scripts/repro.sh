#!/bin/bash
# make repro: run one stored case (CASE=file; RUN=number [JOB=number]: of a failure of a regression), or the case of a
# test and a seed (TEST= SEED=), on the configuration that it names, in a build that checks every unit (KIND=tap), with
# a report of the failure in REPORT= (build/report/<test>-<cfg>-<seed>).
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
# shellcheck disable=SC2086
${MAKE:-make} -s ${JFLAG:-} DUT="$DUT" CFG="$CFG" KIND="$KIND" "${command[0]}" || exit 1
# shellcheck disable=SC2206
command+=("${args[@]}" ${KNOBS:-})
[ -n "${DEVICE:-}" ] && command+=(--device "$DEVICE")
[ -n "${BREAK:-}" ] && command+=(--break "$BREAK")
[ -n "${INIT_SEED:-}" ] && command+=(--init-seed "$INIT_SEED")
[ -n "${PLUSARG:-}" ] && command+=(--plusarg "$PLUSARG")
[ -n "${NO_CHECKS:-}" ] && command+=(--no-checks)
[ -n "${WAVE:-}" ] && command+=(--wave "$WAVE")
command+=(--report "${REPORT:-$BUILD/report/$TEST-$CFG-${SEED//[!0-9a-zA-Z]/}}")
echo "${command[*]}"
"${command[@]}"
status=$?
# A failure that only another build shows is reported, if that build exists.
if [ "$status" = 0 ] && [ "$KIND" = tap ] && [ -z "${WAVE:-}" ]; then
    fast=$top/$CFG-fast/$(basename "${command[0]}")
    if [ -x "$fast" ]; then
        command[0]=$fast
        ${MAKE:-make} -s ${JFLAG:-} DUT="$DUT" CFG="$CFG" KIND=fast "$fast" || exit 1
        echo "${command[*]}"
        "${command[@]}"
        status=$?
        [ "$status" = 1 ] && echo "repro: the fast build fails, the build with checks of units (KIND=tap) does not"
    else
        echo "repro: passed with checks of units (KIND=tap); if it failed in another build: make repro ... KIND=fast"
    fi
fi
exit "$status"
