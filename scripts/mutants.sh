#!/bin/bash
# make mutants SUITE=smoke: each patch in tests/mutants is a deliberate bug; the suite must find it. Exit status 1 when one survives, does not apply or does
# not build, or when the tree fails without any bug.
#
# A patch starts with the lines "# unit: <unit>" and "# what: <what is wrong>"; "# cfg: <cfg>" for a bug that does not show at N=4. The work happens in a copy, built once without a bug; then for each patch:
# apply, run the bench of its unit, the suite at that N, the whole suite, until something fails; take it back.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
SUITE=${SUITE:-smoke}
JOBS=${JOBS:-2}
CASES=${CASES:-40}           # cases of the unit's bench
PATCHES=${PATCHES:-"$root"/tests/mutants/*.patch}
work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX") || exit 1
log=$work.log
trap 'rm -rf "$work" "$log"' EXIT
trap 'exit 130' INT TERM
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

header() { sed -n "s/^# $2:[ \t]*//p" "$1" | head -n 1; }

cfg_of() {
    local cfg
    cfg=$(header "$1" cfg)
    echo "${cfg:-n4}"
}

# quiet COMMAND...: output into the log
quiet() { "$@" >"$log" 2>&1 </dev/null; }

# last line of the log that says what went wrong
reason() { grep -iE '^(FAIL|fail|hang|crash|error|timeout|killed)|assert' "$log" | head -n 1 | cut -c1-200; }

bench() { [ -f "testcases/unit/unit_$1.c" ] && echo "$1" || { [ -f "testcases/unit/unit_npu_$1.c" ] && echo "npu_$1"; }; }

# run_unit BENCH CFG: 0 passed, 1 failed, 2 does not build
run_unit() {
    quiet make -j"$JOBS" "build/$2-fast/unit-$1" CFG="$2" KIND=fast || return 2
    quiet timeout -k 5 120 "build/$2-fast/unit-$1" --count "$CASES" || { [ $? -ge 124 ] && echo "FAIL unit-$1: hang" >>"$log"; return 1; }
}

# run_suite [CFG]: 0 passed, 1 failed, 2 does not build
run_suite() {
    local cfg=${1:+CFG=$1}
    # shellcheck disable=SC2086
    quiet make regress SUITE="$SUITE" JOBS="$JOBS" KIND=fast REGRESS_ARGS=--fail-fast $cfg && return 0
    # the runner's closing line tells a failed test from a failed build
    grep -qE '^[0-9]+ passed, [1-9][0-9]* failed$' "$log" && return 1
    return 2
}

echo "copying the tree"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done |
    tar --null -T - -cf - | tar xf - -C "$work" || exit 1
mkdir -p "$work/build"
for d in host verilated-fast n4-fast n8-fast units.list units.mk; do
    [ -e "build/$d" ] && cp -a "build/$d" "$work/build/"
done
cd "$work" || exit 1

# shellcheck disable=SC2086
patches=$(ls $PATCHES 2>/dev/null)
if [ -z "$patches" ]; then
    echo "no patch in tests/mutants"
    exit 1
fi
total=$(wc -l <<<"$patches")
echo "$total mutants, suite $SUITE: first the tree without a bug"
if ! run_suite; then
    tail -n 20 "$log"
    echo "the tree fails without a bug: nothing can be said about mutants"
    exit 1
fi
for p in $patches; do
    b=$(bench "$(header "$p" unit)")
    if [ -n "$b" ] && ! run_unit "$b" "$(cfg_of "$p")"; then
        tail -n 20 "$log"
        echo "the bench of $b fails without a bug"
        exit 1
    fi
done

# try PATCH: prints the verdict; 0 when killed
try() {
    local p=$1 unit what b by cfg
    cfg=$(cfg_of "$p")
    unit=$(header "$p" unit)
    what=$(header "$p" what)
    if [ -z "$unit" ] || [ -z "$what" ]; then
        echo "BAD       $(basename "$p"): expected the lines '# unit: ...' and '# what: ...'"
        return 1
    fi
    if ! quiet patch -p1 --no-backup-if-mismatch --fuzz=0 --dry-run -i "$p" || ! quiet patch -p1 --no-backup-if-mismatch --fuzz=0 -i "$p"; then
        echo "NO APPLY  $(basename "$p") ($unit: $what)"
        return 1
    fi
    b=$(bench "$unit")
    local status=0
    by=
    if [ -n "$b" ]; then
        run_unit "$b" "$cfg"
        status=$?
        by="bench of $b"
    fi
    if [ "$status" -eq 0 ]; then
        run_suite "$cfg"
        status=$?
        by="suite, $cfg"
    fi
    if [ "$status" -eq 0 ]; then
        run_suite
        status=$?
        by="suite"
    fi
    case $status in
    0) echo "SURVIVED  $(basename "$p") ($unit: $what)" ;;
    1) echo "killed    $(basename "$p") by $by: $(reason)" ;;
    *)
        echo "NO BUILD  $(basename "$p") ($unit: $what)"
        tail -n 8 "$log" | sed 's/^/          /'
        ;;
    esac
    quiet patch -p1 -R --no-backup-if-mismatch -i "$p" || { echo "cannot take back $(basename "$p")"; exit 1; }
    [ "$status" -eq 1 ]
}

killed=0
count=0
for p in $patches; do
    count=$((count + 1))
    printf '[%d/%d] ' "$count" "$total"
    try "$p" && killed=$((killed + 1))
done
echo "mutants: $killed of $total killed"
[ "$killed" -eq "$total" ]
