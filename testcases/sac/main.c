/* main.c - the tests of the shift-add engine: executor, program. */
#include "coverage/code/code.h"
#include "coverage/sac/sac_cov.h"
#include "nets.h"
#include "sac_device.h"
#include "sac_regs.h"
#include "speed.h"
#include "stim.h"
#include "terms.h"
#include "tiles.h"

static void fill(sac_device *dev, const sac_task *t, const stim_data *d) {
    tb_pair_fill(&dev->pair, t->in, d->input, d->input_bytes);
    tb_pair_fill(&dev->pair, t->res, d->residual, d->residual_bytes);
    tb_pair_fill(&dev->pair, t->filters, d->filters, d->filter_bytes);
    tb_pair_fill(&dev->pair, t->params, d->params, d->param_bytes);
    tb_pair_fill(&dev->pair, t->dtab, d->dtab, d->dtab_bytes);
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

/* A register gets a value byte by byte: the strobes of each write select some, what stands in the others is garbage. */
static void write_parts(sac_device *dev, tb_rng *rng, uint32_t reg, uint32_t value) {
    const uint8_t strb = (uint8_t)tb_rng_range(rng, 0, 15);
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; i++) {
        mask |= (strb >> i & 1u) != 0 ? 0xFFu << 8 * i : 0;
    }
    tb_run_write_part(&dev->run, SAC_PORT_REGS, reg, (value & mask) | (~value & ~mask), strb);
    tb_run_write_part(&dev->run, SAC_PORT_REGS, reg, (value & ~mask) | (~value & mask), strb ^ 15u);
}

/*
 * While a task is under way: START again, which must change nothing (only where the buses are fast enough for the write
 * to arrive before the task can end), and registers of another task, which are written back before the comparison.
 */
static void disturb(sac_device *dev, const tb_prog_run *run) {
    tb_rng rng = tb_rng_stream(run->seed, "strobes");
    if (tb_knobs_get(run->knobs, "again") != 0 && tb_knobs_get(run->knobs, "bus") <= 2) {
        tb_run_write(&dev->run, SAC_PORT_REGS, SAC_REG_CTRL, SAC_CTRL_START_MASK);
    }
    for (uint32_t reg = SAC_REG_IN; reg <= SAC_REG_MODE && tb_knobs_get(run->knobs, "early") != 0; reg += 4) {
        tb_run_write(&dev->run, SAC_PORT_REGS, reg, 0x01010101u * (reg & 0xFFu));
        write_parts(dev, &rng, reg, sac_model_read(&dev->model, reg));
    }
}

/* What the last burst with an error belongs to; COV_NONE: none of the task's had one. */
static int64_t error_at(const sac_device *dev, const sac_dev *drv, const sac_task *t, const uint64_t before[3]) {
    static const unsigned port[] = {SAC_PORT_F, SAC_PORT_W, SAC_PORT_F};
    const uint32_t step = t->in_step != 0 ? t->in_step : sac_tensor_bytes(drv, 1, t->h, t->w);
    uint64_t now[3];
    errors(dev, now);
    for (int i = 0; i < 3; i++) {
        const tb_axi_slave *slave = &dev->run.port[port[i]]->slave;
        const uint64_t addr = slave->error_addr[i == 2][(now[i] - 1) % TB_AXI_SLAVE_ERRORS];
        if (now[i] == before[i]) {
            continue;
        }
        if (i == 0) {
            const uint64_t end = t->in + (uint64_t)((t->c + drv->cv - 1) / drv->cv) * step;
            return !t->from_cache && addr >= t->in && addr < end ? SAC_COV_FEATURES : SAC_COV_RESIDUAL;
        }
        return i == 2                                                                         ? SAC_COV_OUTPUT
               : addr >= t->dtab && addr < t->dtab + (uint64_t)t->c                           ? SAC_COV_SHIFTS
               : addr >= t->params && addr < t->params + (uint64_t)sac_param_bytes(drv, t->n) ? SAC_COV_PARAM
                                                                                              : SAC_COV_FILTERS;
    }
    return COV_NONE;
}

