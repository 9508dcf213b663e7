/*
 * speed.c - one measured run of a test on the whole NPU: CPU time, cycles, page faults, snapshots as one line of JSON. bench/bench.py compares such runs.
 *
 * Each number is taken by the process itself, from the opening of the first device to the closing of the last one: start of the program is not in it.
 */
#include "tests.h"
#include "without.h"

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
    if (o->test->generate(NPU_CFG_N, seed, !o->generated, &o->knobs, err, sizeof err) != 0) {
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
        fprintf(stderr, "bench-speed: %s: %s\n", o->test->name, rc != 0 ? run.err : result.message);
        rc = -1;
    }
    sum->cycles += result.cycles;
    sum->hash = tb_hash_u64(sum->hash, result.trace_hash);
    sum->rtl_s += run.stats.rtl_s;
    sum->harness_s += run.stats.harness_s;
    tb_result_free(&result);
    return rc;
}

/* The part that instruction counts are taken of (bench.py names it to the tool), so it must stay a function. */
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

/* CPU seconds of one page fault that copies a page because a child shares it, and of the write that met it; area: FAULT_PAGES pages. 0: not measured. */
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
    const double start = tb_sim_cpu_seconds();
    for (size_t i = 0; pid > 0 && i < FAULT_PAGES; i++) {
        area[i * page]++;
    }
    const double took = tb_sim_cpu_seconds() - start;
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

/* The median of some rounds: the first ones take pages that the host may have to find first. */
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

static void help(FILE *out) {
    fputs("usage: bench-speed TEST [knob=value ...] [options]\n\n"
          "One measured run of a test; prints a line of JSON.\n\n"
          "  --device D      model, rtl or tandem (tandem)\n"
          "  --times K       the operator so many times, each on a new device (1)\n"
          "  --seed S        of the operator (1)\n"
          "  --run R         cases 0 .. K-1 of run R instead of one operator\n"
          "  --without A,B   leave out: checks, monitor, memory, compare\n"
          "  --snapshots     fork snapshots as --fail-wave of tandem does\n"
          "  --period MS     milliseconds of CPU time between them (1000)\n"
          "  --wave F        FST waveform of the whole run\n",
          out);
}

static bool number(const char *value, uint64_t *out) {
    return value != NULL && tb_parse_u64(value, out) == 0;
}

static bool device(const char *value, npu_dev_kind *kind) {
    static const char *const names[] = {"model", "rtl", "tandem"};
    for (int i = 0; value != NULL && i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            *kind = (npu_dev_kind)i;
            return true;
        }
    }
    return false;
}

/* false: unknown or without its value. */
static bool option(options *o, const char *name, const char *value) {
    bench_parts *parts = bench_parts_get();
    uint64_t ms;
    if (strcmp(name, "--device") == 0) {
        return device(value, &o->kind);
    }
    if (strcmp(name, "--times") == 0) {
        return number(value, &o->times);
    }
    if (strcmp(name, "--seed") == 0) {
        return number(value, &o->number);
    }
    if (strcmp(name, "--run") == 0) {
        o->generated = true;
        return number(value, &o->number);
    }
    if (strcmp(name, "--without") == 0) {
        return value != NULL && bench_parts_leave_out(parts, value);
    }
    if (strcmp(name, "--period") == 0 && number(value, &ms)) {
        parts->period = (double)ms / 1000;
        return true;
    }
    if (strcmp(name, "--wave") == 0) {
        o->wave = value;
        return value != NULL;
    }
    return false;
}

static int parse(options *o, int argc, char **argv) {
    char err[256];
    o->test = argc > 1 ? tc_test_find(argv[1]) : NULL;
    if (o->test == NULL) {
        fprintf(stderr, "bench-speed: expected a test, got %s (--help)\n", argc > 1 ? argv[1] : "nothing");
        return -1;
    }
    tb_knobs_init(&o->knobs, o->test->knobs, o->test->knob_count);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--snapshots") == 0) {
            o->fail_wave = "bench-speed.fst"; /* written after a failure only, and then this program stops without asking for it */
        } else if (argv[i][0] == '-') {
            const char *value = i + 1 < argc ? argv[i + 1] : NULL;
            if (!option(o, argv[i], value)) {
                fprintf(stderr, "bench-speed: %s %s: not understood (--help)\n", argv[i], value != NULL ? value : "");
                return -1;
            }
            i++;
        } else if (tb_knobs_pin(&o->knobs, argv[i], err, sizeof err) != 0) {
            fprintf(stderr, "bench-speed: %s\n", err);
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    options o = {.kind = NPU_DEV_TANDEM, .number = 1, .times = 1};
    totals sum = {.hash = TB_HASH_INIT};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        help(stdout);
        return 0;
    }
    if (parse(&o, argc, argv) != 0) {
        return 2;
    }
    const usage before = usage_now();
    if (bench_measured(&o, &sum) != 0) {
        return 1;
    }
    const usage after = usage_now();
    const bench_parts *parts = bench_parts_get();
    printf("{\"cycles\": %" PRIu64 ", \"hash\": \"%016" PRIx64 "\", \"cpu\": %.6f, \"children\": %.6f, \"rtl\": %.6f, \"harness\": %.6f, ",
           sum.cycles, sum.hash, after.self - before.self, after.children - before.children, sum.rtl_s, sum.harness_s);
    printf("\"faults\": %ld, \"left_out\": %" PRIu64 ", \"snapshots\": %" PRIu64 ", \"fork\": %.6f, \"fault_cost\": %.9f}\n",
           after.faults - before.faults, parts->left_out, parts->snapshots, parts->fork_seconds, o.fail_wave != NULL ? fault_cost() : 0.0);
    return fflush(stdout) != 0;
}
