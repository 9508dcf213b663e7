#!/bin/bash
# make clean: remove the build folder, unless another make works in this folder or a program of the build folder runs.
# Called under the lock of the build folder.
set -u
build=$(realpath "$BUILD")
mine=" "
for ((pid = $$; pid > 1; pid = $(sed -n 's/^PPid:\t//p' "/proc/$pid/status"))); do mine+="$pid "; done
while read -r process; do
    pid=${process#/proc/}
    [[ $mine == *" $pid "* ]] && continue
    command=$(tr '\0' ' ' <"$process/cmdline" | cut -c 1-80)
    case $(readlink "$process/exe") in
    "$build"/*) ;;
    *) [ "$process/cwd" -ef . ] && [[ " $command" != *" clean "* ]] || continue ;;
    esac 2>/dev/null
    echo "clean: $BUILD is in use: $command (process $pid)" >&2
    exit 1
done < <(find /proc/[0-9]*/exe -maxdepth 0 \( -lname "$build/*" -o -lname '*/make' \) -printf '%h\n' 2>/dev/null)
# renamed first: whoever starts now finds all or nothing
mv -T "$build" "$build.$$" && rm -rf "$build.$$"
