#!/bin/bash
# make shrink: make a stored case (CASE=file; RUN=number [JOB=number]: of a failure of a regression), or the case of a
# test and a seed (TEST= SEED=), small; on the configuration that it names, in a build that checks every unit (KIND=tap)
# unless KIND= says otherwise. The small case goes to OUTPUT= (beside the stored one,
# build/cases/<test>-<cfg>-<seed>-small.case).
set -u
source "$(dirname "$0")/of_run.sh"
source "$(dirname "$0")/of_case.sh"
[ -z "${CASE:-}" ] || [ -z "${KNOBS:-}" ] ||
    fail "$KNOBS: a stored case has its knobs, expected TEST= SEED= beside them"
case $TEST in
python-*)
    fail "$TEST: cases of testcases in Python are not made smaller by a program; pin knobs by hand:" \
        "make repro TEST=$TEST SEED=... knob=value"
    ;;
*[!a-z0-9_-]* | '') fail "test=$TEST: expected a name of small letters, digits, _ and -" ;;
esac
program=$out/$CFG-$KIND/tandem
case $TEST in unit-*) program=$out/$CFG-$KIND/$TEST ;; esac
# shellcheck disable=SC2086
${MAKE:-make} -s ${JFLAG:-} DUT="$DUT" CFG="$CFG" KIND="$KIND" "$program" || exit 1
if [ -z "${CASE:-}" ]; then
    CASE=$BUILD/cases/$TEST-$CFG-${SEED//[!0-9a-zA-Z]/}.case
    mkdir -p "$BUILD/cases" || exit 1
    # shellcheck disable=SC2086
    "$program" test "$TEST" ${KNOBS:-} --seed "$SEED" --print-case >"$CASE.tmp" || {
        status=$?
        rm -f "$CASE.tmp"
        exit "$status"
    }
    mv "$CASE.tmp" "$CASE" || exit 1
fi
command=("$program" shrink "$CASE")
[ -n "${OUTPUT:-}" ] && command+=(--output "$OUTPUT")
[ -n "${KEEP:-}" ] && command+=(--keep "$KEEP")
[ -n "${DEVICE:-}" ] && command+=(--device "$DEVICE")
# shellcheck disable=SC2206
command+=(${ARGS:-})
echo "${command[*]}"
exec "${command[@]}"
