/* The RTL behind the device: one clock cycle with its buses, monitors and checks. */
#include "dev_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RESET_CYCLES 5u

static const char *const port_names[PORTS] = {"axil", "m0", "m1"};

/* Something is wrong: find out what and say so. Kept out of the cycle's hot path. */
static void note_trouble(npu_dev *dev) {
    char text[320];
    char signature[96];
    for (unsigned i = 0; i < PORTS; i++) {
        const tb_axi_monitor *mon = &dev->mon[i];
        if (mon->violations > 0) {
            tb_axi_violation_text(mon, &mon->first[0], text, sizeof text);
            snprintf(signature, sizeof signature, "axi:%s:%s", tb_axi_rule_name(mon->first[0].rule), port_names[i]);
            npu_dev_wrong(dev, signature, "%s", text);
        }
    }
    if (dev->ddr.events > 0) {
        npu_mem_wrong(dev, &dev->ddr.first, true);
    }
    if (dev->ddr.oom) {
        npu_dev_fail(dev, "host:memory", "out of memory for the simulated memory");
    }
}

/* A unit did what its golden function does not do. */
static void note_check(npu_dev *dev) {
    char text[480];
    char signature[96];
    const tb_check_failure *f = &dev->checks.failure[0];
    snprintf(signature, sizeof signature, "unit:%s:%s", f->check->ops->unit, f->stream);
    tb_check_text(f, text, sizeof text);
    npu_dev_wrong(dev, signature, "%s", text);
}

static void note_stop(npu_dev *dev) {
    char signature[96];
    dev->rtl_gone = true;
    if (dev->sim.interrupted) {
        npu_dev_fail(dev, "host:signal", "stopped by signal %d", tb_sim_signal());
        return;
    }
    const tb_sim *sim = &dev->sim;
    const bool first = !npu_dev_failed(dev);
    tb_sim_assert_signature(sim->failure, signature, sizeof signature);
    npu_dev_fail(dev, signature, "%s, cycle %" PRIu64, sim->failure, sim->failure_cycle);
    if (first) {
        dev->failure.cycle = sim->failure_cycle;
        snprintf(dev->failure.path, sizeof dev->failure.path, "%s", sim->failure_path);
    }
}

/* Two watchdogs: nothing moves on any port; nothing moves between a busy unit and memory, while the driver polls. */
static void watch(npu_dev *dev, uint64_t cycle) {
    const uint64_t memory = dev->mon[PORT_M0].progress + dev->mon[PORT_M0 + 1].progress;
    const bool all = tb_watchdog_step(&dev->wd, cycle, memory + dev->mon[PORT_AXIL].progress);
    const bool units = tb_watchdog_step(&dev->wd_memory, cycle, memory);
    if (all || units) {
        npu_hang_watchdog(dev, all);
    }
}