/* The state that an abort has met, by the counters. */
static int64_t aborted_in(const sac_dev *drv, const sac_task *t, const sac_cycles *c) {
    return c->conv == sac_conv_cycles(drv, t)              ? SAC_COV_DRAIN
           : c->conv + c->load_stall + c->write_stall != 0 ? SAC_COV_CONV
           : c->preload != 0                               ? SAC_COV_PRELOAD
           : c->input != 0                                 ? SAC_COV_INPUT
                                                           : SAC_COV_SETUP;
}

static sac_cov *cov_of(const tb_prog *prog) {
    return (sac_cov *)prog->ctx;
}

/* A task has ended as it had to; error: error_at(). */
static void cover(const tb_prog_run *run, const sac_dev *drv, const sac_task *t, const sac_cycles *cycles,
                  sac_status end, int64_t error) {
    const uint32_t kinds = t->to_cache ? (t->to_memory ? 2 : 1) : 0;
    const sac_cov_task task = {
        .wv = drv->wv,
        .cv = drv->cv,
        .nv = drv->nv,
        .wow = t->kw == 1 ? drv->wv : drv->wv - 2,
        .c = t->c,
        .n = t->n,
        .w = t->w,
        .h = t->h,
        .kw = t->kw,
        .kh = t->kh,
        .stride = t->stride,
        .pt = t->pt,
        .pl = t->pl,
        .ow = t->ow,
        .oh = t->oh,
        .win = t->win,
        .pool_stride = t->pool_stride,
        .pool_pt = t->pool_pt,
        .pool_pl = t->pool_pl,
        .relu = t->relu,
        .add = t->add,
        .post_relu = t->post_relu,
        .from_cache = t->from_cache,
        .full = t->full,
        .to = kinds,
        .batches = (t->n + drv->nv - 1) / drv->nv,
        .bus = (uint32_t)tb_knobs_get(run->knobs, "bus"),
        .end = end == SAC_OK             ? 0
               : end == SAC_FAIL_ABORTED ? 1
               : end == SAC_FAIL_WRITE   ? 3
                                         : 2,
        .load_stall = cycles->load_stall > 0,
        .write_stall = cycles->write_stall > 0,
        .aborted_in = end == SAC_FAIL_ABORTED ? aborted_in(drv, t, cycles) : COV_NONE,
        .error_at = error,
        .data = tb_knobs_get(run->knobs, "data"),
        .codes = tb_knobs_get(run->knobs, "codes"),
        .d = tb_knobs_get(run->knobs, "d"),
        .scale = tb_knobs_get(run->knobs, "scale"),
        .bias = tb_knobs_get(run->knobs, "bias"),
    };
    if (cov_of(run->o->prog)->db != NULL) {
        sac_cov_sample(cov_of(run->o->prog), &task);
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
        tb_pair_take_written(&dev->pair);
    }
    sac_device_log(dev);
    sac_cycles cycles = {0};
    if (sac_read_cycles(drv, &cycles) == SAC_OK && !aborted && cycles.conv != sac_conv_cycles(drv, t)) {
        tb_run_fail(&dev->run, "cycles:conv", "CYC_CONV: got %u, expected %u by the formula of the document",
                    cycles.conv, (unsigned)sac_conv_cycles(drv, t));
        return false;
    }
    const bool equal = sac_device_compare(dev, aborted);
    if (equal) {
        cover(run, drv, t, &cycles, got, error_at(dev, drv, t, before));
    }
    return equal;
}

static bool run_tile(sac_device *dev, sac_dev *drv, const tb_prog_run *run, const sac_task *t) {
    return run_task(dev, drv, run, t, false);
}

/* Registers that do not exist: they read as 0, and a write changes nothing (the comparison after the next task). */
static bool unmapped(sac_device *dev, tb_rng *rng) {
    for (int i = 0; i < 4; i++) {
        const uint32_t reg = 4 * (uint32_t)tb_rng_range(rng, SAC_REG_CYC_WRITE / 4 + 1, 127);
        uint32_t value = 0;
        if (!dev->hal.write(dev, reg, tb_rng_u32(rng)) || !dev->hal.read(dev, reg, &value)) {
            return false;
        }
        if (value != 0) {
            tb_run_fail(&dev->run, "reg:unmapped", "register 0x%03x does not exist and reads as 0x%08x", reg, value);
            return false;
        }
    }
    return true;
}

