/* npu_top_open.c - finds the ends of the wires, and says when they are looked at. */
#include "npu_top.h"

#include <inttypes.h>

#define WIRES_MOST 200u
#define COUNT(table) (sizeof(table) / sizeof *(table))

static int open_unit(tb_check *c, ends *u, size_t index, char *err, size_t err_size) {
    static const char *const kinds[UNITS] = {"gemm", "alu", "pool"};
    const tb_taps *taps = &c->all->taps;
    if (tb_taps_ports(taps, kinds[index], 0, TB_PORTS_OF(u->ports, UNIT_PORTS), err, err_size) != 0) {
        return -1;
    }
    char gate[32];
    snprintf(gate, sizeof gate, ".g_clk[%zu].u_gate", index);
    const tb_tap *tap = NULL;
    for (size_t i = 0; (tap = tb_taps_find(taps, "clk_gate", i)) != NULL; i++) {
        const size_t length = strlen(tap->path), end = strlen(gate);
        if (length > end && strcmp(tap->path + length - end, gate) == 0) {
            return tb_tap_ports(tap, TB_PORTS_OF(u->clock, en_i), err, err_size);
        }
    }
    return opt_fail(err, err_size, "npu_top: there is no tap of a clock gate %s", gate + 1);
}

/* Ports of the NPU, which need no tap. */
static int open_ports(const tb_check *c, tb_ports ports, char *err, size_t err_size) {
    tb_ports_place next = TB_PORTS_FIRST;
    char name[32];
    for (size_t i = 0; tb_ports_next(&ports, &next, name, sizeof name); i++) {
        ports.sig[i] = tb_sim_find(c->all->sim, name);
        if (ports.sig[i].ptr == NULL) {
            return opt_fail(err, err_size, "npu_top: there is no port %s", name);
        }
    }
    return 0;
}

/*
 * Verilator keeps one variable for both names of a correctly connected wire, and then there is nothing to compare. A
 * wrong connection has two variables.
 */
static int open_links(const tb_check *c, channel *k, char *err, size_t err_size) {
    const uint8_t *ar = (const uint8_t *)k->rd.arvalid_o.ptr, *r = (const uint8_t *)k->bus.rvalid.ptr,
                  *aw = (const uint8_t *)k->wr.awvalid_o.ptr;
    const uint8_t *w = (const uint8_t *)k->wr.wvalid_o.ptr, *b = (const uint8_t *)k->bus.bvalid.ptr;
    const link all[] = {{"AR valid", k->bus.arvalid, k->rd.arvalid_o, NULL},
                        {"AR ready", k->rd.arready_i, k->bus.arready, NULL},
                        {"R valid", k->rd.rvalid_i, k->bus.rvalid, NULL},
                        {"R ready", k->bus.rready, k->rd.rready_o, NULL},
                        {"AW valid", k->bus.awvalid, k->wr.awvalid_o, NULL},
                        {"AW ready", k->wr.awready_i, k->bus.awready, NULL},
                        {"W valid", k->bus.wvalid, k->wr.wvalid_o, NULL},
                        {"W ready", k->wr.wready_i, k->bus.wready, NULL},
                        {"B valid", k->wr.bvalid_i, k->bus.bvalid, NULL},
                        {"B ready", k->bus.bready, k->wr.bready_o, NULL},
                        {"words waiting", k->wr.wdat_valid_i, k->send.rvalid_o, NULL},
                        {"words read", k->send.rready_i, k->wr.wdat_ready_o, NULL},
                        {"AR address", k->bus.araddr, k->rd.araddr_o, ar},
                        {"AR length", k->bus.arlen, k->rd.arlen_o, ar},
                        {"R data", k->rd.rdata_i, k->bus.rdata, r},
                        {"R response", k->rd.rresp_i, k->bus.rresp, r},
                        {"R last", k->rd.rlast_i, k->bus.rlast, r},
                        {"AW address", k->bus.awaddr, k->wr.awaddr_o, aw},
                        {"AW length", k->bus.awlen, k->wr.awlen_o, aw},
                        {"W data", k->bus.wdata, k->wr.wdata_o, w},
                        {"W strobes", k->bus.wstrb, k->wr.wstrb_o, w},
                        {"W last", k->bus.wlast, k->wr.wlast_o, w},
                        {"B response", k->wr.bresp_i, k->bus.bresp, b}};
    _Static_assert(COUNT(all) <= LINKS, "a channel has space for all its links");
    for (size_t i = 0; i < COUNT(all); i++) {
        if (all[i].got.width != all[i].expected.width) {
            return opt_fail(err, err_size, "%s: %s has %" PRIu32 " bits at one end and %" PRIu32 " at the other",
                            c->tap->path, all[i].stream, all[i].got.width, all[i].expected.width);
        }
        if (all[i].got.ptr != all[i].expected.ptr) {
            k->plain += all[i].when == NULL;
            k->link[k->links++] = all[i];
        }
    }
    k->words_apart = k->wr.wdat_i.ptr != k->send.rdata_o.ptr;
    return 0;
}

