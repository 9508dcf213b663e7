/* The AXI checker as a program meets it: severities, what is kept and told, limits, statistics, samples of a port,
 * mistakes in text traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/axi_trace.h"
#include "tb.h"

typedef struct rig {
    tb_axi_monitor mon;
    tb_axi_sample s;
    uint8_t wdata[16], rdata[16];
    unsigned told;
    tb_axi_violation last;
} rig;

static void listen(void *ctx, const tb_axi_monitor *mon, const tb_axi_violation *v) {
    rig *r = (rig *)ctx;
    assert_ptr_equal(mon, &r->mon);
    r->told++;
    r->last = *v;
}

static void next(rig *r) {
    const uint64_t cycle = r->s.cycle + 1;
    memset(&r->s, 0, sizeof r->s);
    r->s.cycle = cycle;
    r->s.reset_n = true;
    r->s.w.data = r->wdata;
    r->s.r.data = r->rdata;
}

static void tick(rig *r) {
    tb_axi_mon_step(&r->mon, &r->s);
    next(r);
}

/* cfg's width and IDs are set here. */
static void begin(rig *r, tb_axi_mon_cfg cfg) {
    memset(r, 0, sizeof *r);
    cfg.name = "p";
    cfg.bytes = 16;
    cfg.widths.id = 8;
    cfg.report = listen;
    cfg.report_ctx = r;
    assert_int_equal(tb_axi_mon_init(&r->mon, &cfg), 0);
    next(r);
    tick(r);
}

static void ax(tb_axi_ax *a, uint64_t addr, unsigned beats, uint64_t id) {
    *a = (tb_axi_ax){.valid = true,
                     .ready = true,
                     .addr = addr,
                     .len = (uint8_t)(beats - 1),
                     .size = 4,
                     .burst = TB_AXI_INCR,
                     .id = id};
}

static void data(rig *r, bool last) {
    r->s.w.valid = r->s.w.ready = true;
    r->s.w.last = last;
    r->s.w.strb[0] = 0xffff;
}

static void answer(rig *r, uint64_t id) {
    r->s.b.valid = r->s.b.ready = true;
    r->s.b.id = id;
}

static void beat(rig *r, uint64_t id, bool last) {
    r->s.r.valid = r->s.r.ready = true;
    r->s.r.id = id;
    r->s.r.last = last;
}

/* ---- rules and severities ---- */

static void rules_by_name(void **state) {
    (void)state;
    unsigned lite = 0;
    for (unsigned i = 0; i < TB_AXI_RULES; i++) {
        const tb_axi_rule rule = (tb_axi_rule)i;
        assert_int_equal(tb_axi_rule_find(tb_axi_rule_name(rule)), rule);
        assert_true(tb_axi_rule_applies(rule, false) || tb_axi_rule_applies(rule, true));
        lite += tb_axi_rule_applies(rule, true) && tb_axi_rule_get(rule)->level < TB_AXI_LEVEL_PROJ_ERR;
    }
    assert_int_equal(lite, 51);
    assert_int_equal(tb_axi_rule_find("AXI4_ERRM_NONE"), TB_AXI_RULES);
    assert_null(tb_axi_rule_get(TB_AXI_RULES));
    assert_int_equal(tb_axi_severity_find("warning"), TB_AXI_SEV_WARNING);
    assert_int_equal(tb_axi_severity_find("loud"), TB_AXI_SEV_DEFAULT);
    /* the blocks of the two address channels have one order: addr.c counts on it */
    for (unsigned i = AXI4_ERRM_AWADDR_BOUNDARY; i <= AXI4_ERRM_AWID_TIEOFF; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", tb_axi_rule_name((tb_axi_rule)i));
        memcpy(strstr(name, "_AW"), "_AR", 3);
        assert_string_equal(tb_axi_rule_name((tb_axi_rule)(i + AXI4_ERRM_ARADDR_BOUNDARY - AXI4_ERRM_AWADDR_BOUNDARY)),
                            name);
    }
}

