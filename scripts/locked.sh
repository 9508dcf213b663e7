#!/bin/bash
# locked.sh FILE COMMAND...: run a command while no other one runs under the lock FILE; who waits says for whom and for
# how long. The command and what it starts hold the lock by an open descriptor: the kernel releases it when the last of
# them has ended in any way.
set -u
file=$1
shift
[ "$file" -ef /proc/self/fd/9 ] && exec "$@" # a parent of ours has it
said=
next=0
begin=$SECONDS
until [ "$file" -ef /proc/self/fd/9 ]; do # make clean may remove it while we wait
    mkdir -p "$(dirname "$file")" && exec 9>>"$file" || exit 1
    until flock -E 75 -w 0.5 9; do
        [ $? = 75 ] || exit 1
        holder=$(head -n 1 "$file" 2>/dev/null)
        pid=${holder##*process }
        text="waiting for $file: ${holder:-another make has it}"
        if [ ! -d "/proc/$pid" ]; then
            flock -n 9 && break
            text+=", which has ended: what it started still runs"
        fi
        waited=$((SECONDS - begin))
        if [ -t 2 ]; then
            printf '\r\e[K%s; waited %d s' "$text" "$waited" >&2
        elif [ "$text" != "$said" ] || ((waited >= next)); then
            echo "$text; waited $waited s" >&2
            next=$((waited + 60))
        fi
        said=$text
    done
done
[ -z "$said" ] || [ ! -t 2 ] || echo >&2
echo "${TANDEM_COMMAND:-$*} has held it since $(date +%T), process $$" >"$file"
exec "$@"
