/* APB: the bench's requester against a completer written in C, its completer against a requester, and both against each
 * other's mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

#define WORDS 64u

typedef enum fault {
    GOOD,
    LOSES_STROBE, /* the completer writes a byte whose PSTRB is 0 */
    WRONG_WORD,   /* reads another word now and then */
    REFUSES,      /* PSLVERR */
    NO_SETUP,     /* the requester raises PENABLE with PSEL */
    FALLS,        /* PSEL falls in a wait state */
    CHANGES,      /* PADDR changes in a wait state */
    NO_ENABLE,    /* PENABLE never rises */
    STROBED_READ, /* PSTRB in a read */
    TWO           /* two of its selects at once */
} fault;

static struct {
    uint8_t sel, enable, write, strb, prot, ready, slverr;
    uint16_t addr;
    uint32_t wdata, rdata, mem[WORDS];
    fault fault;
    unsigned waits, step, transfers;
    uint64_t cycle, hash;
    tb_rng rng;
    tb_shadow shadow;
    tb_ddr ddr;
    tb_apb p;
} r;

static tb_shim_port completer[] = {
    {"apb_psel_i", 1, true, &r.sel},      {"apb_penable_i", 1, true, &r.enable},
    {"apb_paddr_i", 8, true, &r.addr},    {"apb_pwrite_i", 1, true, &r.write},
    {"apb_pwdata_i", 32, true, &r.wdata}, {"apb_prdata_o", 32, false, &r.rdata},
    {"apb_pstrb_i", 4, true, &r.strb},    {"apb_pprot_i", 3, true, &r.prot},
    {"apb_pready_o", 1, false, &r.ready}, {"apb_pslverr_o", 1, false, &r.slverr},
};
static tb_shim shim = {.top = "toy", .nports = sizeof completer / sizeof *completer};

static void start(fault what, bool requester, unsigned stall) {
    char err[200] = "";
    const tb_sim sim = {.cfg = {.shim = &shim}, .ports = completer};
    memset(&r, 0, sizeof r);
    assert_int_equal(tb_shadow_init(&r.shadow, 0, 1u << 16), 0);
    assert_int_equal(tb_ddr_init(&r.ddr, 0, 1u << 16, 1), 0);
    const tb_apb_cfg cfg = {
        .name = "apb", .prefix = "apb_", .requester = requester, .shadow = &r.shadow, .mem = &r.ddr};
    completer[0].width = what == TWO ? 2 : 1;
    r.fault = what;
    r.hash = TB_HASH_INIT;
    r.rng = tb_rng_stream(9, "toy");
    assert_int_equal(tb_apb_open(&r.p, &sim, &cfg, tb_rng_stream(3, "apb"), err, sizeof err), 0);
    tb_apb_reset(&r.p);
    r.p.stall = stall;
}

static void stop(void) {
    tb_shadow_free(&r.shadow);
    tb_ddr_free(&r.ddr);
}

/* ---- a completer ---- */

static void completer_settle(void) {
    const unsigned word = r.addr / 4 % WORDS;
    r.ready = r.sel == 0 || r.enable == 0 || r.waits == 0;
    r.rdata = r.mem[r.fault == WRONG_WORD && r.transfers > 40 ? word ^ 1u : word];
    r.slverr = r.fault == REFUSES && r.transfers == 20;
}

static void completer_edge(void) {
    if (r.sel != 0 && r.enable == 0) {
        r.waits = (unsigned)tb_rng_range(&r.rng, 0, 3);
    } else if (r.sel != 0 && r.ready == 0) {
        r.waits--;
    } else if (r.sel != 0) {
        r.transfers++;
        for (unsigned i = 0; i < 4 && r.write != 0; i++) {
            if ((r.strb >> i & 1u) != 0 || (r.fault == LOSES_STROBE && i == 2)) {
                ((uint8_t *)&r.mem[r.addr / 4 % WORDS])[i] = (uint8_t)(r.wdata >> 8 * i);
            }
        }
    }
}

static void run_completer(uint64_t count) {
    const tb_apb_traffic t = {.count = count, .bytes = 4 * WORDS, .writes = 50};
    tb_apb_send(&r.p, &t);
    while (tb_apb_busy(&r.p) && r.p.wrong[0] == '\0' && r.cycle < 20000) {
        tb_apb_drive(&r.p, r.cycle);
        completer_settle();
        tb_apb_sample(&r.p, r.cycle, &r.hash);
        completer_edge();
        r.p.driven = false;
        r.cycle++;
    }
}

static void completers(void **state) {
    (void)state;
    static const struct {
        fault fault;
        const char *wrong, *text;
    } row[] = {{LOSES_STROBE, "shadow:data", "byte 2: got 0x"},
               {WRONG_WORD, "shadow:data", "apb: read of 0x"},
               {REFUSES, "shadow:response", "answered with PSLVERR"}};
    for (unsigned stall = 0; stall < 60; stall += 30) {
        start(GOOD, false, stall);
        run_completer(500);
        assert_string_equal(r.p.wrong, "");
        assert_true(r.p.transfers == 500 && r.transfers == 500 && r.p.waits > 300 && r.shadow.checked > 300);
        stop();
    }
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        start(row[i].fault, false, 0);
        run_completer(500);
        assert_string_equal(r.p.wrong, row[i].wrong);
        assert_non_null(strstr(r.p.text, row[i].text));
        stop();
    }
}

