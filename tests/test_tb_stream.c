/* Streams of the bench around a FIFO written in C: packets, stalls, rules, and what each fault of it is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

#define DEPTH 8u
#define FIELDS 7u

typedef enum fault {
    GOOD,
    FLIP,       /* a bit of a byte */
    FORGET,     /* a beat is lost */
    TWICE,      /* a beat comes out twice */
    EARLY_LAST, /* TLAST on a beat that is not the last one */
    FALL,       /* TVALID falls before TREADY */
    CHANGE,     /* the payload changes before TREADY */
    WRONG_DEST, /* TDEST of another packet */
    WRONG_USER, /* TUSER */
    AT_RESET,   /* TVALID right after reset */
    STUCK       /* TREADY never rises again */
} fault;

typedef struct beat {
    uint32_t data;
    uint8_t f[FIELDS - 1]; /* keep, strb, last, id, dest, user */
} beat;

static struct {
    beat in, out, ring[DEPTH];
    uint8_t in_valid, in_ready, out_valid, out_ready;
    unsigned head, count, moved;
    fault fault;
    uint64_t cycle, hash;
    tb_stream s, m;
} r;

static tb_shim_port ports[] = {
    {"s_axis_tdata", 32, true, &r.in.data},   {"s_axis_tkeep", 4, true, &r.in.f[0]},
    {"s_axis_tstrb", 4, true, &r.in.f[1]},    {"s_axis_tlast", 1, true, &r.in.f[2]},
    {"s_axis_tid", 4, true, &r.in.f[3]},      {"s_axis_tdest", 3, true, &r.in.f[4]},
    {"s_axis_tuser", 2, true, &r.in.f[5]},    {"s_axis_tvalid", 1, true, &r.in_valid},
    {"s_axis_tready", 1, false, &r.in_ready}, {"TDATA_m", 32, false, &r.out.data},
    {"TKEEP_m", 4, false, &r.out.f[0]},       {"TSTRB_m", 4, false, &r.out.f[1]},
    {"TLAST_m", 1, false, &r.out.f[2]},       {"TID_m", 4, false, &r.out.f[3]},
    {"TDEST_m", 3, false, &r.out.f[4]},       {"TUSER_m", 2, false, &r.out.f[5]},
    {"TVALID_m", 1, false, &r.out_valid},     {"TREADY_m", 1, true, &r.out_ready},
};
static const tb_shim shim = {.top = "fifo", .nports = sizeof ports / sizeof *ports};

static void start(fault what, bool by_key, unsigned stall) {
    char err[200] = "";
    const tb_sim sim = {.cfg = {.shim = &shim}, .ports = ports};
    const tb_stream_cfg in = {.name = "s_axis", .prefix = "s_axis_"};
    const tb_stream_cfg out = {.name = "m_axis", .prefix = "*_m", .source = true, .from = "s_axis", .by_key = by_key};
    memset(&r, 0, sizeof r);
    r.fault = what;
    r.hash = TB_HASH_INIT;
    assert_int_equal(tb_stream_open(&r.s, &sim, &in, tb_rng_stream(3, "s"), err, sizeof err), 0);
    assert_int_equal(tb_stream_open(&r.m, &sim, &out, tb_rng_stream(3, "m"), err, sizeof err), 0);
    assert_int_equal(tb_stream_follow(&r.m, &r.s), 0);
    tb_stream_reset(&r.s);
    tb_stream_reset(&r.m);
    r.s.stall = r.m.stall = stall;
}

static void outputs(void) {
    r.in_ready = r.count < DEPTH && !(r.fault == STUCK && r.moved > 50);
    r.out_valid = r.count > 0 || (r.fault == AT_RESET && r.cycle == 0);
    r.out = r.ring[r.head];
    const bool now = r.moved == 30;
    r.out.data ^= r.fault == FLIP && now ? 0x100 : 0;
    r.out.f[2] |= r.fault == EARLY_LAST && now;
    r.out.f[4] ^= r.fault == WRONG_DEST && now;
    r.out.f[5] ^= r.fault == WRONG_USER && now;
    if (r.m.waits && r.moved > 30) {
        r.out_valid = r.fault == FALL ? 0 : r.out_valid;
        r.out.data ^= r.fault == CHANGE ? 0x01010101u : 0;
    }
}

