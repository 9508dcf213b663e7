/* Ports in waveform files: names, ports, clock and reset, samples. The command that uses them: test_axi_check.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "axi/wave_name.h"
#include "tb.h"

static char path[64];

static tb_wave *open_text(const char *text) {
    char err[256] = "";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    tb_wave *w = tb_wave_open(path, err, sizeof err);
    if (w == NULL) {
        fail_msg("%s", err);
    }
    return w;
}

static void names_are_read(void **state) {
    static const struct {
        const char *name;
        tb_axi_signal signal;
        const char *stem;
        tb_axi_side side;
    } cases[] = {
        {"awvalid", TB_AXI_AWVALID, "", TB_AXI_SIDE_ANY},
        {"AWVALID", TB_AXI_AWVALID, "", TB_AXI_SIDE_ANY},
        {"M_AXI_RDATA", TB_AXI_RDATA, "M_AXI", TB_AXI_SIDE_ANY},
        {"m_axi_ar_valid", TB_AXI_ARVALID, "m_axi", TB_AXI_SIDE_ANY},
        {"r_valid", TB_AXI_RVALID, "", TB_AXI_SIDE_ANY},
        {"ar_valid", TB_AXI_ARVALID, "", TB_AXI_SIDE_ANY},
        {"arvalid", TB_AXI_ARVALID, "", TB_AXI_SIDE_ANY},
        {"m_awvalid_o", TB_AXI_AWVALID, "m", TB_AXI_SIDE_MASTER},
        {"m_awready_o", TB_AXI_AWREADY, "m", TB_AXI_SIDE_SLAVE},
        {"m_bready_out", TB_AXI_BREADY, "m", TB_AXI_SIDE_MASTER},
        {"m_rid_in", TB_AXI_RID, "m", TB_AXI_SIDE_MASTER},
        {"i_s_wstrb", TB_AXI_WSTRB, "s", TB_AXI_SIDE_SLAVE},
        {"io_mem_aw_bits_addr", TB_AXI_AWADDR, "io_mem", TB_AXI_SIDE_ANY},
        {"axi_w_payload_last", TB_AXI_WLAST, "axi", TB_AXI_SIDE_ANY},
        {"m_awid[3]", TB_AXI_AWID, "m[3]", TB_AXI_SIDE_ANY},
        {"slv_req_i.aw.burst", TB_AXI_AWBURST, "slv", TB_AXI_SIDE_SLAVE},
        {"slv_resp_o.b_valid", TB_AXI_BVALID, "slv", TB_AXI_SIDE_SLAVE},
        {"m0wuser", TB_AXI_WUSER, "m0", TB_AXI_SIDE_ANY},
        {"gear_valid", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"subid", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"awvalid_q", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"aresetn", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"wid", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"_", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
        {"[]", TB_AXI_SIGNALS, "", TB_AXI_SIDE_ANY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        axi_name n;
        axi_name_read(cases[i].name, &n);
        if (n.signal != cases[i].signal || strcmp(n.stem, cases[i].stem) != 0 || n.side != cases[i].side) {
            fail_msg("%s: signal %d, stem '%s', side %d", cases[i].name, (int)n.signal, n.stem, (int)n.side);
        }
    }
    char longest[2 * AXI_NAME_MAX];
    axi_name n;
    memset(longest, 'a', sizeof longest);
    snprintf(longest + sizeof longest - 9, 9, "_awvalid");
    axi_name_read(longest, &n);
    assert_int_equal(n.signal, TB_AXI_SIGNALS);
}

static void clocks_and_resets_are_ranked(void **state) {
    int level = -1;
    (void)state;
    assert_true(axi_name_clock("m_axi_aclk", "m_axi") < axi_name_clock("aclk", "m_axi"));
    assert_true(axi_name_clock("m_aclk", "m_axi") < axi_name_clock("aclk", "m_axi"));
    assert_true(axi_name_clock("ACLK", "m") < axi_name_clock("clk_i", "m"));
    assert_true(axi_name_clock("clk_i", "m") < axi_name_clock("core_clk", "m"));
    assert_int_equal(axi_name_clock("core_clk", "m"), AXI_NAME_VAGUE);
    assert_int_equal(axi_name_clock("clk_en", "m"), 0);
    assert_int_equal(axi_name_clock("awvalid", "m"), 0);
    assert_true(axi_name_reset("aresetn", "m", &level) < axi_name_reset("rst_ni", "m", &level));
    assert_int_equal(level, 0);
    assert_true(axi_name_reset("rst_i", "m", &level) < axi_name_reset("soft_reset", "m", &level));
    assert_int_equal(level, 1);
    assert_int_equal(axi_name_reset("first", "m", &level), 0);
    assert_int_equal(axi_name_reset("rd_burst", "m", &level), 0);
    assert_int_equal(axi_name_reset("sys_prst_n", "m", &level), AXI_NAME_VAGUE);
    assert_int_equal(axi_name_level("arst_no"), 0);
    assert_int_equal(axi_name_level("resetb"), 0);
    assert_int_equal(axi_name_level("nreset_i"), 0);
    assert_int_equal(axi_name_level("areset"), 1);
}

/* A bus of 1024 bits with IDs of 70, writes only; the clock rises at 5, 15 ... */
static const char wide[] =
    "$timescale 1ns $end\n$scope module t $end\n$var wire 1 c clk $end\n$var wire 1 n rst_n $end\n"
    "$var wire 1 a awvalid $end\n$var wire 1 b awready $end\n$var wire 40 d awaddr [39:0] $end\n$var wire 70 i awid "
    "[69:0] $end\n"
    "$var wire 1 e wvalid $end\n$var wire 1 f wready $end\n$var wire 1024 g wdata [1023:0] $end\n$var wire 128 s wstrb "
    "[127:0] $end\n"
    "$var wire 1 h bvalid $end\n$var wire 1 j bready $end\n$var wire 66 k bid [65:0] $end\n"
    "$upscope $end\n$enddefinitions $end\n";