static void severities(void **state) {
    (void)state;
    const struct {
        tb_axi_severity severity;
        unsigned violations, notes, told;
    } all[] = {{TB_AXI_SEV_DEFAULT, 1, 0, 1},
               {TB_AXI_SEV_OFF, 0, 0, 0},
               {TB_AXI_SEV_NOTE, 0, 1, 1},
               {TB_AXI_SEV_WARNING, 0, 1, 1},
               {TB_AXI_SEV_ERROR, 1, 0, 1}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        rig r;
        tb_axi_mon_cfg cfg = {0};
        cfg.severity[AXI4_ERRS_RID] = (uint8_t)all[i].severity;
        begin(&r, cfg);
        beat(&r, 3, true);
        tick(&r);
        assert_int_equal(r.mon.violations, all[i].violations);
        assert_int_equal(r.mon.notes, all[i].notes);
        assert_int_equal(r.told, all[i].told);
        assert_int_equal(r.mon.per_rule[AXI4_ERRS_RID], all[i].told);
        tb_axi_mon_free(&r.mon);
    }
}

/* More violations than are kept: all are told. Notes have a list of their own. */
static void kept_and_told(void **state) {
    (void)state;
    rig r;
    begin(&r, (tb_axi_mon_cfg){.max_waits = 1});
    for (unsigned i = 0; i < 3 * TB_AXI_KEEP; i++) {
        beat(&r, i, true);
        tick(&r);
    }
    for (unsigned i = 0; i < 3; i++) {
        ax(&r.s.ar, 0x100, 1, 0);
        r.s.ar.ready = false;
        tick(&r);
    }
    assert_int_equal(r.mon.violations, 3 * TB_AXI_KEEP);
    assert_int_equal(r.mon.notes, 1);
    assert_int_equal(r.told, 3 * TB_AXI_KEEP + 1);
    assert_int_equal(r.mon.first[TB_AXI_KEEP - 1].cycle, r.mon.first[0].cycle + TB_AXI_KEEP - 1);
    assert_int_equal(r.mon.first_note[0].rule, AXI4_RECS_ARREADY_MAX_WAIT);
    assert_int_equal(r.last.severity, TB_AXI_SEV_NOTE);
    tb_axi_mon_free(&r.mon);
}

/* A violation says which burst it is, since when, which beat and where that lies. */
static void what_is_told(void **state) {
    (void)state;
    rig r;
    char text[320];
    begin(&r, (tb_axi_mon_cfg){0});
    ax(&r.s.aw, 0x1004, 3, 5);
    tick(&r);
    ax(&r.s.aw, 0x2000, 2, 6);
    tick(&r);
    for (unsigned i = 0; i < 3; i++) {
        data(&r, i == 2);
        r.s.w.strb[0] = i == 0 ? 0xfff0 : 0xffff;
        tick(&r);
    }
    r.s.cycle = 50;
    data(&r, true);
    tick(&r);
    assert_int_equal(r.told, 1);
    assert_int_equal(r.last.number, 2);
    assert_int_equal(r.last.id, 6);
    assert_int_equal(r.last.beat, 1);
    assert_int_equal(r.last.cycle, 50);
    tb_axi_violation_text(&r.mon, &r.last, text, sizeof text);
    assert_string_equal(text, "AXI4_ERRM_WDATA_NUM on p (W) at cycle 50, write 2 of ID 6 at 0x2000, INCR 2 x 16 bytes "
                              "since cycle 3, beat 1 at 0x2000: "
                              "WLAST is 1 on beat 1 of 2");
    tb_axi_violation_text(&r.mon, &r.last, text, 20);
    assert_string_equal(text, "AXI4_ERRM_WDATA_NUM");
    tb_axi_mon_free(&r.mon);
}

