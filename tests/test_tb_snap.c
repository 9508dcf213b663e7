/* Snapshots: a woken child repeats from its cycle; nobody and no descriptor is left over; what happens when one side
 * dies. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tb.h"

static unsigned descriptors(void) {
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static void no_children(void) {
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void burn(void) {
    volatile uint64_t x = 0;
    for (unsigned i = 0; i < 2000000; i++) {
        x += i;
    }
}

/* What the woken child does: write down where it began and what it saw until `to`. */
static void obey(tb_snaps *snaps, const tb_snap_order *order, uint64_t begun, uint64_t sum) {
    FILE *out = fopen(order->wave, "w");
    for (uint64_t c = begun; out != NULL && c < order->to; c++) {
        sum += c;
    }
    const bool ok = out != NULL && fprintf(out, "%llu %llu", (unsigned long long)begun, (unsigned long long)sum) > 0 &&
                    fclose(out) == 0;
    tb_snap_exit(snaps, ok);
}

/* A "simulation": the sum of cycles. Snapshots every `every` cycles, in CPU time. Returns the sum; snaps stay on. */
static uint64_t simulate(tb_snaps *snaps, uint64_t cycles, uint64_t every) {
    tb_snap_order order;
    uint64_t sum = 0;
    if (tb_snap_start(snaps, 1e-6, 0, &order) == 1) {
        obey(snaps, &order, 0, sum);
    }
    for (uint64_t c = 0; c < cycles; c++) {
        if (c > 0 && c % every == 0) {
            burn();
            if (tb_snap_poll(snaps, c, &order) == 1) {
                obey(snaps, &order, c, sum);
            }
        }
        sum += c;
    }
    return sum;
}

static void wake(tb_snaps *snaps, uint64_t from, uint64_t to, uint64_t begun) {
    char path[] = "/tmp/tb_snap_XXXXXX", err[256] = "", text[64] = "", want[64];
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    tb_snap_order order = {.from = from, .to = to};
    snprintf(order.wave, sizeof order.wave, "%s", path);
    assert_int_equal(tb_snap_wake(snaps, &order, 20, err, sizeof err), 0);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof text, in));
    fclose(in);
    unlink(path);
    snprintf(want, sizeof want, "%llu %llu", (unsigned long long)begun, (unsigned long long)(to * (to - 1) / 2));
    assert_string_equal(text, want);
}

static void test_wake(void **state) {
    (void)state;
    tb_snaps snaps;
    const unsigned before = descriptors();
    simulate(&snaps, 500, 100); /* snapshots at 0, 100 .. 400; the last two are kept */
    assert_int_equal(snaps.taken, 5);
    wake(&snaps, 450, 470, 400);
    assert_int_equal(descriptors(), before);
    no_children();
    simulate(&snaps, 500, 100);
    wake(&snaps, 399, 470, 300); /* the younger one is past it */
    simulate(&snaps, 500, 100);
    wake(&snaps, 50, 470, 300); /* both are: the older one */
    no_children();
    assert_int_equal(descriptors(), before);
}

static void test_stop(void **state) {
    (void)state;
    tb_snaps snaps;
    char err[256];
    const unsigned before = descriptors();
    simulate(&snaps, 1000, 10);
    assert_int_equal(snaps.taken, 100);
    assert_int_equal(descriptors(), before + 2 * TB_SNAPS);
    tb_snap_stop(&snaps);
    no_children();
    assert_int_equal(descriptors(), before);
    const tb_snap_order order = {.from = 0};
    assert_int_equal(tb_snap_wake(&snaps, &order, 1, err, sizeof err), -1);
    assert_non_null(strstr(err, "no snapshot"));
}

/* Nothing is forked before its time; then as usual. */
static void test_arm(void **state) {
    (void)state;
    tb_snaps snaps;
    tb_snap_order order;
    char err[256];
    tb_snap_arm(&snaps, 1e6, 1e-6);
    assert_true(snaps.on);
    burn();
    assert_int_equal(tb_snap_poll(&snaps, 10, &order), 0);
    assert_int_equal(snaps.taken, 0);
    no_children();
    assert_int_equal(tb_snap_wake(&snaps, &order, 1, err, sizeof err), -1);
    assert_non_null(strstr(err, "no snapshot"));
    uint64_t sum = 0;
    tb_snap_arm(&snaps, 1e-6, 1e6);
    for (uint64_t c = 0; c < 500; c++) {
        if (c == 100 || c == 200) {
            burn();
            if (tb_snap_poll(&snaps, c, &order) == 1) {
                obey(&snaps, &order, c, sum);
            }
        }
        sum += c;
    }
    assert_int_equal(snaps.taken, 1); /* the next one would come after the period */
    wake(&snaps, 450, 470, 100);
    no_children();
}

