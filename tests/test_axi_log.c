/* The log of bursts on an AXI port: matching of addresses, data and responses, and what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tb.h"

typedef struct bus {
    tb_axi_log log;
    tb_axi_sample s;
    uint8_t wdata[16], rdata[16];
} bus;

static void fresh(bus *b, uint64_t cycle) {
    memset(&b->s, 0, sizeof b->s);
    b->s.cycle = cycle;
    b->s.w.data = b->wdata;
    b->s.r.data = b->rdata;
}

static void tick(bus *b) {
    tb_axi_log_step(&b->log, &b->s);
    fresh(b, b->s.cycle + 1);
}

static void start(bus *b, uint64_t cap) {
    memset(b, 0, sizeof *b);
    assert_int_equal(tb_axi_log_init(&b->log, "p", 16, cap), 0);
    fresh(b, 100);
}

static void put(tb_axi_ax *ax, uint64_t addr, unsigned beats, uint32_t id, bool ready) {
    *ax = (tb_axi_ax){.valid = true,
                      .ready = ready,
                      .addr = addr,
                      .len = (uint8_t)(beats - 1),
                      .size = 4,
                      .burst = TB_AXI_INCR,
                      .id = id};
}

static void w(bus *b, bool last) {
    b->s.w.valid = b->s.w.ready = true;
    b->s.w.last = last;
}

static void r(bus *b, uint32_t id, bool last, uint8_t resp) {
    b->s.r.valid = b->s.r.ready = true;
    b->s.r.last = last;
    b->s.r.id = id;
    b->s.r.resp = resp;
}

static void answer(bus *b, uint32_t id, uint8_t resp) {
    b->s.b.valid = b->s.b.ready = true;
    b->s.b.id = id;
    b->s.b.resp = resp;
}

static void test_write(void **state) {
    bus b;
    char text[256];
    (void)state;
    start(&b, 8);
    put(&b.s.aw, 0x1004, 2, 3, false);
    tick(&b); /* 100: asked */
    put(&b.s.aw, 0x1004, 2, 3, true);
    tick(&b); /* 101: accepted */
    memset(b.wdata, 0x11, sizeof b.wdata);
    w(&b, false);
    tick(&b); /* 102 */
    memset(b.wdata, 0x22, sizeof b.wdata);
    tick(&b); /* 103: nothing moves */
    w(&b, true);
    tick(&b); /* 104 */
    const tb_axi_burst *burst = tb_axi_log_get(&b.log, 0);
    tb_axi_burst_text(&b.log, burst, text, sizeof text);
    assert_string_equal(text, "write 0x00001004, 28 bytes in 2 beats, id 3: address 101, data 102..104, no response");
    assert_true(tb_axi_burst_during(burst, 5000, 5001));
    answer(&b, 3, TB_AXI_SLVERR);
    tick(&b); /* 105 */
    assert_int_equal(b.log.count, 1);
    assert_int_equal(burst->asked, 100);
    assert_int_equal(burst->end, 105);
    assert_int_equal(burst->data, 0x1111111111111111);
    tb_axi_burst_text(&b.log, burst, text, sizeof text);
    assert_string_equal(text, "write 0x00001004, 28 bytes in 2 beats, id 3: address 101, data 102..104, SLVERR at 105");
    assert_true(tb_axi_burst_during(burst, 0, 100));
    assert_false(tb_axi_burst_during(burst, 0, 99));
    assert_true(tb_axi_burst_during(burst, 105, 200));
    assert_false(tb_axi_burst_during(burst, 106, 200));
    tb_axi_log_free(&b.log);
}

static void test_data_before_address(void **state) {
    bus b;
    (void)state;
    start(&b, 8);
    w(&b, true);
    tick(&b);
    w(&b, false);
    tick(&b);
    assert_int_equal(b.log.count, 2);
    assert_false(tb_axi_log_get(&b.log, 0)->has_addr);
    answer(&b, 0, TB_AXI_OKAY); /* of no burst: neither has an address */
    tick(&b);
    assert_int_equal(b.log.strays, 1);
    put(&b.s.aw, 0x10, 1, 0, true);
    tick(&b);
    put(&b.s.aw, 0x20, 2, 0, true);
    w(&b, true);
    tick(&b);
    assert_int_equal(b.log.count, 2);
    assert_int_equal(tb_axi_log_get(&b.log, 0)->addr, 0x10);
    assert_int_equal(tb_axi_log_get(&b.log, 1)->addr, 0x20);
    assert_int_equal(tb_axi_log_get(&b.log, 1)->last, 104);
    answer(&b, 0, TB_AXI_OKAY);
    tick(&b);
    assert_int_equal(tb_axi_log_get(&b.log, 0)->end, 105);
    assert_int_equal(tb_axi_log_get(&b.log, 1)->end, TB_AXI_LOG_NEVER);
    tb_axi_log_free(&b.log);
}

static void test_reads_by_id(void **state) {
    bus b;
    char text[256];
    (void)state;
    start(&b, 8);
    put(&b.s.ar, 0x100, 2, 1, true);
    tick(&b);
    put(&b.s.ar, 0x200, 1, 2, true);
    tick(&b);
    put(&b.s.ar, 0x300, 1, 1, true);
    tick(&b);
    r(&b, 2, true, TB_AXI_OKAY);
    tick(&b);
    r(&b, 1, false, TB_AXI_DECERR);
    tick(&b);
    tb_axi_burst_text(&b.log, tb_axi_log_get(&b.log, 0), text, sizeof text);
    assert_string_equal(
        text, "read  0x00000100, 32 bytes in 2 beats, id 1: address 100, data from 104, 1 beats so far, DECERR so far");
    r(&b, 1, true, TB_AXI_OKAY);
    tick(&b);
    assert_int_equal(tb_axi_log_get(&b.log, 0)->resp, TB_AXI_DECERR); /* the worst one stays */
    assert_int_equal(tb_axi_log_get(&b.log, 0)->end, 105);
    assert_int_equal(tb_axi_log_get(&b.log, 1)->end, 103);
    assert_int_equal(tb_axi_log_get(&b.log, 2)->beats, 0);
    r(&b, 7, true, TB_AXI_OKAY);
    tick(&b);
    assert_int_equal(b.log.strays, 1);
    tb_axi_log_free(&b.log);
}

static void test_ring(void **state) {
    bus b;
    (void)state;
    start(&b, 4);
    for (unsigned i = 0; i < 100; i++) {
        put(&b.s.ar, 0x1000 * i, 1, 0, true);
        tick(&b);
        if (i >= 3) { /* three in flight */
            r(&b, 0, true, TB_AXI_OKAY);
            tick(&b);
        }
    }
    assert_int_equal(b.log.count, 100);
    assert_int_equal(tb_axi_log_first(&b.log), 96);
    assert_int_equal(tb_axi_log_get(&b.log, 96)->addr, 0x1000 * 96);
    assert_int_not_equal(tb_axi_log_get(&b.log, 96)->end, TB_AXI_LOG_NEVER);
    assert_int_equal(tb_axi_log_get(&b.log, 97)->end, TB_AXI_LOG_NEVER);
    assert_int_equal(b.log.strays, 0);
    tb_axi_log_free(&b.log);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_write), cmocka_unit_test(test_data_before_address),
                                       cmocka_unit_test(test_reads_by_id), cmocka_unit_test(test_ring)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
