/* test_driver_jobs.c - jobs on three units at once: order, waiting, and errors that concern one unit only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "npu.h"
#include "npu_regs.h"

#define NEVER 1000u

/* A device of which nothing is real but its counts, flags and queues. Each interrupt wait lets one task of the busy
 * unit with the fewest completed tasks end. */
struct fake;
static void fail_now(struct fake *f);

typedef struct fake {
    npu_hal hal;
    npu dev;
    uint32_t started[NPU_UNIT_COUNT], done[NPU_UNIT_COUNT];
    uint32_t most[NPU_UNIT_COUNT]; /* most tasks in flight that were seen */
    uint32_t together;             /* most units at work at once */
    uint32_t irq, err, extra_busy;
    uint32_t fail_at[NPU_UNIT_COUNT];   /* the task (from 0) of a unit that fails */
    uint32_t fail_bits[NPU_UNIT_COUNT]; /* with these bits of its byte of ERR */
    uint32_t hang_at[NPU_UNIT_COUNT];   /* the task that never ends */
    uint32_t waits, fault_at;           /* interrupt waits so far; the one that faults */
    char order[64];                     /* units in the order of their starts: A, P, G */
    bool full;                          /* READY never comes */
    /* register accesses so far; from this one on all of them fault (0: none does) */
    uint32_t calls, dead_at;
    /* after so many reads of ERR and COUNT the task in flight fails and ends; 0: no */
    uint32_t slip;
} fake;

static const uint32_t err_lsb[NPU_UNIT_COUNT] = {8, 16, 0};
static const uint32_t depth[NPU_UNIT_COUNT] = {2, 2, 4};

static uint32_t in_flight(const fake *f, uint32_t u) {
    return f->started[u] - f->done[u];
}

static bool is_dead(fake *f) {
    return f->dead_at != 0 && ++f->calls >= f->dead_at;
}

static npu_hal_status fake_read(void *ctx, uint32_t offset, uint32_t *value) {
    fake *f = ctx;
    static const uint32_t busy[] = {NPU_STATUS_ALU_BUSY_MASK, NPU_STATUS_POOL_BUSY_MASK, NPU_STATUS_GEMM_BUSY_MASK};
    static const uint32_t ready[] = {NPU_STATUS_ALU_READY_MASK, NPU_STATUS_POOL_READY_MASK, NPU_STATUS_GEMM_READY_MASK};
    *value = 0;
    if (is_dead(f)) {
        return NPU_HAL_FAULT;
    }
    switch (offset) {
    case NPU_REG_STATUS:
        *value = f->extra_busy;
        for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
            *value |= in_flight(f, u) > 0 ? busy[u] : 0;
            *value |= !f->full && in_flight(f, u) < depth[u] ? ready[u] : 0;
        }
        break;
    case NPU_REG_ERR:
        *value = f->err;
        break;
    case NPU_REG_ALU_COUNT:
        *value = f->done[NPU_UNIT_ALU];
        break;
    case NPU_REG_POOL_COUNT:
        *value = f->done[NPU_UNIT_POOL];
        break;
    case NPU_REG_GEMM_COUNT:
        *value = f->done[NPU_UNIT_GEMM];
        break;
    default:
        fail_msg("read of 0x%03X", offset);
    }
    if (offset != NPU_REG_STATUS && f->slip > 0 && --f->slip == 0) {
        fail_now(f);
    }
    return NPU_HAL_OK;
}

static void fail_now(fake *f) {
    f->err |= NPU_ERR_ALU_BUS_WR1_MASK;
    f->done[NPU_UNIT_ALU] = f->started[NPU_UNIT_ALU];
    f->irq |= 1u << NPU_UNIT_ALU;
}

static void begin(fake *f, npu_unit u) {
    uint32_t units = 0;
    size_t len = strlen(f->order);
    assert_true(in_flight(f, u) < depth[u]);
    f->started[u]++;
    f->most[u] = in_flight(f, u) > f->most[u] ? in_flight(f, u) : f->most[u];
    for (uint32_t i = 0; i < NPU_UNIT_COUNT; i++) {
        units += in_flight(f, i) > 0;
    }
    f->together = units > f->together ? units : f->together;
    if (len + 1 < sizeof f->order) {
        f->order[len] = "APG"[u];
    }
}

