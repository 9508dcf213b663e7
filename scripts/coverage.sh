#!/bin/bash
# coverage.sh: run the jobs that a suite marks for coverage (or reuse their files), merge, report, gate. Called by
# `make coverage`, here and in projects, which sets the variables. Everything ends in build/coverage (of another design
# than the default in build/NAME/coverage); the last lines are the summary and the gates, where there are
# thresholds. Exit status: 0; 1: a job failed, or a figure is below its threshold.
set -u
tools=$(dirname "$0")
dir=$OUT_DIR
jobs=$dir/jobs
work=$dir/tmp
status=0

die() {
    echo "coverage: $*" >&2
    exit 1
}
say() {
    echo "coverage: $*"
}
cov() {
    "$COV" "$@" || exit 1
}

# `coverage.sh check`, before anything is built: refuses what cannot end in a report. The runner knows the rest.
check() {
    local file=$SUITES/$SUITE.suite name
    [[ $SUITE != */* && $SUITE != *.suite ]] || file=$SUITE
    [ -f "$file" ] || die "SUITE=$SUITE: there is no $file; expected a file or one of" \
        $(cd "$SUITES" 2>/dev/null && ls ./*.suite | sed 's|^\./||; s|\.suite$||')
    grep -qE '^[[:space:]]*(test|unit|case|include)[[:space:]]' "$file" ||
        die "suite $SUITE has no test, unit or stored case, and nothing else writes coverage ($file)"
    [ -n "$CFGS" ] || die "design $DUT has no configuration that counts code coverage (docs/coverage-code.md)"
    [ -z "$REUSE" ] || have_jobs
    for name in $GIVEN; do # limits of the user's own
        [ -r "$name" ] || die "cannot read $name, the limits given"
    done
    [[ -z $SEED || $SEED =~ ^[0-9]+$ ]] || die "SEED=$SEED: expected a number"
}

have_jobs() {
    compgen -G "$jobs/*.code" >/dev/null || die "REUSE=1: no coverage of jobs in $jobs (run make coverage without it)"
}

if [ "${1:-}" = check ]; then
    check
    exit 0
fi

reasons=()
[ -f "$ROOM/waivers.txt" ] && reasons+=(--waivers "$ROOM/waivers.txt")
[ -f "$ROOM/holes.txt" ] && reasons+=(--explain "$ROOM/holes.txt")

# ---- the jobs ----
run_jobs() {
    local marked=(--suite "$SUITE" --design "$DUT" --build-dir "$BUILD" --cfg "$CFGS" --marked)
    mkdir -p "$dir" && "$RUNNER" run "${marked[@]}" --print-jobs >"$dir/jobs.new" || exit 1
    grep -q "kind=cov" "$dir/jobs.new" || die "no job of suite $SUITE with CFG=$CFGS counts code coverage"
    mv "$dir/jobs.new" "$dir/jobs.suite"
    rm -rf "$jobs" "$dir/run" "$dir/run.json"
    mkdir -p "$jobs" || exit 1
    # counters of model and driver add up from process to process
    [ ! -d "$BUILD/host-cov" ] || find "$BUILD/host-cov" -name "*.gcda" -delete
    # shellcheck disable=SC2086
    "$RUNNER" run "${marked[@]}" --build "$tools/build_suite.sh $BUILD" --jobs "$JOBS" --coverage "$jobs" \
        ${SEED:+--seed $SEED} --explain 0 --report --summary-json "$dir/run.json" || status=1
    sed -n 's/^ *"run": \([0-9][0-9]*\),/\1/p' "$dir/run.json" | head -n 1 >"$dir/run"
}

# The tests that the description of the design counts ("counted").
run_tests() {
    local tests=() t name
    for t in $COUNTED; do
        tests+=("$BUILD/host-cov/${t%.c}")
    done
    "$tools/build.sh" KIND=cov CFG="${CFGS%%,*}" "${tests[@]}" || exit 1
    for t in "${tests[@]}"; do
        name=$(basename "$t")
        if ! "$t" >"$dir/jobs/$name.txt" 2>&1; then
            say "FAILED: $t (output: $dir/jobs/$name.txt)"
            status=1
        fi
    done
    say "counted tests:  ${#tests[@]} programs"
}

if [ -n "$REUSE" ]; then
    have_jobs
    say "taking what is in $jobs"
else
    run_jobs
    [ -z "$COUNTED" ] || run_tests
fi
compgen -G "$jobs/*.code" >/dev/null || die "no job has written its coverage"
"${PYTHON:-/usr/bin/python3}" "$tools/reached.py" "$COV" "$dir/jobs.suite" "$jobs" "$dir/reached.gz" \
    "$(cat "$dir/run" 2>/dev/null)" || exit 1

# ---- merge: each figure is made of all jobs ----
rm -rf "$work"
mkdir -p "$work" || exit 1
say "jobs merged: $(find "$jobs" -name '*.code' | wc -l)"
host=()
if [ -d "$BUILD/host-cov" ]; then # C code that gcov counts
    host=("$work/host.code")
    cov code gcov -o "$work/host.code" --only "$ONLY" "$BUILD/host-cov" >/dev/null
fi
find "$jobs" -name '*.code' -print0 | sort -z |
    xargs -0 "$COV" code merge -j "$JOBS" -o "$work/code.code" "${host[@]}" >/dev/null || exit 1
cov code user "$work/code.code" -o "$work/sv.cov" >/dev/null
find "$jobs" -name '*.cov' -print0 | sort -z |
    xargs -0 "$COV" merge -o "$work/functional.cov" "$work/sv.cov" >/dev/null || exit 1

# ---- reports ----
cov code report "$work/code.code" "${reasons[@]}" --json >"$work/code.json"
cov code info "$work/code.code" -o "$work/coverage.info"
cov code cobertura "$work/code.code" -o "$work/cobertura.xml"
cov code html "$work/code.code" --source . "${reasons[@]}" -o "$work/code"
cov report "$work/functional.cov" --html "$work/functional" >"$work/functional.txt"
cov report "$work/functional.cov" --json >"$work/functional.json"
find "$jobs" -name '*.cov' -print0 | sort -z | xargs -0 "$COV" rank -o "$work/small.suite" >/dev/null || exit 1
cov summary "$work/functional.cov" --code "$work/code.json" -o "$work/summary.json" >"$work/summary.txt"
run=$(cat "$dir/run" 2>/dev/null)
trend=()
if [ -n "$run" ]; then
    "$RUNNER" coverage "$work/summary.json" --build-dir "$BUILD" --run "$run" || exit 1
    "$RUNNER" query coverage --build-dir "$BUILD" --run "$run" --limit 60 --json >"$work/trend.json" || exit 1
    trend=(--trend "$work/trend.json")
fi

# ---- gates: those of a suite that marks jobs; another one gets a report ----
gated=1
[ -f "$THRESHOLDS" ] && [ -f "$CODE_THRESHOLDS" ] || gated=
grep -q '^# .* marks no job' "$dir/jobs.suite" 2>/dev/null && gated=
if [ "$gated" ]; then
    "$COV" gate "$work/functional.cov" --thresholds "$THRESHOLDS" --json >"$work/gate-functional.json"
    [ $? -le 1 ] && [ -s "$work/gate-functional.json" ] || exit 1
    "$COV" code gate "$work/code.code" "${reasons[@]}" --thresholds "$CODE_THRESHOLDS" --json >"$work/gate-code.json"
    [ $? -le 1 ] && [ -s "$work/gate-code.json" ] || exit 1
    { echo '['; cat "$work/gate-functional.json"; echo ','; cat "$work/gate-code.json"; echo ']'; } >"$work/gates.json"
fi
cov index "$work/functional.cov" --code "$work/code.json" "${trend[@]}" ${gated:+--gates "$work/gates.json"} \
    -o "$work/index.html"

# ---- move the results to their place; no report is visible while incomplete ----
rm -rf "$dir/functional" "$dir/code"
mv "$work"/* "$dir"/ || exit 1
rmdir "$work"

cat "$dir/summary.txt"
if [ "$gated" ]; then
    "$COV" gate "$dir/functional.cov" --thresholds "$THRESHOLDS" || status=1
    "$COV" code gate "$dir/code.code" "${reasons[@]}" --thresholds "$CODE_THRESHOLDS" || status=1
else
    say "no gates: suite $SUITE marks no jobs (cover=), or there are no thresholds for it ($THRESHOLDS," \
        "$CODE_THRESHOLDS)"
fi
say "pages: $dir/index.html; lcov: $dir/coverage.info, Cobertura: $dir/cobertura.xml," \
    "fewest jobs with this functional coverage: $dir/small.suite"
exit $status
