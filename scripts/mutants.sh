#!/bin/bash
# make mutants [DUT=] [SUITE=smoke] [MODE=kill|name|caught|all] [PATCHES=files]: each patch in tests/mutants/DUT is a
# deliberate bug. kill: the suite must find it. name: in a build with taps (KIND=tap) the failure must be blamed on the
# unit that has the bug. caught: the rule or check that it breaks must report it. Exit status 1 when one survives, does
# not apply or does not build, when the right unit is named for less than 95 of 100, when another check than the right
# one reports a bug first, or when the tree fails without any bug.
#
# A patch starts with the lines "# unit: <unit>" (whose bench finds it) and "# what: <what is wrong>"; "# cfg: <cfg>"
# for a bug that does not show in the first of the configurations that the description calls quick;
# "# named: <unit>" where the bug is in a part without a check of its own, "# named: -" where the whole design cannot
# show it, for the reason in "# why: ..."; "# name-cfg: <cfg>" where only that configuration shows it. The right unit is
# that one, or the module that is patched, or the one whose bench it is. A bug of the testbench (no file of rtl/ is
# patched) has no unit, "# unit: -". "# caught: <rule or check>", with "# test: <test> [knob=value ...]": this test must
# fail (KIND=fast, or "# kind: <kind>"; "# cases: <number>" of it, and at least as many of each test with taps), and
# signature or message of the failure must contain that text. The work happens in a copy, built once without a bug; then
# for each patch: apply; run the bench of its unit, the suite in that configuration, the whole suite, until something
# fails; run tests of a build with taps until one fails; run the test that it names; revert it.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
DUT=${DUT:-$(scripts/design.py list | head -n 1)}
design() { scripts/design.py get "$DUT" "$1"; }
quick=$(design quick) || exit 1
quick=${quick%% *}
out=build
[ "$DUT" = "$(scripts/design.py list | head -n 1)" ] || out=build/$DUT
export DUT
SUITE=${SUITE:-smoke}
JOBS=${JOBS:-2}
MODE=${MODE:-all}
CASES=${CASES:-40}           # cases of the unit's bench
NAME_CASES=${NAME_CASES:-60} # cases of each test with taps, and of the test that a patch names
PATCHES=${PATCHES:-"$root"/tests/mutants/$DUT/*.patch}
work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX") || exit 1
log=$work.log
trap 'rm -rf "$work" "$log"' EXIT
trap 'exit 130' INT TERM
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

does() { [ "$MODE" = all ] || [ "$MODE" = "$1" ]; }

header() { sed -n "s/^# $2:[ \t]*//p" "$1" | head -n 1; }

# cfg_of PATCH [KEY...]: the first of these lines of the header
cfg_of() {
    local p=$1 cfg= key
    shift
    for key in "$@" cfg; do
        [ -n "$cfg" ] || cfg=$(header "$p" "$key")
    done
    echo "${cfg:-$quick}"
}

# quiet COMMAND...: output into the log
quiet() { "$@" >"$log" 2>&1 </dev/null; }

# last line of the log with an error
reason() { grep -iE '^(FAIL|fail|hang|crash|error|timeout|killed)|assert' "$log" | head -n 1 | cut -c1-200; }

bench() {
    local b
    for b in "$1" "${DUT}_$1" "${1#"$DUT"_}"; do
        [ -f "testcases/$DUT/unit/unit_$b.c" ] && echo "$b" && break
    done
}

# run_unit BENCH CFG: 0 passed, 1 failed, 2 does not build
run_unit() {
    quiet make -j"$JOBS" "$out/$2-fast/unit-$1" DUT="$DUT" CFG="$2" KIND=fast || return 2
    quiet timeout -k 5 120 "$out/$2-fast/unit-$1" --count "$CASES" ||
        { [ $? -ge 124 ] && echo "FAIL unit-$1: hang" >>"$log"; return 1; }
}

# run_suite [CFG]: 0 passed, 1 failed, 2 does not build
run_suite() {
    local cfg=${1:+CFG=$1}
    # shellcheck disable=SC2086
    quiet make regress DUT="$DUT" SUITE="$SUITE" JOBS="$JOBS" KIND=fast REGRESS_ARGS=--fail-fast $cfg && return 0
    # the runner's closing line tells a failed test from a failed build
    grep -qE '^[0-9]+ passed, [1-9][0-9]* failed(,|$)' "$log" && return 1
    return 2
}

case $MODE in
kill | name | caught | all) ;;
*)
    echo "MODE=$MODE: expected kill, name, caught or all"
    exit 2
    ;;
esac

