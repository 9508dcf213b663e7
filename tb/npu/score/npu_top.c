/*
 * npu_top.c - the wires between units and channels, which belong to no unit: equal at both ends; and the clocks of the
 * units.
 *
 * The ends are the taps of the channels (dma_rd, dma_wr, send_buf), those of GEMM, ALU, POOL and npu_regs, and the
 * ports of the NPU. A unit's clock runs from the valid of a task until four cycles after the last one is complete
 * (docs/npu/npu.md 4.5).
 */
#include "dma_ax.h"
#include "npu_regs.h"

#include <inttypes.h>

#define UNITS 3u
#define CHANNELS 2u
#define ALL_UNITS ((1u << UNITS) - 1)
#define TAIL 4u     /* cycles that a clock runs on */
#define UNKNOWN 16u /* cycles after a reset in which it may run */

#define UNIT_PORTS                                                                                                     \
    rst_ni, task_valid_i, busy_o, rd_req_valid_o, rd_req_ready_i, rd_req_addr_o, rd_req_bytes_o, rd_valid_i,           \
        rd_ready_o, rd_data_i, wr_req_valid_o, wr_req_ready_i, wr_req_addr_o, wr_req_bytes_o, wr_valid_o, wr_ready_i,  \
        wr_data_o, wr_idle_i, wr_level_i
#define RD_PORTS                                                                                                       \
    flush_i, idle_o, req_valid_i, req_ready_o, req_addr_i, req_bytes_i, dat_valid_o, dat_ready_i, dat_id_o, dat_o,     \
        err_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, ev_wait_user_o, inflight_o, arvalid_o, arready_i, araddr_o,       \
        arlen_o, rvalid_i, rready_o, rdata_i, rresp_i, rlast_i
#define WR_PORTS                                                                                                       \
    flush_i, idle_o, req_valid_i, req_ready_o, req_addr_i, req_bytes_i, wdat_valid_i, wdat_ready_o, wdat_i,            \
        idle_req_o, err_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, ev_wait_data_o, inflight_o, awvalid_o, awready_i,     \
        awaddr_o, awlen_o, wvalid_o, wready_i, wdata_o, wstrb_o, wlast_o, bvalid_i, bready_o, bresp_i
#define SEND_PORTS rst_ni, wvalid_i, wready_o, wdata_i, rvalid_o, rready_i, rdata_o, level_o
#define BUS_PORTS                                                                                                      \
    arvalid, arready, araddr, arlen, rvalid, rready, rdata, rresp, rlast, awvalid, awready, awaddr, awlen, wvalid,     \
        wready, wdata, wstrb, wlast, bvalid, bready, bresp

/* One unit's ends. Requesters of a channel are numbered as in npu_pkg::RdId* and WrId*. */
typedef struct ends {
    const char *name;
    /* its first requester of a read channel, how many they are, its requester of a write channel */
    uint32_t first, count, wr;
    TB_PORTS(ports, UNIT_PORTS);
    tb_sig clock;
} ends;

/* A wire with a different name at each end, compared while `when` is not 0. */
typedef struct link {
    const char *stream;
    tb_sig got, expected;
    const uint8_t *when; /* NULL: always, and it is no wider than 8 bits */
} link;

#define LINKS 24u

/* One channel's ends, and the ports of the NPU that it must be connected to. */
typedef struct channel {
    TB_SIGNALS(rd, RD_PORTS);
    TB_SIGNALS(wr, WR_PORTS);
    TB_SIGNALS(send, SEND_PORTS);
    TB_SIGNALS(bus, BUS_PORTS);
    link link[LINKS]; /* those whose ends are different variables of the simulation */
    uint32_t links;
    bool words_apart; /* the same for the words between send_buf and dma_wr */
} channel;

#define PORTS bus_err_i, srst_o, drained_i
#define PERF_PORTS perf_event_o, perf_level_o
typedef struct state {
    ends unit[UNITS]; /* gemm, alu, pool: the order of the clock gates */
    channel ch[CHANNELS];
    TB_PORTS(ports, PORTS);       /* of npu_regs */
    TB_SIGNALS(perf, PERF_PORTS); /* ports of the NPU */
    tb_sig gemm_id;
    bool moved;       /* something was offered in the cycle before */
    uint32_t unknown; /* remaining cycles in which clocks may run */
    /* units that had work: a field of UNITS bits for each of the last cycles, the newest one lowest */
    uint32_t worked;
} state;

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

