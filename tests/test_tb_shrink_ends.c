/* How shrinking ends: told to stop, out of time, in a loop without end, killed; no process is left. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tb.h"

static const tb_knob table[] = {
    {"w", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "width"},
    {"h", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "height"},
};

typedef struct watch {
    unsigned asked, stop_after;
} watch;

static int64_t knob(const tb_knobs *k, const char *name) {
    return tb_knobs_get(k, name);
}

static void start(tb_knobs *k, int64_t w, int64_t h) {
    tb_knobs_init(k, table, 2);
    assert_int_equal(tb_knobs_set(k, "w", w), 0);
    assert_int_equal(tb_knobs_set(k, "h", h), 0);
}

static bool stop(void *ctx) {
    watch *w = (watch *)ctx;
    return ++w->asked > w->stop_after;
}

static int begun = -1; /* where an attempt that never ends says that it has begun */

/* The first run ends, all others go on for ever. */
static int never_ends(void *ctx, const tb_knobs *k, char signature[TB_SHRINK_SIGNATURE], uint64_t *cycles) {
    volatile uint64_t spin = 0;
    (void)ctx;
    *cycles = 0;
    if (begun >= 0 && knob(k, "w") != 1000) {
        assert_int_equal(write(begun, "b", 1), 1);
    }
    while (knob(k, "w") != 1000) {
        spin = spin + 1;
    }
    snprintf(signature, TB_SHRINK_SIGNATURE, "bad");
    return 0;
}

/* No child is left, dead or alive. */
static void check_no_children(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_stop(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    watch w = {.stop_after = 6};
    const tb_shrink_cfg cfg = {.run = never_ends, .ctx = &w, .stop = stop, .jobs = 3};
    start(&k, 1000, 30);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_true(stats.stopped && stats.steps == 0 && stats.seconds < 20);
    assert_int_equal(knob(&k, "h"), 30);
    check_no_children();
    w = (watch){0}; /* at once */
    start(&k, 1, 30);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), -1);
    assert_non_null(strstr(err, "stopped in the first run"));
    check_no_children();
}

static void test_time(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = never_ends, .jobs = 2, .seconds = 0.5};
    start(&k, 1000, 30);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_true(stats.out_of_time && stats.seconds >= 0.5 && stats.seconds < 20);
    check_no_children();
    start(&k, 999, 30);
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), -1);
    assert_non_null(strstr(err, "more than 0.5 s of CPU time"));
    check_no_children();
}

/* A loop that never ends is as good as a hang: the limit in CPU time. */
static void test_endless_loop(void **state) {
    (void)state;
    tb_knobs k;
    tb_shrink_stats stats;
    char err[256];
    const tb_shrink_cfg cfg = {.run = never_ends, .keep = "h", .jobs = 64, .seconds = 300};
    tb_knobs_init(&k, table, 1);
    assert_int_equal(tb_knobs_set(&k, "w", 1000), 0);
    k.table = (const tb_knob[]){{"w", 998, 1000, TB_KNOB_UNIFORM, NULL, NULL, "width"}};
    assert_int_equal(tb_shrink(&cfg, &k, &stats, err, sizeof err), 0);
    assert_false(stats.out_of_time);
    assert_int_equal(knob(&k, "w"), 1000);
    check_no_children();
}

/* The shrinker dies: its attempts die with it. */
static void test_children_end_with_the_parent(void **state) {
    (void)state;
    int fd[2];
    char byte;
    assert_int_equal(pipe(fd), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        tb_knobs k;
        tb_shrink_stats stats;
        char err[256];
        const tb_shrink_cfg cfg = {.run = never_ends, .jobs = 2};
        close(fd[0]);
        begun = fd[1];
        start(&k, 1000, 30);
        tb_shrink(&cfg, &k, &stats, err, sizeof err); /* the attempts hold the write end, too */
        _exit(0);
    }
    close(fd[1]);
    alarm(20);
    assert_int_equal(read(fd[0], &byte, 1), 1); /* an attempt is under way */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    ssize_t more;
    do {
        more = read(fd[0], &byte, 1); /* what other attempts have said */
    } while (more == 1);
    assert_int_equal(more, 0); /* the end of the file: nobody holds the other end */
    alarm(0);
    close(fd[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_endless_loop),
        cmocka_unit_test(test_children_end_with_the_parent),
    };
    return cmocka_run_group_tests_name("tb_shrink_ends", tests, NULL, NULL);
}
