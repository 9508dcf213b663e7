#include "copy_device.h"

#include "axi_copy_regs.h"
#include "copy_check.h"

#define POLL_CYCLES 20

static bool hal_read(void *ctx, uint32_t reg, uint32_t *value) {
    copy_device *dev = (copy_device *)ctx;
    const bool ok = tb_run_read(&dev->run, COPY_PORT_REGS, reg, value);
    if (ok && reg == AXI_COPY_REG_STATUS && (*value & AXI_COPY_STATUS_DONE_MASK) != 0 &&
        ((dev->run.irq & 1u) != 0) != dev->model.irq_en) {
        tb_run_fail(&dev->run, "reg:irq", "the copy is done, the interrupt is %s and the interrupt output is %u",
                    dev->model.irq_en ? "enabled" : "not enabled", dev->run.irq & 1u);
    }
    return ok;
}

static bool hal_write(void *ctx, uint32_t reg, uint32_t value) {
    copy_device *dev = (copy_device *)ctx;
    copy_model_write(&dev->model, reg, value);
    return tb_run_write(&dev->run, COPY_PORT_REGS, reg, value);
}

static bool hal_wait(void *ctx, bool irq) {
    copy_device *dev = (copy_device *)ctx;
    return tb_wait_irq(&dev->run, irq, POLL_CYCLES, "the interrupt says that the copy is done");
}

static int open_model(void *bench, const tb_prog_run *run, char *err, size_t err_size) {
    copy_device *dev = (copy_device *)bench;
    (void)run, (void)err, (void)err_size;
    dev->model.mem = (copy_mem){.ctx = &dev->pair.model, .read = tb_mem_read, .write = tb_mem_write};
    dev->hal = (copy_hal){.ctx = dev, .read = hal_read, .write = hal_write, .wait = hal_wait};
    return 0;
}

static const tb_tandem_port ports[] = {
    [COPY_PORT_REGS] = {.name = "regs", .prefix = "s_axil_"},
    [COPY_PORT_MEM] = {.name = "mem", .prefix = "m_axi_", .memory = true},
};
static const char *const pins[] = {"irq_o"};

const tb_tandem copy_bench = {.bytes = sizeof(copy_device),
                              .run_at = offsetof(copy_device, run),
                              .pair_at = offsetof(copy_device, pair),
                              .cfg = {.clk = "clk_i", .rst_n = "rst_ni", .watchdog_cycles = 10000},
                              .mem_base = COPY_MEM_BASE,
                              .mem_size = COPY_MEM_SIZE,
                              .work = "copy",
                              TB_TANDEM_PORTS(ports),
                              TB_TANDEM_PINS(pins),
                              .checks = copy_checks,
                              .check_count = &copy_check_count,
                              .open = open_model};

void copy_device_begin(copy_device *dev, uint64_t number, uint32_t src, uint32_t dst, uint32_t bytes) {
    tb_buffers *live = &dev->pair.live;
    tb_buffers_clear(live);
    tb_buffers_begin(live, "axi_copy", number);
    tb_buffers_name(live, "source", TB_DDR_READ);
    tb_buffers_range(live, src, bytes);
    tb_buffers_name(live, "destination", TB_DDR_WRITE);
    tb_buffers_range(live, dst, bytes);
    tb_buffers_start(live);
}

void copy_device_end(copy_device *dev) {
    tb_buffers_end(&dev->pair.live, 0);
}

void copy_device_take(copy_device *dev, uint32_t addr, uint32_t bytes) {
    uint32_t err = 0;
    tb_pair_take(&dev->pair, addr, bytes);
    if (tb_run_read(&dev->run, COPY_PORT_REGS, AXI_COPY_REG_ERR, &err)) {
        dev->model.err = err;
    }
}

void copy_device_log(copy_device *dev, uint64_t number, uint32_t dst, uint32_t bytes) {
    const tb_tlog_entry entry = {.stream = "destination",
                                 .task = number,
                                 .unit = "axi_copy",
                                 .type = TB_TLOG_U8,
                                 .axes = 1,
                                 .axis = {"byte"},
                                 .size = {bytes}};
    tb_pair_log(&dev->pair, &dev->run, &entry, dst, 0, 1, bytes);
}

static uint32_t expected(void *ctx, uint32_t reg, uint32_t got) {
    (void)got;
    return copy_model_read(&((copy_device *)ctx)->model, reg);
}

/* the model has no bus width */
#define ROW(name, offset, ...) {#name, (offset), UINT32_MAX, (offset) == AXI_COPY_REG_CONFIG},

bool copy_device_compare(copy_device *dev) {
    static const tb_reg_row rows[] = {AXI_COPY_REGS_TABLE(ROW)};
    return !tb_run_failed(&dev->run) && tb_pair_compare(&dev->pair, &dev->run) &&
           tb_compare_registers(&dev->run, COPY_PORT_REGS, rows, sizeof rows / sizeof *rows, expected, dev);
}