static npu_hal_status fake_write(void *ctx, uint32_t offset, uint32_t value) {
    fake *f = ctx;
    if (is_dead(f)) {
        return NPU_HAL_FAULT;
    }
    if (offset == NPU_REG_IRQ_STATUS) {
        f->irq &= ~value;
    } else if (offset == NPU_REG_ERR) {
        f->err &= ~value;
    } else if (offset == NPU_REG_ALU_CTRL && (value & 1) != 0) {
        begin(f, NPU_UNIT_ALU);
    } else if (offset == NPU_REG_POOL_CTRL && (value & 1) != 0) {
        begin(f, NPU_UNIT_POOL);
    } else if (offset == NPU_REG_GEMM_CTRL && (value & 1) != 0) {
        begin(f, NPU_UNIT_GEMM);
    }
    return NPU_HAL_OK;
}

static npu_hal_status fake_wait(void *ctx, uint32_t mask, uint32_t timeout_us) {
    fake *f = ctx;
    uint32_t best = NPU_UNIT_COUNT;
    assert_int_equal(timeout_us, 50);
    if (f->waits++ == f->fault_at) {
        return NPU_HAL_FAULT;
    }
    if ((f->irq & mask) != 0 || f->slip > 0) {
        return NPU_HAL_OK;
    }
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        if (in_flight(f, u) > 0 && f->done[u] != f->hang_at[u] &&
            (best == NPU_UNIT_COUNT || f->done[u] < f->done[best])) {
            best = u;
        }
    }
    if (best == NPU_UNIT_COUNT || (mask >> best & 1u) == 0) {
        return NPU_HAL_TIMEOUT;
    }
    if (f->done[best] == f->fail_at[best]) {
        f->err |= f->fail_bits[best] << err_lsb[best];
        f->done[best] = f->started[best] - 1; /* what is queued behind it runs to its end */
    }
    f->done[best]++;
    f->irq |= 1u << best;
    return NPU_HAL_OK;
}

static void fake_delay(void *ctx, uint32_t us) {
    (void)ctx;
    (void)us;
}

static void fake_open(fake *f) {
    memset(f, 0, sizeof *f);
    f->hal = (npu_hal){
        .ctx = f, .reg_read = fake_read, .reg_write = fake_write, .wait_irq = fake_wait, .delay_us = fake_delay};
    f->dev = (npu){.hal = &f->hal, .n = 8, .units = 7, .wait = NPU_WAIT_IRQ, .timeout_us = 50};
    f->fault_at = NEVER;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        f->fail_at[u] = f->hang_at[u] = NEVER;
    }
}

/* ---- jobs of a known number of tasks, each with buffers of its own ---- */

static npu_tensor tensor(uint32_t addr, npu_layout layout, uint32_t w, uint32_t h, uint32_t c) {
    return (npu_tensor){.addr = addr,
                        .step = layout == NPU_INT8_NHWC ? (c + 7) / 8 * 8 : (w * h * 4 + 15) / 16 * 16,
                        .w = w,
                        .h = h,
                        .c = c,
                        .layout = layout};
}

/* ALU: four tasks. */
static void alu_job(fake *f, npu_job *job, uint32_t addr) {
    npu_tensor in = tensor(addr, NPU_INT8_NHWC, 4, 4, 8);
    npu_tensor out = tensor(addr + 0x1000, NPU_INT8_NHWC, 8, 8, 8);
    assert_int_equal(npu_job_upsample2x(job, &f->dev, &in, &out), NPU_OK);
}

/* POOL: five strips. */
static void pool_job(fake *f, npu_job *job, uint32_t addr) {
    npu_pool p = {.in = tensor(addr, NPU_FP32_NCHW, 300, 2, 1), .out = tensor(addr + 0x1000, NPU_FP32_NCHW, 300, 2, 1)};
    p.kw = p.kh = p.stride_w = p.stride_h = 1;
    assert_int_equal(npu_job_pool(job, &f->dev, &p), NPU_OK);
}