static void test_child_cannot_write(void **state) {
    (void)state;
    tb_snaps snaps;
    char err[256];
    tb_snap_order order = {.from = 20, .to = 30};
    simulate(&snaps, 50, 10);
    snprintf(order.wave, sizeof order.wave, "/nowhere/x.fst");
    assert_int_equal(tb_snap_wake(&snaps, &order, 20, err, sizeof err), -1);
    assert_non_null(strstr(err, "/nowhere/x.fst"));
    no_children();
}

static void test_child_died(void **state) {
    (void)state;
    tb_snaps snaps;
    char err[256];
    const tb_snap_order order = {.from = 45, .to = 50, .wave = "/dev/null"};
    simulate(&snaps, 50, 10);
    for (size_t i = 0; i < TB_SNAPS; i++) {
        kill(snaps.child[i].pid, SIGKILL);
    }
    assert_int_equal(tb_snap_wake(&snaps, &order, 20, err, sizeof err), -1);
    assert_non_null(strstr(err, "died"));
    no_children();
}

/* Ctrl-C reaches the sleeping snapshots, too: they are still there to be woken, and then as they were. */
static void test_signal_while_asleep(void **state) {
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t s = 0; s < 2; s++) {
        tb_snaps snaps;
        simulate(&snaps, 50, 10);
        for (size_t i = 0; i < TB_SNAPS; i++) {
            kill(snaps.child[i].pid, signals[s]);
        }
        wake(&snaps, 45, 50, 40);
        no_children();
    }
}

/* A woken child that takes its time, as a replay does; a signal ends it early, and it still reports. */
static void slow_child(tb_snaps *snaps, int begun) {
    assert_int_equal(write(begun, "b", 1), 1);
    for (unsigned i = 0; i < 1000 && tb_sim_signal() == 0; i++) {
        usleep(10000);
    }
    tb_snap_exit(snaps, tb_sim_signal() == SIGTERM);
}

/* The process waits for something: for its child, here. */
static bool asleep(pid_t pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    const char *name = strrchr(text, ')');
    return name != NULL && name[2] == 'S';
}

static void test_signal_during_replay(void **state) {
    (void)state;
    int begun[2];
    assert_int_equal(pipe(begun), 0);
    const pid_t pid = fork(); /* the flag of the signal is this process's for good */
    if (pid == 0) {
        tb_snaps snaps;
        tb_snap_order order = {.wave = "/dev/null"};
        char err[256];
        tb_sim_catch_signals();
        if (tb_snap_start(&snaps, 1e6, 0, &order) == 1) {
            slow_child(&snaps, begun[1]);
        }
        const pid_t parent = getpid();
        const pid_t killer = fork();
        if (killer == 0) {
            char byte;
            assert_int_equal(read(begun[0], &byte, 1), 1);
            while (!asleep(parent)) {
                sched_yield();
            }
            kill(parent, SIGTERM); /* this process alone, not its child */
            _exit(0);
        }
        const int rc = tb_snap_wake(&snaps, &order, 20, err, sizeof err);
        waitpid(killer, NULL, 0);
        _exit(rc == 0 && waitpid(-1, NULL, WNOHANG) == -1 ? 0 : 1);
    }
    int status = -1;
    alarm(30);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    alarm(0);
    assert_int_equal(status, 0);
    close(begun[0]);
    close(begun[1]);
}

/* A pipe that everyone inherits shows its end only when all of them are gone. */
static void test_parent_died(void **state) {
    (void)state;
    int fd[2];
    char byte;
    assert_int_equal(pipe(fd), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        tb_snaps snaps;
        simulate(&snaps, 50, 10);
        raise(SIGKILL);
    }
    close(fd[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    alarm(20);
    assert_int_equal(read(fd[0], &byte, 1), 0);
    alarm(0);
    close(fd[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_arm),
        cmocka_unit_test(test_child_cannot_write),
        cmocka_unit_test(test_child_died),
        cmocka_unit_test(test_parent_died),
        cmocka_unit_test(test_signal_while_asleep),
        cmocka_unit_test(test_signal_during_replay),
    };
    return cmocka_run_group_tests_name("tb_snap", tests, NULL, NULL);
}
