#include "sac_device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "sac_layer.h"
#include "sac_regs.h"
#include "score/score.h"

#define POLL_CYCLES 20

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
    for (int i = 0; irq ? dev->run.irq == 0 : i < POLL_CYCLES; i++) {
        if (!tb_run_step(&dev->run)) {
            return false;
        }
    }
    return !irq || tb_run_idle(&dev->run, "the interrupt says that the task has ended");
}

static bool model_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read((tb_ddr *)ctx, addr, data, bytes);
}

static bool model_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    return tb_ddr_write((tb_ddr *)ctx, addr, data, bytes);
}

static int open_at(sac_device *dev, uint64_t base, uint64_t size, const tb_run_cfg *cfg, const sac_build *build,
                   char *err, size_t err_size) {
    static const tb_run_port_cfg regs = {.name = "regs", .prefix = "s_axil_"};
    const tb_run_port_cfg f = {.name = "f", .prefix = "m_f_axi_", .mem = &dev->rtl_mem, .agent = 0};
    const tb_run_port_cfg w = {.name = "w", .prefix = "m_w_axi_", .mem = &dev->rtl_mem, .agent = 1};
    memset(dev, 0, sizeof *dev);
    const sac_mem mem = {.ctx = &dev->model_mem, .read = model_read, .write = model_write};
    /* unwritten memory has different contents on both sides */
    if (tb_ddr_init(&dev->rtl_mem, base, size, cfg->seed) != 0 ||
        tb_ddr_init(&dev->model_mem, base, size, ~cfg->seed) != 0 || sac_model_init(&dev->model, &mem, build) != 0) {
        return opt_fail(err, err_size, "out of memory");
    }
    dev->rtl_mem.watch = dev->rtl_mem.check_reads = true;
    tb_buffers_init(&dev->live, "task", (tb_ddr *[]){&dev->rtl_mem}, 1);
    dev->hal = (sac_hal){.ctx = dev, .read = hal_read, .write = hal_write, .wait = hal_wait};
    tb_run *run = &dev->run;
    if (tb_run_open(run, cfg, err, err_size) != 0 || tb_run_port_open(run, &regs, err, err_size) != SAC_PORT_REGS ||
        tb_run_port_open(run, &f, err, err_size) != SAC_PORT_F ||
        tb_run_port_open(run, &w, err, err_size) != SAC_PORT_W || tb_run_pin(run, "irq_o", err, err_size) != 0 ||
        tb_run_checks(run, sac_checks, sac_check_count, NULL, dev, err, err_size) != 0) {
        return -1;
    }
    run->live = &dev->live;
    tb_run_reset(run);
    tb_run_step(run); /* nothing may be valid at the first edge after reset */
    return 0;
}

int sac_device_open(sac_device *dev, const tb_run_cfg *cfg, const sac_build *build, char *err, size_t err_size) {
    return open_at(dev, SAC_MEM_BASE, SAC_MEM_SIZE, cfg, build, err, err_size);
}

int sac_device_open_whole(sac_device *dev, const tb_run_cfg *cfg, const sac_build *build, char *err, size_t err_size) {
    return open_at(dev, 0, UINT64_C(1) << 32, cfg, build, err, err_size);
}

void sac_device_close(sac_device *dev) {
    tb_run_close(&dev->run);
    tb_buffers_free(&dev->live);
    tb_ddr_free(&dev->rtl_mem);
    tb_ddr_free(&dev->model_mem);
    sac_model_free(&dev->model);
}

void sac_device_fill(sac_device *dev, uint32_t addr, const void *data, size_t bytes) {
    tb_ddr_write(&dev->rtl_mem, addr, data, bytes);
    tb_ddr_write(&dev->model_mem, addr, data, bytes);
}

static uint32_t up(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}

/* A tensor in memory as one buffer. */
static void tensor(sac_device *dev, const char *name, tb_ddr_use use, uint64_t addr, uint64_t step, uint32_t c,
                   uint32_t h, uint32_t w) {
    const sac_build *b = &dev->model.build;
    tb_buffers_name(&dev->live, name, use);
    for (uint32_t group = 0; group < up(c, b->c); group++) {
        tb_buffers_range(&dev->live, addr + group * step, (uint64_t)h * up(w, b->w) * sac_page_bytes(b));
    }
}

