#!/bin/bash
# make wave: the waveform of a failure of a regression (RUN=number [JOB=number]). That of the run, else the case is
# run again; gtkwave opens it where there is a display, and the last line is the command.
set -u
source "$(dirname "$0")/of_run.sh"
[ -n "${RUN:-}" ] || fail "expected RUN=number of a run [JOB=number of a job]"
wave=$(sed -n 's/^wave=//p' <<<"$failure")
if [ -z "$wave" ] || [ ! -f "$wave" ]; then
    folder=$BUILD/wave/$RUN-$(sed -n 's/^job=//p' <<<"$failure")
    rm -rf "$folder"
    mkdir -p "$folder" || exit 1
    wave=$folder/wave.fst
    env RUN= CASE="$CASE" DUT="${DUT:-}" KIND="$KIND" REPORT="$folder" "$(dirname "$0")/repro.sh" # expected to fail
    [ -f "$wave" ] || fail "$CASE left no waveform (the report in $folder may say why)"
fi
save=${wave%.fst}.gtkw
command=(gtkwave "$wave")
[ -f "$save" ] && command+=("$save")
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v gtkwave >/dev/null; then
    "${command[@]}" >/dev/null 2>&1 9>&- & # without the lock of locked.sh
fi
echo "${command[*]}"
