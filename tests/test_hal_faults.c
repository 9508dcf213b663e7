/*
 * test_hal_faults.c - the memory-mapped HAL where calls of the kernel are interrupted by signals or fail. This program
 * has its own poll(), read(), write(), nanosleep() and fstat(), which fail once where a test says so and else ask the
 * kernel; files are the register window, a pair of sockets the UIO descriptor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hal_mmio.h"
#include "npu_regs.h"

/* ---- calls that fail ---- */

typedef enum call { CALL_POLL, CALL_READ, CALL_WRITE, CALL_SLEEP, CALL_STAT, CALLS } call;

static int error_of[CALLS]; /* errno of the next call, 0: it does its work */
static int short_by;        /* bytes that the next read or write leaves out */
static int watched = -1;    /* only calls on this descriptor (poll, sleep: all) */

static bool fails(call c, int fd) {
    if (error_of[c] == 0 || fd != watched) {
        return false;
    }
    errno = error_of[c];
    error_of[c] = 0;
    return true;
}

static size_t cut(int fd, size_t bytes) {
    const size_t left_out = fd == watched && short_by > 0 ? (size_t)short_by : 0;
    short_by = left_out > 0 ? 0 : short_by;
    return bytes - left_out;
}

int poll(struct pollfd *fds, nfds_t count, int ms) {
    const struct timespec end = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    return fails(CALL_POLL, watched) ? -1 : (int)syscall(SYS_ppoll, fds, count, ms < 0 ? NULL : &end, NULL, 0);
}

ssize_t read(int fd, void *dst, size_t bytes) {
    return fails(CALL_READ, fd) ? -1 : (ssize_t)syscall(SYS_read, fd, dst, cut(fd, bytes));
}

ssize_t write(int fd, const void *src, size_t bytes) {
    return fails(CALL_WRITE, fd) ? -1 : (ssize_t)syscall(SYS_write, fd, src, cut(fd, bytes));
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    if (fails(CALL_SLEEP, watched)) {
        *left = (struct timespec){.tv_nsec = 1000};
        return -1;
    }
    return (int)syscall(SYS_nanosleep, time, left);
}

int fstat(int fd, struct stat *about) {
    return fails(CALL_STAT, watched) ? -1 : (int)syscall(SYS_newfstatat, fd, "", about, AT_EMPTY_PATH);
}

/* ---- a device of a file and a socket ---- */

typedef struct rig {
    char path[64], text[256];
    int irq[2];
    npu_mmio m;
    npu_mmio_cfg cfg;
} rig;

static void set_register(const rig *r, uint32_t offset, uint32_t value) {
    const int fd = open(r->path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &value, sizeof value, (off_t)offset), sizeof value);
    close(fd);
}

static int setup(void **state) {
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    snprintf(r->path, sizeof r->path, "/tmp/hal_faults.XXXXXX");
    const int fd = mkstemp(r->path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, NPU_MMIO_REG_BYTES), 0);
    close(fd);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, r->irq), 0);
    r->cfg = (npu_mmio_cfg){.reg_path = r->path, .irq = {{.lines = 7, .fd = r->irq[0]}}, .irqs = 1};
    watched = r->irq[0];
    assert_int_equal(npu_mmio_open(&r->m, &r->cfg, r->text, sizeof r->text), 0);
    memset(error_of, 0, sizeof error_of);
    short_by = 0;
    *state = r;
    return 0;
}

static int teardown(void **state) {
    rig *r = *state;
    watched = -1;
    npu_mmio_close(&r->m);
    close(r->irq[0]);
    if (r->irq[1] >= 0) {
        close(r->irq[1]);
    }
    unlink(r->path);
    free(r);
    return 0;
}

static npu_hal_status wait_for(rig *r, uint32_t us) {
    return npu_mmio_hal(&r->m)->wait_irq(npu_mmio_hal(&r->m)->ctx, 7, us);
}

static void send_count(rig *r, uint32_t count) {
    assert_int_equal(syscall(SYS_write, r->irq[1], &count, sizeof count), sizeof count);
}

/* ---- tests ---- */

