/* slurm_call.c - running Slurm's own programs: Slurm's library is not linked, so any version works. */
#define _GNU_SOURCE
#include "slurm.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (16 * 1024 * 1024)

int slurm_find(const char *name, char *path, size_t size) {
    const char *rest = getenv("PATH");
    while (rest != NULL && rest[0] != '\0') {
        const size_t length = strcspn(rest, ":");
        if (length > 0 && reg_format(path, size, "%.*s/%s", (int)length, rest, name) && access(path, X_OK) == 0) {
            return REG_OK;
        }
        rest += length + (rest[length] == ':' ? 1 : 0);
    }
    return reg_refuse("launcher slurm: no program %s in PATH (Debian package slurm-client)", name);
}

int slurm_probe(void) {
    static const char *const names[] = {"sbatch", "squeue", "scancel"};
    int status = REG_OK;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == REG_OK; i++) {
        char path[REG_PATH_MAX];
        status = slurm_find(names[i], path, sizeof path);
    }
    return status;
}

/* The output as text, NULL when there is none. */
static char *read_output(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    size_t length = 0;
    size_t got = 1;
    while (file != NULL && got > 0 && length < OUTPUT_MAX) {
        if (length + 1 >= room) {
            room = room == 0 ? 4096 : room * 2;
            char *more = realloc(text, room);
            if (more == NULL) {
                break;
            }
            text = more;
        }
        got = fread(text + length, 1, room - length - 1, file);
        length += got;
        text[length] = '\0';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

int slurm_call(const slurm_caller *caller, const reg_command *command, double timeout_s, char **text) {
    int wait_status = 0;
    uint64_t cpu_ms;
    uint64_t rss_kb;
    *text = NULL;
    char cause[REG_TEXT_MAX];
    pid_t pid = reg_spawn(&caller->guardian, command, caller->scratch, 0, cause);
    if (pid < 0) {
        return REG_FAIL;
    }
    const double end = reg_now() + timeout_s;
    long pause = 2;
    while (!reg_reap(&caller->guardian, pid, &wait_status, &cpu_ms, &rss_kb)) {
        if (reg_now() > end) {
            (void)kill(-pid, SIGKILL);
        }
        reg_pause(pause);
        pause = pause < 50 ? pause * 2 : pause;
    }
    *text = read_output(caller->scratch);
    return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 ? REG_OK : REG_FAIL;
}

void slurm_last_line(const char *text, char *out, size_t size) {
    (void)reg_format(out, size, "no answer");
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "\n");
        if (strspn(text, " \t\r") < length) {
            (void)reg_format(out, size, "%.*s", (int)(length < size ? length : size - 1), text);
        }
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    for (char *c = out; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = ' ';
        }
    }
}
