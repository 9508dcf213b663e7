#include "copy_device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "axi_copy_regs.h"
#include "copy_check.h"
#include "opt/opt.h"

#define POLL_CYCLES 20

static bool hal_read(void *ctx, uint32_t reg, uint32_t *value) {
    copy_device *dev = (copy_device *)ctx;
    return tb_run_read(&dev->run, COPY_PORT_REGS, reg, value);
}

static bool hal_write(void *ctx, uint32_t reg, uint32_t value) {
    copy_device *dev = (copy_device *)ctx;
    copy_model_write(&dev->model, reg, value);
    return tb_run_write(&dev->run, COPY_PORT_REGS, reg, value);
}

static bool hal_wait(void *ctx, bool irq) {
    copy_device *dev = (copy_device *)ctx;
    for (int i = 0; irq ? dev->run.irq == 0 : i < POLL_CYCLES; i++) {
        if (!tb_run_step(&dev->run)) {
            return false;
        }
    }
    return !irq || tb_run_idle(&dev->run, "the interrupt says that the copy is done");
}

static bool model_read(void *ctx, uint64_t addr, void *data, size_t bytes) {
    return tb_ddr_read((tb_ddr *)ctx, addr, data, bytes);
}

static bool model_write(void *ctx, uint64_t addr, const void *data, size_t bytes) {
    return tb_ddr_write((tb_ddr *)ctx, addr, data, bytes);
}

int copy_device_open(copy_device *dev, const tb_run_cfg *cfg, char *err, size_t err_size) {
    static const tb_run_port_cfg regs = {.name = "regs", .prefix = "s_axil_"};
    const tb_run_port_cfg mem = {.name = "mem", .prefix = "m_axi_", .mem = &dev->rtl_mem};
    memset(dev, 0, sizeof *dev);
    /* unwritten memory has different contents on both sides */
    if (tb_ddr_init(&dev->rtl_mem, COPY_MEM_BASE, COPY_MEM_SIZE, cfg->seed) != 0 ||
        tb_ddr_init(&dev->model_mem, COPY_MEM_BASE, COPY_MEM_SIZE, ~cfg->seed) != 0) {
        return opt_fail(err, err_size, "out of memory");
    }
    dev->rtl_mem.watch = dev->rtl_mem.check_reads = true;
    tb_buffers_init(&dev->live, "copy", (tb_ddr *[]){&dev->rtl_mem}, 1);
    dev->model.mem = (copy_mem){.ctx = &dev->model_mem, .read = model_read, .write = model_write};
    dev->hal = (copy_hal){.ctx = dev, .read = hal_read, .write = hal_write, .wait = hal_wait};
    tb_run *run = &dev->run;
    if (tb_run_open(run, cfg, err, err_size) != 0 || tb_run_port_open(run, &regs, err, err_size) != COPY_PORT_REGS ||
        tb_run_port_open(run, &mem, err, err_size) != COPY_PORT_MEM || tb_run_pin(run, "irq_o", err, err_size) != 0 ||
        tb_run_checks(run, copy_checks, copy_check_count, NULL, NULL, err, err_size) != 0) {
        return -1;
    }
    run->live = &dev->live;
    tb_run_reset(run);
    tb_run_step(run); /* nothing may be valid at the first edge after reset */
    return 0;
}

int copy_device_dump(copy_device *dev, const char *dir, char *err, size_t err_size) {
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

void copy_device_log(copy_device *dev, uint64_t number, uint32_t dst, uint32_t bytes) {
    tb_ddr *const mem[] = {&dev->rtl_mem, &dev->model_mem};
    const tb_tlog_entry entry = {.stream = "destination",
                                 .task = number,
                                 .unit = "axi_copy",
                                 .type = TB_TLOG_U8,
                                 .axes = 1,
                                 .axis = {"byte"},
                                 .size = {bytes}};
    uint8_t *data = bytes > 0 && dev->log[1] != NULL ? malloc(bytes) : NULL;
    for (int i = 0; i < 2 && data != NULL; i++) {
        if (tb_ddr_read(mem[i], dst, data, bytes)) {
            tb_tlog_tensor(dev->log[i], &entry, data);
        }
    }
    free(data);
}

int copy_device_dump_end(copy_device *dev, char *err, size_t err_size) {
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        rc = dev->log[i] != NULL && tb_tlog_close(dev->log[i], err, err_size) != 0 ? -1 : rc;
        dev->log[i] = NULL;
    }
    return rc;
}