/* Calls the check when one of the first `valids` signals is not 0, or one of the others changes. */
static int wake_all(tb_check *c, size_t valids, const tb_sig *sig, size_t count, char *err, size_t err_size) {
    size_t i = 0;
    while (i < count && (i < valids ? tb_check_wake : tb_check_watch)(c, sig[i], err, err_size) == 0) {
        i++;
    }
    return i < count ? -1 : 0;
}
/* A cycle with a valid, and one in which a signal changes that is looked at without. */
static int open_wakes(tb_check *c, const state *s, char *err, size_t err_size) {
    int status = wake_all(c, 0, (const tb_sig[]){s->srst_o, s->bus_err_i, s->drained_i}, 3, err, err_size);
    for (size_t i = 0; i < UNITS && status == 0; i++) {
        const ends *u = &s->unit[i];
        const tb_sig all[] = {u->rd_req_valid_o, u->rd_valid_i, u->wr_req_valid_o, u->wr_valid_o,
                              u->rst_ni,         u->clock,      u->task_valid_i,   u->busy_o};
        status = wake_all(c, 4, all, COUNT(all), err, err_size);
    }
    for (size_t i = 0; i < CHANNELS && status == 0; i++) {
        const channel *k = &s->ch[i];
        const tb_sig all[] = {k->rd.req_valid_i, k->rd.dat_valid_o, k->rd.arvalid_o,    k->bus.rvalid,
                              k->wr.req_valid_i, k->wr.awvalid_o,   k->wr.wvalid_o,     k->bus.bvalid,
                              k->send.wvalid_i,  k->send.rvalid_o,  k->wr.wdat_valid_i, k->rd.flush_i,
                              k->wr.flush_i,     k->send.rst_ni,    k->rd.idle_o,       k->wr.idle_o,
                              k->rd.err_o,       k->wr.err_o};
        status = wake_all(c, 11, all, COUNT(all), err, err_size);
        for (const link *l = k->link; l < k->link + k->links && status == 0; l++) {
            status = l->when == NULL ? wake_all(c, 0, (const tb_sig[]){l->got, l->expected}, 2, err, err_size) : 0;
        }
    }
    return status;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const ends units[UNITS] = {{.name = "GEMM", .first = 0, .count = 4, .wr = 0},
                               {.name = "ALU", .first = 4, .count = 1, .wr = 2},
                               {.name = "POOL", .first = 5, .count = 1, .wr = 1}};
    s->unknown = UNKNOWN;
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
               : open_wakes(c, s, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->unknown = UNKNOWN;
}

__attribute__((cold)) static void differs(tb_check *c, const char *stream, uint32_t ch, const char *of, uint64_t got,
                                          uint64_t expected) {
    tb_check_failf(c, stream, c->all->sim->cycle, "channel %u%s%s|0x%llx|0x%llx", ch, of != NULL ? ", " : "",
                   of != NULL ? of : "", (unsigned long long)got, (unsigned long long)expected);
}

static inline void same(tb_check *c, const char *stream, uint32_t ch, uint32_t got, uint32_t expected) {
    if (got != expected) {
        differs(c, stream, ch, NULL, got, expected);
    }
}

/* Compares the bytes of two wires; reports the first difference. */
__attribute__((always_inline)) static inline void same_bytes(tb_check *c, const char *stream, uint32_t ch,
                                                             const char *of, const void *got, const void *expected,
                                                             size_t bytes) {
    if (memcmp(got, expected, bytes) != 0) {
        const uint8_t *g = (const uint8_t *)got, *e = (const uint8_t *)expected;
        size_t at = 0;
        while (g[at] == e[at]) {
            at++;
        }
        differs(c, stream, ch, of, g[at], e[at]);
    }
}

/* Element `index` of a wire of elements of `bytes` bytes. */
static inline const void *piece(tb_sig sig, uint32_t index, uint32_t bytes) {
    return (const uint8_t *)sig.ptr + (size_t)index * bytes;
}

static inline uint32_t bit(tb_sig sig, uint32_t ch) {
    return (npu_score_b(sig) >> ch) & 1u;
}

/* Bits of a channel's requesters of reads, gathered from the units; of its requesters of writes; their order is that of
 * npu_pkg::RdId* and WrId*. */
static inline uint32_t of_readers(tb_sig gemm, tb_sig alu, tb_sig pool, uint32_t ch) {
    return (npu_score_b(gemm) >> 4 * ch & 15u) | bit(alu, ch) << 4 | bit(pool, ch) << 5;
}

static inline uint32_t of_writers(tb_sig gemm, tb_sig alu, tb_sig pool, uint32_t ch) {
    return bit(gemm, ch) | bit(pool, ch) << 1 | bit(alu, ch) << 2;
}

static void read_requests(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const ends *u = s->unit;
    same(c, "read requests", ch, npu_score_b(k->rd.req_valid_i),
         of_readers(u[0].rd_req_valid_o, u[1].rd_req_valid_o, u[2].rd_req_valid_o, ch));
    same(c, "read requests taken", ch, of_readers(u[0].rd_req_ready_i, u[1].rd_req_ready_i, u[2].rd_req_ready_i, ch),
         npu_score_b(k->rd.req_ready_o));
    if (npu_score_b(k->rd.req_ready_o) == 0) {
        return;
    }
    for (uint32_t i = 0; i < UNITS; i++, u++) {
        for (uint32_t r = 0; r < u->count; r++) {
            if (((npu_score_b(k->rd.req_ready_o) >> (u->first + r)) & 1u) != 0) {
                same_bytes(c, "read address", ch, u->name, piece(k->rd.req_addr_i, u->first + r, 4),
                           piece(u->rd_req_addr_o, u->count * ch + r, 4), 4);
                same_bytes(c, "read bytes", ch, u->name, piece(k->rd.req_bytes_i, u->first + r, 3),
                           piece(u->rd_req_bytes_o, u->count * ch + r, 3), 3);
            }
        }
    }
}

static void read_data(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const uint32_t any = npu_score_b(k->rd.dat_valid_o), id = npu_score_b(k->rd.dat_id_o);
    uint32_t valid = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        valid |= bit(s->unit[i].rd_valid_i, ch) << i;
    }
    if (any == 0) {
        same(c, "read data offered", ch, valid, 0);
        return;
    }
    const uint32_t to = id < 4 ? 0 : id - 3;
    if (to >= UNITS) {
        differs(c, "read data offered", ch, "requester", id, 0);
        return;
    }
    const ends *u = &s->unit[to];
    same(c, "read data offered", ch, valid, 1u << to);
    same(c, "read data taken", ch, npu_score_b(k->rd.dat_ready_i), bit(u->rd_ready_o, ch));
    same_bytes(c, "read data", ch, u->name, piece(u->rd_data_i, ch, 16), k->rd.dat_o.ptr, 16);
    if (to == 0) {
        same(c, "read requester", ch, (npu_score_b(s->gemm_id) >> (3 * ch)) & 7u, id);
    }
}

