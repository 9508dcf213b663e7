#!/bin/bash
# make shrink: make a stored case (CASE=file; RUN=number [JOB=number]: of a failure of a regression), or the case of a test and a seed (TEST= SEED=), small; on the configuration that it names, in a build that checks
# every unit (KIND=tap) unless KIND= says otherwise. The small case goes to OUTPUT= (beside the stored one, build/cases/<test>-<cfg>-<seed>-small.case).
set -u
fail() {
    echo "shrink: $1" >&2
    exit 2
}

if [ -n "${RUN:-}" ]; then
    [ -z "${CASE:-}${TEST:-}" ] || fail "RUN=$RUN: expected no CASE= or TEST= beside it"
    source "$(dirname "$0")/of_run.sh"
fi
if [ -n "${CASE:-}" ]; then
    [ -f "$CASE" ] || fail "CASE=$CASE: no such file"
    TEST=$(sed -n 's/^test=//p' "$CASE" | head -n 1)
    CFG=$(sed -n 's/^cfg=//p' "$CASE" | head -n 1)
    [ -n "$TEST" ] || fail "$CASE: no line test=..., this is not a case"
    [ -n "$CFG" ] || fail "$CASE: no line cfg=..., this is not a case"
    [ -z "${KNOBS:-}" ] || fail "$KNOBS: a stored case has its knobs, expected TEST= SEED= beside them"
else
    [ -n "${TEST:-}" ] && [ -n "${SEED:-}" ] || fail "expected CASE=file, or TEST=name SEED=seed [CFG=n8] [knob=value ...]"
fi
case $CFG in
n4 | n8 | n16 | n32) ;;
*) fail "cfg=$CFG: expected n4, n8, n16 or n32" ;;
esac
case $TEST in
unit-*) fail "$TEST: cases of unit benches are small by themselves, expected a test of tandem" ;;
python-*) fail "$TEST: cases of testcases in Python are not made smaller by a program; pin knobs by hand: make repro TEST=$TEST SEED=... knob=value" ;;
*[!a-z0-9_-]* | '') fail "test=$TEST: expected a name of small letters, digits, _ and -" ;;
esac
tandem=$BUILD/$CFG-$KIND/tandem
# shellcheck disable=SC2086
${MAKE:-make} -s ${JFLAG:-} CFG="$CFG" KIND="$KIND" "$tandem" || exit 1
if [ -z "${CASE:-}" ]; then
    CASE=$BUILD/cases/$TEST-$CFG-${SEED//[!0-9a-zA-Z]/}.case
    mkdir -p "$BUILD/cases" || exit 1
    # shellcheck disable=SC2086
    "$tandem" test "$TEST" ${KNOBS:-} --seed "$SEED" --print-case >"$CASE.tmp" || {
        status=$?
        rm -f "$CASE.tmp"
        exit "$status"
    }
    mv "$CASE.tmp" "$CASE" || exit 1
fi
command=("$tandem" shrink "$CASE")
[ -n "${OUTPUT:-}" ] && command+=(--output "$OUTPUT")
[ -n "${KEEP:-}" ] && command+=(--keep "$KEEP")
[ -n "${DEVICE:-}" ] && command+=(--device "$DEVICE")
# shellcheck disable=SC2206
command+=(${ARGS:-})
echo "${command[*]}"
exec "${command[@]}"
