/* main.c - the tests of the shift-add engine: executor, program. */
#include <stdlib.h>
#include <string.h>

#include "coverage/code/code.h"
#include "sac_device.h"
#include "sac_regs.h"
#include "stim.h"

#define WATCHDOG 60000u

static void fill(sac_device *dev, const sac_task *t, const stim_data *d) {
    sac_device_fill(dev, t->in, d->input, d->input_bytes);
    sac_device_fill(dev, t->res, d->residual, d->residual_bytes);
    sac_device_fill(dev, t->filters, d->filters, d->filter_bytes);
    sac_device_fill(dev, t->params, d->params, d->param_bytes);
    sac_device_fill(dev, t->dtab, d->dtab, d->dtab_bytes);
}

/* Error responses so far: reads of F, reads of W, writes. */
static void errors(const sac_device *dev, uint64_t count[3]) {
    count[0] = dev->run.port[SAC_PORT_F]->slave.errors[0];
    count[1] = dev->run.port[SAC_PORT_W]->slave.errors[0];
    count[2] = dev->run.port[SAC_PORT_F]->slave.errors[1];
}

/* What the driver must answer; the slaves know what they answered with an error. */
static sac_status expected_status(const sac_device *dev, const uint64_t before[3]) {
    static const sac_status status[] = {SAC_FAIL_READ_F, SAC_FAIL_READ_W, SAC_FAIL_WRITE};
    uint64_t now[3];
    errors(dev, now);
    for (int i = 0; i < 3; i++) {
        if (now[i] != before[i]) {
            return status[i];
        }
    }
    return SAC_OK;
}

/*
 * While a task is under way: START again, which must change nothing (only where the buses are fast enough for the write
 * to arrive before the task can end), and registers of another task, which are written back before the comparison.
 */
static void disturb(sac_device *dev, const tb_prog_run *run) {
    if (tb_knobs_get(run->knobs, "again") != 0 && tb_knobs_get(run->knobs, "bus") <= 2) {
        tb_run_write(&dev->run, SAC_PORT_REGS, SAC_REG_CTRL, SAC_CTRL_START_MASK);
    }
    for (uint32_t reg = SAC_REG_IN; reg <= SAC_REG_MODE && tb_knobs_get(run->knobs, "early") != 0; reg += 4) {
        tb_run_write(&dev->run, SAC_PORT_REGS, reg, 0x01010101u * (reg & 0xFFu));
        tb_run_write(&dev->run, SAC_PORT_REGS, reg, sac_model_read(&dev->model, reg));
    }
}

/* One task through the driver. False: the run has failed. */
static bool run_task(sac_device *dev, sac_dev *drv, const tb_prog_run *run, const sac_task *t, bool abort) {
    const bool irq = tb_knobs_get(run->knobs, "irq") != 0;
    uint64_t before[3];
    errors(dev, before);
    sac_status got = sac_start(drv, t, irq);
    if (got == SAC_OK) {
        for (int64_t i = tb_knobs_get(run->knobs, "abort_at"); abort && i > 0 && tb_run_step(&dev->run); i--) {
        }
        if (abort) {
            sac_abort(drv);
        } else {
            disturb(dev, run);
        }
        got = sac_wait(drv, irq);
    }
    if (tb_run_failed(&dev->run)) {
        return false;
    }
    sac_device_end(dev);
    const sac_status expected = expected_status(dev, before);
    const bool aborted = abort && got == SAC_FAIL_ABORTED;
    if (got != expected && !aborted) {
        tb_run_fail(&dev->run, "driver:status", "the driver answered \"%s\", expected \"%s\"", sac_strerror(got),
                    sac_strerror(expected));
        return false;
    }
    if (got != SAC_OK) {
        sac_device_take(dev);
    }
    if (!dev->run.replay.on) { /* a woken snapshot repeats the run without a log */
        sac_device_log(dev);
    }
    sac_cycles cycles = {0};
    if (!aborted && sac_read_cycles(drv, &cycles) == SAC_OK && cycles.conv != sac_conv_cycles(drv, t)) {
        tb_run_fail(&dev->run, "cycles:conv", "CYC_CONV: got %u, expected %u by the formula of the document",
                    cycles.conv, (unsigned)sac_conv_cycles(drv, t));
        return false;
    }
    return sac_device_compare(dev, aborted);
}