void copy_device_close(copy_device *dev) {
    tb_run_close(&dev->run);
    tb_buffers_free(&dev->live);
    tb_ddr_free(&dev->rtl_mem);
    tb_ddr_free(&dev->model_mem);
}

void copy_device_fill(copy_device *dev, uint32_t addr, const void *data, size_t bytes) {
    tb_ddr_write(&dev->rtl_mem, addr, data, bytes);
    tb_ddr_write(&dev->model_mem, addr, data, bytes);
}

void copy_device_begin(copy_device *dev, uint64_t number, uint32_t src, uint32_t dst, uint32_t bytes) {
    tb_buffers_clear(&dev->live);
    tb_buffers_begin(&dev->live, "axi_copy", number);
    tb_buffers_name(&dev->live, "source", TB_DDR_READ);
    tb_buffers_range(&dev->live, src, bytes);
    tb_buffers_name(&dev->live, "destination", TB_DDR_WRITE);
    tb_buffers_range(&dev->live, dst, bytes);
    tb_buffers_start(&dev->live);
}

void copy_device_end(copy_device *dev) {
    tb_buffers_end(&dev->live, 0);
}

void copy_device_take(copy_device *dev, uint32_t addr, uint32_t bytes) {
    uint32_t err = 0;
    tb_ddr_copy_range(&dev->model_mem, &dev->rtl_mem, addr, bytes);
    if (tb_run_read(&dev->run, COPY_PORT_REGS, AXI_COPY_REG_ERR, &err)) {
        dev->model.err = err;
    }
}

static bool compare_memory(copy_device *dev, uint32_t dst, uint32_t bytes) {
    tb_ddr_diff d;
    if (tb_ddr_compare_dirty(&dev->rtl_mem, &dev->model_mem, &d)) {
        return true;
    }
    const bool inside = d.addr >= dst && d.addr - dst < bytes;
    tb_run_fail(&dev->run, "mem:mismatch",
                "memory, address 0x%08" PRIx64 " (%s %" PRIu64 "): got %s0x%02x, expected %s0x%02x; %" PRIu64
                " bytes differ",
                d.addr, inside ? "destination, byte" : "no part of the copy, destination", inside ? d.addr - dst : dst,
                d.a_written ? "" : "nothing, ", d.a, d.b_written ? "" : "nothing, ", d.b, d.count);
    return false;
}

#define ROW(name, offset, ...) {#name, offset},

bool copy_device_compare(copy_device *dev, uint32_t dst, uint32_t bytes) {
    static const struct {
        const char *name;
        uint32_t reg;
    } regs[] = {AXI_COPY_REGS_TABLE(ROW)};
    bool ok = !tb_run_failed(&dev->run) && compare_memory(dev, dst, bytes);
    for (size_t i = 0; ok && i < sizeof regs / sizeof *regs; i++) {
        uint32_t got = 0;
        if (regs[i].reg == AXI_COPY_REG_CONFIG) { /* the model has no bus width */
            continue;
        }
        const uint32_t expected = copy_model_read(&dev->model, regs[i].reg);
        ok = tb_run_read(&dev->run, COPY_PORT_REGS, regs[i].reg, &got);
        if (ok && got != expected) {
            char signature[32];
            snprintf(signature, sizeof signature, "reg:%s", regs[i].name);
            tb_run_fail(&dev->run, signature, "register %s: got 0x%x, expected 0x%x", regs[i].name, got, expected);
            ok = false;
        }
    }
    return ok;
}
