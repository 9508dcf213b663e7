/*
 * mutation.c - what a test says about the mutants of a build of kind mut (docs/qualification.md).
 *
 * The run without any mutant is the parent. Where a mutant that it watches would compute another value for the first
 * time, it forks: the child is the mutant, from there on, with all that the run has done so far. It goes on until a
 * check fails, the run ends, or its clock cycles are used up, writes its verdict into shared memory and ends; limits of
 * the system contain those that crash, loop or eat memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sim/mutant.h"
#include "mutation.h"
#include "opt/opt.h"
#include "report/report.h"

#define MEMORY (UINT64_C(1) << 30) /* that a child may take, beyond what the parent has */

/* What became of a mutant whose value differed, in the order of `words`. */
typedef enum end { NONE, DETECTED, SURVIVED, CYCLES, TIME, MEMORY_LIMIT, CRASHED, ENDS } end;

static const char *const words[ENDS] = {"infected",      "detected",     "survived", "limit-cycles",
                                        "limit-seconds", "limit-memory", "crashed"};

/* Shared with the children. */
typedef struct verdict {
    uint32_t end;
    pid_t pid;       /* of its child, 0: it has ended */
    uint64_t at;     /* clock cycles of the run before it differed */
    uint64_t cycles; /* from there to the end */
    uint64_t cases;  /* that had passed before the one that fails; without a failure: in which it differed */
    uint64_t hash;   /* trace hash of the run, if it survived */
    char signature[128], message[256];
} verdict;

/* Of this process: the code inside an evaluation of the design reaches nothing else (tb/sim/mutant.h). */
static struct {
    const tb_mutants *all;
    const tb_mutation_options *o;
    uint8_t *state;   /* of mutant 0..count: tb_mut_state */
    verdict *verdict; /* shared */
    uint64_t live, cases;
    uint32_t child; /* in a child: the mutant */
    bool refused;   /* the machine refused a process */
} mut;

/* ---- the child ---- */

/* The last thing that a child does. */
__attribute__((noreturn)) static void leave(end how, const char *signature, const char *message) {
    verdict *v = &mut.verdict[mut.child];
    v->cycles = tb_mut_time.edges - v->at;
    if (how == DETECTED) {
        v->cases = mut.cases;
    }
    snprintf(v->signature, sizeof v->signature, "%s", signature);
    snprintf(v->message, sizeof v->message, "%s", message);
    v->end = (uint32_t)how;
    _exit(0);
}

static void expired(void) {
    leave(CYCLES, "", "");
}

static void limit(int what, uint64_t most) {
    struct rlimit l = {0, 0};
    if (getrlimit(what, &l) == 0 && (l.rlim_cur == RLIM_INFINITY || l.rlim_cur > most)) {
        l.rlim_cur = (rlim_t)most;
        (void)setrlimit(what, &l);
    }
}

/* Bytes of address space of this process. */
static uint64_t own_memory(void) {
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL) {
        pages = fscanf(f, "%" SCNu64, &pages) == 1 ? pages : 0;
        fclose(f);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void become(uint32_t mutant) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    mut.child = mutant;
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) {
        _exit(1);
    }
    close(null);
    limit(RLIMIT_AS, own_memory() + MEMORY);
    limit(RLIMIT_CPU, mut.o->seconds);
    limit(RLIMIT_CORE, 0);
    alarm((unsigned)(10 * mut.o->seconds)); /* where it waits and takes no time of a processor */
    tb_mut_time.end = mut.o->cycles != 0 ? tb_mut_time.edges + mut.o->cycles : 0;
    tb_mut_time.expired = expired;
}

/* ---- the parent ---- */

/* Wait for a child. */
static void reap(void) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0) {
        if (errno == ECHILD) {
            mut.live = 0;
        }
        return;
    }
    for (uint32_t m = 1; m <= mut.all->count; m++) {
        verdict *v = &mut.verdict[m];
        if (v->pid != pid) {
            continue;
        }
        mut.live--;
        v->pid = 0;
        if (v->end == NONE) {
            const int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            v->end = sig == SIGXCPU || sig == SIGALRM ? TIME : CRASHED;
            snprintf(v->message, sizeof v->message, "%s %d", sig != 0 ? "signal" : "exit status",
                     sig != 0 ? sig : WEXITSTATUS(status));
        }
        return;
    }
}

/* Called inside eval(), where the mutant would first differ (tb_mut_fn). */
static bool infected(void *ctx, uint32_t mutant) {
    (void)ctx;
    verdict *v = &mut.verdict[mutant];
    v->at = tb_mut_time.edges;
    v->cases = mut.cases;
    if (mut.o->jobs == 0) {
        return false;
    }
    while (mut.live >= mut.o->jobs) {
        reap();
    }
    const pid_t pid = fork();
    if (pid == 0) {
        become(mutant);
        return true;
    }
    if (pid < 0) {
        mut.refused = true;
        (void)rep_host(errno);
        return false;
    }
    v->pid = pid;
    mut.live++;
    return false;
}