typedef struct kept {
    tb_axi_sample s[8];
    uint8_t data[8][TB_AXI_MAX_BYTES];
    uint64_t time[8];
    size_t count, stop_at;
} kept;

static int keep(void *ctx, tb_axi_sample *s, uint64_t time) {
    kept *k = ctx;
    assert_true(k->count < 8);
    k->s[k->count] = *s;
    k->time[k->count] = time;
    memcpy(k->data[k->count], s->w.data, TB_AXI_MAX_BYTES);
    return ++k->count == k->stop_at ? 9 : 0;
}

static void bind_only(tb_wave *w, tb_axi_wave_ports *ports, tb_axi_wave_bus *bus) {
    char err[512] = "";
    assert_int_equal(tb_axi_wave_ports_find(w, ports), 0);
    const tb_axi_wave_port *p = tb_axi_wave_ports_get(ports, NULL, TB_AXI_SIDE_ANY, path, err, sizeof err);
    if (p == NULL || tb_axi_wave_bind(p, TB_AXI_WAVE_FIND, bus, err, sizeof err) != 0 ||
        tb_axi_wave_clock(w, p, NULL, bus, err, sizeof err) != 0 ||
        tb_axi_wave_reset(w, p, NULL, -1, bus, err, sizeof err) != 0) {
        fail_msg("%s", err);
    }
}

static void samples_are_what_was_just_before(void **state) {
    static char text[8192];
    char err[512] = "";
    tb_axi_wave_ports ports;
    tb_axi_wave_bus bus;
    tb_axi_wave_seen seen;
    kept k = {.count = 0};
    (void)state;
    int at = snprintf(text, sizeof text,
                      "%s#0\n0c\n0n\n0a\n1b\nb1 d\nb0 i\n0e\n0f\nb0 s\n0h\n0j\nb0 k\n#5\n1c\n#8\n1n\n#10\n0c\n", wide);
    /* in one moment with the clock, some before it in the text and some behind it: they count from the next edge on */
    at += snprintf(text + at, sizeof text - (size_t)at, "#15\n1a\nb1000 d\n1c\nb1%069d i\nb1%0127d s\nb1x%01022d g\n",
                   0, 0, 0);
    at += snprintf(text + at, sizeof text - (size_t)at, "#20\n0c\nb11 i\nb1%065d k\n1h\n#25\n1c\n", 0);
    at += snprintf(text + at, sizeof text - (size_t)at, "#30\n0c\nb1%069d i\nzb\n#35\n1c\n0a\n", 0);
    assert_true(at > 0 && (size_t)at < sizeof text);
    tb_wave *w = open_text(text);
    bind_only(w, &ports, &bus);
    assert_false(bus.lite);
    assert_true(bus.writes && !bus.reads);
    assert_int_equal(bus.bytes, 128);
    assert_int_equal(bus.widths.id, 70);
    assert_int_equal(tb_axi_wave_samples(w, &bus, keep, &k, &seen, err, sizeof err), 0);
    assert_int_equal(k.count, 4);
    assert_int_equal(seen.edges, 4);
    assert_true(seen.reset_before);
    assert_int_equal(k.time[3], 35);
    assert_int_equal(k.s[3].cycle, 3);
    assert_false(k.s[0].reset_n);
    assert_true(k.s[1].reset_n);
    assert_false(k.s[1].aw.valid); /* changes at 15 */
    assert_int_equal(k.s[1].aw.addr, 1);
    assert_true(k.s[1].x & TB_AXI_X(TB_AXI_WDATA)); /* never given so far */
    assert_true(k.s[2].aw.valid && k.s[2].aw.ready);
    assert_int_equal(k.s[2].aw.addr, 8);
    assert_int_equal(k.s[2].aw.size, 7); /* tied off: one full-width INCR beat, last */
    assert_int_equal(k.s[2].aw.burst, TB_AXI_INCR);
    assert_int_equal(k.s[2].aw.len, 0);
    assert_true(k.s[2].w.last);
    assert_int_equal(k.s[2].w.strb[0], 0);
    assert_true(k.s[2].w.strb[1] == UINT64_C(1) << 63);
    assert_int_equal(k.data[2][127], 0x80);
    assert_int_equal(k.data[2][0], 0);
    assert_true(k.s[2].x & TB_AXI_X(TB_AXI_WDATA));
    assert_true(k.s[2].w_x[1] == UINT64_C(1) << 63 && k.s[2].w_x[0] == 0);
    /* IDs: the same bits are the same number on both channels, whatever the width of the signal; 0 is 0 */
    assert_int_equal(k.s[1].aw.id, 0);
    assert_true(k.s[2].aw.id != 0 && k.s[3].aw.id != 0 && k.s[2].aw.id != k.s[3].aw.id);
    assert_true(k.s[2].b.id != 0 && k.s[2].b.id != k.s[2].aw.id && k.s[2].b.id != k.s[3].aw.id);
    assert_true(k.s[3].aw.valid && !k.s[3].aw.ready);
    assert_true(k.s[3].x & TB_AXI_X(TB_AXI_AWREADY));
    assert_false(k.s[2].x & TB_AXI_X(TB_AXI_AWREADY));
    k = (kept){.stop_at = 2};
    assert_int_equal(tb_axi_wave_samples(w, &bus, keep, &k, &seen, err, sizeof err), 9);
    assert_int_equal(k.count, 2);
    tb_axi_wave_ports_free(&ports);
    tb_wave_close(w);
}

