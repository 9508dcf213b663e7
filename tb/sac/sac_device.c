#include "sac_device.h"

#include "opt/opt.h"
#include "sac_layer.h"
#include "sac_regs.h"
#include "score/score.h"

#define POLL_CYCLES 20
#define WATCHDOG 60000u

static bool hal_read(void *ctx, uint32_t reg, uint32_t *value) {
    sac_device *dev = (sac_device *)ctx;
    return tb_run_read(&dev->run, SAC_PORT_REGS, reg, value);
}

static bool hal_write(void *ctx, uint32_t reg, uint32_t value) {
    sac_device *dev = (sac_device *)ctx;
    const bool start = reg == SAC_REG_CTRL && (value & SAC_CTRL_START_MASK) != 0;
    if (start) {
        sac_device_begin(dev);
    }
    sac_model_write(&dev->model, reg, value);
    return tb_run_write(&dev->run, SAC_PORT_REGS, reg, value);
}

static bool hal_wait(void *ctx, bool irq) {
    sac_device *dev = (sac_device *)ctx;
    return tb_wait_irq(&dev->run, irq, POLL_CYCLES, "the interrupt says that the task has ended");
}

int sac_device_build(sac_device *dev, const sac_build *build, char *err, size_t err_size) {
    const sac_mem mem = {.ctx = &dev->pair.model, .read = tb_mem_read, .write = tb_mem_write};
    dev->hal = (sac_hal){.ctx = dev, .read = hal_read, .write = hal_write, .wait = hal_wait};
    return sac_model_init(&dev->model, &mem, build) == 0 ? 0 : opt_fail(err, err_size, "out of memory");
}

static void close_model(void *bench) {
    sac_model_free(&((sac_device *)bench)->model);
}

/* A reset in operation: this one falls, the first one began with the power. Nothing has happened between them. */
static void reset_again(void *bench) {
    tb_run_reset(&((sac_device *)bench)->run);
    tb_run_step(&((sac_device *)bench)->run);
}

static const tb_tandem_port ports[] = {
    [SAC_PORT_REGS] = {.name = "regs", .prefix = "s_axil_"},
    [SAC_PORT_F] = {.name = "f", .prefix = "m_f_axi_", .memory = true, .agent = 0},
    [SAC_PORT_W] = {.name = "w", .prefix = "m_w_axi_", .memory = true, .agent = 1},
};
static const char *const pins[] = {"irq_o"};

const tb_tandem sac_bench = {
    .bytes = sizeof(sac_device),
    .run_at = offsetof(sac_device, run),
    .pair_at = offsetof(sac_device, pair),
    .cfg = {.clk = "clk_i", .rst_n = "rst_ni", .watchdog_cycles = WATCHDOG, .access_cycles = WATCHDOG},
    .mem_base = SAC_MEM_BASE,
    .mem_size = SAC_MEM_SIZE,
    TB_TANDEM_PORTS(ports),
    TB_TANDEM_PINS(pins),
    .checks = sac_checks,
    .check_count = &sac_check_count,
    .begin = reset_again,
    .close = close_model};

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

/* A tensor in memory as one buffer. */
static void tensor(sac_device *dev, const char *name, tb_ddr_use use, uint64_t addr, uint64_t step, uint32_t c,
                   uint32_t h, uint32_t w) {
    const sac_build *b = &dev->model.build;
    tb_buffers_name(&dev->pair.live, name, use);
    for (uint32_t group = 0; group < up(c, b->c); group++) {
        tb_buffers_range(&dev->pair.live, addr + group * step, (uint64_t)h * up(w, b->w) * sac_page_bytes(b));
    }
}

void sac_device_begin(sac_device *dev) {
    const sac_build *b = &dev->model.build;
    cm_layer_task t;
    uint32_t w, h, ow, oh;
    sac_model_task(&dev->model, &t);
    dev->task = t;
    tb_buffers_clear(&dev->pair.live);
    tb_buffers_begin(&dev->pair.live, "task", dev->tasks++);
    if (sac_task_legal(b, &t)) {
        sac_layer_map(&t, &w, &h);
        sac_layer_out(&t, &ow, &oh);
        const uint32_t batches = up(t.n, b->n);
        tb_buffers_name(&dev->pair.live, "filters", TB_DDR_READ);
        tb_buffers_range(&dev->pair.live, (uint64_t)t.filt * 16, (uint64_t)batches * sac_task_batch_bytes(b, &t));
        tb_buffers_name(&dev->pair.live, "parameters", TB_DDR_READ);
        tb_buffers_range(&dev->pair.live, (uint64_t)t.param * 16, (uint64_t)batches * b->n * 16);
        tb_buffers_name(&dev->pair.live, "shifts", TB_DDR_READ);
        tb_buffers_range(&dev->pair.live, (uint64_t)t.dtab * 16, t.c);
        if (!t.src_cache) {
            tensor(dev, "input", TB_DDR_READ, (uint64_t)t.in * 16, (uint64_t)t.in_step * 16, t.c, t.h, t.w);
        }
        if (t.add) {
            tensor(dev, "residual", TB_DDR_READ, (uint64_t)t.res * 16, (uint64_t)t.out_step * 16, t.n, h, w);
        }
        if (t.dst_ddr) {
            const uint64_t step = t.full != 0 ? sac_page_bytes(b) : (uint64_t)t.out_step * 16;
            tensor(dev, "output", TB_DDR_WRITE, (uint64_t)t.out * 16, step, t.n, oh, ow);
        }
    }
    tb_buffers_start(&dev->pair.live);
}

void sac_device_end(sac_device *dev) {
    tb_buffers_end(&dev->pair.live, 0);
}

typedef struct expectation {
    const sac_device *dev;
    bool aborted;
} expectation;

static uint32_t expected(void *ctx, uint32_t reg, uint32_t got) {
    const expectation *e = (const expectation *)ctx;
    return e->aborted && reg == SAC_REG_CYC_CONV ? got : sac_model_read(&e->dev->model, reg);
}

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, (offset), (exact) | (w1c), false},

bool sac_device_compare(sac_device *dev, bool aborted) {
    static const tb_reg_row rows[] = {SAC_REGS_TABLE(ROW)};
    expectation e = {.dev = dev, .aborted = aborted};
    return !tb_run_failed(&dev->run) && tb_pair_compare(&dev->pair, &dev->run) &&
           tb_compare_registers(&dev->run, SAC_PORT_REGS, rows, sizeof rows / sizeof *rows, expected, &e);
}

void sac_device_log(sac_device *dev) {
    const sac_build *b = &dev->model.build;
    cm_layer_task t;
    uint32_t w, h;
    sac_model_task(&dev->model, &t);
    if (!sac_task_legal(b, &t) || !t.dst_ddr) {
        return;
    }
    sac_layer_out(&t, &w, &h);
    const uint32_t group = h * up(w, b->w) * sac_page_bytes(b), groups = up(t.n, b->c);
    const uint32_t step = t.full != 0 ? sac_page_bytes(b) : t.out_step * 16;
    const tb_tlog_entry entry = {.stream = "output",
                                 .task = dev->tasks - 1,
                                 .unit = "sac",
                                 .type = TB_TLOG_U8,
                                 .axes = 2,
                                 .axis = {"group", "byte"},
                                 .size = {groups, group}};
    tb_pair_log(&dev->pair, &dev->run, &entry, (uint64_t)t.out * 16, step, groups, group);
}
