# shellcheck shell=bash
# Read by repro.sh and shrink.sh: CASE, TEST, CFG and SEED from each other; DUT, the design that has this
# configuration (the default one if several have); out, the folder of its builds without CFG-KIND; and case_hash, which
# tells cases of one test and seed apart: by their knobs, their design, and the settings given as arguments.
if [ -n "${CASE:-}" ]; then
    [ -f "$CASE" ] || fail "CASE=$CASE: no such file"
    TEST=$(sed -n 's/^test=//p' "$CASE" | head -n 1)
    CFG=$(sed -n 's/^cfg=//p' "$CASE" | head -n 1)
    SEED=$(sed -n 's/^seed=//p' "$CASE" | head -n 1)
    [ -n "$TEST" ] || fail "$CASE: no line test=..., this is not a case"
    [ -n "$CFG" ] || fail "$CASE: no line cfg=..., this is not a case"
else
    [ -n "${TEST:-}" ] && [ -n "${SEED:-}" ] ||
        fail "expected CASE=file, or TEST=name SEED=seed [DUT= CFG= knob=value ...]"
fi
descriptions=$(dirname "$0")/design.py
known=$("$descriptions" of "$CFG") || exit 2
[ -n "$known" ] || fail "cfg=$CFG: no design has this configuration ($("$descriptions" list | while read -r d; do
    echo "$d: $("$descriptions" get "$d" cfg | cut -d ' ' -f 1 | paste -sd ' ')"
done | paste -sd ';'))"
DUT=${DUT:-$(head -n 1 <<<"$known")}
grep -qx -- "$DUT" <<<"$known" || fail "cfg=$CFG: it is a configuration of $(paste -sd ' ' <<<"$known"), not of $DUT"
out=$BUILD
[ "$DUT" = "$("$descriptions" list | head -n 1)" ] || out=$BUILD/$DUT
case_hash() {
    { if [ -n "${CASE:-}" ]; then cat "$CASE"; else echo "$TEST $CFG $SEED ${KNOBS:-}"; fi; echo "$DUT $*"; } |
        sha256sum | cut -c 1-8
}
