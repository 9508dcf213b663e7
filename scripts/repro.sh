#!/bin/bash
# make repro: run one stored case (CASE=file), or the case of a test and a seed (TEST= SEED=), on the configuration that it names.
set -u
fail() {
    echo "repro: $1" >&2
    exit 2
}

if [ -n "${CASE:-}" ]; then
    [ -f "$CASE" ] || fail "CASE=$CASE: no such file"
    TEST=$(sed -n 's/^test=//p' "$CASE" | head -n 1)
    CFG=$(sed -n 's/^cfg=//p' "$CASE" | head -n 1)
    [ -n "$TEST" ] || fail "$CASE: no line test=..., this is not a case"
    [ -n "$CFG" ] || fail "$CASE: no line cfg=..., this is not a case"
    args=(--case "$CASE")
else
    [ -n "${TEST:-}" ] && [ -n "${SEED:-}" ] || fail "expected CASE=file, or TEST=name SEED=seed [CFG=n8]"
    args=(--seed "$SEED")
fi
case $CFG in
n4 | n8 | n16 | n32) ;;
*) fail "cfg=$CFG: expected n4, n8, n16 or n32" ;;
esac
out=$BUILD/$CFG-$KIND
case $TEST in
*[!a-z0-9_-]* | '') fail "test=$TEST: expected a name of small letters, digits, _ and -" ;;
unit-*) command=("$out/$TEST") ;;
*)
    command=("$out/tandem")
    if [ -n "${CASE:-}" ]; then args=(repro "$CASE"); else args=(test "$TEST" "${args[@]}"); fi
    ;;
esac
# shellcheck disable=SC2086
${MAKE:-make} -s ${JFLAG:-} CFG="$CFG" KIND="$KIND" "${command[0]}" || exit 1
# shellcheck disable=SC2206
command+=("${args[@]}" ${KNOBS:-})
[[ $TEST != unit-* && -n ${DEVICE:-} ]] && command+=(--device "$DEVICE")
[ -n "${WAVE:-}" ] && command+=(--wave "$WAVE")
echo "${command[*]}"
exec "${command[@]}"