/* GEMM: six blocks of rows. */
static void gemm_job(fake *f, npu_job *job, uint32_t addr, bool serial) {
    npu_conv c = {.iw = 8,
                  .ih = 12,
                  .ic = 4,
                  .oc = 4,
                  .kw = 1,
                  .kh = 1,
                  .stride_w = 1,
                  .stride_h = 1,
                  .dil_w = 1,
                  .dil_h = 1,
                  .groups = 1};
    npu_conv_split split = {.max_oh = 2, .serial = serial};
    npu_conv_plan p;
    assert_int_equal(npu_conv_plan_make(8, &c, &split, &p), NPU_OK);
    c.ifm_addr = addr;
    c.ofm_addr = addr + 0x1000;
    c.wgt_addr = addr + 0x3000;
    c.oscale_addr = addr + 0x4000;
    c.ifm_cstep = c.ofm_cstep = 8 * 12 * 4;
    assert_int_equal(npu_job_conv(job, &f->dev, &c, &p), NPU_OK);
}

static void all_units(fake *f, npu_job job[4]) {
    alu_job(f, &job[0], 0x10000);
    pool_job(f, &job[1], 0x20000);
    gemm_job(f, &job[2], 0x30000, false);
    alu_job(f, &job[3], 0x40000);
}

static void runs_together(void **state) {
    (void)state;
    fake f;
    npu_job job[4];
    fake_open(&f);
    all_units(&f, job);
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_OK);
    assert_int_equal(f.started[NPU_UNIT_ALU], 8);
    assert_int_equal(f.started[NPU_UNIT_POOL], 5);
    assert_int_equal(f.started[NPU_UNIT_GEMM], 6);
    assert_int_equal(f.together, 3);
    assert_int_equal(f.most[NPU_UNIT_ALU], 2);
    assert_int_equal(f.most[NPU_UNIT_POOL], 2);
    assert_int_equal(f.most[NPU_UNIT_GEMM], 4);
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        assert_int_equal(f.dev.started[u], f.started[u]);
    }
    assert_int_equal(f.irq, 0);
    assert_memory_equal(f.order, "AAPPGGGG", 8); /* all that the units take, before the first wait */
}

static void serial_gemm(void **state) {
    (void)state;
    fake f;
    npu_job job;
    fake_open(&f);
    gemm_job(&f, &job, 0x30000, true);
    assert_int_equal(npu_jobs_run(&f.dev, &job, 1), NPU_OK);
    assert_int_equal(f.most[NPU_UNIT_GEMM], 1);
    assert_int_equal(f.started[NPU_UNIT_GEMM], 6);
}

/* An error of one unit ends its jobs; the other units do all of theirs. */
static void one_unit_fails(void **state) {
    (void)state;
    static const struct {
        uint32_t bits;
        npu_status want;
    } errors[] = {{0x01, NPU_ERR_BUS}, {0x02, NPU_ERR_BUS},    {0x04, NPU_ERR_BUS},
                  {0x08, NPU_ERR_BUS}, {0x10, NPU_ERR_DEVICE}, {0x20, NPU_ERR_DEVICE}};
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            fake f;
            npu_job job[4];
            fake_open(&f);
            f.fail_at[u] = 1;
            f.fail_bits[u] = errors[i].bits;
            all_units(&f, job);
            assert_int_equal(npu_jobs_run(&f.dev, job, 4), errors[i].want);
            for (uint32_t j = 0; j < 4; j++) {
                assert_int_equal(job[j].status, job[j].unit == u ? errors[i].want : NPU_OK);
            }
            assert_int_equal(f.dev.last_err, errors[i].bits << err_lsb[u]);
            assert_int_equal(f.err, 0);
            assert_int_equal(f.started[NPU_UNIT_POOL] == 5, u != NPU_UNIT_POOL);
            assert_int_equal(f.started[NPU_UNIT_GEMM] == 6, u != NPU_UNIT_GEMM);
            assert_int_equal(f.started[NPU_UNIT_ALU] == 8, u != NPU_UNIT_ALU);
            /* and all three work again */
            f.fail_at[u] = NEVER;
            all_units(&f, job);
            assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_OK);
        }
    }
}

