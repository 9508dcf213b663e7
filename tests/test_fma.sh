#!/bin/bash
# No fused multiply-add in the golden model, whatever the compiler flags: each floating-point step is one IEEE-754
# operation.
set -u
lib=${1:-${HOST:-build/host}/libcmodel.a}
if ! command -v objdump >/dev/null; then
    echo "not run: needs objdump (make deps)"
    exit 1
fi
if [ ! -f "$lib" ]; then
    echo "$lib: not built"
    exit 1
fi
listing=$(objdump -d --no-show-raw-insn "$lib") || exit 1
count=$(grep -cE '^ +[0-9a-f]+:' <<<"$listing")
if [ "$count" -lt 100 ]; then
    echo "$lib: only $count instructions disassembled"
    exit 1
fi
fused='v?fn?m(add|sub)|vfmaddsub|vfmsubadd|fmadd|fmsub|fnmadd|fnmsub|\bfml[as]\b'
if grep -nE "$fused" <<<"$listing" | head -n 5 | grep .; then
    echo "$lib: fused multiply-add instructions"
    exit 1
fi
# The pattern must find what it looks for: the same expression with contraction allowed has one where the machine has
# it.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
echo 'float f(float a, float b, float c) { return a * b + c; }' >"$work/f.c"
if [ "$(uname -m)" = x86_64 ]; then
    ${CC:-cc} -O2 -mfma -ffp-contract=fast -c "$work/f.c" -o "$work/f.o" || exit 1
    objdump -d --no-show-raw-insn "$work/f.o" | grep -qE "$fused" ||
        { echo "the pattern does not find a fused multiply-add"; exit 1; }
    ${CC:-cc} -O2 -mfma -ffp-contract=off -fno-fast-math -c "$work/f.c" -o "$work/f.o" || exit 1
    ! objdump -d --no-show-raw-insn "$work/f.o" | grep -qE "$fused" ||
        { echo "-ffp-contract=off does not prevent fusing"; exit 1; }
fi
echo "$count instructions, none fused"
