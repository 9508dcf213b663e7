/* bundle_story.c - what there is to tell of a failure, as lines of text. */
#include "bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAVE_WINDOW 2000u /* as the device has it */

void bundle_check_line(const npu_ex_check *c, char *dst, size_t size) {
    snprintf(dst, size, "%s %u: %s%s%s, cycle %" PRIu64 ": got %s, expected %s (input %s)", c->unit, c->index, c->stream,
             c->where[0] != '\0' ? ", " : "", c->where, c->cycle, c->got, c->expected, c->input_right ? "right" : "wrong already");
}

/* Is what the second run met first what ended the first run? */
static bool same_failure(const struct bundle *b) {
    const npu_dev_failure *f = &b->run->failure;
    if (!b->replayed) {
        return false;
    }
    if (f->signature[0] == '\0') { /* the driver or the test complained, the device did not */
        return strcmp(b->result->signature, b->replay.signature) == 0;
    }
    return strcmp(f->signature, b->ex.first.signature) == 0 && f->cycle == b->ex.first.cycle;
}

/* The task that was started last before the failure, or holds the first wrong element. */
static uint32_t guess_task(const struct bundle *b) {
    uint32_t task = NPU_EX_NONE;
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        if (b->ex.wrong[i].task != NPU_EX_NONE) {
            return b->ex.wrong[i].task;
        }
    }
    for (size_t i = 0; i < b->ex.tasks && b->ex.task[i].cycle <= b->cycle; i++) {
        task = (uint32_t)i;
    }
    return task;
}

/* The last write of the first wrong element: it went wrong before it was compared. */
static void find_culprit(struct bundle *b) {
    const npu_ex_wrong *w = NULL;
    for (size_t i = 0; i < b->ex.wrongs && w == NULL; i++) {
        w = b->ex.wrong[i].missing ? NULL : &b->ex.wrong[i];
    }
    for (unsigned p = 1; p < NPU_EX_PORTS && w != NULL; p++) {
        const tb_axi_log *log = &b->ex.axi[p];
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            const tb_axi_burst *burst = tb_axi_log_get(log, i);
            if (burst->write && burst->has_addr && burst->first != TB_AXI_LOG_NEVER && w->addr >= burst->addr &&
                w->addr - burst->addr < tb_axi_burst_bytes(log, burst) && (b->culprit == NULL || burst->first > b->culprit->first)) {
                b->culprit = burst;
                b->culprit_port = p;
            }
        }
    }
}

void bundle_judge(struct bundle *b) {
    const npu_dev_failure *f = &b->run->failure;
    b->same = same_failure(b);
    b->cycle = f->signature[0] != '\0' ? f->cycle : b->ex.cycles;
    b->check = b->same && b->ex.checks > 0 && strncmp(f->signature, "unit:", 5) == 0 ? &b->ex.check[0] : NULL;
    b->look = b->cycle;
    if (b->check == NULL && strncmp(f->signature, "mem:differ", 10) == 0) {
        find_culprit(b);
        b->look = b->culprit != NULL ? b->culprit->first : b->cycle;
    }
    const uint64_t window = b->o->wave_window != 0 ? b->o->wave_window : WAVE_WINDOW;
    b->marker = b->cycle < b->look + window ? b->look : b->cycle;
    b->task = b->check != NULL ? npu_explain_task_of(&b->ex, b->check) : NPU_EX_NONE;
    b->task = b->task == NPU_EX_NONE ? guess_task(b) : b->task;
    if (b->check != NULL) {
        bundle_check_line(b->check, b->headline, sizeof b->headline);
    } else {
        snprintf(b->headline, sizeof b->headline, "%.480s", b->result->message);
    }
}

void bundle_task_name(const struct bundle *b, uint32_t task, char *dst, size_t size) {
    if (task >= b->ex.tasks) {
        snprintf(dst, size, "no task");
        return;
    }
    const npu_ex_task *t = &b->ex.task[task];
    if (t->refused) {
        snprintf(dst, size, "%s task (refused)", npu_explain_unit(t->unit));
    } else {
        snprintf(dst, size, "%s task %u", npu_explain_unit(t->unit), t->number);
    }
}

void bundle_end_line(const struct bundle *b, char *dst, size_t size) {
    if (!b->replayed) {
        snprintf(dst, size, "the case could not be run again: %s", b->no_replay);
    } else if (b->ex.last.signature[0] != '\0') {
        snprintf(dst, size, "%s", b->ex.last.message);
    } else if (b->replay.outcome == TB_PASS) {
        snprintf(dst, size, "the case ended without another failure");
    } else if (b->ex.first.signature[0] != '\0' && strcmp(b->replay.signature, b->ex.first.signature) == 0) {
        snprintf(dst, size, "the case ran to its end, nothing else was wrong");
    } else {
        snprintf(dst, size, "%s", b->replay.message);
    }
}

const char *bundle_checks_text(const struct bundle *b) {
    if (!b->ex.has_checks) {
        return "this build does not check single units (one of KIND=tap does)";
    }
    return b->run->setup.no_checks ? "the checks of the units were off (--no-checks)" : "no check of a unit failed";
}

bool bundle_cut_short(const struct bundle *b) {
    const npu_dev_failure *f = &b->ex.last;
    return f->path[0] != '\0' || strncmp(f->signature, "watchdog:", 9) == 0 || strncmp(f->signature, "reg:timeout", 11) == 0 ||
           strcmp(f->signature, "explain:limit") == 0;
}

