/* hostinfo.c - environment of a run: commit, tools, machine. Only recorded, never used. */
#define _GNU_SOURCE
#include "db.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* First line that a shell command prints; "unknown" when it cannot. */
static void first_line(const char *command, char *out, size_t size) {
    FILE *pipe = popen(command, "re");
    if (pipe == NULL || fgets(out, (int)size, pipe) == NULL) {
        out[0] = '\0';
    }
    if ((pipe == NULL || pclose(pipe) != 0) && out[0] == '\0') {
        (void)reg_format(out, size, "unknown");
    }
    out[strcspn(out, "\n")] = '\0';
}

void reg_commit_info(reg_run_info *info) {
    char line[256];
    first_line("git rev-parse --verify -q HEAD 2>/dev/null", info->commit, sizeof info->commit);
    first_line("git status --porcelain 2>/dev/null | head -n 1", line, sizeof line);
    info->dirty = line[0] != '\0' && strcmp(line, "unknown") != 0;
    info->changes[0] = '\0';
    if (info->dirty) {
        first_line("{ git diff HEAD --binary; git ls-files -o --exclude-standard -z | xargs -0 -r sha256sum --; } "
                   "2>/dev/null | sha256sum 2>/dev/null",
                   info->changes, sizeof info->changes);
    }
}

void reg_host_info(reg_run_info *info) {
    char verilator[160];
    char compiler[160];
    first_line("verilator --version 2>/dev/null", verilator, sizeof verilator);
    first_line("${CC:-cc} --version 2>/dev/null", compiler, sizeof compiler);
    (void)reg_format(info->tools, sizeof info->tools, "%s; %s", verilator, compiler);
    struct utsname name;
    if (uname(&name) == 0) {
        (void)reg_format(info->host, sizeof info->host, "%.64s %.64s %.64s, %ld processors", name.sysname, name.release,
                         name.machine, sysconf(_SC_NPROCESSORS_ONLN));
    }
}
