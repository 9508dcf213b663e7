/*
 * The RTL side of the device: ports, pins and checks of its run, and the NPU's hooks of a cycle (tb/run/run.h).
 */
#include "dev_priv.h"

#include <stdio.h>

static void sample(void *ctx) {
    npu_dev *dev = (npu_dev *)ctx;
    if (dev->perf.on) {
        npu_perf_sample(dev);
    }
    if (dev->tlog != NULL) {
        npu_tlog_cycle(dev);
    }
}

static bool on_access(void *ctx, const tb_ddr_event *event) {
    npu_mem_wrong((npu_dev *)ctx, event, true);
    return true;
}

/* A polling driver clears event flags repeatedly. */
static bool polls(void *ctx, uint64_t addr) {
    (void)ctx;
    return npu_reg_events((uint32_t)addr) >= 0;
}

/* In the order of the numbers in the trace hash, and of the bits of IRQ_STATUS. */
static int bind_ports(npu_dev *dev, char *err, size_t err_size) {
    static const char *const irq[] = {"irq_alu_o", "irq_pool_o", "irq_gemm_o"};
    const tb_run_port_cfg port[PORTS] = {
        [PORT_AXIL] = {.name = "axil", .prefix = "s_axil_", .rules = npu_dev_axi_rules},
        [PORT_M0] = {.name = "m0",
                     .prefix = "m0_axi_",
                     .stream = "bus0",
                     .mem = &dev->ddr,
                     .agent = 0,
                     .rules = npu_dev_axi_rules},
        [PORT_M0 + 1] = {.name = "m1",
                         .prefix = "m1_axi_",
                         .stream = "bus1",
                         .mem = &dev->ddr,
                         .agent = 1,
                         .rules = npu_dev_axi_rules}};
    for (unsigned i = 0; i < PORTS; i++) {
        if (tb_run_port_open(&dev->run, &port[i], err, err_size) < 0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < sizeof irq / sizeof *irq; i++) {
        if (tb_run_pin(&dev->run, irq[i], err, err_size) < 0) {
            return -1;
        }
    }
    return 0;
}

/*
 * A build has one mesh size. A run that has already failed cannot read it: the device is open then, with that failure.
 */
static int check_size(npu_dev *dev, char *err, size_t err_size) {
    uint32_t config = 0;
    if (!tb_run_read(&dev->run, PORT_AXIL, NPU_REG_CONFIG, &config)) {
        return 0;
    }
    const uint32_t n = (config & NPU_CONFIG_MESH_N_MASK) >> NPU_CONFIG_MESH_N_LSB;
    if (n != dev->cfg.n) {
        return opt_fail(err, err_size, "this program simulates mesh size %u, expected %u", n, dev->cfg.n);
    }
    dev->program.absent |= (config & NPU_CONFIG_EN_ALU_MASK) == 0 ? 1u << UNIT_ALU : 0;
    dev->program.absent |= (config & NPU_CONFIG_EN_POOL_MASK) == 0 ? 1u << UNIT_POOL : 0;
    dev->program.int16 = (config & NPU_CONFIG_EN_INT16_MASK) != 0;
    if (dev->has_model) { /* the units of this build are a parameter of both sides */
        cm_device_set_units(dev->model, (config & NPU_CONFIG_EN_ALU_MASK) != 0,
                            (config & NPU_CONFIG_EN_POOL_MASK) != 0);
        cm_device_set_int16(dev->model, dev->program.int16);
    }
    return 0;
}

int npu_rtl_open(npu_dev *dev, char *err, size_t err_size) {
    const npu_dev_cfg *c = &dev->cfg;
    const char *name = c->bus_profile != NULL ? c->bus_profile : "ideal";
    const tb_run_cfg cfg = {
        .shim = c->shim,
        .clk = "clk_i",
        .rst_n = "rst_ni",
        .seed = c->seed,
        .init_seed = c->have_init_seed ? &c->init_seed : NULL,
        .plusargs = c->plusargs,
        .profile = tb_axi_profile_find(name),
        .no_checks = c->no_checks,
        .wave = c->wave,
        .fail_wave = c->fail_wave,
        .fail_wave_delay = c->fail_wave_delay,
        .wave_window = c->wave_window,
        .watchdog_cycles = c->watchdog_cycles,
        .max_cycles = c->max_cycles,
        .hooks = {.ctx = dev,
                  .sample = sample,
                  .on_access = on_access,
                  .polls = polls,
                  .busy = npu_hang_has_work,
                  .computes = npu_hang_computes,
                  .hang_root = npu_hang_root,
                  .hang_lines = npu_hang_lines,
                  .where = npu_hang_where},
    };
    if (cfg.profile == NULL) {
        char names[128];
        tb_axi_profile_names(names, sizeof names);
        return opt_fail(err, err_size, "unknown bus profile %.40s, expected one of %s", name, names);
    }
    if (tb_run_open(&dev->run, &cfg, err, err_size) != 0 || bind_ports(dev, err, err_size) != 0) {
        return -1;
    }
    npu_explain_begin(dev);
    dev->score = (npu_score_ctx){.n = c->n};
    static const char *const absent[] = {"fp_i64_to_f32", "fp_f32_to_i16", NULL}; /* without EnInt16 */
    if (tb_run_checks(&dev->run, npu_score_all, npu_score_count, absent, &dev->score, err, err_size) != 0) {
        return -1;
    }
    tb_run_reset(&dev->run);
    tb_run_step(&dev->run); /* nothing may be valid at the first edge after reset */
    return check_size(dev, err, err_size);
}