void bundle_extent_line(const struct bundle *b, uint32_t task, char *dst, size_t size) {
    static const char *const axis[3] = {"channel", "row", "column"};
    const npu_ex_task *t = &b->ex.task[task];
    uint32_t low[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, high[3] = {0};
    for (size_t i = 0; i < b->ex.wrongs; i++) {
        const npu_ex_wrong *w = &b->ex.wrong[i];
        for (unsigned d = 0; w->task == task && d < 3; d++) {
            low[d] = w->at[d] < low[d] ? w->at[d] : low[d];
            high[d] = w->at[d] > high[d] ? w->at[d] : high[d];
        }
    }
    const uint64_t total = (uint64_t)t->out.size[0] * t->out.size[1] * t->out.size[2];
    int n = snprintf(dst, size, "%" PRIu64 " of %" PRIu64 " elements wrong", t->wrong, total);
    if (t->missing > 0 && n > 0 && (size_t)n < size) {
        n += snprintf(dst + n, size - (size_t)n, ", %" PRIu64 " not written", t->missing);
    }
    for (unsigned d = 0; d < 3 && n > 0 && (size_t)n < size && low[d] <= high[d]; d++) {
        if (low[d] == high[d]) {
            n += snprintf(dst + n, size - (size_t)n, "%s %s %u", d == 0 ? ":" : ",", axis[d], low[d]);
        } else {
            n += snprintf(dst + n, size - (size_t)n, "%s %ss %u..%u", d == 0 ? ":" : ",", axis[d], low[d], high[d]);
        }
    }
}

void bundle_wrong_values(const struct bundle *b, const npu_ex_wrong *w, char *got, char *expected, size_t size) {
    const npu_elem_type type = w->task != NPU_EX_NONE ? b->ex.task[w->task].out.type : NPU_ELEM_I8;
    if (w->missing) {
        snprintf(got, size, "not written");
    } else {
        npu_explain_value(type, w->got, got, size);
    }
    if (w->by_model) {
        npu_explain_value(type, w->expected, expected, size);
    } else {
        snprintf(expected, size, "not written");
    }
}

void bundle_wrong_line(const struct bundle *b, const npu_ex_wrong *w, char *dst, size_t size) {
    char got[40], expected[40], where[64], name[48];
    bundle_wrong_values(b, w, got, expected, sizeof got);
    if (w->task != NPU_EX_NONE) {
        bundle_task_name(b, w->task, name, sizeof name);
        snprintf(dst, size, "%s, c %u, h %u, w %u, 0x%08" PRIx64 ": got %s, expected %s", name, w->at[0], w->at[1], w->at[2], w->addr, got,
                 expected);
    } else {
        npu_explain_where(&b->ex, w->addr, where, sizeof where);
        snprintf(dst, size, "of no task, 0x%08" PRIx64 " (%s): got %s, expected %s", w->addr, where, got, expected);
    }
}

static unsigned bursts_during(const struct bundle *b, uint64_t from, uint64_t to) {
    unsigned sum = 0;
    for (unsigned p = 1; p < NPU_EX_PORTS; p++) {
        const tb_axi_log *log = &b->ex.axi[p];
        for (uint64_t i = tb_axi_log_first(log); i < log->count; i++) {
            sum += tb_axi_burst_during(tb_axi_log_get(log, i), from, to);
        }
    }
    return sum;
}

void bundle_window(const struct bundle *b, uint64_t *from, uint64_t *to) {
    for (uint64_t before = 50; before < 50000; before *= 2) {
        *from = b->look > before ? b->look - before : 0;
        *to = b->look + before / 2;
        *to = *to > b->ex.cycles && b->look <= b->ex.cycles ? b->ex.cycles : *to;
        if (bursts_during(b, *from, *to) >= 10) {
            return;
        }
    }
}

bool bundle_ask(const char *const *argv, char *dst, size_t size) {
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

/* The commit of the tree that the program stands in, as it is now. */
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
    if (!bundle_ask(head, commit, sizeof commit)) {
        fputs("sources: not known (the program does not stand in a git tree)\n", out);
        return;
    }
    const bool known = bundle_ask(status, changed, sizeof changed);
    fprintf(out, "sources: commit %s, %s (the tree as it is at the time of this report)\n", commit,
            !known               ? "changes not known"
            : changed[0] != '\0' ? "with changes that are not committed"
                                 : "no changes");
}

void bundle_versions(const struct bundle *b, FILE *out) {
    const tb_shim *shim = tb_shim_get();
    const char *made_by = shim != NULL && shim->made_by != NULL ? shim->made_by() : NULL;
    print_commit(out);
    fprintf(out, "program: %s, mesh size %s, device %s\n", b->o->self, NPU_CFG_NAME, cli_kind_name(b->t->setup.kind));
    fprintf(out, "checks of units: %s\n",
            !b->ex.has_checks         ? "no (a build of KIND=tap has them)"
            : b->run->setup.no_checks ? "off (--no-checks)"
                                      : "yes");
    fprintf(out, "waveforms: %s\n", shim == NULL ? "no RTL in this program" : shim->trace_open != NULL ? "yes" : "no");
    fprintf(out, "Verilator: %s\n", made_by != NULL ? made_by : "not known");
#ifdef __clang__
    fprintf(out, "compiler: %s\n", __VERSION__);
#else
    fprintf(out, "compiler: gcc %s\n", __VERSION__);
#endif
    fprintf(out, "test: %s, seed 0x%016" PRIx64 "\n", b->run->test->name, b->run->seed);
}