/*
 * Sizes out of range, past the driver: a legal task of which one or two registers get other bits. The model says
 * whether the engine must refuse it; one that is legal by chance is not started, as its operands are nowhere.
 */
static bool nonsense(sac_device *dev, sac_dev *drv, const tb_prog_run *run) {
    static const uint32_t legal[][2] = {{SAC_REG_MAP, 0x00050004},
                                        {SAC_REG_CHANNELS, 0x00030005},
                                        {SAC_REG_KERNEL, 0x00011133},
                                        {SAC_REG_CONV_OUT, 0x00050004},
                                        {SAC_REG_POOL, 0x00000022},
                                        {SAC_REG_POOL_OUT, 0x00020002},
                                        {SAC_REG_MODE, SAC_MODE_DST_DDR_MASK | SAC_MODE_POOL_MASK}};
    const bool irq = tb_knobs_get(run->knobs, "irq") != 0;
    tb_rng rng = tb_rng_stream(run->seed, "nonsense");
    bool ok = unmapped(dev, &rng);
    for (int i = 0; i < 12 && ok; i++) {
        cm_layer_task t;
        for (size_t r = 0; r < 7 && ok; r++) {
            const uint32_t bits = tb_rng_u32(&rng), many = tb_rng_u32(&rng);
            const uint32_t flip =
                tb_rng_chance(&rng, 2, 7) ? (tb_rng_chance(&rng, 1, 2) ? bits : 1u << (many % 32)) : 0;
            ok = dev->hal.write(dev, legal[r][0], legal[r][1] ^ flip);
        }
        sac_model_task(&dev->model, &t);
        if (!ok || sac_task_legal(&dev->model.build, &t)) {
            continue;
        }
        ok = dev->hal.write(dev, SAC_REG_IRQ_EN, irq) && dev->hal.write(dev, SAC_REG_CTRL, SAC_CTRL_START_MASK);
        const sac_status got = ok ? sac_wait(drv, irq) : SAC_FAIL_DEVICE;
        sac_device_end(dev);
        if (ok && got != SAC_FAIL_CONFIG && !tb_run_failed(&dev->run)) {
            tb_run_fail(&dev->run, "driver:status", "a task out of range: the driver answered \"%s\"",
                        sac_strerror(got));
        }
        ok = ok && sac_device_compare(dev, false);
    }
    return ok;
}

static int run_case(void *bench, tb_prog_run *run) {
    sac_device *dev = (sac_device *)bench;
    static const unsigned port[] = {0, SAC_PORT_F, SAC_PORT_W, SAC_PORT_F};
    const int64_t error = tb_knobs_get(run->knobs, "error");
    const uint32_t tasks = (uint32_t)tb_knobs_get(run->knobs, "tasks");
    const uint32_t rows = (uint32_t)tb_knobs_get(run->knobs, "rows");
    sac_task last = {0};
    sac_dev drv;
    bool ok = sac_open(&drv, &dev->hal) == SAC_OK;
    if (!ok) {
        tb_run_fail(&dev->run, "driver:open", "the driver does not find the device");
    }
    if (error != 0) {
        tb_axi_slave_inject_as(&dev->run.port[port[error]]->slave, error == 3,
                               (uint64_t)tb_knobs_get(run->knobs, "error_at"),
                               (run->seed & 1) != 0 ? TB_AXI_DECERR : TB_AXI_SLVERR, error == 3 ? 0 : TB_AXI_ANY_BEAT);
    }
    ok = ok && (tb_knobs_get(run->knobs, "nonsense") == 0 || nonsense(dev, &drv, run));
    for (uint32_t i = 0; i < tasks && ok; i++) {
        sac_task t;
        stim_data data;
        /* after an error or an abort nothing is known about the cache */
        const bool known = i > 0 && drv.cached[!last.half].c > 0;
        sac_dev sizes = drv;
        sizes.cache_pages *= rows != 0 ? TILES_CACHE : 1;
        stim_task(&sizes, run->knobs, run->seed, i, known ? &last : NULL, &t);
        ok = stim_data_make(&drv, run->knobs, run->seed, i, &t, &data) == 0;
        if (ok) {
            fill(dev, &t, &data);
            ok = rows != 0 ? tiles_run(dev, &drv, run, &t, rows, run_tile)
                           : run_task(dev, &drv, run, &t, i == 0 && tb_knobs_get(run->knobs, "abort") != 0);
        }
        stim_free(&data);
        last = t;
    }
    return 0;
}