static void illegal_widths(void **state) {
    (void)state;
    static const struct {
        bool lite;
        uint32_t bytes;
    } bad[] = {{false, 0}, {false, 3}, {false, 12}, {false, 256}, {true, 16}, {true, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tb_axi_monitor mon;
        const tb_axi_mon_cfg cfg = {.lite = bad[i].lite, .bytes = bad[i].bytes};
        assert_int_equal(tb_axi_mon_init(&mon, &cfg), -1);
        assert_int_equal(mon.violations, 1);
        assert_int_equal(mon.first[0].rule, bad[i].lite ? AXI4LITE_AUXM_DATA_WIDTH : AXI4_AUXM_DATA_WIDTH);
        tb_axi_mon_free(&mon);
    }
}

/* The end is judged once, and not where nothing was ever seen. */
static void finish_once(void **state) {
    (void)state;
    rig r;
    begin(&r, (tb_axi_mon_cfg){0});
    ax(&r.s.ar, 0x100, 2, 0);
    tick(&r);
    tb_axi_mon_finish(&r.mon, r.s.cycle);
    tb_axi_mon_finish(&r.mon, r.s.cycle);
    assert_int_equal(r.told, 1);
    assert_int_equal(r.last.rule, AXI4_ERRS_RLAST_ALL_DONE_EOS);
    tb_axi_mon_free(&r.mon);
    tb_axi_monitor idle;
    const tb_axi_mon_cfg cfg = {.bytes = 4};
    assert_int_equal(tb_axi_mon_init(&idle, &cfg), 0);
    tb_axi_mon_finish(&idle, 100);
    assert_int_equal(idle.violations, 0);
    tb_axi_mon_free(&idle);
}

/* After too many bursts for a hard limit everything is followed again when none is in flight, data at the start of a
 * burst. */
static void blind_and_back(void **state) {
    (void)state;
    rig r;
    begin(&r, (tb_axi_mon_cfg){.max_depth = 2});
    for (unsigned i = 0; i < 4; i++) {
        ax(&r.s.aw, 0x1000, 2, i);
        tick(&r);
    }
    assert_int_equal(r.mon.per_rule[AXI4_AUXM_WCAM_OVERFLOW], 1);
    for (unsigned i = 0; i < 8; i++) {
        data(&r, i % 2 == 1);
        tick(&r);
    }
    for (unsigned i = 0; i < 4; i++) {
        answer(&r, 3 - i);
        tick(&r);
    }
    assert_int_equal(r.mon.per_rule[AXI4_AUXM_WCAM_UNDERFLOW], 1);
    assert_int_equal(r.mon.violations, 0);
    answer(&r, 0); /* nothing is open: this one is judged */
    tick(&r);
    assert_int_equal(r.mon.per_rule[AXI4_ERRS_BRESP_AW], 1);
    tb_axi_mon_free(&r.mon);
}

/* ---- statistics ---- */

static void latency_bins(void **state) {
    (void)state;
    for (uint32_t i = 0; i < TB_AXI_LATENCY_BINS; i++) {
        assert_true(tb_axi_latency_from(i) < tb_axi_latency_from(i + 1));
    }
    assert_int_equal(tb_axi_latency_from(15), 15);
    assert_int_equal(tb_axi_latency_from(16), 16);
    assert_int_equal(tb_axi_latency_from(20), 32);
    assert_int_equal(tb_axi_latency_from(21), 40);
}

/* Two reads of 4 beats, 10 and 20 cycles after another; a write whose data came first. */
static void run_bursts(rig *r) {
    begin(r, (tb_axi_mon_cfg){0});
    for (unsigned k = 0; k < 2; k++) {
        ax(&r->s.ar, 0x1000, 4, 0);
        tick(r);
        r->s.cycle += 4;
        for (unsigned i = 0; i < 4; i++) {
            beat(r, 0, i == 3);
            tick(r);
        }
        r->s.cycle += 10 + 10 * k;
    }
    data(r, true);
    tick(r);
    ax(&r->s.aw, 0x2008, 1, 1);
    tick(r);
    r->s.cycle += 29;
    answer(r, 1);
    tick(r);
}

static void histograms(void **state) {
    (void)state;
    rig r;
    run_bursts(&r);
    const tb_axi_dir_stats *d = r.mon.stats.dir;
    assert_int_equal(r.mon.violations, 1); /* strobes of lanes 0..7 */
    assert_int_equal(d[0].bursts[3], 2);
    assert_int_equal(d[0].complete, 2);
    assert_int_equal(d[0].first[5], 2);
    assert_int_equal(d[0].latency[8], 2);
    assert_int_equal(d[0].latency_sum, 16);
    assert_int_equal(d[0].depth[1], 16);
    assert_int_equal(d[1].bursts[0], 1);
    assert_int_equal(d[1].first[0], 1);
    assert_int_equal(d[1].latency_max, 30);
    assert_int_equal(d[1].latency[19], 1); /* 28 .. 31 */
    assert_int_equal(d[1].depth[1], 30);
    uint64_t cycles = 0;
    for (unsigned i = 0; i < TB_AXI_DEPTH_BINS; i++) {
        cycles += d[1].depth[i];
    }
    assert_int_equal(cycles, r.s.cycle - 1 - r.mon.begin);
    tb_axi_mon_free(&r.mon);
}

/* A burst by its place: where it starts, how far it ends from 4 KB; strobes by their place in the burst. */
static void places(void **state) {
    (void)state;
    static const uint64_t strobes[TB_AXI_STROBES_KINDS] = {0xffff, 0x00ff, 0xff00, 0x0ff0, 0xf00f, 0};
    rig r;
    begin(&r, (tb_axi_mon_cfg){0});
    const struct {
        uint64_t addr;
        uint8_t beats;
    } bursts[] = {{0x1000, 255}, {0x2004, 1}, {0x2ff0, 1}, {0x2fd8, 2}, {0x2e00, 16}, {0x3800, 128}};
    for (unsigned i = 0; i < sizeof bursts / sizeof bursts[0]; i++) {
        ax(&r.s.ar, bursts[i].addr, bursts[i].beats, 0);
        tick(&r);
    }
    ax(&r.s.aw, 0x1000, 6, 0);
    tick(&r);
    for (unsigned k = 0; k < TB_AXI_STROBES_KINDS; k++) {
        data(&r, k == TB_AXI_STROBES_KINDS - 1);
        r.s.w.strb[0] = strobes[k];
        tick(&r);
    }
    const tb_axi_dir_stats *d = &r.mon.stats.dir[0];
    assert_int_equal(d->start[8][12], 1); /* 255 beats from 4 KB on, */
    assert_int_equal(d->room[8][1], 1);   /* one short of the next */
    assert_int_equal(d->start[0][2], 1);  /* one beat, to 4 bytes */
    assert_int_equal(d->room[0][4], 1);
    assert_int_equal(d->start[0][4], 1);
    assert_int_equal(d->room[0][0], 1); /* up to 4 KB */
    assert_int_equal(d->start[1][3], 1);
    assert_int_equal(d->room[1][1], 1); /* its first beat is not whole */
    assert_int_equal(d->start[4][9], 1);
    assert_int_equal(d->room[4][4], 1);
    assert_int_equal(d->start[7][11], 1);
    assert_int_equal(d->room[7][0], 1);
    for (unsigned k = 0; k < TB_AXI_STROBES_KINDS; k++) {
        const tb_axi_beat_place place = k == 0                          ? TB_AXI_BEAT_FIRST
                                        : k == TB_AXI_STROBES_KINDS - 1 ? TB_AXI_BEAT_LAST
                                                                        : TB_AXI_BEAT_MIDDLE;
        assert_int_equal(r.mon.stats.strobes[place][k], 1);
    }
    tb_axi_mon_free(&r.mon);
}

static char *written(const rig *r, void (*write)(const tb_axi_monitor *mon, uint64_t cycle, FILE *out)) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    write(&r->mon, r->s.cycle, f);
    fclose(f);
    return text;
}

