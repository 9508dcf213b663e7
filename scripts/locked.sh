#!/bin/bash
# locked.sh FILE COMMAND...: run a command while no other one runs under the lock FILE; who waits says for whom. The
# command and its children hold the lock, and the kernel releases it when they have ended in any way.
set -u
file=$1
shift
case "${TANDEM_LOCKS:-}" in *"<$file>"*) exec "$@" ;; esac # by a parent of ours
while :; do
    mkdir -p "$(dirname "$file")" && exec 9>>"$file" || exit 1
    if ! flock -w 0.2 9; then
        echo "waiting for $file ($(head -n 1 "$file"))" >&2
        flock 9 || exit 1
    fi
    [ "$file" -ef /proc/self/fd/9 ] && break # else make clean has removed it meanwhile
done
echo "${TANDEM_COMMAND:-$*}, process $$" >"$file"
TANDEM_LOCKS="${TANDEM_LOCKS:-}<$file>" exec "$@"