/* The last task fails and ends between two register reads of the driver: the error is not lost, whichever two they are.
 */
static void error_between_reads(void **state) {
    (void)state;
    for (uint32_t slip = 1; slip < 8; slip++) {
        fake f;
        npu_job job;
        const npu_tensor in = tensor(0x10000, NPU_FP32_NCHW, 4, 4, 1), out = tensor(0x11000, NPU_FP32_NCHW, 4, 4, 1);
        fake_open(&f);
        assert_int_equal(npu_job_copy(&job, &f.dev, &in, &out), NPU_OK);
        f.slip = 1 + slip; /* the first read of COUNT is that before the start */
        assert_int_equal(npu_jobs_run(&f.dev, &job, 1), NPU_ERR_BUS);
        assert_int_equal(f.started[NPU_UNIT_ALU], 1);
        assert_int_equal(f.dev.last_err, NPU_ERR_ALU_BUS_WR1_MASK);
        assert_int_equal(f.err, 0);
    }
}

static void one_unit_hangs(void **state) {
    (void)state;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        fake f;
        npu_job job[4];
        fake_open(&f);
        f.hang_at[u] = 2;
        all_units(&f, job);
        assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_TIMEOUT);
        for (uint32_t j = 0; j < 4; j++) {
            assert_int_equal(job[j].status, job[j].unit == u ? NPU_ERR_TIMEOUT : NPU_OK);
        }
        all_units(&f, job);
        assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_BUSY);
        /* a job of another unit still runs */
        if (u != NPU_UNIT_GEMM) {
            gemm_job(&f, &job[0], 0x30000, false);
        } else {
            pool_job(&f, &job[0], 0x30000);
        }
        assert_int_equal(npu_jobs_run(&f.dev, job, 1), NPU_OK);
    }
}

static void never_ready(void **state) {
    (void)state;
    fake f;
    npu_job job[4];
    fake_open(&f);
    f.full = true;
    all_units(&f, job);
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_TIMEOUT);
    for (uint32_t j = 0; j < 4; j++) {
        assert_int_equal(job[j].status, NPU_ERR_TIMEOUT);
    }
}

static void fault(void **state) {
    (void)state;
    fake f;
    npu_job job[4];
    fake_open(&f);
    f.fault_at = 3;
    all_units(&f, job);
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_HAL);
    for (uint32_t j = 0; j < 4; j++) {
        assert_int_equal(job[j].status, NPU_ERR_HAL);
    }
}

/* The registers die at any moment, also while the driver brings a unit to rest: the caller learns of the task's error,
 * or that the registers are gone. */
static void dies(void **state) {
    (void)state;
    uint32_t seen[NPU_STATUS_COUNT] = {0};
    npu_status status = NPU_ERR_HAL;
    for (uint32_t at = 1; at < 2000; at++) {
        fake f;
        npu_job job;
        fake_open(&f);
        pool_job(&f, &job, 0x10000);
        f.dead_at = at;
        f.fail_at[NPU_UNIT_POOL] = 0;
        f.fail_bits[NPU_UNIT_POOL] = 4;
        status = npu_jobs_run(&f.dev, &job, 1);
        assert_true(status == NPU_ERR_HAL || status == NPU_ERR_BUS);
        seen[status]++;
        if (f.calls < at) {
            break;
        }
    }
    assert_int_equal(status, NPU_ERR_BUS);
    /* one for each access of the recovery, and the run without a fault */
    assert_true(seen[NPU_ERR_HAL] > 10 && seen[NPU_ERR_BUS] >= 5);
}

