# shellcheck shell=bash
# Read by repro.sh, shrink.sh and wave.sh: CASE, KIND and DUT of a failure of run RUN (job JOB, else the first of the
# commonest signature); failure has all of it. A build that checks every unit is as good as the fast one; a failure of
# any other kind belongs to that kind.
failure=$("$RUNNER" failure --build-dir "$BUILD" --run "$RUN" ${JOB:+--job "$JOB"}) || exit 1
CASE=$(sed -n 's/^case=//p' <<<"$failure")
[ -n "$CASE" ] || fail "run $RUN, job $(sed -n 's/^job=//p' <<<"$failure"): it left no case; again: $(sed -n 's/^repro=//p' <<<"$failure")"
build=$(sed -n 's/^build=//p' <<<"$failure")
[ "$build" = "${build#*/}" ] || DUT=${build%/*}
kind=$(sed -n 's/^build=.*-//p' <<<"$failure")
[ "$kind" = fast ] || [ "${KIND_GIVEN:-}" ] || KIND=$kind
