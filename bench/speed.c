/*
 * speed.c - one measured run of a test on the whole NPU: CPU time, cycles, page faults, snapshots as one line of JSON.
 * bench/bench.py compares such runs.
 *
 * The process measures itself, from the opening of the first device to the closing of the last one, without the start
 * of the program.
 */
#include "opt/opt.h"
#include "tests.h"
#include "without.h"
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct options {
    const tc_test *test;
    tb_knobs knobs;
    npu_dev_kind kind;
    bool generated;  /* cases of a run instead of one operator again and again */
    uint64_t number; /* of the run, or seed of the operator */
    uint64_t times;
    const char *wave, *fail_wave;
} options;

typedef struct usage {
    double self, children; /* CPU seconds, user and system */
    long faults;           /* without input or output, of this process */
} usage;

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static usage usage_now(void) {
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return (usage){.self = seconds(self.ru_utime) + seconds(self.ru_stime),
                   .children = seconds(children.ru_utime) + seconds(children.ru_stime),
                   .faults = self.ru_minflt};
}

typedef struct totals {
    uint64_t cycles, hash;
    double rtl_s, harness_s;
} totals;

/* 0, or -1 with one line on stderr. */
static int one_case(options *o, uint64_t index, totals *sum) {
    char err[512];
    tb_result result;
    const uint64_t seed = o->generated ? tb_rng_test_seed(o->number, o->test->name, index) : o->number;
    if (tc_generate(o->test, NPU_CFG_N, seed, !o->generated, &o->knobs, err, sizeof err) != 0) {
        fprintf(stderr, "bench-speed: %s: %s\n", o->test->name, err);
        return -1;
    }
    tb_result_init(&result);
    tc_run run = {.test = o->test,
                  .n = NPU_CFG_N,
                  .seed = seed,
                  .knobs = &o->knobs,
                  .setup = {.kind = o->kind},
                  .wave = o->wave,
                  .fail_wave = o->fail_wave,
                  .result = &result};
    int rc = o->test->execute(&run);
    tc_close(&run);
    if (rc != 0 || result.outcome != TB_PASS) {
        fprintf(stderr, "bench-speed: %s: %s\n", o->test->name, run.err[0] != '\0' ? run.err : result.message);
        rc = -1;
    }
    sum->cycles += result.cycles;
    sum->hash = tb_hash_u64(sum->hash, result.trace_hash);
    sum->rtl_s += run.stats.rtl_s;
    sum->harness_s += run.stats.harness_s;
    tb_result_free(&result);
    return rc;
}

/* The part whose instructions are counted (bench.py passes its name to the tool), so it must stay a function. */
__attribute__((noinline)) int bench_measured(options *o, totals *sum);
int bench_measured(options *o, totals *sum) {
    int rc = 0;
    for (uint64_t i = 0; i < o->times && rc == 0; i++) {
        rc = one_case(o, i, sum);
    }
    return rc;
}

#define FAULT_PAGES 1024u
#define FAULT_ROUNDS 9u

/* CPU seconds of one page fault that copies a page shared with a child, including the write that caused it; area:
 * FAULT_PAGES pages. 0: not measured. */