static bool step(void *ctx) {
    npu_dev *dev = (npu_dev *)ctx;
    tb_sim *sim = &dev->sim;
    const uint64_t cycle = sim->cycle;
    tb_axi_slave_drive(&dev->slave[0], cycle);
    tb_axi_slave_drive(&dev->slave[1], cycle);
    tb_lite_drive(&dev->lite);
    tb_sim_settle(sim);
    for (unsigned i = 0; i < PORTS; i++) {
        tb_axi_mon_port(&dev->mon[i], &dev->port[i], cycle);
    }
    tb_axi_slave_sample(&dev->slave[0]);
    tb_axi_slave_sample(&dev->slave[1]);
    tb_lite_sample(&dev->lite);
    if (dev->perf.on) {
        npu_perf_sample(dev);
    }
    if (dev->cfg.explain != NULL) {
        npu_explain_sample(dev);
    }
    if (dev->checks.count > 0 && !dev->cfg.no_checks && !tb_checks_cycle(&dev->checks)) {
        note_check(dev);
    }
    if (dev->tlog != NULL) {
        npu_tlog_cycle(dev);
    }
    if ((dev->mon[0].violations | dev->mon[1].violations | dev->mon[2].violations | dev->ddr.events) != 0 || dev->ddr.oom) {
        note_trouble(dev);
    }
    const bool go = tb_sim_edge(sim);
    const uint32_t irq = (uint32_t)*dev->irq_pin[0] | (uint32_t)*dev->irq_pin[1] << 1 | (uint32_t)*dev->irq_pin[2] << 2;
    dev->irq_seen |= irq & ~dev->irq_now;
    dev->irq_now = irq;
    if (!go) {
        note_stop(dev);
    } else if ((cycle & 63u) == 0 && !npu_dev_failed(dev)) {
        watch(dev, cycle);
        if (dev->cfg.max_cycles != 0 && cycle >= dev->cfg.max_cycles) {
            npu_dev_fail(dev, "host:cycles", "stopped after the %" PRIu64 " cycles that it may take", cycle);
        }
    }
    if (dev->cfg.explain != NULL && npu_explain_over(dev)) {
        npu_dev_fail(dev, "explain:limit", "stopped %" PRIu64 " cycles after the first failure", dev->cfg.explain->limit);
    }
    return !npu_dev_failed(dev);
}

bool npu_rtl_step(void *ctx) {
    npu_dev *dev = (npu_dev *)ctx;
    if (dev->rtl_gone && !dev->replay.on) {
        return false;
    }
    return tb_replay_poll(&dev->replay, &dev->sim) ? tb_replay_step(&dev->replay, &dev->sim, step, dev) : step(dev);
}

void npu_rtl_cycle(npu_dev *dev) {
    step(dev);
}

static bool access_ok(npu_dev *dev, tb_lite_status status, const char *what, uint32_t offset) {
    switch (status) {
    case TB_LITE_OK:
        return true;
    case TB_LITE_TIMEOUT:
        dev->rtl_gone = true;
        npu_hang_register(dev, what, offset);
        return false;
    case TB_LITE_ERROR:
        npu_dev_fail(dev, "reg:response", "%s of register 0x%03x answered with an error response", what, offset);
        return false;
    case TB_LITE_STOPPED:
        break;
    }
    return false;
}

bool npu_rtl_read(npu_dev *dev, uint32_t offset, uint32_t *value) {
    tb_watchdog_kick(&dev->wd, dev->sim.cycle);
    return access_ok(dev, tb_lite_read(&dev->lite, offset, value, npu_rtl_step, dev, NPU_DEV_REG_TIMEOUT), "read", offset);
}

bool npu_rtl_write(npu_dev *dev, uint32_t offset, uint32_t value) {
    if (npu_reg_events(offset) < 0) { /* a driver that polls clears events again and again */
        tb_watchdog_kick(&dev->wd_memory, dev->sim.cycle);
    }
    tb_watchdog_kick(&dev->wd, dev->sim.cycle);
    return access_ok(dev, tb_lite_write(&dev->lite, offset, value, 0xf, npu_rtl_step, dev, NPU_DEV_REG_TIMEOUT), "write", offset);
}

/* As tb_sim_reset(), with the checks of the units looking on; not at power-up, when registers without a reset edge hold anything. */
static void reset_cycles(npu_dev *dev) {
    const bool checks = dev->checks.count > 0 && !dev->cfg.no_checks && dev->sim.cycle > 0;
    *dev->sim.rst_n = 0;
    for (unsigned i = 0; i < RESET_CYCLES; i++) {
        tb_sim_settle(&dev->sim);
        if (checks) {
            tb_checks_cycle(&dev->checks);
        }
        tb_sim_edge(&dev->sim);
    }
    *dev->sim.rst_n = 1;
}