static void run_case(sac_device *dev, tb_prog_run *run) {
    static const unsigned port[] = {0, SAC_PORT_F, SAC_PORT_W, SAC_PORT_F};
    const int64_t error = tb_knobs_get(run->knobs, "error");
    const uint32_t tasks = (uint32_t)tb_knobs_get(run->knobs, "tasks");
    sac_task last = {0};
    sac_dev drv;
    bool ok = sac_open(&drv, &dev->hal) == SAC_OK;
    if (!ok) {
        tb_run_fail(&dev->run, "driver:open", "the driver does not find the device");
    }
    if (error != 0) {
        tb_axi_slave_inject(&dev->run.port[port[error]]->slave, error == 3,
                            (uint64_t)tb_knobs_get(run->knobs, "error_at"));
    }
    for (uint32_t i = 0; i < tasks && ok; i++) {
        sac_task t;
        stim_data data;
        /* after an error or an abort nothing is known about the cache */
        const bool known = i > 0 && drv.cached[!last.half].c > 0;
        stim_task(&drv, run->knobs, run->seed, i, known ? &last : NULL, &t);
        ok = stim_data_make(&drv, run->knobs, run->seed, i, &t, &data) == 0;
        if (ok) {
            fill(dev, &t, &data);
            ok = run_task(dev, &drv, run, &t, i == 0 && tb_knobs_get(run->knobs, "abort") != 0);
        }
        stim_free(&data);
        last = t;
    }
    tb_run_finish(&dev->run);
}

/* Cycles and operations, roughly: for the shrinker. */
static tb_shrink_size size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    const uint64_t work = (uint64_t)(tb_knobs_get(k, "tasks") * tb_knobs_get(k, "c") * tb_knobs_get(k, "n") *
                                     tb_knobs_get(k, "w") * tb_knobs_get(k, "h") * tb_knobs_get(k, "kw"));
    return (tb_shrink_size){.cycles = work * (1 + (uint64_t)tb_knobs_get(k, "bus")), .work = work};
}

static int execute(tb_prog_run *run) {
    static const sac_build build = {SAC_CFG_WVEC, SAC_CFG_CVEC, SAC_CFG_NVEC, SAC_CFG_CACHEPAGES};
    const tb_run_cfg cfg = {.clk = "clk_i",
                            .rst_n = "rst_ni",
                            .seed = run->seed,
                            .profile = tb_axi_profile_find(tb_knobs_get_name(run->knobs, "bus")),
                            .wave = run->wave,
                            .fail_wave = run->fail_wave,
                            .wave_window = run->wave_window,
                            .watchdog_cycles = WATCHDOG,
                            .access_cycles = WATCHDOG,
                            .max_cycles = run->max_cycles,
                            .no_checks = run->no_checks,
                            .story = run->story};
    sac_device *dev = malloc(sizeof *dev);
    int rc = -1;
    if (dev == NULL) {
        snprintf(run->err, sizeof run->err, "out of memory");
        return -1;
    }
    run->devices = 1;
    if (sac_device_open(dev, &cfg, &build, run->err, sizeof run->err) == 0 &&
        (run->dump == NULL || sac_device_dump(dev, run->dump, run->err, sizeof run->err) == 0)) {
        if (run->story != NULL) {
            run->story->has_model = true; /* the model runs beside the RTL */
        }
        run_case(dev, run);
        rc = 0;
    }
    if (tb_run_failed(&dev->run)) {
        tb_result_fail(run->result, TB_FAIL, dev->run.failure.signature, "%s", dev->run.failure.message);
        tb_prog_failed(run, &dev->run);
    }
    if (rc == 0) {
        run->result->cycles += dev->run.sim.cycle;
        run->result->trace_hash = tb_hash_u64(run->result->trace_hash, tb_run_hash(&dev->run));
    }
    rc = sac_device_dump_end(dev, run->err, sizeof run->err) == 0 ? rc : -1;
    sac_device_close(dev);
    free(dev);
    return rc;
}

int main(int argc, char **argv) {
    const tb_test tests[] = {{.name = "sac_task",
                              .about = "random tasks on the engine and its golden model",
                              .is_operator = true,
                              .knobs = stim_knobs,
                              .knob_count = stim_knob_count,
                              .size = size,
                              .execute = execute}};
    const tb_prog prog = {.about = "tests of the shift-add engine",
                          .cfg = SAC_CFG_NAME,
                          .kind = SAC_BUILD_KIND,
                          .tests = tests,
                          .test_count = sizeof tests / sizeof *tests,
                          .case_dir = "build/cases",
                          .work_name = "operations",
                          .code_save = code_save_text,
                          .dumps = true,
                          .judges = true};
    return tb_prog_main(&prog, argc, argv);
}