# shellcheck disable=SC2086
patches=$(if [ "$MODE" = caught ]; then grep -l '^# caught:' $PATCHES; else ls $PATCHES; fi 2>/dev/null)
if [ -z "$patches" ]; then
    echo "no patch to try: no such file$([ "$MODE" = caught ] && echo ", or none with a line '# caught:'")"
    exit 1
fi
echo "copying the tree"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
    [ -e "$f" ] && printf '%s\0' "$f"
done |
    tar --null -T - -cf - | tar xf - -C "$work" || exit 1
copied=()
for d in build/gen build/host build/verilated-fast build/verilated-tap build/designs.* "$out"/units.* \
    $(design cfg | awk -v out="$out" '{ print out "/" $1 "-fast", out "/" $1 "-tap" }'); do
    [ -e "$d" ] && copied+=("$d")
done
mkdir -p "$work/build"
[ ${#copied[@]} = 0 ] || scripts/locked.sh build/lock cp -a --parents "${copied[@]}" "$work" || exit 1
cd "$work" || exit 1

# tests that a build with taps runs, those of the unit first
tests_of() {
    local line pattern all= first=
    set -f
    while read -r line; do
        case $line in
        *" for "*)
            for pattern in ${line##* for }; do
                # shellcheck disable=SC2053
                [[ $1 == $pattern ]] && first=${line%% for *}
            done
            ;;
        *) all=$line ;;
        esac
    done < <(design tests)
    set +f
    echo "$first $all"
}

# run_name UNIT CFG EXPECTED CASES: prints what was blamed; 0 the right unit, 1 another one or nothing, 2 does not build
run_name() {
    local t signature unit cases=${4:-$NAME_CASES}
    [ "$cases" -ge "$NAME_CASES" ] || cases=$NAME_CASES
    quiet make -j"$JOBS" "$out/$2-tap/tandem" CFG="$2" KIND=tap VM_FAST=-O1 || return 2 # built once for a few runs
    for t in $(tests_of "$1"); do
        rm -f result
        quiet timeout -k 5 600 "$out/$2-tap/tandem" test "$t" --run-seed 1 --count "$cases" --result result \
            --case-dir cases && continue
        signature=$(sed -n 's/^signature=//p' result 2>/dev/null)
        echo "$t: ${signature:-no result: $(tail -n 1 "$log")}"
        for unit in $3; do
            # an assertion inside the unit and a hang of which it is the root name it as well
            case $signature in
            unit:"$unit":* | assert:"$unit".sv:* | watchdog:hang:"$unit"*) return 0 ;;
            esac
        done
        return 1
    done
    echo "no test failed"
    return 1
}

# run_caught CFG TEST WANTED [KIND] [CASES]: prints what was reported; 0 what is wanted, 1 something else or nothing, 2
# does not build
run_caught() {
    local said status kind=${4:-fast} cases=${5:-$NAME_CASES}
    quiet make -j"$JOBS" "$out/$1-$kind/tandem" CFG="$1" KIND="$kind" || return 2
    rm -f result
    # shellcheck disable=SC2086
    quiet timeout -k 5 600 "$out/$1-$kind/tandem" test $2 --run-seed 1 --count "$cases" --result result --case-dir cases
    status=$?
    said="$(sed -n 's/^signature=//p' result 2>/dev/null): $(sed -n 's/^message=//p' result 2>/dev/null)"
    case $status in
    0) echo "test $2 did not fail" ;;
    1) echo "$said" | cut -c1-200 ;;
    *) tail -n 1 "$log" ;;
    esac
    [ "$status" -eq 1 ] && grep -qF -- "$3" <<<"$said"
}

total=$(wc -l <<<"$patches")
echo "$total mutants of $DUT, suite $SUITE: first the tree without a bug"
if does kill && ! run_suite; then
    tail -n 20 "$log"
    echo "the tree fails without a bug: nothing can be said about mutants"
    exit 1
fi
if does name; then
    said=$(run_name any "$quick" any)
    if [ "$said" != "no test failed" ]; then
        echo "$said"
        echo "the tree fails with taps and without a bug: nothing can be said about mutants"
        exit 1
    fi
fi
for p in $patches; do
    does kill || break
    b=$(bench "$(header "$p" unit)")
    if [ -n "$b" ] && ! run_unit "$b" "$(cfg_of "$p")"; then
        tail -n 20 "$log"
        echo "the bench of $b fails without a bug"
        exit 1
    fi
done
tried=
for p in $patches; do
    does caught && [ -n "$(header "$p" caught)" ] || continue
    t=$(header "$p" test)
    this="<$(cfg_of "$p") $(header "$p" kind) $t>"
    case $tried in *"$this"*) continue ;; esac
    tried="$tried$this"
    said=$(run_caught "$(cfg_of "$p")" "$t" - "$(header "$p" kind)" "$(header "$p" cases)")
    if [ "$said" != "test $t did not fail" ]; then
        echo "test $t does not pass without a bug: $said"
        tail -n 8 "$log"
        exit 1
    fi