static double fault_round(volatile char *area, size_t page) {
    int fd[2];
    char c;
    if (pipe(fd) != 0) {
        return 0;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(fd[1]);
        _exit(read(fd[0], &c, 1) < 0 ? 1 : 0);
    }
    close(fd[0]);
    const long before = usage_now().faults;
    const double start = rep_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; pid > 0 && i < FAULT_PAGES; i++) {
        area[i * page]++;
    }
    const double took = rep_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    const long faults = usage_now().faults - before;
    close(fd[1]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && faults > 0 ? took / (double)faults : 0;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median of some rounds, because the host may have to allocate pages in the first ones. */
static double fault_cost(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    double cost[FAULT_ROUNDS];
    char *area = (char *)mmap(NULL, FAULT_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) {
        return 0;
    }
    madvise(area, FAULT_PAGES * page, MADV_NOHUGEPAGE);
    memset(area, 1, FAULT_PAGES * page);
    for (unsigned i = 0; i < FAULT_ROUNDS; i++) {
        cost[i] = fault_round(area, page);
    }
    munmap(area, FAULT_PAGES * page);
    qsort(cost, FAULT_ROUNDS, sizeof cost[0], by_value);
    return cost[FAULT_ROUNDS / 2];
}

static int take_word(void *ctx, const char *word, char *err, size_t err_size) {
    options *o = (options *)ctx;
    if (o->test != NULL) {
        return tb_knobs_pin(&o->knobs, word, err, err_size);
    }
    o->test = tc_test_find(word);
    if (o->test == NULL) {
        return opt_fail(err, err_size, "expected a test, got %.60s (--help)", word);
    }
    tb_knobs_init(&o->knobs, o->test->knobs, o->test->knob_count);
    return 0;
}

static int take_without(void *to, const char *value, char *err, size_t err_size) {
    if (bench_parts_leave_out((bench_parts *)to, value)) {
        return 0;
    }
    return opt_fail(err, err_size, "expected some of checks, monitor, memory, compare, got '%.60s'", value);
}

/* 0, or the exit status; -1: the help was requested, and printed. */
static int parse(options *o, int argc, char **argv) {
    static const char *const devices[] = {"model", "rtl", "tandem", NULL};
    bench_parts *parts = bench_parts_get();
    char err[300];
    int kind = (int)o->kind;
    bool snapshots = false, period = false;
    uint64_t ms = 1000;
    const opt_row rows[] = {
        OPT(WORD, "--device", "D", "model, rtl or tandem (tandem)", &kind, .words = devices),
        OPT(U64, "--times", "K", "the operator so many times, each on a new device (1)", &o->times),
        OPT(U64, "--seed", "S", "of the operator (1)", &o->number),
        OPT(U64, "--run", "R", "cases 0 .. K-1 of run R instead of one operator", &o->number, .given = &o->generated),
        OPT(TAKE, "--without", "A,B", "leave out: checks, monitor, memory, compare", parts, .take = take_without),
        OPT(FLAG, "--snapshots", NULL, "fork snapshots as --fail-wave of tandem does", &snapshots),
        OPT(U64, "--period", "MS", "milliseconds of CPU time between them (1000)", &ms, .given = &period),
        OPT(TEXT, "--wave", "F", "FST waveform of the whole run", &o->wave),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    opt_line line = {.group = &group, .groups = 1, .word = take_word, .ctx = o};
    if (opt_parse(&line, argc - 1, argv + 1, err, sizeof err) != 0) {
        return opt_bad("bench-speed", "%s", err);
    }
    if (line.help) {
        fputs("usage: bench-speed TEST [knob=value ...] [options]\n\nOne measured run of a test; prints a line of "
              "JSON.\n\n",
              stdout);
        opt_help(stdout, &line);
        return -1;
    }
    o->kind = (npu_dev_kind)kind;
    /* the waveform would be written after a failure only, and then this program stops without writing it */
    o->fail_wave = snapshots ? "bench-speed.fst" : NULL;
    parts->period = period ? (double)ms / 1000 : parts->period;
    if (o->test == NULL) {
        return opt_bad("bench-speed", "expected a test (--help)");
    }
    return 0;
}

int main(int argc, char **argv) {
    options o = {.kind = NPU_DEV_TANDEM, .number = 1, .times = 1};
    totals sum = {.hash = TB_HASH_INIT};
    const int status = parse(&o, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    const usage before = usage_now();
    if (bench_measured(&o, &sum) != 0) {
        return 1;
    }
    const usage after = usage_now();
    const bench_parts *parts = bench_parts_get();
    printf("{\"cycles\": %" PRIu64 ", \"hash\": \"%016" PRIx64
           "\", \"cpu\": %.6f, \"children\": %.6f, \"rtl\": %.6f, \"harness\": %.6f, ",
           sum.cycles, sum.hash, after.self - before.self, after.children - before.children, sum.rtl_s, sum.harness_s);
    printf("\"faults\": %ld, \"left_out\": %" PRIu64 ", \"snapshots\": %" PRIu64
           ", \"fork\": %.6f, \"fault_cost\": %.9f}\n",
           after.faults - before.faults, parts->left_out, parts->snapshots, parts->fork_seconds,
           o.fail_wave != NULL ? fault_cost() : 0.0);
    return fflush(stdout) != 0;
}
