#!/bin/bash
# pictures.sh FOLDER: the session of README.md, recorded again. In a copy of the tree in FOLDER (made, or brought up to
# date with its builds kept) a deliberate bug is applied, `make regress` fails, `make repro` explains it:
# docs/failure.svg, the terminal, and docs/images/report.png, the report in Chromium.
set -eu
cd "$(dirname "$0")/../../.."
root=$PWD copy=${1:?expected a folder for the copy of the tree}
bug=tests/mutants/npu/im2col-padding-off-by-one.patch
command -v chromium >/dev/null || { echo "pictures: not run: needs chromium (make deps-dev)" >&2; exit 2; }
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
    [ -e "$f" ] && printf '%s\0' "$f"
done | xargs -0 cp -pu --parents -t "$copy"
cd "$copy"
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD
export GIT_CEILING_DIRECTORIES=${PWD%/*}  # git takes the copy for a folder of its own
back() { git apply -R "$bug"; }
trap 'back || true' EXIT
# numbers of runs begin at 1 again
rm -rf build/regress build/results.db* build/report
/usr/bin/python3 "$root/tools/record.py" "$root/docs/failure.svg" \
    < <(sed "s|BUG|$bug|" "$root/tools/sessions/failure.txt")
report=$(ls -d build/report/*/ | head -n 1)
png=$(mktemp --suffix=.png)
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=940,860 --screenshot="$png" \
    "file://$PWD/${report}report.html" >/dev/null 2>&1
[ -s "$png" ] || { echo "pictures: the browser left no picture" >&2; exit 1; }
mv "$png" "$root/docs/images/report.png"
chmod 644 "$root/docs/images/report.png"
echo "docs/failure.svg, docs/images/report.png"
