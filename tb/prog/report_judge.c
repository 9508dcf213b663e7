/* report_judge.c - analysis of a failure, as lines of text. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

#define WAVE_WINDOW 2000u /* as recorded by the run */

void tb_report_check_line(const tb_story_check *c, char *dst, size_t size) {
    snprintf(dst, size, "%s %u: %s%s%s, cycle %" PRIu64 ": got %s, expected %s (input %s)", c->unit, c->index,
             c->stream, c->where[0] != '\0' ? ", " : "", c->where, c->cycle, c->got, c->expected,
             c->input_right ? "right" : "wrong already");
}

/* Is the first failure of the second run the one that ended the first run? */
static bool same_failure(const tb_report *r) {
    const tb_prog_failure *f = &r->first->failure;
    if (!r->replayed) {
        return false;
    }
    if (r->story->first.signature[0] == '\0' || f->signature[0] == '\0') { /* the test complained, the run did not */
        return strcmp(r->result->signature, r->replay.signature) == 0;
    }
    return strcmp(f->signature, r->story->first.signature) == 0 && f->cycle == r->story->first.cycle;
}

void tb_report_judge(tb_report *r) {
    const tb_prog_failure *f = &r->first->failure;
    r->same = same_failure(r);
    r->cycle = f->signature[0] != '\0' ? f->cycle : r->story->cycles;
    r->check = r->same && r->story->checks > 0 && strncmp(f->signature, "unit:", 5) == 0 ? &r->story->check[0] : NULL;
    r->look = r->cycle;
    if (r->ops != NULL && r->ops->judge != NULL) {
        r->ops->judge(r);
    }
    const uint64_t window = r->o->wave_window != 0 ? r->o->wave_window : WAVE_WINDOW;
    r->marker = r->cycle < r->look + window ? r->look : r->cycle;
    if (r->check != NULL) {
        tb_report_check_line(r->check, r->headline, sizeof r->headline);
    } else {
        snprintf(r->headline, sizeof r->headline, "%.480s", r->result->message);
    }
}

void tb_report_where(const tb_report *r, unsigned port, const tb_axi_burst *burst, char *dst, size_t size) {
    dst[0] = '\0';
    if (burst->has_addr && r->ops != NULL && r->ops->where != NULL) {
        r->ops->where(r, port, burst, dst, size);
    } else if (burst->has_addr && r->story->port[port].registers) {
        snprintf(dst, size, "0x%08x", (uint32_t)burst->data);
    }
}

void tb_report_end_line(const tb_report *r, char *dst, size_t size) {
    if (!r->replayed) {
        snprintf(dst, size, "the case could not be run again: %s", r->no_replay);
    } else if (r->story->last.signature[0] != '\0') {
        snprintf(dst, size, "%s", r->story->last.message);
    } else if (r->replay.outcome == TB_PASS) {
        snprintf(dst, size, "the case ended without another failure");
    } else if (r->story->first.signature[0] != '\0' && strcmp(r->replay.signature, r->story->first.signature) == 0) {
        snprintf(dst, size, "the case ran to its end, nothing else was wrong");
    } else {
        snprintf(dst, size, "%s", r->replay.message);
    }
}

const char *tb_report_checks_text(const tb_report *r) {
    if (!r->story->has_checks) {
        return "this build does not check single units (one of KIND=tap does)";
    }
    if (r->story->checks > 0) { /* in the same cycle, or later */
        return "checks of units failed, too (below)";
    }
    return r->story->no_checks ? "the checks of the units were off (--no-checks)" : "no check of a unit failed";
}

bool tb_report_cut_short(const tb_report *r) {
    const tb_run_failure *f = &r->story->last;
    return f->path[0] != '\0' || strncmp(f->signature, "watchdog:", 9) == 0 ||
           strncmp(f->signature, "reg:timeout", 11) == 0 || strcmp(f->signature, "explain:limit") == 0;
}

static unsigned bursts_during(const tb_report *r, uint64_t from, uint64_t to) {
    unsigned sum = 0;
    for (unsigned p = 0; p < r->story->ports; p++) {
        const tb_axi_log *log = &r->story->port[p].log;
        for (uint64_t i = tb_axi_log_first(log); !r->story->port[p].registers && i < log->count; i++) {
            sum += tb_axi_burst_during(tb_axi_log_get(log, i), from, to);
        }
    }
    return sum;
}

void tb_report_window(const tb_report *r, uint64_t *from, uint64_t *to) {
    for (uint64_t before = 50; before < 50000; before *= 2) {
        *from = r->look > before ? r->look - before : 0;
        *to = r->look + before / 2;
        *to = *to > r->story->cycles && r->look <= r->story->cycles ? r->story->cycles : *to;
        if (bursts_during(r, *from, *to) >= 10) {
            return;
        }
    }
}

static bool ask(const char *const *argv, char *dst, size_t size) {
    int fd[2];
    size_t at = 0;
    int status = -1;
    dst[0] = '\0';
    if (pipe(fd) != 0) {
        return false;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        close(fd[1]);
        close(STDERR_FILENO);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(fd[1]);
    for (ssize_t n = 1; pid > 0 && n > 0 && at + 1 < size; at += n > 0 ? (size_t)n : 0) {
        n = read(fd[0], dst + at, size - 1 - at);
    }
    close(fd[0]);
    dst[at] = '\0';
    dst[strcspn(dst, "\n")] = '\0';
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* The current commit of the tree that contains the program. */
static void print_commit(FILE *out) {
    char path[512], commit[64], changed[256];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    const char *const head[] = {"git", "-C", path, "rev-parse", "HEAD", NULL};
    const char *const status[] = {"git", "-C", path, "status", "--porcelain", "--untracked-files=no", NULL};
    if (!ask(head, commit, sizeof commit)) {
        fputs("sources: not known (the program is not in a git tree)\n", out);
        return;
    }
    const bool known = ask(status, changed, sizeof changed);
    fprintf(out, "sources: commit %s, %s (the tree as it is at the time of this report)\n", commit,
            !known               ? "changes not known"
            : changed[0] != '\0' ? "with changes that are not committed"
                                 : "no changes");
}

void tb_report_versions(const tb_report *r, FILE *out) {
    const tb_shim *shim = tb_shim_get();
    char note[64] = "";
    if (r->o->prog->note != NULL) {
        r->o->prog->note(r->o->prog, note, sizeof note);
    }
    const char *made_by = shim != NULL && shim->made_by != NULL ? shim->made_by() : NULL;
    print_commit(out);
    fprintf(out, "program: %s, configuration %s%s%s\n", r->o->self, r->o->prog->cfg, note[0] != '\0' ? "," : "", note);
    fprintf(out, "checks of units: %s\n",
            !r->story->has_checks ? "no (a build of KIND=tap has them)"
            : r->story->no_checks ? "off (--no-checks)"
                                  : "yes");
    fprintf(out, "waveforms: %s\n", shim == NULL ? "no RTL in this program" : shim->trace_open != NULL ? "yes" : "no");
    fprintf(out, "Verilator: %s\n", made_by != NULL ? made_by : "not known");
#ifdef __clang__
    fprintf(out, "compiler: %s\n", __VERSION__);
#else
    fprintf(out, "compiler: gcc %s\n", __VERSION__);
#endif
    fprintf(out, "test: %s, seed 0x%016" PRIx64 "\n", r->first->test->name, r->first->seed);
}