static int read_list(const char *path, uint32_t count, uint8_t *state, char *err, size_t err_size) {
    char word[24];
    uint64_t m = 0;
    int rc = 0;
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        return opt_fail(err, err_size, "--mutants: %s: %s", path, strerror(errno));
    }
    while (rc == 0 && fscanf(in, "%23s", word) == 1) {
        if (opt_number(word, 1, count, &m)) {
            state[m] = TB_MUT_WATCHED;
        } else {
            rc = opt_fail(err, err_size, "--mutants: %s: expected numbers 1..%u, got '%s'", path, count, word);
        }
    }
    fclose(in);
    return rc;
}

int tb_mutation_begin(const tb_shim *shim, const tb_mutation_options *o, char *err, size_t err_size) {
    if (o->mutant == 0 && o->list == NULL) {
        return 0;
    }
    const tb_mutants *all = shim->mutants;
    if (o->mutant > all->count) {
        return opt_fail(err, err_size, "--mutant: expected a number 1..%u, got '%u'", all->count, o->mutant);
    }
    if (o->mutant != 0) {
        tb_mut_select(all, o->mutant);
        return 0;
    }
    const size_t n = (size_t)all->count + 1;
    mut.all = all;
    mut.o = o;
    mut.state = (uint8_t *)calloc(n, 1);
    mut.verdict = (verdict *)mmap(NULL, n * sizeof(verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mut.state == NULL || mut.verdict == (verdict *)MAP_FAILED) {
        (void)rep_host(ENOMEM);
        return opt_fail(err, err_size, "out of memory");
    }
    if (read_list(o->list, all->count, mut.state, err, err_size) != 0) {
        return -1;
    }
    fflush(NULL); /* what is in the buffers is the parent's to write */
    tb_mut_watch(all, mut.state, infected, NULL);
    return 0;
}

void tb_mutation_case(const tb_result *result) {
    if (result->outcome == TB_PASS) {
        mut.cases++;
    }
    if (mut.child == 0 || result->outcome == TB_PASS) {
        return;
    }
    leave(result->outcome == TB_FAIL   ? DETECTED
          : result->outcome == TB_HOST ? MEMORY_LIMIT
                                       : CRASHED,
          result->signature, result->message);
}

/* Seconds of a processor: of this process, or of all children that it has waited for. */
static double cpu(int who) {
    struct rusage u;
    return getrusage(who, &u) == 0 ? (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                                         1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)
                                   : 0.0;
}

static void write_verdicts(FILE *out, const void *ctx) {
    static const char *const states[] = {"", "not-reached", "reached", ""};
    const tb_result *own = (const tb_result *)ctx;
    fprintf(out, "#\t%.3f\t%.3f\t%" PRIu64 "\n", cpu(RUSAGE_SELF), cpu(RUSAGE_CHILDREN), tb_mut_time.edges);
    for (uint32_t m = 1; m <= mut.all->count; m++) {
        const verdict *v = &mut.verdict[m];
        if (mut.state[m] != TB_MUT_NOT_WATCHED) {
            const char *trace = v->end != SURVIVED ? "-" : v->hash == own->trace_hash ? "same" : "other";
            fprintf(out, "%u\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\n", m,
                    mut.state[m] == TB_MUT_INFECTED ? words[v->end] : states[mut.state[m]], v->at, v->cycles, v->cases,
                    v->signature, v->message, trace);
        }
    }
}

int tb_mutation_end(const tb_result *result, int rc, char *err, size_t err_size) {
    if (mut.all == NULL) {
        return rc;
    }
    if (mut.child != 0) {
        mut.verdict[mut.child].hash = result->trace_hash;
        rc == 0 ? leave(SURVIVED, "", "") : leave(CRASHED, "", err);
    }
    tb_mut_unwatch();
    while (mut.live > 0) {
        reap();
    }
    if (rc == 0 && mut.refused) {
        rc = opt_fail(err, err_size, "--mutants: the machine refused to start a process for a mutant");
    }
    if (rc == 0 && result->outcome == TB_PASS && rep_write(mut.o->verdicts, write_verdicts, result) != 0) {
        rc = opt_fail(err, err_size, "--verdicts: %s: cannot be written", mut.o->verdicts);
    }
    (void)munmap(mut.verdict, ((size_t)mut.all->count + 1) * sizeof(verdict));
    free(mut.state);
    memset(&mut, 0, sizeof mut);
    return rc;
}