void sac_device_begin(sac_device *dev) {
    const sac_build *b = &dev->model.build;
    cm_layer_task t;
    uint32_t w, h, ow, oh;
    sac_model_task(&dev->model, &t);
    dev->task = t;
    tb_buffers_clear(&dev->live);
    tb_buffers_begin(&dev->live, "task", dev->tasks++);
    if (sac_task_legal(b, &t)) {
        sac_layer_map(&t, &w, &h);
        sac_layer_out(&t, &ow, &oh);
        const uint32_t batches = up(t.n, b->n);
        tb_buffers_name(&dev->live, "filters", TB_DDR_READ);
        tb_buffers_range(&dev->live, (uint64_t)t.filt * 16, (uint64_t)batches * sac_task_batch_bytes(b, &t));
        tb_buffers_name(&dev->live, "parameters", TB_DDR_READ);
        tb_buffers_range(&dev->live, (uint64_t)t.param * 16, (uint64_t)batches * b->n * 16);
        tb_buffers_name(&dev->live, "shifts", TB_DDR_READ);
        tb_buffers_range(&dev->live, (uint64_t)t.dtab * 16, t.c);
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
    tb_buffers_start(&dev->live);
}

void sac_device_end(sac_device *dev) {
    tb_buffers_end(&dev->live, 0);
}

void sac_device_take(sac_device *dev) {
    for (size_t i = 0; i < dev->live.buffers; i++) {
        const tb_buffer *buffer = &dev->live.buffer[i];
        for (size_t r = buffer->first; r < buffer->end && buffer->use == TB_DDR_WRITE; r++) {
            const tb_range *range = &dev->live.range.r[r];
            tb_ddr_copy_range(&dev->model_mem, &dev->rtl_mem, range->begin, range->end - range->begin);
        }
    }
}

static bool compare_memory(sac_device *dev) {
    tb_ddr_diff d;
    char where[160];
    if (tb_ddr_compare_dirty(&dev->rtl_mem, &dev->model_mem, &d)) {
        return true;
    }
    const tb_near near = tb_buffers_near(&dev->live, d.addr, TB_DDR_WRITE, NULL);
    tb_buffers_place(&dev->live, &near, where, sizeof where);
    tb_run_fail(&dev->run, "mem:mismatch",
                "memory, address 0x%08" PRIx64 " (%s; byte %" PRIu64
                " of OUT): got %s0x%02x, expected %s0x%02x; %" PRIu64 " bytes differ",
                d.addr, where, d.addr - (sac_model_read(&dev->model, SAC_REG_OUT) & ~15u),
                d.a_written ? "" : "nothing, ", d.a, d.b_written ? "" : "nothing, ", d.b, d.count);
    return false;
}

#define ROW(name, offset, access, exact, timed, w1c, reset) {#name, (offset), (exact) | (w1c)},

bool sac_device_compare(sac_device *dev, bool aborted) {
    static const struct {
        const char *name;
        uint32_t reg, mask;
    } regs[] = {SAC_REGS_TABLE(ROW)};
    bool ok = !tb_run_failed(&dev->run) && compare_memory(dev);
    for (size_t i = 0; ok && i < sizeof regs / sizeof *regs; i++) {
        uint32_t got = 0;
        const uint32_t expected = sac_model_read(&dev->model, regs[i].reg) & regs[i].mask;
        ok = tb_run_read(&dev->run, SAC_PORT_REGS, regs[i].reg, &got);
        if (ok && (got & regs[i].mask) != expected && !(aborted && regs[i].reg == SAC_REG_CYC_CONV)) {
            char signature[32];
            snprintf(signature, sizeof signature, "reg:%s", regs[i].name);
            tb_run_fail(&dev->run, signature, "register %s: got 0x%x, expected 0x%x", regs[i].name, got & regs[i].mask,
                        expected);
            ok = false;
        }
    }
    return ok;
}

int sac_device_dump(sac_device *dev, const char *dir, char *err, size_t err_size) {
    static const char *const sides[] = {"rtl", "model"};
    int rc = tb_make_folder(dir, err, err_size);
    for (int i = 0; i < 2 && rc == 0; i++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/%s", dir, sides[i]);
        dev->log[i] = tb_tlog_create(path, err, err_size);
        rc = dev->log[i] != NULL ? 0 : -1;
    }
    return rc;
}

void sac_device_log(sac_device *dev) {
    tb_ddr *const mem[] = {&dev->rtl_mem, &dev->model_mem};
    const sac_build *b = &dev->model.build;
    cm_layer_task t;
    uint32_t w, h;
    sac_model_task(&dev->model, &t);
    if (dev->log[1] == NULL || !sac_task_legal(b, &t) || !t.dst_ddr) {
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
    uint8_t *data = malloc((size_t)groups * group);
    for (int i = 0; i < 2 && data != NULL; i++) {
        for (uint32_t g = 0; g < groups; g++) {
            tb_ddr_read(mem[i], (uint64_t)t.out * 16 + (uint64_t)g * step, data + (size_t)g * group, group);
        }
        tb_tlog_tensor(dev->log[i], &entry, data);
    }
    free(data);
}

int sac_device_dump_end(sac_device *dev, char *err, size_t err_size) {
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        rc = dev->log[i] != NULL && tb_tlog_close(dev->log[i], err, err_size) != 0 ? -1 : rc;
        dev->log[i] = NULL;
    }
    return rc;
}