static void edge(void) {
    if ((r.out_valid & r.out_ready) != 0 && r.count > 0) {
        r.moved++;
        if (!(r.fault == TWICE && r.moved == 30)) {
            r.head = (r.head + 1) % DEPTH;
            r.count--;
        }
    }
    if ((r.in_valid & r.in_ready) != 0) {
        if (!(r.fault == FORGET && r.moved > 30 && r.moved < 40)) {
            r.ring[(r.head + r.count++) % DEPTH] = r.in;
        }
    }
    r.s.driven = r.m.driven = false;
    r.cycle++;
}

static void run(uint64_t packets, bool sparse) {
    const tb_stream_traffic t = {.packets = packets, .max_beats = 12, .ids = 3, .dests = 4, .sparse = sparse};
    tb_stream_send(&r.s, &t);
    while ((tb_stream_busy(&r.s) || tb_stream_busy(&r.m)) && r.m.wrong[0] == '\0' && r.cycle < 20000) {
        tb_stream_drive(&r.s, r.cycle);
        tb_stream_drive(&r.m, r.cycle);
        outputs();
        tb_stream_sample(&r.s, r.cycle, &r.hash);
        tb_stream_sample(&r.m, r.cycle, &r.hash);
        edge();
    }
    tb_stream_finish(&r.m);
}

static void stop(void) {
    tb_stream_close(&r.s);
    tb_stream_close(&r.m);
}

static void packets(void **state) {
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        uint64_t hash = 0, cycles = 0;
        for (unsigned again = 0; again < 2; again++) {
            start(GOOD, i % 2 != 0, i / 2 * 30);
            run(200, i > 2);
            if (r.m.wrong[0] != '\0') {
                fail_msg("%s %s", r.m.wrong, r.m.text);
            }
            assert_int_equal(r.m.packets, 200);
            assert_true(r.m.transfers == r.s.transfers && r.m.transfers > 400 && r.m.board.out > 1200);
            assert_true(again == 0 || (hash == r.hash && cycles == r.cycle));
            assert_true(r.m.lengths[0] > 5 && r.m.lengths[2] > 5 && r.m.lengths[4] > 5 && r.m.lengths[5] == 0);
            assert_true(r.m.partial > 50 && r.m.partial < 200);
            assert_true((r.m.stalled > 100) == (i / 2 > 0));
            hash = r.hash, cycles = r.cycle;
            stop();
        }
    }
}