static void stats_as_text(void **state) {
    (void)state;
    rig r;
    run_bursts(&r);
    char *text = written(&r, tb_axi_stats_print);
    assert_non_null(strstr(text, "p reads: 2 bursts, 8 beats, 128 bytes, 100.0 % of the lanes of these beats\n"));
    assert_non_null(strstr(text, "bursts by beats        4: 2\n"));
    assert_non_null(strstr(text, "mean 8.0, median 8, 99 % 8, most 8\n"));
    assert_non_null(strstr(text, "data moved in          50.0 % of the cycles with a burst in flight"));
    assert_non_null(strstr(text, "AXI4_ERRM_WSTRB                  1\n"));
    free(text);
    text = written(&r, tb_axi_stats_json);
    assert_non_null(strstr(text, "\"reads\": {\"bursts\": 2, \"beats\": 8, \"bytes\": 128, \"errors\": 0, \"busy\": "
                                 "16, \"max_in_flight\": 1, "));
    assert_non_null(
        strstr(text, "\"bursts_by_beats\": [[4, 2]], \"first_data_from\": [[5, 2]], \"latency_from\": [[8, 2]], "));
    assert_non_null(strstr(text, "\"rules\": {\"AXI4_ERRM_WSTRB\": 1}}"));
    free(text);
    tb_axi_mon_free(&r.mon);
}

