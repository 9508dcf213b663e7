/* tb_run on its own, around the stand-in design: watchdogs and their hooks, failures that do not stop a run, reset,
 * register accesses. */
#include "stand_in.h"

#define LIMIT 2000u
#define AXIL 0u

typedef struct bench {
    tb_run run;
    tb_ddr mem;
    bool works, computes, root;
    uint64_t polled; /* register whose writes are polling */
    unsigned samples, asked;
} bench;

static void sample(void *ctx) {
    ((bench *)ctx)->samples++;
}

static bool busy(void *ctx) {
    return ((bench *)ctx)->works;
}

static bool computes(void *ctx) {
    ((bench *)ctx)->asked++;
    return ((bench *)ctx)->computes;
}

static bool polls(void *ctx, uint64_t addr) {
    return addr == ((bench *)ctx)->polled;
}

static bool hang_root(void *ctx, tb_run_hang kind, char *name, size_t name_size, char *text, size_t size) {
    assert_int_equal(kind, TB_HANG_MEMORY);
    snprintf(name, name_size, "part");
    snprintf(text, size, "the part stands");
    return ((bench *)ctx)->root;
}

static void hang_lines(void *ctx, bool end, FILE *out) {
    (void)ctx;
    fputs(end ? "below\n" : "above\n", out);
}

static void start(bench *b, tb_run_cfg cfg, bool hooks) {
    static const char *const irq[3] = {"irq_alu_o", "irq_pool_o", "irq_gemm_o"};
    char err[256] = "";
    memset(b, 0, sizeof *b);
    b->polled = UINT64_MAX;
    assert_int_equal(tb_ddr_init(&b->mem, 0x10000000, 1u << 20, 1), 0);
    cfg.clk = "clk_i";
    cfg.rst_n = "rst_ni";
    cfg.seed = 7;
    cfg.profile = tb_axi_profile_find("typical");
    cfg.watchdog_cycles = LIMIT;
    if (hooks) {
        cfg.hooks = (tb_run_hooks){.ctx = b,
                                   .sample = sample,
                                   .polls = polls,
                                   .busy = busy,
                                   .computes = computes,
                                   .hang_root = hang_root,
                                   .hang_lines = hang_lines};
    }
    const tb_run_port_cfg port[3] = {{.name = "axil", .prefix = "s_axil_"},
                                     {.name = "m0", .prefix = "m0_axi_", .mem = &b->mem},
                                     {.name = "m1", .prefix = "m1_axi_", .mem = &b->mem, .agent = 1}};
    assert_int_equal(tb_run_open(&b->run, &cfg, err, sizeof err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tb_run_port_open(&b->run, &port[i], err, sizeof err), i);
        assert_int_equal(tb_run_pin(&b->run, irq[i], err, sizeof err), i);
    }
    assert_int_equal(tb_run_pin(&b->run, "irq_none_o", err, sizeof err), -1);
    assert_string_equal(err, "stand_in: there is no port irq_none_o");
    tb_run_reset(&b->run);
    tb_run_step(&b->run);
}

static void stop(bench *b) {
    tb_run_close(&b->run);
    tb_ddr_free(&b->mem);
}

/* Poll for three times the watchdog's limit. */
static bool poll(bench *b, bool write) {
    uint32_t value;
    const uint64_t end = b->run.sim.cycle + 3 * LIMIT;
    bool ok = true;
    while (ok && b->run.sim.cycle < end) {
        ok = tb_run_read(&b->run, AXIL, NPU_REG_ID, &value) &&
             (!write || tb_run_write(&b->run, AXIL, NPU_REG_IRQ_STATUS, 0));
    }
    return ok;
}

static void assert_failed(const bench *b, const char *signature, const char *message) {
    assert_string_equal(b->run.failure.signature, signature);
    if (strstr(b->run.failure.message, message) == NULL) {
        fail_msg("expected '%s' in '%s'", message, b->run.failure.message);
    }
}

static void accesses(void **state) {
    (void)state;
    uint64_t hash = 0;
    now = GOOD;
    for (int i = 0; i < 2; i++) {
        bench b;
        uint32_t value = 0, again = 0;
        start(&b, (tb_run_cfg){0}, true);
        assert_int_equal(b.run.sim.cycle, 6);
        assert_true(tb_run_read(&b.run, AXIL, NPU_REG_ID, &value));
        assert_int_equal(value, cm_device_read(((stand_in *)b.run.sim.dut)->model, NPU_REG_ID));
        const unsigned samples = b.samples;
        tb_run_reset(&b.run);
        tb_run_step(&b.run);
        assert_true(!tb_run_failed(&b.run) && b.samples == samples + 1); /* none of the cycles in reset */
        assert_true(tb_run_peek(&b.run, AXIL, NPU_REG_ID, &again) && again == value);
        assert_int_equal(b.run.irq, 0);
        assert_true(tb_run_finish(&b.run));
        assert_true(i == 0 || tb_run_hash(&b.run) == hash);
        hash = tb_run_hash(&b.run);
        stop(&b);
    }
}

