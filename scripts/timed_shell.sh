#!/bin/bash
# timed_shell.sh TARGET -c COMMAND: the shell of make for `make build-times`. Runs the command and adds a line "SECONDS
# USER SYSTEM TARGET" to the file TANDEM_TIMES; the target "-" stands for make's own $(shell), which is not timed.
[ "$1" != - ] || exec /bin/sh -c "$3"
exec {out}>&1 {err}>&2
TIMEFORMAT='%3R %3U %3S'
taken=$({ time /bin/sh -c "$3" >&$out 2>&$err; } 2>&1)
status=$?
echo "$taken $1" >>"$TANDEM_TIMES"
exit $status