/* ---- samples of a port ---- */

/* IDs and user signals of more than 64 bits: equal numbers for equal values, 0 for 0. */
static void wide_signals(void **state) {
    (void)state;
    tb_axi_port port;
    tb_axi_sample s;
    uint8_t high = 1;
    uint32_t id[3] = {0, 0, 0};
    uint32_t user[4] = {0, 0, 0, 7};
    uint32_t addr = 0x1000;
    tb_axi_port_init(&port, false, 16);
    port.ar.valid = port.aw.valid = &high;
    port.ar.addr = port.aw.addr = (tb_sig){&addr, 32};
    port.ar.id = port.aw.id = (tb_sig){id, 96};
    port.ar.user = (tb_sig){user, 128};
    port.widths.id = 96;
    port.widths.aruser = 128;
    tb_axi_sample_port(&port, 1, true, &s);
    assert_true(s.ar.id == 0 && s.ar.user != 0 && s.aw.user == 0 && s.x == 0);
    id[2] = 1;
    tb_axi_sample_port(&port, 2, true, &s);
    const uint64_t one = s.ar.id;
    assert_true(one != 0 && s.aw.id == one);
    id[2] = 2;
    tb_axi_sample_port(&port, 3, true, &s);
    assert_true(s.ar.id != 0 && s.ar.id != one);
}

static void lanes_of_masks(void **state) {
    (void)state;
    rig r;
    begin(&r, (tb_axi_mon_cfg){0});
    assert_true(r.mon.lanes[0] == 0xffff && r.mon.lanes[1] == 0);
    tb_axi_mon_free(&r.mon);
    tb_axi_monitor wide;
    const tb_axi_mon_cfg cfg = {.bytes = 128};
    assert_int_equal(tb_axi_mon_init(&wide, &cfg), 0);
    assert_true(wide.lanes[0] == UINT64_MAX && wide.lanes[1] == UINT64_MAX);
    tb_axi_mon_free(&wide);
}

/* ---- text traces ---- */

static void refused(const char *text, const char *message) {
    static const char path[] = "build/test_axi_api.txt";
    tb_axi_trace t;
    char err[256] = "";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    const int rc = tb_axi_trace_open(&t, path, err, sizeof err);
    remove(path);
    if (rc == 0 || strstr(err, message) == NULL) {
        fail_msg("%s: got \"%s\", expected \"%s\"", text, err, message);
    }
    assert_int_equal(strncmp(err, path, sizeof path - 1), 0);
}

