#!/bin/bash
# make test: run cmocka programs (arguments), tests/*.sh, tests/test_*.py and python/tests/test_*.py, one more at a time
# than TANDEM_JOBS says, because some wait for others' ends. Python, which takes longest, comes first, and results are
# printed in the order of the tests; the last line is "N passed, N failed". A program counts with each of its tests; a
# shell test and a crash count as one.
set -u
cd "$(dirname "$0")/.."
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
passed=0
failed=0

# run TEST: its output to standard output, its exit status
run() {
    case $1 in
        *.py) "${PYTHON:-/usr/bin/python3}" -m pytest -q -rs -p no:cacheprovider "$1" ;;
        *.sh) bash "$1" ;;
        *) "$1" ;;
    esac
}

# count TEST LOG STATUS: prints how many of its tests passed and failed
count() {
    case $1 in
        *.py)
            # everything skipped: pytest says why with -rs, and the reasons are printed
            p=$(grep -oE '[0-9]+ passed' "$2" | tail -n 1 | cut -d' ' -f1)
            f=$(grep -oE '[0-9]+ (failed|errors?)' "$2" | awk '{ s += $1 } END { print s + 0 }')
            ;;
        *.sh) p=$(($3 == 0)) f=$(($3 != 0)) ;;
        *)
            p=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test(s).*/\1/p' "$2" | awk '{ s += $1 } END { print s + 0 }')
            f=$(sed -n -e 's/^\[  FAILED  \] .* \([0-9]*\) test(s), listed below:.*/\1/p' \
                -e 's/^\[  FAILED  \] \([0-9]*\) test(s), listed below:.*/\1/p' "$2" |
                awk '{ s += $1 } END { print s + 0 }')
            # a program that runs no test does not count as passed
            if [ "$3" -eq 0 ] && [ "$p" -eq 0 ]; then echo "no test ran" >>"$2"; f=1; fi
            ;;
    esac
    if [ "$3" -ne 0 ] && [ "${f:-0}" -eq 0 ]; then f=1; fi
    echo "${p:-0} ${f:-0}"
}

# report TEST LOG: its line, and what a failure says; adds to the sums
report() {
    local name=${1##*/} status p f
    status=$(<"$2.status")
    read -r p f <<<"$(count "$1" "$2" "$status")"
    passed=$((passed + p))
    failed=$((failed + f))
    if [ "$f" -eq 0 ]; then
        echo "ok    $name ($p)"
        grep 'not run:' "$2" | sed 's/^/      /'
    else
        echo "FAIL  $name ($p passed, $f failed, exit status $status)"
        tail -n 40 "$2" | sed 's/^/      /'
    fi
}

tests=()
if "${PYTHON:-/usr/bin/python3}" -c 'import pytest' 2>/dev/null; then
    tests+=(tests/test_*.py python/tests/test_*.py)
else
    echo "not run: tests in Python need python3-pytest (make deps)"
fi
tests+=("$@")
for script in tests/*.sh; do [ -e "$script" ] && tests+=("$script"); done

running=0
shown=0
show_done() {
    while [ "$shown" -lt "${#tests[@]}" ] && [ -e "$logs/$shown.status" ]; do
        report "${tests[$shown]}" "$logs/$shown"
        shown=$((shown + 1))
    done
}
for i in "${!tests[@]}"; do
    if [ "$running" -gt "${TANDEM_JOBS:-1}" ]; then
        wait -n
        running=$((running - 1))
        show_done
    fi
    { run "${tests[$i]}" >"$logs/$i" 2>&1 </dev/null; echo $? >"$logs/$i.tmp"; mv "$logs/$i.tmp" "$logs/$i.status"; } &
    running=$((running + 1))
done
wait
show_done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
