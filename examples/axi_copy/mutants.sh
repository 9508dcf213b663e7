#!/bin/bash
# make example-mutants: each patch in mutants/ is a deliberate bug; the test must find it, with the signature that its line "# found:" (a regular expression) names.
# The RTL is copied and patched, the tree stays as it is. The first word of each line is the verdict; exit status 1 unless every mutant was found as it should be.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
COUNT=${COUNT:-400}
out=$BUILD/example-axi_copy/mutants/d128-tap
mkdir -p "$out" || exit 1
good=0
total=0

header() { sed -n "s/^# $2:[ \t]*//p" "$1" | head -n 1; }

for p in ${PATCHES:-examples/axi_copy/mutants/*.patch}; do
    total=$((total + 1))
    name=$(basename "$p" .patch)
    rm -rf "$out/src" && mkdir -p "$out/src/examples/axi_copy" && cp -r examples/axi_copy/rtl "$out/src/examples/axi_copy/"
    if ! patch -s -p1 --no-backup-if-mismatch --fuzz=0 -d "$out/src" <"$p" >"$out/log" 2>&1; then
        echo "NO APPLY  $name"
        continue
    fi
    rm -f "$out/v/axi_copy/Vaxi_copy.mk"
    # shellcheck disable=SC2086
    if ! ${MAKE:-make} -s ${JFLAG:-} OUT="$out" KIND=tap BUILD_LABEL=mutant EXAMPLE_RTL="$out/src/examples/axi_copy/rtl" "$out/axi_copy" >"$out/log" 2>&1 </dev/null; then
        echo "NO BUILD  $name"
        tail -n 5 "$out/log"
        continue
    fi
    rm -f "$out/result"
    timeout 60 "$out/axi_copy" --count "$COUNT" --case-dir "$out" --result "$out/result" >"$out/log" 2>&1 </dev/null
    signature=$(sed -n 's/^signature=//p' "$out/result" 2>/dev/null)
    if [ -z "$signature" ]; then
        echo "SURVIVED  $name: $(header "$p" what)"
    elif ! grep -qE "^($(header "$p" found))\$" <<<"$signature"; then
        echo "OTHER     $name: found as $signature, expected $(header "$p" found)"
    else
        echo "found     $name: $signature"
        good=$((good + 1))
    fi
done
echo "example mutants: $good of $total found by the check that should"
[ "$good" -eq "$total" ] && [ "$total" -gt 0 ]