/* Cycles and operations, roughly: for the shrinker. */
static tb_shrink_size size(const tb_test *test, const tb_knobs *k) {
    (void)test;
    const uint64_t work = (uint64_t)(tb_knobs_get(k, "tasks") * tb_knobs_get(k, "c") * tb_knobs_get(k, "n") *
                                     tb_knobs_get(k, "w") * tb_knobs_get(k, "h") * tb_knobs_get(k, "kw"));
    return (tb_shrink_size){.cycles = work * (1 + (uint64_t)tb_knobs_get(k, "bus")), .work = work};
}

static int open_build(void *bench, const tb_prog_run *run, char *err, size_t err_size) {
    static const sac_build build = {SAC_CFG_WVEC, SAC_CFG_CVEC, SAC_CFG_NVEC, SAC_CFG_CACHEPAGES};
    (void)run;
    return sac_device_build((sac_device *)bench, &build, err, err_size);
}

/* ---- coverage files ---- */

static int cov_begin(const tb_prog *prog, char *err, size_t err_size) {
    return sac_cov_open(cov_of(prog), err, err_size);
}

static int cov_end(const tb_prog *prog, const char *path, const char *again, char *err, size_t err_size) {
    return sac_cov_save(cov_of(prog), path, again, err, err_size);
}

static void cov_drop(const tb_prog *prog) {
    sac_cov_close(cov_of(prog));
}

int main(int argc, char **argv) {
    tb_tandem bench = sac_bench;
    sac_cov cov = {0};
    bench.open = open_build;
    bench.mem_base = 0; /* all that an address of 32 bits reaches */
    bench.mem_size = UINT64_C(1) << 32;
    const tb_test tests[] = {{.name = "sac_task",
                              .about = "random tasks on the engine and its golden model",
                              .is_operator = true,
                              .knobs = stim_knobs,
                              .knob_count = stim_knob_count,
                              .size = size,
                              .bench = &bench,
                              .body = run_case},
                             {.name = "terms",
                              .about = "every code by every d by the ends of an activation, against the product itself",
                              .is_operator = true,
                              .knobs = terms_knobs,
                              .knob_count = terms_knob_count,
                              .bench = &bench,
                              .body = terms_case},
                             {.name = "network",
                              .about = "the digits network, LeNet, layers of SqueezeNet in INT8",
                              .is_operator = true,
                              .knobs = network_knobs,
                              .knob_count = network_knob_count,
                              .constrain = network_constrain,
                              .bench = &bench,
                              .body = network_case},
                             {.name = "sac_speed",
                              .about = "layers of published networks: cycles against the model of the document",
                              .is_operator = true,
                              .knobs = speed_knobs,
                              .knob_count = speed_knob_count,
                              .bench = &bench,
                              .body = speed_case}};
    const tb_prog prog = {.about = "tests of the shift-add engine",
                          .cfg = SAC_CFG_NAME,
                          .kind = SAC_BUILD_KIND,
                          .tests = tests,
                          .test_count = sizeof tests / sizeof *tests,
                          .case_dir = "build/cases",
                          .work_name = "operations",
                          .ctx = &cov,
                          .cov_open = cov_begin,
                          .cov_save = cov_end,
                          .cov_close = cov_drop,
                          .code_save = code_save_text,
                          .dumps = true,
                          .judges = true};
    return tb_prog_main(&prog, argc, argv);
}
