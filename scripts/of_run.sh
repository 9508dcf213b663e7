# shellcheck shell=bash
# Read by repro.sh, shrink.sh and wave.sh: fail, and with RUN= CASE, KIND and DUT of a failure of that run (job JOB,
# else the first of the commonest signature); `failure` has all of it. A failure of the fast build is reproduced
# in the build that checks every unit; one of any other kind in its own.
fail() {
    echo "$(basename "$0" .sh): $*" >&2
    exit 2
}
if [ -n "${RUN:-}" ]; then
    [ -z "${CASE:-}${TEST:-}" ] || fail "RUN=$RUN: cannot be combined with CASE= or TEST="
    failure=$("$RUNNER" failure --build-dir "$BUILD" --run "$RUN" ${JOB:+--job "$JOB"}) || exit 1
    CASE=$(sed -n 's/^case=//p' <<<"$failure")
    [ -n "$CASE" ] || fail "run $RUN, job $(sed -n 's/^job=//p' <<<"$failure"): it left no case;" \
        "again: $(sed -n 's/^repro=//p' <<<"$failure")"
    build=$(sed -n 's/^build=//p' <<<"$failure")
    [ "$build" = "${build#*/}" ] || DUT=${build%/*}
    kind=$(sed -n 's/^build=.*-//p' <<<"$failure")
    [ "$kind" = fast ] || [ "${KIND_GIVEN:-}" ] || KIND=$kind
fi