void npu_rtl_reset(npu_dev *dev) {
    tb_axi_slave_reset(&dev->slave[0]);
    tb_axi_slave_reset(&dev->slave[1]);
    tb_lite_reset(&dev->lite);
    /* its reset is asynchronous: every valid is low before the next edge, once the design runs */
    tb_sim_assert_reset(&dev->sim);
    for (unsigned i = 0; i < PORTS && !dev->sim.stopped && dev->sim.cycle > 0; i++) {
        tb_axi_sample s;
        tb_axi_sample_port(&dev->port[i], dev->sim.cycle, false, &s);
        tb_axi_mon_step(&dev->mon[i], &s);
    }
    reset_cycles(dev);
    for (unsigned i = 0; i < PORTS; i++) {
        tb_axi_mon_reset(&dev->mon[i]);
    }
    dev->irq_now = 0;
    tb_watchdog_kick(&dev->wd, dev->sim.cycle);
    if (dev->sim.stopped) {
        note_stop(dev);
    }
    npu_rtl_step(dev);
}

static int bind_ports(npu_dev *dev, char *err, size_t err_size) {
    static const char *const prefix[PORTS] = {"s_axil_", "m0_axi_", "m1_axi_"};
    static const char *const irq[3] = {"irq_alu_o", "irq_pool_o", "irq_gemm_o"};
    for (unsigned i = 0; i < PORTS; i++) {
        if (tb_axi_bind(&dev->port[i], &dev->sim, prefix[i], i == PORT_AXIL, err, err_size) != 0) {
            return -1;
        }
        tb_axi_mon_cfg cfg;
        tb_axi_mon_defaults(&cfg, port_names[i], &dev->port[i]);
        npu_dev_axi_rules(&cfg);
        cfg.port = i;
        cfg.hash = &dev->hash;
        if (tb_axi_mon_init(&dev->mon[i], &cfg) != 0) {
            snprintf(err, err_size, "out of memory");
            return -1;
        }
    }
    for (unsigned i = 0; i < 3; i++) {
        tb_sig sig;
        if (tb_sim_port(&dev->sim, irq[i], 1, false, &sig, err, err_size) != 0) {
            return -1;
        }
        dev->irq_pin[i] = (uint8_t *)sig.ptr;
    }
    return 0;
}

/* The build holds one mesh size. */
static int check_size(npu_dev *dev, char *err, size_t err_size) {
    uint32_t config = 0;
    if (!npu_rtl_read(dev, NPU_REG_CONFIG, &config)) {
        snprintf(err, err_size, "%s", dev->failure.message);
        return -1;
    }
    const uint32_t n = (config & NPU_CONFIG_MESH_N_MASK) >> NPU_CONFIG_MESH_N_LSB;
    if (n != dev->cfg.n) {
        snprintf(err, err_size, "this program simulates mesh size %u, expected %u", n, dev->cfg.n);
        return -1;
    }
    dev->program.absent |= (config & NPU_CONFIG_EN_ALU_MASK) == 0 ? 1u << UNIT_ALU : 0;
    dev->program.absent |= (config & NPU_CONFIG_EN_POOL_MASK) == 0 ? 1u << UNIT_POOL : 0;
    if (dev->has_model) { /* which units this build has is a parameter of both sides */
        cm_device_set_units(dev->model, (config & NPU_CONFIG_EN_ALU_MASK) != 0, (config & NPU_CONFIG_EN_POOL_MASK) != 0);
    }
    return 0;
}

