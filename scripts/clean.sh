#!/bin/bash
# make clean: remove the build folder, when nothing else uses it: no other make works in this folder, and no program of
# the build folder runs. Called with the lock of the build folder, which it gives back while it waits.
set -u
build=$(realpath -s "$BUILD")
mine=" "
for ((pid = $$; pid > 1; pid = $(sed -n 's/^PPid:\t//p' "/proc/$pid/status"))); do mine+="$pid "; done

# another process that uses the folder
user() {
    local entry
    for entry in /proc/[0-9]*; do
        [[ $mine == *" ${entry#/proc/} "* ]] && continue
        case $(readlink "$entry/exe") in
        "$build"/*) ;;
        */make) [ "$entry/cwd" -ef . ] && ! grep -qzx clean "$entry/cmdline" || continue ;;
        *) continue ;;
        esac
        echo "$(tr '\0' ' ' <"$entry/cmdline" | cut -c 1-80), process ${entry#/proc/}" && return
    done 2>/dev/null
}

who=$(user)
if [ -n "$who" ]; then
    exec 9>&-
    [ "${TANDEM_WAITED:-}" ] || echo "waiting for what uses $BUILD ($who)" >&2
    sleep 0.2
    TANDEM_LOCKS="" TANDEM_WAITED=1 exec "$(dirname "$0")/locked.sh" "$BUILD/lock" "$0"
fi
# the lock last: with it, others may come
find "$BUILD" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} +
rm -f "$BUILD/lock"
rmdir --ignore-fail-on-non-empty "$BUILD"