static void write_side(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const ends *u = s->unit;
    same(c, "write requests", ch, npu_score_b(k->wr.req_valid_i),
         of_writers(u[0].wr_req_valid_o, u[1].wr_req_valid_o, u[2].wr_req_valid_o, ch));
    same(c, "write requests taken", ch, of_writers(u[0].wr_req_ready_i, u[1].wr_req_ready_i, u[2].wr_req_ready_i, ch),
         npu_score_b(k->wr.req_ready_o));
    same(c, "words offered", ch, npu_score_b(k->send.wvalid_i),
         of_writers(u[0].wr_valid_o, u[1].wr_valid_o, u[2].wr_valid_o, ch));
    same(c, "words taken", ch, of_writers(u[0].wr_ready_i, u[1].wr_ready_i, u[2].wr_ready_i, ch),
         npu_score_b(k->send.wready_o));
    const uint32_t requests = npu_score_b(k->wr.req_ready_o),
                   words = npu_score_b(k->send.wready_o) & npu_score_b(k->send.wvalid_i);
    for (uint32_t i = 0; (requests | words) != 0 && i < UNITS; i++, u++) {
        if ((requests >> u->wr & 1u) != 0) {
            same_bytes(c, "write address", ch, u->name, piece(k->wr.req_addr_i, u->wr, 4),
                       piece(u->wr_req_addr_o, ch, 4), 4);
            same_bytes(c, "write bytes", ch, u->name, piece(k->wr.req_bytes_i, u->wr, 3),
                       piece(u->wr_req_bytes_o, ch, 3), 3);
        }
        if ((words >> u->wr & 1u) != 0) {
            same_bytes(c, "write data", ch, u->name, piece(k->send.wdata_i, u->wr, 16), piece(u->wr_data_o, ch, 16),
                       16);
        }
    }
    for (uint32_t i = 0; k->words_apart && (npu_score_b(k->send.rvalid_o) & npu_score_b(k->send.rready_i)) >> i != 0;
         i++) {
        if (((npu_score_b(k->send.rvalid_o) & npu_score_b(k->send.rready_i)) >> i & 1u) != 0) {
            same_bytes(c, "words", ch, NULL, piece(k->wr.wdat_i, i, 16), piece(k->send.rdata_o, i, 16), 16);
        }
    }
}