static int open_channel(tb_check *c, channel *k, size_t index, char *err, size_t err_size) {
    const tb_taps *taps = &c->all->taps;
    tb_ports bus = TB_PORTS_OF(k->bus, BUS_PORTS);
    bus.prefix = index == 0 ? "m0_axi_" : "m1_axi_";
    return tb_taps_ports(taps, "dma_rd", index, TB_PORTS_OF(k->rd, RD_PORTS), err, err_size) != 0 ||
                   tb_taps_ports(taps, "send_buf", index, TB_PORTS_OF(k->send, SEND_PORTS), err, err_size) != 0 ||
                   tb_taps_ports(taps, "dma_wr", index, TB_PORTS_OF(k->wr, WR_PORTS), err, err_size) != 0 ||
                   open_ports(c, bus, err, err_size) != 0
               ? -1
               : open_links(c, k, err, err_size);
}

typedef struct table {
    npu_wire wire[WIRES_MOST];
    size_t count;
} table;

/* Signals whose changes call the check, to compare these groups. */
static int watch(tb_check *c, table *t, uint8_t groups, const tb_sig *sig, size_t count, char *err, size_t err_size) {
    for (size_t i = 0; i < count; i++) {
        if (groups != 0) {
            t->wire[t->count++] = npu_wire_of(sig[i], groups);
        }
        if (tb_check_watch(c, sig[i], err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}
#define LIST(...) (const tb_sig[]){__VA_ARGS__}, sizeof((const tb_sig[]){__VA_ARGS__}) / sizeof(tb_sig)
#define WATCH(groups, ...) watch(c, t, groups, LIST(__VA_ARGS__), err, err_size)

static int open_units(tb_check *c, const state *s, table *t, char *err, size_t err_size) {
    int bad = WATCH(STATES, s->srst_o, s->bus_err_i, s->drained_i) | WATCH(DATA, s->gemm_id);
    for (const ends *u = s->unit; u < s->unit + UNITS; u++) {
        bad |= WATCH(REQUESTS, u->rd_req_valid_o, u->rd_req_ready_i) | WATCH(DATA, u->rd_valid_i, u->rd_ready_o) |
               WATCH(WRITES, u->wr_req_valid_o, u->wr_req_ready_i, u->wr_valid_o, u->wr_ready_i) |
               WATCH(STATES, u->rst_ni, u->clock, u->task_valid_i, u->busy_o, u->wr_idle_i);
    }
    return bad;
}

static int open_channels(tb_check *c, const state *s, table *t, char *err, size_t err_size) {
    int bad = 0;
    for (const channel *k = s->ch; k < s->ch + CHANNELS; k++) {
        bad |= WATCH(REQUESTS, k->rd.req_valid_i, k->rd.req_ready_o) |
               WATCH(DATA, k->rd.dat_valid_o, k->rd.dat_ready_i) |
               WATCH(WRITES, k->wr.req_valid_i, k->wr.req_ready_o, k->send.wvalid_i, k->send.wready_o, k->send.rvalid_o,
                     k->send.rready_i) |
               WATCH(0, k->wr.wdat_valid_i, k->bus.bvalid, k->rd.ev_beat_o, k->wr.ev_beat_o, k->rd.ev_burst_o,
                     k->wr.ev_burst_o, k->rd.ev_wait_bus_o, k->rd.ev_wait_user_o, k->wr.ev_wait_bus_o,
                     k->wr.ev_wait_data_o, k->rd.inflight_o, k->wr.inflight_o) |
               WATCH(STATES, k->rd.flush_i, k->wr.flush_i, k->send.rst_ni, k->rd.idle_o, k->wr.idle_o, k->rd.err_o,
                     k->wr.err_o, k->wr.idle_req_o);
        for (const link *l = k->link; l < k->link + k->plain; l++) {
            bad |= WATCH(STATES, l->got, l->expected);
        }
    }
    return bad;
}

static int open_wires(tb_check *c, state *s, char *err, size_t err_size) {
    table t = {.count = 0};
    if (open_units(c, s, &t, err, err_size) != 0 || open_channels(c, s, &t, err, err_size) != 0) {
        return -1;
    }
    return npu_wires_open(&s->wires, t.wire, t.count) == 0 ? 0 : opt_fail(err, err_size, "out of memory");
}

/* The events of all channels, in the order of their counters. */
static void open_events(state *s) {
    const channel *a = &s->ch[0], *b = &s->ch[1];
    const tb_sig sig[EVENTS] = {a->rd.ev_beat_o,     b->rd.ev_beat_o,     a->wr.ev_beat_o,      b->wr.ev_beat_o,
                                a->rd.ev_burst_o,    b->rd.ev_burst_o,    a->wr.ev_burst_o,     b->wr.ev_burst_o,
                                a->rd.ev_wait_bus_o, b->rd.ev_wait_bus_o, a->rd.ev_wait_user_o, b->rd.ev_wait_user_o,
                                a->wr.ev_wait_bus_o, b->wr.ev_wait_bus_o, a->wr.ev_wait_data_o, b->wr.ev_wait_data_o};
    const tb_sig inflight[] = {a->rd.inflight_o, a->wr.inflight_o, b->rd.inflight_o, b->wr.inflight_o};
    const uint8_t *at = (const uint8_t *)inflight[0].ptr - EVENTS;
    s->sides.at = at;
    for (size_t i = 0; i < EVENTS; i++) {
        const size_t place = (size_t)((const uint8_t *)sig[i].ptr - at);
        s->sides.apart = s->sides.apart || place / 8 != i / 8;
        s->sides.places[i / 8] |= UINT64_C(1) << (56 - 8 * (place % 8) + i % 8);
    }
    for (size_t i = 0; i < COUNT(inflight); i++) {
        s->sides.apart = s->sides.apart || inflight[i].ptr != at + EVENTS + i;
    }
}

/* What is compared whenever something was accepted. */
static void open_always(state *s) {
    s->level = (const uint16_t *)s->perf.perf_level_o.ptr;
    s->event = (const uint8_t *)s->perf.perf_event_o.ptr;
    s->gemm_ids = (const uint8_t *)s->gemm_id.ptr;
    open_events(s);
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        s->sent[ch] = (const uint16_t *)k->send.level_o.ptr;
        s->answered[ch] = (const uint8_t *)k->bus.bvalid.ptr;
        s->ids[ch] = (const uint8_t *)k->rd.dat_id_o.ptr;
        s->read[ch] = (const uint8_t *)s->unit[0].rd_data_i.ptr + WORD * ch;
        s->data[ch] = (const uint8_t *)k->rd.dat_o.ptr;
        s->links_apart = s->links_apart || k->links > k->plain;
    }
    for (const ends *u = s->unit; u < s->unit + UNITS; u++) {
        s->seen[u->wr] = (const uint16_t *)u->wr_level_i.ptr;
        s->data_apart = s->data_apart || u->rd_data_i.ptr != s->unit[0].rd_data_i.ptr;
    }
}

int npu_score_top_open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const ends units[UNITS] = {{.name = "GEMM", .first = 0, .count = 4, .wr = 0},
                               {.name = "ALU", .first = 4, .count = 1, .wr = 2},
                               {.name = "POOL", .first = 5, .count = 1, .wr = 1}};
    s->unknown = UNKNOWN;
    s->first = ALL_GROUPS;
    for (size_t i = 0; i < UNITS; i++) {
        s->unit[i] = units[i];
        if (open_unit(c, &s->unit[i], i, err, err_size) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < CHANNELS; i++) {
        if (open_channel(c, &s->ch[i], i, err, err_size) != 0) {
            return -1;
        }
    }
    return tb_taps_ports(&c->all->taps, "gemm", 0, TB_PORTS_OF(s->gemm_id, rd_id_i), err, err_size) != 0 ||
                   tb_taps_ports(&c->all->taps, "npu_regs", 0, TB_PORTS_OF(s->ports, PORTS), err, err_size) != 0 ||
                   open_ports(c, TB_PORTS_OF(s->perf, PERF_PORTS), err, err_size) != 0
               ? -1
               : (open_always(s), open_wires(c, s, err, err_size));
}