enum { IDS = 3000 };

/* Edge c sees ID c, twice: it gets a number of its own, and the same one again. */
static int note_id(void *ctx, tb_axi_sample *s, uint64_t time) {
    uint64_t *number = ctx;
    (void)time;
    assert_true(s->cycle < 2 * IDS);
    number[s->cycle] = s->aw.id;
    return 0;
}

static int by_value(const void *x, const void *y) {
    const uint64_t a = *(const uint64_t *)x;
    const uint64_t b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static void wide_ids_are_kept_apart(void **state) {
    static char text[1u << 20];
    static uint64_t number[2 * IDS];
    char err[512] = "";
    tb_axi_wave_ports ports;
    tb_axi_wave_bus bus;
    tb_axi_wave_seen seen;
    (void)state;
    int at = snprintf(text, sizeof text, "%s#0\n0c\n1n\n", wide);
    for (int c = 0; c < 2 * IDS; c++) {
        char bits[13] = "";
        for (int b = 0; b < 12; b++) {
            bits[b] = (char)('0' + (c % IDS >> b & 1));
        }
        at += snprintf(text + at, sizeof text - (size_t)at, "#%d\n0c\nb%s%058d i\n#%d\n1c\n", 10 * c + 1, bits, 0,
                       10 * c + 5);
    }
    assert_true(at > 0 && (size_t)at < sizeof text);
    tb_wave *w = open_text(text);
    bind_only(w, &ports, &bus);
    assert_int_equal(tb_axi_wave_samples(w, &bus, note_id, number, &seen, err, sizeof err), 0);
    assert_int_equal(seen.edges, 2 * IDS);
    assert_int_equal(number[0], 0);
    assert_memory_equal(number, number + IDS, IDS * sizeof number[0]);
    qsort(number, IDS, sizeof number[0], by_value);
    for (size_t i = 1; i < IDS; i++) {
        assert_true(number[i] != number[i - 1]);
    }
    tb_axi_wave_ports_free(&ports);
    tb_wave_close(w);
}

static void what_is_impossible_is_one_line(void **state) {
    char err[512] = "";
    tb_axi_wave_ports ports;
    tb_axi_wave_bus bus;
    (void)state;
    tb_wave *w =
        open_text("$scope module t $end\n$var wire 1 a s_awvalid $end\n$var wire 1 b s_awready $end\n$upscope $end\n"
                  "$enddefinitions $end\n#0\n0a\n0b\n");
    assert_int_equal(tb_axi_wave_ports_find(w, &ports), 0);
    assert_int_equal(ports.count, 1);
    const tb_axi_wave_port *p = tb_axi_wave_ports_get(&ports, "S_", TB_AXI_SIDE_ANY, "f", err, sizeof err);
    assert_non_null(p);
    assert_string_equal(p->path, "t.s");
    assert_int_equal(tb_axi_wave_bind(p, TB_AXI_WAVE_FIND, &bus, err, sizeof err), -1);
    assert_string_equal(err, "port t.s: no signal AWADDR");
    assert_int_equal(tb_axi_wave_clock(w, p, NULL, &bus, err, sizeof err), -1);
    assert_int_equal(tb_axi_wave_reset(w, p, NULL, -1, &bus, err, sizeof err), 0);
    assert_null(bus.reset);
    assert_null(tb_axi_wave_ports_get(&ports, "t.m", TB_AXI_SIDE_ANY, "f", err, sizeof err));
    assert_string_equal(err, "f: no AXI port with prefix t.m, there are: t.s");
    tb_axi_wave_ports_free(&ports);
    tb_wave_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(clocks_and_resets_are_ranked),
        cmocka_unit_test(samples_are_what_was_just_before),
        cmocka_unit_test(wide_ids_are_kept_apart),
        cmocka_unit_test(what_is_impossible_is_one_line),
    };
    snprintf(path, sizeof path, "/tmp/test_axi_wave.%ld.vcd", (long)getpid());
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
