#!/bin/bash
# make lint: every check is one line, "ok", "FAIL" (with its output) or "not run"; the last line counts them. Exit status 1 when one fails.
set -u
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-/usr/bin/python3}
VERILATOR=${VERILATOR:-verilator}
# words of the design under test that the framework must not know
DUT_WORDS='npu|gemm|conv|convolution'
out=$(mktemp) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$out" "$work"' EXIT
passed=0
failed=0

# check NAME COMMAND...: the command's output is shown only when it fails
check() {
    local name=$1
    shift
    if "$@" >"$out" 2>&1; then
        echo "ok       $name"
        passed=$((passed + 1))
    else
        echo "FAIL     $name"
        sed 's/^/    /' "$out" | head -n 60
        failed=$((failed + 1))
    fi
}

# need TOOL GROUP NAME: false, and says so, when the tool is missing
need() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "not run: $3 needs $1 (make $2)"
    return 1
}

sources() { # existing tracked and new files that match
    git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done
}

rtl_files() {
    local pkgs="rtl/npu/npu_pkg.sv rtl/npu/regs/npu_regs_pkg.sv" f
    echo $pkgs
    for f in $(find rtl -name '*_pkg.sv' | sort); do [[ " $pkgs " == *" $f "* ]] || echo "$f"; done
    find rtl -name '*.sv' ! -name '*_pkg.sv' | sort
}

waivers_have_reasons() {
    awk '/^[ \t]*lint_off/ { if (before !~ /^[ \t]*\/\/[ \t]*[^ \t]/) { printf "%s:%d: waiver without a comment line above it\n", FILENAME, FNR; bad = 1 } else { next } }
         { before = $0 } END { exit bad }' rtl/npu/lint.vlt
}

no_inline_waivers() {
    ! grep -rnE '(verilator|verilint)[ \t]+lint_(off|on|save|restore)' rtl examples --include='*.sv' --include='*.svh'
}

verilator_lint() { # N, more parameters
    local n=$1
    shift
    # shellcheck disable=SC2046
    "$VERILATOR" --lint-only -Wall -GN="$n" "$@" --top-module npu_top -Irtl/lib -Irtl/npu rtl/npu/lint.vlt $(rtl_files)
}

yosys_reads() {
    yosys -q -p "read_verilog -sv -Irtl/lib $(rtl_files | tr '\n' ' '); hierarchy -check -top npu_top -chparam N $1; proc; check -assert"
}

example_lint() { # bytes of a beat
    "$VERILATOR" --lint-only -Wall -GDataBytes="$1" --top-module axi_copy examples/axi_copy/rtl/*.sv
}

example_yosys() {
    yosys -q -p "read_verilog -sv examples/axi_copy/rtl/*.sv; hierarchy -check -top axi_copy -chparam DataBytes $1; proc; check -assert"
}

# of the design under test, beside its example
example_words() {
    ! grep -niE "(^|[^a-z])($DUT_WORDS)([^a-z]|\$)|(npu|cm|tc)_" $(sources 'examples/*')
}

format_clean() {
    # shellcheck disable=SC2046
    clang-format --dry-run -Werror $(sources '*.c' '*.h' '*.cpp' '*.hpp') 2>&1 | grep ': error:' | cut -d: -f1 | sort | uniq -c
    [ "${PIPESTATUS[0]}" -eq 0 ]
}

# waivers and thresholds in coverage/*.txt are about the design, read by the framework
framework_words() {
    ! grep -niE "(^|[^a-z])($DUT_WORDS)([^a-z]|\$)" $(sources 'tb/*' 'coverage/*' | grep -vE '^(tb|coverage)/npu/|^coverage/[a-z-]+\.txt$')
}

freestanding() { # target triple, flags
    local target=$1 f
    shift
    for f in drivers/npu/*.c; do
        clang --target="$target" "$@" -std=c11 -ffreestanding -Wall -Wextra -Werror -Wconversion -Wshadow -ffp-contract=off -Idrivers/npu -Idrivers/lib -c "$f" -o "$work/free.o" || return 1
    done
}

echo "waivers: $(grep -cE '^[ \t]*lint_off' rtl/npu/lint.vlt) in rtl/npu/lint.vlt"
check "register files are up to date" tools/gen_regs.py --check
check "table of AXI rules is up to date" tools/axi_table.py --check
check "activation tables are up to date" tools/gen_act.py --check
check "activation coefficients are those of the fit" tools/gen_act.py fit --check
check "every lint waiver has its reason" waivers_have_reasons
check "no lint waiver outside rtl/npu/lint.vlt" no_inline_waivers
check "framework does not know the design ($DUT_WORDS)" framework_words
check "example does not know the design" example_words
check "floors: who includes whom" "$PYTHON" scripts/floors.py
if [ ! -f rtl/npu/npu_top.sv ]; then
    echo "FAIL     rtl/npu/npu_top.sv is missing"
    failed=$((failed + 1))
else
    if need "$VERILATOR" deps "Verilator lint"; then
        for n in 4 8 16 32; do check "Verilator lint, N=$n" verilator_lint $n; done
        check "Verilator lint, N=8 without ALU" verilator_lint 8 -GEnAlu=0
        check "Verilator lint, N=8 without POOL" verilator_lint 8 -GEnPool=0
        check "Verilator lint, N=8 without ALU, POOL and clock gates" verilator_lint 8 -GEnAlu=0 -GEnPool=0 -GClkGate=0
    fi
    if need "$VERILATOR" deps "Verilator lint of the example"; then
        for n in 8 16; do check "Verilator lint, examples/axi_copy, $((8 * n)) bits" example_lint $n; done
    fi
    if need yosys deps "Yosys elaboration"; then
        for n in 8 16; do check "Yosys elaboration, examples/axi_copy, $((8 * n)) bits" example_yosys $n; done
        for n in 4 8; do check "Yosys elaboration, N=$n" yosys_reads $n; done
    fi
fi
if need clang-format deps "source format"; then check "source format" format_clean; fi
if need clang deps "freestanding driver"; then
    check "driver compiles freestanding for riscv64" freestanding riscv64-unknown-elf
    check "driver compiles freestanding for arm" freestanding arm-none-eabi
fi
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