static void one_access(void **state) {
    char text[200];
    (void)state;
    start(REFUSES, false, 0);
    r.transfers = 19;
    tb_apb_start(&r.p, true, 8, 0x12345678, 0xf);
    run_completer(0);
    assert_true(!r.p.failed && r.mem[2] == 0x12345678);
    tb_apb_start(&r.p, false, 8, 0, 0);
    run_completer(0);
    assert_true(r.p.failed && r.p.wrong[0] == '\0'); /* of the bench: it decides what an error means */
    tb_apb_start(&r.p, false, 8, 0, 0);
    tb_apb_drive(&r.p, 7);
    tb_apb_sample(&r.p, 7, &r.hash);
    assert_true(tb_apb_owes(&r.p, text, sizeof text));
    assert_string_equal(text, "the design has not answered the read of 0x8 on apb since cycle 7");
    stop();
    completer[0].width = 2; /* two selects: bit 1 selects from the size of the address space on */
    const tb_sim sim = {.cfg = {.shim = &shim}, .ports = completer};
    assert_int_equal(tb_apb_open(&r.p, &sim, &(tb_apb_cfg){.name = "apb", .prefix = "apb_"}, tb_rng_stream(3, "apb"),
                                 text, sizeof text),
                     0);
    for (uint64_t addr = 4; addr < 512; addr += 256) {
        tb_apb_start(&r.p, false, addr, 0, 0);
        tb_apb_drive(&r.p, 0);
        assert_true(r.sel == 1u << addr / 256 && r.addr == 4);
        r.p.driven = false;
    }
}

/* ---- a requester: writes a word, reads it back, compares ---- */

static void requester_edge(void) {
    const bool done = r.sel != 0 && r.enable != 0 && r.ready != 0;
    if (done) {
        r.transfers++;
        if (r.write == 0) {
            assert_int_equal(r.rdata, r.transfers / 2 * 77u);
        }
    }
    if (r.sel == 0 || done) { /* a new transfer */
        r.sel = r.fault != TWO ? 1 : r.transfers > 20 ? 3 : 2;
        r.enable = r.fault == NO_SETUP && r.transfers == 10;
        r.write = r.transfers % 2 == 0;
        r.addr = (uint16_t)(r.transfers / 2 % WORDS * 4);
        r.wdata = (r.transfers / 2 + 1) * 77u;
        r.strb = r.write != 0 ? 0xf : r.fault == STROBED_READ && r.transfers > 20 ? 1 : 0;
    } else if (r.enable == 0) {
        r.enable = !(r.fault == NO_ENABLE && r.transfers == 12);
    } else if (r.transfers > 14) { /* a wait state */
        r.sel = r.fault != FALLS;
        r.addr = (uint16_t)(r.addr ^ (r.fault == CHANGES ? 4u : 0u));
    }
}

static void requesters(void **state) {
    (void)state;
    static const struct {
        fault fault;
        const char *wrong;
    } row[] = {{GOOD, ""},
               {NO_SETUP, "apb:APB_ERRM_PENABLE_SETUP"},
               {FALLS, "apb:APB_ERRM_PSEL_STABLE"},
               {CHANGES, "apb:APB_ERRM_PADDR_STABLE"},
               {NO_ENABLE, "apb:APB_ERRM_PENABLE_ACCESS"},
               {STROBED_READ, "apb:APB_ERRM_PSTRB_READ"},
               {TWO, "apb:APB_ERRM_PSEL_ONEHOT"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        start(row[i].fault, true, 40);
        while (r.transfers < 200 && r.p.wrong[0] == '\0' && r.cycle < 5000) {
            tb_apb_drive(&r.p, r.cycle);
            tb_apb_sample(&r.p, r.cycle, &r.hash);
            requester_edge();
            r.p.driven = false;
            r.cycle++;
        }
        assert_string_equal(r.p.wrong, row[i].wrong);
        assert_true(row[i].fault != GOOD || (r.p.transfers == 200 && r.p.waits > 50));
        stop();
    }
}

static void refusals(void **state) {
    (void)state;
    char err[200] = "";
    const tb_sim sim = {.cfg = {.shim = &shim}, .ports = completer};
    const tb_apb_cfg none = {.name = "x", .prefix = "no_"}, lonely = {.name = "x", .prefix = "apb_", .requester = true};
    tb_apb p;
    assert_int_equal(tb_apb_open(&p, &sim, &none, tb_rng_stream(3, "s"), err, sizeof err), -1);
    assert_string_equal(err, "APB port x: there is no no_psel");
    assert_int_equal(tb_apb_open(&p, &sim, &lonely, tb_rng_stream(3, "s"), err, sizeof err), -1);
    assert_string_equal(err, "APB port x: a requester needs memory");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(completers), cmocka_unit_test(one_access),
                                       cmocka_unit_test(requesters), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