/* A signal during any call of a wait changes nothing. */
static void interrupted(void **state) {
    rig *r = *state;
    static const call calls[] = {CALL_WRITE, CALL_POLL, CALL_READ};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        send_count(r, (uint32_t)i + 1);
        set_register(r, NPU_REG_IRQ_ENABLE, 7);
        error_of[calls[i]] = EINTR;
        assert_int_equal(wait_for(r, 1000),
                         /* the kernel counted an interrupt, but no line is high: it was somebody else's */
                         NPU_HAL_TIMEOUT);
        assert_int_equal(error_of[calls[i]], 0);
        assert_int_equal(r->m.interrupts, i + 1);
    }
}

static void sleeps_on(void **state) {
    rig *r = *state;
    const npu_hal *hal = npu_mmio_hal(&r->m);
    error_of[CALL_SLEEP] = EINTR;
    hal->delay_us(hal->ctx, 10);
    assert_int_equal(error_of[CALL_SLEEP], 0);
    error_of[CALL_SLEEP] = EINVAL; /* cannot happen; it must not sleep for ever */
    hal->delay_us(hal->ctx, 10);
    assert_int_equal(error_of[CALL_SLEEP], 0);
}

static void broken(void **state) {
    rig *r = *state;
    error_of[CALL_WRITE] = EIO;
    assert_int_equal(wait_for(r, 1000), NPU_HAL_FAULT);
    error_of[CALL_WRITE] = ENOSYS; /* a driver whose interrupts need not be enabled */
    assert_int_equal(wait_for(r, 1000), NPU_HAL_TIMEOUT);
    short_by = 2;
    assert_int_equal(wait_for(r, 1000), NPU_HAL_FAULT);
    error_of[CALL_POLL] = ENOMEM;
    assert_int_equal(wait_for(r, 1000), NPU_HAL_FAULT);
    send_count(r, 1);
    error_of[CALL_READ] = EIO;
    assert_int_equal(wait_for(r, 1000), NPU_HAL_FAULT);
}

/* The descriptor reports an error, and nothing to read. */
static void gone(void **state) {
    rig *r = *state;
    int pipe_end[2];
    assert_int_equal(pipe(pipe_end), 0);
    close(pipe_end[0]); /* a pipe that nobody reads: POLLERR, no POLLIN */
    r->m.irq_fd[0] = pipe_end[1];
    watched = pipe_end[1];
    error_of[CALL_WRITE] = ENOSYS;
    assert_int_equal(wait_for(r, 1000), NPU_HAL_FAULT);
    close(pipe_end[1]);
    r->m.irq_fd[0] = watched = r->irq[0];
}

/* Two interrupts, of which one comes. */
static void one_of_two(void **state) {
    rig *r = *state;
    int other[2];
    npu_mmio m;
    npu_mmio_cfg cfg = r->cfg;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, other), 0);
    cfg.irqs = 2;
    cfg.irq[1] = (npu_mmio_irq){.lines = 7, .fd = other[0]};
    assert_int_equal(npu_mmio_open(&m, &cfg, r->text, sizeof r->text), 0);
    const uint32_t one = 1;
    assert_int_equal(syscall(SYS_write, other[1], &one, sizeof one), sizeof one);
    assert_int_equal(npu_mmio_hal(&m)->wait_irq(npu_mmio_hal(&m)->ctx, 7, 1000), NPU_HAL_TIMEOUT);
    assert_int_equal(m.interrupts, 1);
    npu_mmio_close(&m);
    close(other[0]);
    close(other[1]);
}

/* What is open when opening fails is closed; a path's descriptor is the HAL's own. */
static void opening(void **state) {
    rig *r = *state;
    npu_mmio m;
    npu_mmio_cfg cfg = r->cfg;
    error_of[CALL_STAT] = EIO;
    assert_int_equal(npu_mmio_open(&m, &cfg, r->text, sizeof r->text), -1);
    assert_non_null(strstr(r->text, strerror(EIO)));
    cfg.irq[0] = (npu_mmio_irq){.lines = 7, .path = r->path};
    assert_int_equal(npu_mmio_open(&m, &cfg, r->text, sizeof r->text), 0);
    const int fd = m.irq_fd[0];
    assert_true(fcntl(fd, F_GETFD) >= 0);
    npu_mmio_close(&m);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_null(npu_mmio_cpu(&r->m, 0, 4)); /* without memory */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(interrupted), TEST(sleeps_on),  TEST(broken),
                                       TEST(gone),        TEST(one_of_two), TEST(opening)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