static void hangs(void **state) {
    (void)state;
    bench b;
    now = GOOD;
    start(&b, (tb_run_cfg){0}, false); /* no handshake at all */
    while (tb_run_step(&b.run)) {
        assert_true(b.run.sim.cycle < 2 * LIMIT);
    }
    assert_failed(&b, "watchdog:hang", "no handshake on any port for 2000 cycles, since cycle ");
    assert_non_null(strstr(
        b.run.hang_text,
        "root: the memory owes nothing: the design has stopped\nin flight on the bus (oldest first):\n  m0 nothing\n"));
    stop(&b);
    start(&b, (tb_run_cfg){0}, false); /* reads of registers are no progress */
    assert_false(poll(&b, false));
    assert_failed(&b, "watchdog:hang", "no handshake with memory for 2000 cycles");
    stop(&b);
    start(&b, (tb_run_cfg){0}, false); /* writes are: the design gets something to do */
    assert_true(poll(&b, true));
    stop(&b);
}

static void hooks_of_a_hang(void **state) {
    (void)state;
    bench b;
    now = GOOD;
    start(&b, (tb_run_cfg){0}, true); /* without work nothing has to move */
    assert_false(tb_run_check_hang(&b.run));
    assert_true(poll(&b, false) && b.asked == 0);
    b.works = b.computes = true; /* it computes: the watchdog asks again and again */
    assert_true(poll(&b, false) && b.asked > 1);
    b.computes = false;
    b.root = true;
    b.polled = NPU_REG_IRQ_STATUS; /* these writes are polling */
    assert_false(poll(&b, true));
    assert_failed(&b, "watchdog:hang:part", "; the part stands");
    assert_non_null(strstr(b.run.hang_text, "root: the part stands\nabove\nin flight on the bus"));
    assert_non_null(strstr(b.run.hang_text, "  m1 nothing\nbelow\n"));
    stop(&b);
    start(&b, (tb_run_cfg){0}, true);
    b.works = b.root = true; /* the bench waits for it in vain */
    assert_true(tb_run_check_hang(&b.run));
    assert_failed(&b, "watchdog:hang:part", "no handshake with memory");
    stop(&b);
}

static void register_without_answer(void **state) {
    (void)state;
    bench b;
    uint32_t value;
    now = GOOD;
    start(&b, (tb_run_cfg){.access_cycles = 100}, false);
    now = SILENCE;
    assert_true(tb_run_step(&b.run));
    assert_false(tb_run_read(&b.run, AXIL, NPU_REG_ID, &value));
    assert_failed(&b, "reg:timeout", "read of register 0x000 got no response within 100 cycles");
    assert_int_equal(b.run.failure.cycle, b.run.sim.cycle - 100);
    assert_false(tb_run_step(&b.run));
    assert_false(tb_run_peek(&b.run, AXIL, NPU_REG_ID, &value));
    stop(&b);
}

static void goes_on(void **state) {
    (void)state;
    bench b;
    now = GOOD;
    start(&b, (tb_run_cfg){.go_on = 50}, false);
    tb_run_wrong(&b.run, "unit:part:data", "%s", "first");
    tb_run_wrong(&b.run, "unit:other:data", "%s", "second");
    const uint64_t at = b.run.sim.cycle;
    assert_false(tb_run_failed(&b.run));
    while (tb_run_step(&b.run)) {
    }
    assert_int_equal(b.run.sim.cycle, at + 51);
    assert_string_equal(b.run.first.signature, "unit:part:data");
    assert_failed(&b, "explain:limit", "stopped 50 cycles after the first failure");
    stop(&b);
    start(&b, (tb_run_cfg){.max_cycles = 20}, false);
    while (tb_run_step(&b.run)) {
    }
    assert_failed(&b, "host:cycles", "stopped after the 20 cycles that it may take");
    stop(&b);
}

static void fails_in_reset(void **state) {
    (void)state;
    bench b;
    now = IN_RESET;
    start(&b, (tb_run_cfg){0}, true);
    assert_failed(&b, "assert:unit.sv:12", "stand_in.u_part: ");
    assert_int_equal(b.run.failure.cycle, 2);
    assert_int_equal(b.samples, 0);
    assert_false(tb_run_step(&b.run));
    assert_false(tb_run_cycle(&b.run));
    assert_false(tb_run_finish(&b.run));
    stop(&b);
}

/* A run without ports has no watchdog: its bench drives the design. */
static void without_ports(void **state) {
    (void)state;
    tb_run run;
    char err[256];
    now = GOOD;
    const tb_run_cfg cfg = {.clk = "clk_i", .rst_n = "rst_ni", .reset_cycles = 3, .watchdog_cycles = LIMIT};
    assert_int_equal(tb_run_open(&run, &cfg, err, sizeof err), 0);
    tb_run_reset(&run);
    assert_int_equal(run.sim.cycle, 3);
    for (unsigned i = 0; i < 2 * LIMIT; i++) {
        assert_true(tb_run_step(&run));
    }
    tb_run_close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accesses),        cmocka_unit_test(hangs),
                                       cmocka_unit_test(hooks_of_a_hang), cmocka_unit_test(register_without_answer),
                                       cmocka_unit_test(goes_on),         cmocka_unit_test(fails_in_reset),
                                       cmocka_unit_test(without_ports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
