#!/bin/bash
# build.sh ARGUMENTS...: make, for targets below the build folder, under its lock. Every command builds through this
# script; it sets BUILD, TANDEM_JOBS (processes, without -j) and MAKE_COMMAND. The jobserver of the calling make is not
# for recipes that are no make: the number of its processes is.
set -u
options="${MAKEFLAGS:-} "
options=${options%% -- *}
variables=${MAKEFLAGS:-}
variables=${variables#"${options% }"}
jobs=-j${TANDEM_JOBS:-$(nproc)}
[[ " $options " =~ \ (-j[0-9]*)\  ]] && jobs=${BASH_REMATCH[1]}
options=$(sed -E 's/(^| )(--jobserver-(auth|fds)=[^ ]*|-j[0-9]*)//g' <<<"${options% }")
# a runner says how many (regress/builder.h)
if [ -n "${TANDEM_JOBSERVER:-}" ]; then
    jobs=
    options+=" -j --jobserver-auth=$TANDEM_JOBSERVER"
fi
export MAKEFLAGS=$options$variables TANDEM_BUILDING=1
for a in "$@"; do [[ $a == BUILD=* ]] && BUILD=${a#*=}; done
command=("${MAKE_COMMAND:-make}" -s $jobs "$@")
# a make that only prints, asks or touches (-n, -q, -t) needs no lock
[[ "${options%% *}" =~ ^[a-zA-Z]*[nqt] ]] && exec "${command[@]}"
exec "$(dirname "$0")/locked.sh" "${BUILD:-build}/lock" "${command[@]}"