static void faults(void **state) {
    (void)state;
    static const struct {
        fault fault;
        const char *wrong, *text;
    } row[] = {{FLIP, "stream:data", "m_axis: packet "},
               {FORGET, "stream:", "m_axis: "},
               {TWICE, "stream:", "m_axis: "},
               {EARLY_LAST, "stream:last", "got the end of the packet, expected more bytes"},
               {FALL, "axi:AXI4STREAM_ERRM_TVALID_STABLE", "valid fell before ready"},
               {CHANGE, "axi:AXI4STREAM_ERRM_TDATA_STABLE", "the payload changed before ready: TDATA"},
               {WRONG_DEST, "stream:key", "(TDEST and TID)"},
               {WRONG_USER, "stream:user", "got user 0x"},
               {AT_RESET, "axi:AXI4STREAM_ERRM_TVALID_RESET", "first edge after reset"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        start(row[i].fault, false, 40);
        run(100, false);
        if (strncmp(r.m.wrong, row[i].wrong, strlen(row[i].wrong)) != 0 || strstr(r.m.text, row[i].text) == NULL) {
            fail_msg("fault %d: expected '%s' '%s', got '%s' '%s'", row[i].fault, row[i].wrong, row[i].text, r.m.wrong,
                     r.m.text);
        }
        stop();
    }
}

static void what_is_owed(void **state) {
    char text[200];
    (void)state;
    start(STUCK, false, 0);
    run(100, false);
    assert_int_equal(r.cycle, 20000);
    assert_true(tb_stream_owes(&r.s, text, sizeof text));
    assert_non_null(strstr(text, "the design has not taken s_axis since cycle "));
    assert_true(!tb_stream_owes(&r.m, text, sizeof text));
    stop();
    start(GOOD, false, 0);
    const tb_board_byte b = {.value = 1, .last = true};
    tb_board_push(&r.m.board, &b);
    assert_true(tb_stream_owes(&r.m, text, sizeof text));
    assert_string_equal(text, "1 bytes that were sent into s_axis have not come out of m_axis");
    tb_stream_finish(&r.m);
    assert_string_equal(r.m.wrong, "stream:lost");
    stop();
}

static void board(void **state) {
    (void)state;
    static tb_board b;
    char text[200];
    b = (tb_board){.by_key = true};
    for (uint32_t i = 0; i < 3000; i++) { /* three keys, one after the other; they come out the other way round */
        const tb_board_byte byte = {.value = (uint8_t)i, .last = i % 10 == 9, .key = i / 1000};
        tb_board_push(&b, &byte);
    }
    for (uint32_t k = 3; k-- > 0;) {
        for (uint32_t i = 0; i < 1000; i++) {
            const tb_board_byte byte = {.value = (uint8_t)(k * 1000 + i), .last = i % 10 == 9, .key = k};
            assert_null(tb_board_pop(&b, &byte, text, sizeof text));
        }
    }
    const tb_board_byte byte = {.value = 7, .key = 1};
    assert_int_equal(tb_board_waiting(&b), 0);
    assert_string_equal(tb_board_pop(&b, &byte, text, sizeof text), "extra");
    assert_string_equal(text, "byte 3001: got 0x07, which was not sent");
    tb_board_free(&b);
}

/* ---- an arbiter ---- */

static struct { uint8_t request, grant, accept; } arb;

static tb_shim_port arbiter[] = {
    {"req_i", 4, true, &arb.request}, {"gnt_o", 4, false, &arb.grant}, {"ack_i", 1, true, &arb.accept}};

/* kind: 0 round robin, 1 the lowest first, 2 two at a time, 3 one who does not ask */
static void arbitrate(unsigned kind, const char *accept, tb_fair *f) {
    static const tb_shim four = {.top = "arbiter", .nports = 3};
    const tb_sim sim = {.cfg = {.shim = &four}, .ports = arbiter};
    const tb_fair_cfg cfg = {.name = "arb", .request = "req_i", .grant = "gnt_o", .accept = accept};
    char err[200] = "";
    tb_rng rng = tb_rng_stream(7, "arb");
    unsigned last = 0;
    arb.request = 0;
    assert_int_equal(tb_fair_open(f, &sim, &cfg, err, sizeof err), 0);
    for (uint64_t cycle = 0; cycle < 2000 && f->wrong[0] == '\0'; cycle++) {
        arb.request |= (uint8_t)(tb_rng_u32(&rng) & tb_rng_u32(&rng) & 15u);
        arb.accept = accept == NULL || tb_rng_chance(&rng, 1, 2);
        arb.grant = 0;
        for (unsigned i = 1; i <= 4 && arb.grant == 0; i++) {
            const unsigned who = kind == 1 ? i - 1 : (last + i) % 4;
            arb.grant = (uint8_t)(arb.request & 1u << who);
            last = arb.grant != 0 && arb.accept != 0 ? who : last;
        }
        arb.grant = kind == 2 && cycle > 50 ? arb.request : kind == 3 && cycle > 50 ? 8 : arb.grant;
        tb_fair_sample(f, cycle);
        arb.request &= arb.accept != 0 ? (uint8_t)~arb.grant : 15;
        arb.request |= kind == 1 ? 1 : 0;
    }
}

static void arbiters(void **state) {
    (void)state;
    tb_fair f;
    arbitrate(0, NULL, &f);
    assert_string_equal(f.wrong, "");
    assert_true(f.grants > 1000 && f.worst == 3);
    arbitrate(0, "ack_i", &f);
    assert_string_equal(f.wrong, "");
    assert_true(f.grants > 400 && f.grants < 1200);
    arbitrate(1, NULL, &f);
    assert_string_equal(f.wrong, "fair:starved");
    assert_non_null(strstr(f.text, "arb: requester "));
    assert_non_null(strstr(f.text, "and others were granted 4 times, at last 0; at most 3"));
    arbitrate(2, NULL, &f);
    assert_string_equal(f.wrong, "fair:onehot");
    arbitrate(3, NULL, &f);
    assert_string_equal(f.wrong, "fair:grant");
}

static void refusals(void **state) {
    (void)state;
    char err[200] = "";
    const tb_sim sim = {.cfg = {.shim = &shim}, .ports = ports};
    const tb_stream_cfg none = {.name = "x", .prefix = "none_"},
                        turned = {.name = "x", .valid = "s_axis_tvalid", .source = true};
    tb_stream s;
    assert_int_equal(tb_stream_open(&s, &sim, &none, tb_rng_stream(3, "s"), err, sizeof err), -1);
    assert_string_equal(err, "stream x: there is no port none_tvalid");
    assert_int_equal(tb_stream_open(&s, &sim, &turned, tb_rng_stream(3, "s"), err, sizeof err), -1);
    assert_true(err[0] != '\0');
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(packets),      cmocka_unit_test(faults),
                                       cmocka_unit_test(what_is_owed), cmocka_unit_test(board),
                                       cmocka_unit_test(arbiters),     cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