static void mistakes_in_traces(void **state) {
    (void)state;
    tb_axi_trace t;
    char err[256];
    assert_int_equal(tb_axi_trace_open(&t, "tests/axi/none.txt", err, sizeof err), -1);
    assert_string_equal(err, "tests/axi/none.txt: No such file or directory");
    refused("expect nothing\n1 AWVALID\n", ":2: expected SIGNAL=value, got AWVALID");
    refused("expect nothing\n1 AWVALIDS=1\n", ":2: AWVALIDS: no signal of an AXI4 port");
    refused("lite\nexpect nothing\n1 AWLEN=1\n", ":3: AWLEN: no signal of an AXI4-Lite port");
    refused("expect nothing\n1 AWLEN=256\n", ":2: AWLEN: expected a value of at most 8 bits, got 256");
    refused("expect nothing\n1 WDATA=0x123456789\n", "at most 32 bits");
    refused("expect nothing\n1 AWBURST=y\n", "got y");
    refused("expect nothing\n3 AWLEN=1\n2 AWLEN=2\n", ":3: cycle 2 comes after a later one");
    refused("expect nothing\n99999999 end\n", "expected the number of a cycle");
    refused("wide\n", ":1: wide: expected a setting");
    refused("id\nexpect nothing\n", "id: expected a number");
    refused("lite 4\nexpect nothing\n", "lite: 4 is more than expected");
    refused("expect AXI4_ERRM_NONE cycle=1\n", "expect: expected the name of a rule, got AXI4_ERRM_NONE");
    refused("expect AXI4_ERRM_WSTRB\n", "expected cycle=N");
    refused("severity AXI4_ERRM_WSTRB loud\nexpect nothing\n", "severity: expected off, note");
    refused("project speed 3\n", "project: no limit or switch speed");
    refused("data 32\n1 end\n", "expected either `expect nothing`");
    refused("expect nothing\nexpect AXI4_ERRM_WSTRB cycle=1\n1 end\n", "expected either `expect nothing`");
}

/* Walking a trace twice gives the same; data lanes and unknown digits are where they belong. */
static void rows_of_traces(void **state) {
    (void)state;
    tb_axi_trace t;
    tb_axi_sample s;
    char err[256];
    if (tb_axi_trace_open(&t, "tests/axi/good/w-x.txt", err, sizeof err) != 0) {
        fail_msg("%s", err);
    }
    unsigned cycles = 0;
    while (tb_axi_trace_next(&t, &s)) {
        assert_int_equal(s.cycle, cycles);
        cycles++;
        if (s.cycle == 3) {
            assert_int_equal(s.w_x[0], 0xc);
            assert_int_equal(s.w.data[0], 0x44);
            assert_int_equal(s.w.data[1], 0x33);
            assert_true((s.x & TB_AXI_X(TB_AXI_WDATA)) != 0 && (s.x & TB_AXI_X(TB_AXI_WSTRB)) == 0);
        }
    }
    assert_int_equal(cycles, t.last + 1);
    tb_axi_monitor mon;
    assert_int_equal(tb_axi_trace_run(&t, &mon), 0);
    assert_int_equal(mon.violations + mon.notes, 0);
    assert_int_equal(mon.stats.beats[TB_AXI_W], 1);
    tb_axi_mon_free(&mon);
    tb_axi_trace_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_by_name),  cmocka_unit_test(severities),     cmocka_unit_test(kept_and_told),
        cmocka_unit_test(what_is_told),   cmocka_unit_test(illegal_widths), cmocka_unit_test(finish_once),
        cmocka_unit_test(blind_and_back), cmocka_unit_test(latency_bins),   cmocka_unit_test(histograms),
        cmocka_unit_test(places),         cmocka_unit_test(stats_as_text),  cmocka_unit_test(wide_signals),
        cmocka_unit_test(lanes_of_masks), cmocka_unit_test(rows_of_traces), cmocka_unit_test(mistakes_in_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