/* Levels of send_buf and idle write channels as seen by the units. */
static void write_state(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const ends *u = s->unit;
    same(c, "write idle", ch, of_writers(u[0].wr_idle_i, u[1].wr_idle_i, u[2].wr_idle_i, ch),
         npu_score_b(k->wr.idle_req_o));
    for (uint32_t i = 0; i < UNITS; i++, u++) {
        same_bytes(c, "level", ch, u->name, piece(u->wr_level_i, ch, 2), piece(k->send.level_o, u->wr, 2), 2);
    }
}

/* Ports of the NPU, and the handshake between send_buf and dma_wr. */
static void links(tb_check *c, const channel *k, uint32_t ch) {
    for (uint32_t i = 0; i < k->links; i++) {
        const link *l = &k->link[i];
        if (l->when != NULL ? *l->when != 0 : npu_score_b(l->got) != npu_score_b(l->expected)) {
            same_bytes(c, l->stream, ch, NULL, l->got.ptr, l->expected.ptr, tb_sig_bytes(l->got));
        }
    }
}

/* Errors of the channels' requesters as npu_regs must see them: {pool, alu, gemm} x {wr1, wr0, rd1, rd0}. */
static uint32_t errors(const state *s) {
    uint32_t err = 0;
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        for (uint32_t i = 0; i < UNITS; i++) {
            const ends *u = &s->unit[i];
            const uint32_t rd = (npu_score_b(k->rd.err_o) >> u->first) & ((1u << u->count) - 1);
            err |= (uint32_t)(rd != 0) << (4 * i + ch) | ((npu_score_b(k->wr.err_o) >> u->wr) & 1u) << (4 * i + 2 + ch);
        }
    }
    return err;
}

/* Soft reset: flush {wr1, rd1, wr0, rd0}, reset {pool, alu, gemm, send_buf1, send_buf0}; end of a drain; errors. */
static void status(tb_check *c, const state *s) {
    const channel *a = &s->ch[0], *b = &s->ch[1];
    const ends *u = s->unit;
    const uint32_t srst = npu_score_b(s->srst_o), any = npu_score_b(a->rd.err_o) | npu_score_b(a->wr.err_o) |
                                                        npu_score_b(b->rd.err_o) | npu_score_b(b->wr.err_o);
    const uint32_t flush = npu_score_b(a->rd.flush_i) | npu_score_b(a->wr.flush_i) << 1 |
                           npu_score_b(b->rd.flush_i) << 2 | npu_score_b(b->wr.flush_i) << 3;
    const uint32_t reset = npu_score_b(a->send.rst_ni) | npu_score_b(b->send.rst_ni) << 1 |
                           npu_score_b(u[0].rst_ni) << 2 | npu_score_b(u[1].rst_ni) << 3 |
                           npu_score_b(u[2].rst_ni) << 4;
    same(c, "flush", 0, flush, srst * 0xfu);
    same(c, "reset", 0, reset, srst != 0 ? 0 : 0x1fu);
    same(c, "errors of units", 0, *(const uint16_t *)s->bus_err_i.ptr, any == 0 ? 0 : errors(s));
    same(c, "drained", 0, npu_score_b(s->drained_i),
         npu_score_b(a->rd.idle_o) & npu_score_b(a->wr.idle_o) & npu_score_b(b->rd.idle_o) & npu_score_b(b->wr.idle_o));
}

/* A bit for each unit: {pool, alu, gemm}. */
static uint32_t of_units(tb_sig gemm, tb_sig alu, tb_sig pool) {
    return npu_score_b(gemm) | npu_score_b(alu) << 1 | npu_score_b(pool) << 2;
}

/* True: the cycles that it remembers are all alike, so the next one needs a look only if a signal changes. */
static bool clocks(tb_check *c, state *s) {
    const ends *u = s->unit;
    const uint32_t work = of_units(u[0].task_valid_i, u[1].task_valid_i, u[2].task_valid_i) |
                          of_units(u[0].busy_o, u[1].busy_o, u[2].busy_o);
    const uint32_t runs = of_units(u[0].clock, u[1].clock, u[2].clock), past = s->worked;
    const uint32_t lately = (past | past >> UNITS | past >> 2 * UNITS | past >> 3 * UNITS) & ALL_UNITS; /* TAIL */
    const uint32_t wrong = s->unknown > 0 ? work & ~runs : runs ^ (work | lately);
    if (wrong != 0) {
        const uint32_t i = (uint32_t)__builtin_ctz(wrong);
        const bool stopped = (runs >> i & 1u) == 0;
        tb_check_fail(c, "clock", c->all->sim->cycle, u[i].name, stopped ? "stopped" : "running",
                      stopped ? "running" : "stopped");
    }
    s->unknown -= s->unknown > 0;
    const uint32_t now = npu_score_b(s->srst_o) != 0 ? ALL_UNITS : work, two = now | now << UNITS;
    s->worked = (past << UNITS | now) & ((1u << TAIL * UNITS) - 1);
    return s->unknown == 0 && s->worked == (two | two << 2 * UNITS);
}

