#!/bin/bash
# make lint: every check is one line, "ok", "FAIL" (with its output) or "not run"; the last line counts them. Exit
# status 1 when one fails. TANDEM_JOBS checks run at a time. Those of RTL are repeated when something that they read has
# changed since they passed (build/lint).
set -u
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-/usr/bin/python3}
VERILATOR=${VERILATOR:-verilator}
export BUILD=${BUILD:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
names=()
running=0
shown=0

# the lines of checks that have ended, in the order of their beginning
show() {
    local status
    while [ -e "$work/$shown.status" ]; do
        status=$(<"$work/$shown.status")
        if [ "$status" -eq 0 ]; then
            echo "ok       ${names[$shown]}"
            passed=$((passed + 1))
        else
            echo "FAIL     ${names[$shown]}"
            sed 's/^/    /' "$work/$shown.out" | head -n 60
            failed=$((failed + 1))
        fi
        shown=$((shown + 1))
    done
}

# check NAME COMMAND...: the command's output is shown only when it fails
check() {
    local i=${#names[@]}
    names+=("$1")
    shift
    if [ "$running" -ge "${TANDEM_JOBS:-1}" ]; then
        wait -n
        running=$((running - 1))
        show
    fi
    { "$@" >"$work/$i.out" 2>&1; echo $? >"$work/$i.new"; mv "$work/$i.new" "$work/$i.status"; } &
    running=$((running + 1))
}

ended() { # all checks
    wait
    running=0
    show
}

# rtl_check NAME TOOL FUNCTION DESIGN Parameter=value...
rtl_check() {
    local name=$1 tool=$2 d=$4 passed_before folder
    shift 2
    passed_before=$BUILD/lint/$({
        echo "$@"
        "$tool" --version 2>/dev/null || "$tool" -V
        # shellcheck disable=SC2086
        cat scripts/lint.sh "rtl/$d/lint.vlt" ${files[$d]} 2>/dev/null
        for folder in ${includes[$d]//-I/}; do cat "$folder"/*.sv* 2>/dev/null; done
    } | sha256sum | cut -c 1-40)
    if [ -e "$passed_before" ]; then
        check "$name (as when it passed)" true
    else
        check "$name" passing "$passed_before" "$@"
    fi
}
passing() { # FILE COMMAND...: makes the file when the command succeeds
    local file=$1
    shift
    "$@" && mkdir -p "$(dirname "$file")" && : >"$file"
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

include_flags() { (design get "$1" include | tr ' ' '\n'; echo "$BUILD/gen/$1") | sed 's/^/-I/'; }

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
    # shellcheck disable=SC2086
    "$VERILATOR" --lint-only -Wall "${@/#/-G}" --top-module "${top[$d]}" ${includes[$d]} "${waivers[@]}" ${files[$d]}
}

yosys_reads() { # design, Parameter=value...
    local d=$1 p chparam=
    shift
    for p in "$@"; do chparam="$chparam -chparam ${p%=*} ${p#*=}"; done
    yosys -q -p "read_verilog -sv ${includes[$d]} ${files[$d]};
        hierarchy -check -top ${top[$d]}$chparam; proc; check -assert"
}

# A design's words may only be used in its own folders, not in the framework or in other designs. Files of the
# framework, and comments in them, are the same for every design; the contents of the documents are not.
framework() {
    sources Makefile 'scripts/*' 'regress/*' 'report/*' 'opt/*' 'tb/*' 'coverage/*' |
        grep -vE "^(tb|coverage)/($rooms)/|^scripts/mkdocs\.yml$"
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
sv_style() { sources '*.sv' '*.svh' | grep -v '^tests/' | xargs "$PYTHON" scripts/sv_style.py; }
columns_120() {
    sources Makefile '*.c' '*.h' '*.cpp' '*.hpp' '*.sv' '*.svh' '*.v' '*.vlt' '*.py' '*.pyi' '*.sh' '*.mk' '*.css' |
        xargs awk 'length($0) > 120 {
                printf "%s:%d: %d columns, at most 120 expected\n", FILENAME, FNR, length($0)
                bad = 1
            }
            END { exit bad }'
}

# Lines of code, without comments; the header of a longer file says why it is one.
rtl_300() {
    # shellcheck disable=SC2046
    awk 'function report() {
             if (lines > 310 && !reason) {
                 printf "%s: %d lines of code, at most about 300 expected; a longer file says why in its header: %s\n",
                     name, lines, "\"More than 300 lines: ...\""
                 bad = 1
             }
         }
         FNR == 1 { report(); name = FILENAME; lines = 0; reason = 0 }
         /More than 300 lines: / { reason = 1 }
         !/^[ \t]*(\/\/|$)/ { lines++ }
         END { report(); exit bad }' $(sources 'rtl/*.sv')
}

freestanding() { # target triple, flags
    local target=$1 f
    shift
    for f in $(for d in $designs; do ls drivers/"$d"/*.c; done); do
        clang --target="$target" "$@" -std=c11 -ffreestanding -Wall -Wextra -Werror -Wconversion -Wshadow \
            -ffp-contract=off -I"$(dirname "$f")" -I"$BUILD/gen/$(basename "$(dirname "$f")")" -Idrivers/lib -c "$f" \
            -o "$work/$target.o" || return 1
    done
}

designs=$(design list) || exit 1
declare -A files includes top
for d in $designs; do
    files[$d]=$(rtl_files "$d" | tr '\n' ' ')
    includes[$d]=$(include_flags "$d" | tr '\n' ' ')
    top[$d]=$(design get "$d" top)
done
rooms=$(paste -sd '|' <<<"$designs")
echo "waivers: $(cat rtl/*/lint.vlt | grep -cE '^[ \t]*lint_off') in rtl/*/lint.vlt"
for d in $designs; do
    [ ! -f "regs/$d.regs" ] || check "register table of $d is up to date" \
        scripts/gen_regs.py "regs/$d.regs" --doc "docs/$d/registers.md" --check
done
check "table of AXI rules is up to date" tools/axi_table.py --check
check "activation coefficients are those of the fit" tools/gen_act.py fit --check
check "coefficients of the ALU's functions are those of the fit" tools/gen_func.py fit --check
check "every lint waiver has its reason" waivers_have_reasons
check "no lint waiver outside rtl/*/lint.vlt" no_inline_waivers
check "framework does not know the designs ($(design words | paste -sd ' '))" framework_words
check "ports of the top modules are those of their descriptions" design ports
check "floors: who includes whom" "$PYTHON" scripts/floors.py
check "lines have at most 120 columns" columns_120
check "RTL files have at most about 300 lines of code, or a reason" rtl_300
check "style of SystemVerilog" sv_style
if need "$VERILATOR" deps "Verilator lint"; then
    for d in $designs; do
        while read -r params; do
            # shellcheck disable=SC2086
            rtl_check "Verilator lint, $d, $params" "$VERILATOR" verilator_lint "$d" $params
        done < <(design get "$d" cfg | cut -s -d ' ' -f 2-; design get "$d" lint)
    done
fi
if need yosys deps "Yosys elaboration"; then
    for d in $designs; do
        for cfg in $(design get "$d" quick); do
            params=$(design get "$d" "cfg.$cfg")
            # shellcheck disable=SC2086
            rtl_check "Yosys elaboration, $d, $params" yosys yosys_reads "$d" $params
        done
    done
fi
if need clang-format deps "source format"; then check "source format" format_clean; fi
if need clang deps "freestanding driver"; then
    check "driver compiles freestanding for riscv64" freestanding riscv64-unknown-elf
    check "driver compiles freestanding for arm" freestanding arm-none-eabi
fi
ended
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
