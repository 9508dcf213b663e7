#!/bin/bash
# make test: run cmocka programs (arguments), tests/*.sh, tests/test_*.py and python/tests/test_*.py one after the
# other; the last line is "N passed, N failed". A program counts with each of its tests; a shell test and a crash count
# as one.
set -u
cd "$(dirname "$0")/.."
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
passed=0
failed=0

# report NAME STATUS PASSED FAILED
report() {
    local name=$1 status=$2 p=$3 f=$4
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p))
    failed=$((failed + f))
    if [ "$status" -eq 0 ] && [ "$f" -eq 0 ]; then
        echo "ok    $name ($p)"
        grep 'not run:' "$log" | sed 's/^/      /'
    else
        echo "FAIL  $name ($p passed, $f failed, exit status $status)"
        tail -n 40 "$log" | sed 's/^/      /'
    fi
}

for program in "$@"; do
    "$program" >"$log" 2>&1 </dev/null
    status=$?
    p=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' "$log" | awk '{ s += $1 } END { print s + 0 }')
    f=$(sed -n -e 's/^\[  FAILED  \] .* \([0-9]*\) test(s), listed below:.*/\1/p' \
        -e 's/^\[  FAILED  \] \([0-9]*\) test(s), listed below:.*/\1/p' "$log" | awk '{ s += $1 } END { print s + 0 }')
    # a program that runs no test does not count as passed
    if [ "$status" -eq 0 ] && [ "$p" -eq 0 ]; then echo "no test ran" >>"$log"; status=1; fi
    report "$(basename "$program")" "$status" "$p" "$f"
done

for script in tests/*.sh; do
    [ -e "$script" ] || continue
    bash "$script" >"$log" 2>&1 </dev/null
    status=$?
    report "$(basename "$script")" "$status" $((status == 0)) $((status != 0))
done

for script in tests/test_*.py python/tests/test_*.py; do
    [ -e "$script" ] || continue
    if ! "${PYTHON:-/usr/bin/python3}" -c 'import pytest' 2>/dev/null; then
        echo "not run: $(basename "$script") needs python3-pytest (make deps)"
        continue
    fi
    "${PYTHON:-/usr/bin/python3}" -m pytest -q -rs -p no:cacheprovider "$script" >"$log" 2>&1 </dev/null
    status=$?
    p=$(grep -oE '[0-9]+ passed' "$log" | tail -n 1 | cut -d' ' -f1)
    f=$(grep -oE '[0-9]+ (failed|errors?)' "$log" | awk '{ s += $1 } END { print s + 0 }')
    # everything skipped: pytest says why with -rs, and the reasons are printed
    report "$(basename "$script")" "$status" "${p:-0}" "$f"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