done

# try_kill PATCH UNIT WHAT CFG: 0 when killed
try_kill() {
    local p=$1 unit=$2 what=$3 cfg=$4 b by= status=0
    b=$(bench "$unit")
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
    [ "$status" -eq 1 ]
}

# try_name PATCH UNIT CFG
try_name() {
    local p=$1 expected said
    expected=$(header "$p" named)
    if [ "$2" = - ]; then
        echo "no unit   $(basename "$p"): a bug of the testbench"
        outside=$((outside + 1))
        return
    fi
    if [ "$expected" = - ]; then
        echo "unseen    $(basename "$p"): $(header "$p" why)"
        nameless=$((nameless + 1))
        return
    fi
    [ -n "$expected" ] || expected="$2 $(sed -n 's|^+++ b/.*/\([a-z0-9_]*\)\.sv.*|\1|p' "$p" | tr '\n' ' ')"
    said=$(run_name "$2" "$3" "$expected" "$(header "$1" cases)")
    case $? in
    0)
        echo "named     $(basename "$p"): $said"
        named=$((named + 1))
        ;;
    1) echo "NOT NAMED $(basename "$p"): $said, expected $expected" ;;
    *)
        echo "NO BUILD  $(basename "$p") with taps"
        tail -n 8 "$log" | sed 's/^/          /'
        ;;
    esac
}

# try_caught PATCH
try_caught() {
    local p=$1 said
    [ -n "$(header "$p" caught)" ] || return
    said=$(run_caught "$(cfg_of "$p")" "$(header "$p" test)" "$(header "$p" caught)" \
        "$(header "$p" kind)" "$(header "$p" cases)")
    case $? in
    0)
        echo "caught    $(basename "$p"): $said"
        caught=$((caught + 1))
        ;;
    1) echo "NOT CAUGHT $(basename "$p"): $said, expected $(header "$p" caught)" ;;
    *)
        echo "NO BUILD  $(basename "$p")"
        tail -n 8 "$log" | sed 's/^/          /'
        ;;
    esac
}

# try PATCH: prints the verdicts
try() {
    local p=$1 unit what cfg bad
    cfg=$(cfg_of "$p")
    unit=$(header "$p" unit)
    what=$(header "$p" what)
    bad=
    [ -n "$unit" ] && [ -n "$what" ] || bad="expected the lines '# unit: ...' and '# what: ...'"
    [ "$(header "$p" named)" != - ] || [ -n "$(header "$p" why)" ] ||
        bad="expected a line '# why: ...' with '# named: -'"
    [ -z "$(header "$p" caught)" ] || [ -n "$(header "$p" test)" ] ||
        bad="expected a line '# test: ...' with '# caught: ...'"
    if [ "$unit" = - ] && grep -q '^+++ b/rtl/' "$p"; then
        bad="expected a unit, '# unit: -' is for bugs of the testbench"
    fi
    if [ -n "$bad" ]; then
        echo "BAD       $(basename "$p"): $bad"
        return
    fi
    if ! quiet patch -p1 --no-backup-if-mismatch --fuzz=0 --dry-run -i "$p" ||
        ! quiet patch -p1 --no-backup-if-mismatch --fuzz=0 -i "$p"; then
        echo "NO APPLY  $(basename "$p") ($unit: $what)"
        return
    fi
    if does kill && try_kill "$p" "$unit" "$what" "$cfg"; then killed=$((killed + 1)); fi
    if does name; then try_name "$p" "$unit" "$(cfg_of "$p" name-cfg)"; fi
    if does caught; then try_caught "$p"; fi
    quiet patch -p1 -R --no-backup-if-mismatch -i "$p" || { echo "cannot take back $(basename "$p")"; exit 1; }
}

killed=0
named=0
nameless=0
outside=0 # of the RTL
caught=0
count=0
for p in $patches; do
    count=$((count + 1))
    printf '[%d/%d] ' "$count" "$total"
    try "$p"
done
status=0
if does kill; then
    echo "mutants: $killed of $total killed"
    [ "$killed" -eq "$total" ] || status=1
fi
if does name; then
    of=$((total - nameless - outside))
    echo "mutants: $named of $of blamed on the right unit;" \
        "$nameless that the whole design cannot show, $outside of the testbench"
    [ $((100 * named)) -ge $((95 * of)) ] || status=1
fi
if does caught; then
    # shellcheck disable=SC2086
    of=$(grep -l '^# caught:' $patches | wc -l)
    echo "mutants: $caught of $of caught by the rule or check that they name"
    [ "$caught" -eq "$of" ] || status=1
fi
exit "$status"
