#!/bin/bash
# make lint: every check is one line, "ok", "FAIL" (with its output) or "not run"; the last line counts them. Exit
# status 1 when one fails.
set -u
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-/usr/bin/python3}
VERILATOR=${VERILATOR:-verilator}
export BUILD=${BUILD:-build}
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

# need TOOL GROUP NAME: false, with a line, when the tool is missing
need() {
    command -v "$1" >/dev/null 2>&1 && return 0
    echo "not run: $3 needs $1 (make $2)"
    return 1
}

sources() { # existing tracked and new files that match
    git ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null | sort -u |
        while read -r f; do [ -f "$f" ] && echo "$f"; done
}

design() { "$PYTHON" scripts/design.py "$@"; }

# a design's files: rtl_files DESIGN
rtl_files() {
    local pkgs f
    pkgs="$(find "$BUILD/gen/$1" -name '*_pkg.sv' 2>/dev/null | sort | tr '\n' ' ')"
    pkgs+=$(design get "$1" package | tr '\n' ' ')
    echo $pkgs
    # shellcheck disable=SC2046
    for f in $(find $(design get "$1" source) -name '*_pkg.sv' | sort); do
        [[ " $pkgs " == *" $f "* ]] || echo "$f"
    done
    # shellcheck disable=SC2046
    find $(design get "$1" source) -name '*.sv' ! -name '*_pkg.sv' | sort
}

includes() { (design get "$1" include | tr ' ' '\n'; echo "$BUILD/gen/$1") | sed 's/^/-I/'; }

waivers_have_reasons() {
    local files
    files=$(find rtl -name lint.vlt)
    # shellcheck disable=SC2086
    awk '/^[ \t]*lint_off/ {
             if (before ~ /^[ \t]*\/\/[ \t]*[^ \t]/) next
             printf "%s:%d: waiver without a comment line above it\n", FILENAME, FNR
             bad = 1
         }
         { before = $0 } END { exit bad }' $files
}

no_inline_waivers() {
    ! grep -rnE '(verilator|verilint)[ \t]+lint_(off|on|save|restore)' rtl --include='*.sv' --include='*.svh'
}

verilator_lint() { # design, Parameter=value...
    local d=$1 waivers=()
    shift
    [ -f "rtl/$d/lint.vlt" ] && waivers=("rtl/$d/lint.vlt")
    # shellcheck disable=SC2046
    "$VERILATOR" --lint-only -Wall "${@/#/-G}" --top-module "$(design get "$d" top)" $(includes "$d") "${waivers[@]}" \
        $(rtl_files "$d")
}

yosys_reads() { # design, Parameter=value...
    local d=$1 p chparam=
    shift
    for p in "$@"; do chparam="$chparam -chparam ${p%=*} ${p#*=}"; done
    yosys -q -p "read_verilog -sv $(includes "$d" | tr '\n' ' ') $(rtl_files "$d" | tr '\n' ' ');
        hierarchy -check -top $(design get "$d" top)$chparam; proc; check -assert"
}

# A design's words may only be used in its own folders, not in the framework or in other designs. Files of the
# framework, and comments in them, are the same for every design.
framework() {
    sources Makefile 'scripts/*' 'regress/*' 'report/*' 'opt/*' 'tb/*' 'coverage/*' |
        grep -vE "^(tb|coverage)/($rooms)/"
}
framework_words() {
    local words
    words=$(design words | tr ' ' '\n' | paste -sd '|')
    ! framework | xargs grep -niE "(^|[^a-z])($words)([^a-z]|\$)"
}

format_clean() {
    # shellcheck disable=SC2046
    clang-format --dry-run -Werror $(sources '*.c' '*.h' '*.cpp' '*.hpp') 2>&1 |
        grep ': error:' | cut -d: -f1 | sort | uniq -c
    [ "${PIPESTATUS[0]}" -eq 0 ]
}

# Hand-written text of these kinds has at most 120 columns. Exempt, for they are data with one record a line: .case,
# .param, .csv, .suite, .regs, .txt and .def files, and patches; .md files are wrapped at 100, except for tables.
columns_120() {
    sources Makefile '*.c' '*.h' '*.cpp' '*.hpp' '*.sv' '*.svh' '*.v' '*.vlt' '*.py' '*.pyi' '*.sh' '*.mk' '*.css' |
        xargs awk 'length($0) > 120 {
                printf "%s:%d: %d columns, at most 120 expected\n", FILENAME, FNR, length($0)
                bad = 1
            }
            END { exit bad }'
}

freestanding() { # target triple, flags
    local target=$1 f
    shift
    for f in $(for d in $designs; do ls drivers/"$d"/*.c; done); do
        clang --target="$target" "$@" -std=c11 -ffreestanding -Wall -Wextra -Werror -Wconversion -Wshadow \
            -ffp-contract=off -I"$(dirname "$f")" -I"$BUILD/gen/$(basename "$(dirname "$f")")" -Idrivers/lib -c "$f" \
            -o "$work/free.o" || return 1
    done
}

designs=$(design list) || exit 1
rooms=$(paste -sd '|' <<<"$designs")
echo "waivers: $(cat rtl/*/lint.vlt | grep -cE '^[ \t]*lint_off') in rtl/*/lint.vlt"
for d in $designs; do
    [ ! -f "regs/$d.regs" ] || check "register table of $d is up to date" \
        scripts/gen_regs.py "regs/$d.regs" --doc "docs/$d/registers.md" --check
done
check "table of AXI rules is up to date" tools/axi_table.py --check
check "activation coefficients are those of the fit" tools/gen_act.py fit --check
check "every lint waiver has its reason" waivers_have_reasons
check "no lint waiver outside rtl/*/lint.vlt" no_inline_waivers
check "framework does not know the designs ($(design words | paste -sd ' '))" framework_words
check "ports of the top modules are those of their descriptions" design ports
check "floors: who includes whom" "$PYTHON" scripts/floors.py
check "lines have at most 120 columns" columns_120
if need "$VERILATOR" deps "Verilator lint"; then
    for d in $designs; do
        while read -r params; do
            # shellcheck disable=SC2086
            check "Verilator lint, $d, $params" verilator_lint "$d" $params
        done < <(design get "$d" cfg | cut -s -d ' ' -f 2-; design get "$d" lint)
    done
fi
if need yosys deps "Yosys elaboration"; then
    for d in $designs; do
        for cfg in $(design get "$d" quick); do
            params=$(design get "$d" "cfg.$cfg")
            # shellcheck disable=SC2086
            check "Yosys elaboration, $d, $params" yosys_reads "$d" $params
        done
    done
fi
if need clang-format deps "source format"; then check "source format" format_clean; fi
if need clang deps "freestanding driver"; then
    check "driver compiles freestanding for riscv64" freestanding riscv64-unknown-elf
    check "driver compiles freestanding for arm" freestanding arm-none-eabi
fi
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
