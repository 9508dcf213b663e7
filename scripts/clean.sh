#!/bin/bash
# make clean: remove the build folder, unless another make uses it or a program in it runs.
set -u
build=$(realpath "$BUILD")
ours=" "
for ((pid = $$; pid > 1; pid = $(sed -n 's/^PPid:\t//p' "/proc/$pid/status"))); do ours+="$pid "; done

# its_build PROCESS: the build folder that a make uses
its_build() {
    local name
    name=$(tr '\0' '\n' <"$1/cmdline" | sed -n 's/^BUILD=//p' | tail -n 1)
    (cd "$1/cwd" && realpath -m "${name:-build}")
}

# one process that uses the folder
user() {
    local process command
    while read -r process; do
        [[ $ours != *" ${process#/proc/} "* ]] || continue
        command=$(tr '\0' ' ' <"$process/cmdline" | cut -c 1-160)
        case $(readlink "$process/exe") in
        "$build"/*) ;;
        *) [[ " $command" != *" clean "* && $(its_build "$process") == "$build" ]] || continue ;;
        esac
        echo "${command% }, process ${process#/proc/}"
        return
    done < <(find /proc/[0-9]*/exe -maxdepth 0 \( -lname "$build/*" -o -lname '*/make' \) -printf '%h\n')
} 2>/dev/null

who=$(user)
if [ "$who" ]; then
    echo "clean: $BUILD is in use: $who" >&2
    exit 1
fi
# then nobody builds, or has just begun to: again under the lock
[ "$BUILD/lock" -ef /proc/self/fd/9 ] || exec "$(dirname "$0")/locked.sh" "$BUILD/lock" "$0"
# renamed first: whoever starts now finds all or nothing
mv -T "$build" "$build.$$" && rm -rf "$build.$$"