int npu_rtl_open(npu_dev *dev, char *err, size_t err_size) {
    const char *name = dev->cfg.bus_profile != NULL ? dev->cfg.bus_profile : "ideal";
    const tb_axi_profile *profile = tb_axi_profile_find(name);
    if (profile == NULL) {
        char names[128];
        tb_axi_profile_names(names, sizeof names);
        snprintf(err, err_size, "unknown bus profile %.40s, expected one of %s", name, names);
        return -1;
    }
    const tb_shim *shim = dev->cfg.shim != NULL ? dev->cfg.shim : tb_shim_get();
    const tb_sim_cfg cfg = {.shim = shim,
                            .seed = dev->cfg.have_init_seed ? dev->cfg.init_seed : dev->cfg.seed,
                            .plusargs = dev->cfg.plusargs,
                            .clk = "clk_i",
                            .rst_n = "rst_ni",
                            .wave = dev->cfg.wave};
    if (dev->cfg.fail_wave != NULL && shim != NULL && shim->trace_open == NULL) {
        snprintf(err, err_size, "%s: waveforms need a build with tracing (KIND=tap or KIND=debug)", dev->cfg.fail_wave);
        return -1;
    }
    if (tb_sim_open(&dev->sim, &cfg, err, err_size) != 0) {
        return -1;
    }
    if (bind_ports(dev, err, err_size) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < NPU_DEV_CHANNELS; i++) {
        const tb_rng rng = tb_rng_stream(dev->cfg.seed, i == 0 ? "bus0" : "bus1");
        if (tb_axi_slave_init(&dev->slave[i], &dev->port[PORT_M0 + i], &dev->ddr, profile, rng) != 0) {
            snprintf(err, err_size, "out of memory");
            return -1;
        }
        dev->slave[i].agent = i;
    }
    tb_lite_init(&dev->lite, &dev->port[PORT_AXIL], profile->lite_gap_max, tb_rng_stream(dev->cfg.seed, "axil"));
    npu_explain_begin(dev);
    tb_watchdog_init(&dev->wd, dev->cfg.watchdog_cycles != 0 ? dev->cfg.watchdog_cycles : NPU_DEV_WATCHDOG);
    tb_watchdog_init(&dev->wd_memory, dev->wd.limit);
    dev->score = (npu_score_ctx){.n = dev->cfg.n};
    if (tb_checks_open(&dev->checks, &dev->sim, npu_score_all, npu_score_count, NULL, &dev->score, err, err_size) != 0) {
        return -1;
    }
    npu_rtl_reset(dev);
    if (dev->cfg.fail_wave != NULL) {
        tb_replay_start(&dev->replay, &dev->sim, dev->cfg.fail_wave_delay);
    }
    return check_size(dev, err, err_size);
}

/* A woken snapshot whose testcase ends early goes on by itself: the buses answer what is in flight, nothing new is started. */
void npu_rtl_replay_out(npu_dev *dev) {
    while (dev->replay.on) {
        npu_rtl_step(dev);
    }
}

int npu_rtl_fail_wave(npu_dev *dev, char *err, size_t err_size) {
    npu_rtl_replay_out(dev); /* a woken snapshot that failed at a compare point comes here as its parent did */
    const uint64_t at = npu_dev_failed(dev) ? dev->failure.cycle : dev->sim.cycle;
    return tb_replay_write(&dev->replay, dev->cfg.fail_wave, at, dev->cfg.wave_window, err, err_size);
}

void npu_rtl_close(npu_dev *dev) {
    npu_rtl_replay_out(dev);
    tb_replay_stop(&dev->replay);
    for (unsigned i = 0; i < PORTS; i++) {
        tb_axi_mon_free(&dev->mon[i]);
    }
    tb_axi_slave_free(&dev->slave[0]);
    tb_axi_slave_free(&dev->slave[1]);
    tb_checks_close(&dev->checks);
    tb_sim_close(&dev->sim);
}

void npu_rtl_check_idle(npu_dev *dev) {
    for (unsigned i = 0; i < 32 && npu_rtl_step(dev); i++) {
    }
    if (dev->checks.count > 0 && !dev->cfg.no_checks && !npu_dev_failed(dev) && !tb_checks_finish(&dev->checks)) {
        note_check(dev);
    }
    for (unsigned i = 0; i < PORTS && !npu_dev_failed(dev); i++) {
        tb_axi_mon_finish(&dev->mon[i], dev->sim.cycle);
    }
    if (!npu_dev_failed(dev)) {
        note_trouble(dev);
    }
}