/* Events of the channels, by the numbers of their counters (docs/npu/npu.md section 5): channel 0, then 1. */
#define C(name) NPU_PERF_SEL_SEL_##name
static const uint32_t channel_events = 3u << C(READ0_BEATS) | 3u << C(WRITE0_BEATS) | 3u << C(READ0_BURSTS) |
                                       3u << C(WRITE0_BURSTS) | 3u << C(READ0_WAITS_BUS) | 3u << C(READ0_HELD) |
                                       3u << C(WRITE0_WAITS_BUS) | 3u << C(WRITE0_WAITS_DATA);

static void counters(tb_check *c, const state *s) {
    const uint16_t *level = (const uint16_t *)s->perf.perf_level_o.ptr;
    uint32_t event = 0;
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        event |= (npu_score_b(k->rd.ev_beat_o) << C(READ0_BEATS) | npu_score_b(k->wr.ev_beat_o) << C(WRITE0_BEATS) |
                  npu_score_b(k->rd.ev_burst_o) << C(READ0_BURSTS) | npu_score_b(k->wr.ev_burst_o) << C(WRITE0_BURSTS) |
                  npu_score_b(k->rd.ev_wait_bus_o) << C(READ0_WAITS_BUS) |
                  npu_score_b(k->rd.ev_wait_user_o) << C(READ0_HELD) |
                  npu_score_b(k->wr.ev_wait_bus_o) << C(WRITE0_WAITS_BUS) |
                  npu_score_b(k->wr.ev_wait_data_o) << C(WRITE0_WAITS_DATA))
                 << ch;
        const uint16_t *words = (const uint16_t *)k->send.level_o.ptr;
        if (level[ch] != words[0] || level[2 + ch] != words[1] || level[4 + ch] != words[2]) {
            differs(c, "level of a counter", ch, "send_buf", level[ch], words[0]);
        }
        same(c, "level of a counter", ch, level[8 + ch], npu_score_b(k->rd.inflight_o));
        same(c, "level of a counter", ch, level[10 + ch], npu_score_b(k->wr.inflight_o));
    }
    same(c, "events of counters", 0, (uint32_t)tb_get(s->perf.perf_event_o) & channel_events, event);
}

static uint32_t bus_valids(const channel *k) {
    return npu_score_b(k->rd.arvalid_o) | npu_score_b(k->bus.rvalid) | npu_score_b(k->wr.awvalid_o) |
           npu_score_b(k->wr.wvalid_o) | npu_score_b(k->bus.bvalid);
}

/* Wires are compared only with a valid, and levels only after a handshake. */
static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    uint32_t requests = 0, data = 0, writes = 0;
    bool moves = false;
    for (uint32_t i = 0; i < UNITS; i++) {
        const ends *u = &s->unit[i];
        requests |= npu_score_b(u->rd_req_valid_o);
        data |= npu_score_b(u->rd_valid_i);
        writes |= npu_score_b(u->wr_req_valid_o) | npu_score_b(u->wr_valid_o);
    }
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        const uint32_t on_bus = bus_valids(k), reads = requests | npu_score_b(k->rd.req_valid_i),
                       words = data | npu_score_b(k->rd.dat_valid_o);
        const uint32_t sends = writes | npu_score_b(k->wr.req_valid_i) | npu_score_b(k->send.wvalid_i) |
                               npu_score_b(k->wr.wdat_valid_i) | npu_score_b(k->send.rvalid_o);
        if (reads != 0) {
            read_requests(c, s, ch);
        }
        if (words != 0) {
            read_data(c, s, ch);
        }
        if (sends != 0) {
            write_side(c, s, ch);
        }
        links(c, k, ch);
        if (s->moved) {
            write_state(c, s, ch);
        }
        moves = moves || (on_bus | reads | words | sends) != 0;
    }
    status(c, s);
    const bool steady = clocks(c, s);
    if (s->moved) {
        counters(c, s);
    }
    s->moved = moves;
    c->again = moves || !steady;
}

const tb_check_ops npu_score_npu_top = {
    .unit = "npu_top", .state_bytes = sizeof(state), .open = open, .clear = clear, .cycle = cycle};
