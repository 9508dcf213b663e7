#!/bin/bash
# make watch: build PROGRAM and run it with its arguments (ours) whenever that build changed it; until Ctrl-C. make
# tracks its files, so other changes have no effect. Without PROGRAM our arguments are a command, which is run whenever
# a source has changed: it finds out what that concerns.
set -u
folders=()
more=
[ -n "${PROGRAM:-}" ] || more="designs coverage network opt python report"
# shellcheck disable=SC2086
for root in . ${DESIGNS:-}; do
    for room in rtl cmodel regs drivers tb testcases $more; do
        [ -d "$root/$room" ] && folders+=("$root/$room")
    done
done
stamp=$(mktemp) || exit 1
trap 'rm -f "$stamp" "$stamp.newer"' EXIT
trap 'exit 0' INT TERM
# Bash forgets a Ctrl-C that comes just as a command in the foreground ends, but not while it waits for one in the
# background.
quietly() { "$@" & wait $!; }
pause() { quietly sleep "$1"; }
changed() {
    quietly find "${folders[@]}" -type f -newer "$stamp" ! -name '.*' -print -quit >"$stamp.newer"
    [ -s "$stamp.newer" ]
}
run() {
    local begin=$SECONDS
    "$@" </dev/null && result=passed || result=failed
    echo "watch:${PROGRAM:+ $PROGRAM} $result, $((SECONDS - begin)) s; waiting for changes"
}
state() { stat -c '%y %s %i' "$PROGRAM" 2>/dev/null; }
before=

while :; do
    touch "$stamp" # later changes are detected the next time
    # shellcheck disable=SC2086
    if [ -z "${PROGRAM:-}" ]; then
        run "$@"
    elif ! "$(dirname "$0")/build.sh" ${MAKE_ARGS:-} "$PROGRAM" </dev/null; then
        echo "watch: $PROGRAM is not built; waiting for changes"
        before=
    elif [ "$(state)" != "$before" ]; then
        before=$(state)
        run "$PROGRAM" "$@"
    fi
    until changed; do pause "${INTERVAL:-0.5}"; done
    pause 0.1 # an editor that writes several files
done