/* Only the units that have work must be idle; errors and flags of the others are left alone. */
static void busy(void **state) {
    (void)state;
    static const uint32_t masks[] = {NPU_STATUS_ALU_BUSY_MASK, NPU_STATUS_POOL_BUSY_MASK, NPU_STATUS_GEMM_BUSY_MASK};
    fake f;
    npu_job job;
    for (uint32_t u = 0; u < NPU_UNIT_COUNT; u++) {
        fake_open(&f);
        f.extra_busy = masks[u];
        pool_job(&f, &job, 0x10000);
        assert_int_equal(npu_jobs_run(&f.dev, &job, 1), u == NPU_UNIT_POOL ? NPU_ERR_BUSY : NPU_OK);
        fake_open(&f);
        f.done[u] = f.started[u] = 3; /* tasks of somebody else */
        pool_job(&f, &job, 0x10000);
        assert_int_equal(npu_jobs_run(&f.dev, &job, 1), u == NPU_UNIT_POOL ? NPU_ERR_BUSY : NPU_OK);
    }
    fake_open(&f);
    f.err = 0x10;
    f.irq = 4;
    pool_job(&f, &job, 0x10000);
    assert_int_equal(npu_jobs_run(&f.dev, &job, 1), NPU_OK);
    assert_int_equal(f.err, 0x10);
    assert_int_equal(f.irq, 4);
    f.extra_busy = NPU_STATUS_RESETTING_MASK;
    pool_job(&f, &job, 0x10000);
    assert_int_equal(npu_jobs_run(&f.dev, &job, 1), NPU_ERR_BUSY);
}

static void arguments(void **state) {
    (void)state;
    fake f;
    npu_job job[4];
    fake_open(&f);
    all_units(&f, job);
    assert_int_equal(npu_jobs_run(NULL, job, 4), NPU_ERR_ARG);
    assert_int_equal(npu_jobs_run(&f.dev, NULL, 4), NPU_ERR_ARG);
    assert_int_equal(npu_jobs_run(&f.dev, job, 0), NPU_ERR_ARG);
    f.dev.hal = NULL;
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_ARG);
    f.dev.hal = &f.hal;
    f.dev.units = 1u << NPU_UNIT_GEMM;
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_NO_UNIT);
    f.dev.units = 7;
    job[2].unit = NPU_UNIT_COUNT;
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_ARG);
    all_units(&f, job);
    job[1].next = NULL;
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_ARG);
    all_units(&f, job);
    job[1].area[1].addr = 0x31000; /* pooling into the output of the convolution */
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_OVERLAP);
    job[1].area[1].addr = 0x33000; /* into its weights */
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_ERR_OVERLAP);
    job[1].area[1].addr = 0x21000;
    assert_int_equal(npu_jobs_run(&f.dev, job, 4), NPU_OK);
}

/* What a job would write, without a device; afterwards it is used up. */
static void lists_tasks(void **state) {
    (void)state;
    static const uint32_t tasks[4] = {4, 5, 6, 4};
    static const uint32_t start[4] = {NPU_REG_ALU_CTRL, NPU_REG_POOL_CTRL, NPU_REG_GEMM_CTRL, NPU_REG_ALU_CTRL};
    fake f;
    npu_job job[4];
    uint32_t reg[NPU_TASK_REGS][2];
    fake_open(&f);
    all_units(&f, job);
    for (uint32_t j = 0; j < 4; j++) {
        uint32_t found = 0;
        for (uint32_t writes; (writes = npu_job_next_task(&job[j], reg)) != 0; found++) {
            assert_true(writes <= NPU_TASK_REGS && reg[writes - 1][0] == start[j] &&
                        (reg[writes - 1][1] & NPU_GEMM_CTRL_EN_MASK) != 0);
        }
        assert_int_equal(found, tasks[j]);
        assert_int_equal(npu_job_next_task(&job[j], reg), 0);
    }
    assert_int_equal(npu_job_next_task(NULL, reg), 0);
    assert_int_equal(npu_job_next_task(&job[0], NULL), 0);
    gemm_job(&f, &job[0], 0x30000, false);
    assert_int_equal(npu_jobs_run(&f.dev, job, 1), NPU_OK);
    assert_int_equal(npu_job_next_task(&job[0], reg), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_together),
        cmocka_unit_test(serial_gemm),
        cmocka_unit_test(one_unit_fails),
        cmocka_unit_test(one_unit_hangs),
        cmocka_unit_test(error_between_reads),
        cmocka_unit_test(never_ready),
        cmocka_unit_test(fault),
        cmocka_unit_test(dies),
        cmocka_unit_test(busy),
        cmocka_unit_test(arguments),
        cmocka_unit_test(lists_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
