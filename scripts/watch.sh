#!/bin/bash
# make watch: build PROGRAM and run it with its arguments (ours) whenever that build changed it; until Ctrl-C. make
# tracks its files, so other changes have no effect.
set -u
folders=()
for folder in rtl cmodel regs drivers tb testcases; do [ -d "$folder" ] && folders+=("$folder"); done
stamp=$(mktemp) || exit 1
trap 'rm -f "$stamp"' EXIT
trap 'exit 0' INT TERM
state() { stat -c '%y %s %i' "$PROGRAM" 2>/dev/null; }
before=

while :; do
    touch "$stamp" # later changes are detected the next time
    # shellcheck disable=SC2086
    if ! "$(dirname "$0")/build.sh" ${MAKE_ARGS:-} "$PROGRAM" </dev/null; then
        echo "watch: $PROGRAM is not built; waiting for changes"
        before=
    elif [ "$(state)" != "$before" ]; then
        before=$(state)
        begin=$SECONDS
        "$PROGRAM" "$@" </dev/null
        status=$?
        result=$([ "$status" = 0 ] && echo passed || echo failed)
        echo "watch: $PROGRAM $result, $((SECONDS - begin)) s; waiting for changes"
    fi
    until [ -n "$(find "${folders[@]}" -type f -newer "$stamp" ! -name '.*' -print -quit)" ]; do
        sleep "${INTERVAL:-0.5}"
    done
    sleep 0.1 # an editor that writes several files
done
