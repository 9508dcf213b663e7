/*
 * npu_top.c - the wires between units and channels, which no unit can be blamed for: at both ends the same; and the
 * clocks of the units.
 *
 * The ends are the taps of the channels (dma_rd, dma_wr, send_buf), those of GEMM, ALU, POOL and npu_regs, and the
 * ports of the NPU. A unit's clock runs from the offer of a task until four cycles after the last one is complete
 * (docs/npu/npu.md 4.5).
 */
#include "dma_ax.h"
#include "npu_regs.h"

#include <inttypes.h>
#include <stdio.h>

#define UNITS 3u
#define CHANNELS 2u
#define ALL_UNITS ((1u << UNITS) - 1)
#define TAIL 4u     /* cycles that a clock runs on */
#define UNKNOWN 16u /* cycles after a reset in which it may */

/* One unit's ends. Requesters of a channel are numbered as in npu_pkg::RdId* and WrId*. */
typedef struct ends {
    const char *name;
    /* its first requester of a read channel, how many they are, its requester of a write channel */
    uint32_t first, count, wr;
    tb_sig rst, task_valid, busy, rd_req_valid, rd_req_ready, rd_req_addr, rd_req_bytes, rd_valid, rd_ready, rd_data,
        wr_req_valid, wr_req_ready, wr_req_addr, wr_req_bytes, wr_valid, wr_ready, wr_data, wr_idle, wr_level;
    tb_sig clock;
} ends;

/* A wire with a name of its own at each end, to be compared while `when` is not 0. */
typedef struct link {
    const char *stream;
    tb_sig got, expected;
    const uint8_t *when; /* NULL: always, and it is no wider than 8 bits */
} link;

#define LINKS 24u

/* One channel's ends, and the ports of the NPU that it must be connected to. */
typedef struct channel {
    tb_sig rd_flush, rd_idle, req_valid, req_ready, req_addr, req_bytes, dat_valid, dat_ready, dat_id, dat, rd_err,
        rd_beat, rd_burst, rd_wait_bus, rd_wait_user, rd_inflight;
    tb_sig wr_flush, wr_idle, wreq_valid, wreq_ready, wreq_addr, wreq_bytes, wdat_valid, wdat_ready, wdat, idle_req,
        wr_err, wr_beat, wr_burst, wr_wait_bus, wr_wait_data, wr_inflight;
    tb_sig send_rst, wvalid, wready, wdata, rvalid, rready, rdata, level;
    tb_sig arvalid, arready, araddr, arlen, rvalid_i, rready_o, rdata_i, rresp, rlast, awvalid, awready, awaddr, awlen,
        wvalid_o, wready_i, wdata_o, wstrb, wlast, bvalid, bready, bresp;
    tb_sig p_arvalid, p_arready, p_araddr, p_arlen, p_rvalid, p_rready, p_rdata, p_rresp, p_rlast, p_awvalid, p_awready,
        p_awaddr, p_awlen, p_wvalid, p_wready, p_wdata, p_wstrb, p_wlast, p_bvalid, p_bready, p_bresp;
    link link[LINKS]; /* those whose ends do not lie in the same place of the simulation */
    uint32_t links;
    bool words_apart; /* the same for the words between send_buf and dma_wr */
} channel;

typedef struct state {
    ends unit[UNITS]; /* gemm, alu, pool: the order of the clock gates */
    channel ch[CHANNELS];
    tb_sig bus_err, srst, drained, gemm_id, perf_event, perf_level;
    bool moved;       /* something was offered in the cycle before */
    uint32_t unknown; /* cycles in which clocks may run */
    /* which units had work, a field of UNITS bits for each of the last cycles, the newest one lowest */
    uint32_t worked;
} state;

typedef struct wire {
    const char *name;
    tb_sig *sig;
} wire;

static int find(const tb_taps *taps, const char *kind, size_t index, const wire *w, size_t count, char *err,
                size_t err_size) {
    const tb_tap *tap = tb_taps_find(taps, kind, index);
    if (tap == NULL) {
        snprintf(err, err_size, "npu_top: there is no tap %zu of %s", index, kind);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (tb_tap_sig(tap, w[i].name, 0, w[i].sig, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

#define COUNT(table) (sizeof(table) / sizeof *(table))

static int open_unit(tb_check *c, ends *u, size_t index, char *err, size_t err_size) {
    static const char *const kinds[UNITS] = {"gemm", "alu", "pool"};
    const wire w[] = {{"rst_ni", &u->rst},
                      {"task_valid_i", &u->task_valid},
                      {"busy_o", &u->busy},
                      {"rd_req_valid_o", &u->rd_req_valid},
                      {"rd_req_ready_i", &u->rd_req_ready},
                      {"rd_req_addr_o", &u->rd_req_addr},
                      {"rd_req_bytes_o", &u->rd_req_bytes},
                      {"rd_valid_i", &u->rd_valid},
                      {"rd_ready_o", &u->rd_ready},
                      {"rd_data_i", &u->rd_data},
                      {"wr_req_valid_o", &u->wr_req_valid},
                      {"wr_req_ready_i", &u->wr_req_ready},
                      {"wr_req_addr_o", &u->wr_req_addr},
                      {"wr_req_bytes_o", &u->wr_req_bytes},
                      {"wr_valid_o", &u->wr_valid},
                      {"wr_ready_i", &u->wr_ready},
                      {"wr_data_o", &u->wr_data},
                      {"wr_idle_i", &u->wr_idle},
                      {"wr_level_i", &u->wr_level}};
    const wire clock[] = {{"en_i", &u->clock}};
    if (find(&c->all->taps, kinds[index], 0, w, COUNT(w), err, err_size) != 0) {
        return -1;
    }
    return find(&c->all->taps, "clk_gate", index, clock, COUNT(clock), err, err_size);
}

static int open_read(tb_check *c, channel *k, size_t index, char *err, size_t err_size) {
    const wire w[] = {{"flush_i", &k->rd_flush},
                      {"idle_o", &k->rd_idle},
                      {"req_valid_i", &k->req_valid},
                      {"req_ready_o", &k->req_ready},
                      {"req_addr_i", &k->req_addr},
                      {"req_bytes_i", &k->req_bytes},
                      {"dat_valid_o", &k->dat_valid},
                      {"dat_ready_i", &k->dat_ready},
                      {"dat_id_o", &k->dat_id},
                      {"dat_o", &k->dat},
                      {"err_o", &k->rd_err},
                      {"ev_beat_o", &k->rd_beat},
                      {"ev_burst_o", &k->rd_burst},
                      {"ev_wait_bus_o", &k->rd_wait_bus},
                      {"ev_wait_user_o", &k->rd_wait_user},
                      {"inflight_o", &k->rd_inflight},
                      {"arvalid_o", &k->arvalid},
                      {"arready_i", &k->arready},
                      {"araddr_o", &k->araddr},
                      {"arlen_o", &k->arlen},
                      {"rvalid_i", &k->rvalid_i},
                      {"rready_o", &k->rready_o},
                      {"rdata_i", &k->rdata_i},
                      {"rresp_i", &k->rresp},
                      {"rlast_i", &k->rlast}};
    return find(&c->all->taps, "dma_rd", index, w, COUNT(w), err, err_size);
}

static int open_write(tb_check *c, channel *k, size_t index, char *err, size_t err_size) {
    const wire w[] = {{"flush_i", &k->wr_flush},
                      {"idle_o", &k->wr_idle},
                      {"req_valid_i", &k->wreq_valid},
                      {"req_ready_o", &k->wreq_ready},
                      {"req_addr_i", &k->wreq_addr},
                      {"req_bytes_i", &k->wreq_bytes},
                      {"wdat_valid_i", &k->wdat_valid},
                      {"wdat_ready_o", &k->wdat_ready},
                      {"wdat_i", &k->wdat},
                      {"idle_req_o", &k->idle_req},
                      {"err_o", &k->wr_err},
                      {"ev_beat_o", &k->wr_beat},
                      {"ev_burst_o", &k->wr_burst},
                      {"ev_wait_bus_o", &k->wr_wait_bus},
                      {"ev_wait_data_o", &k->wr_wait_data},
                      {"inflight_o", &k->wr_inflight},
                      {"awvalid_o", &k->awvalid},
                      {"awready_i", &k->awready},
                      {"awaddr_o", &k->awaddr},
                      {"awlen_o", &k->awlen},
                      {"wvalid_o", &k->wvalid_o},
                      {"wready_i", &k->wready_i},
                      {"wdata_o", &k->wdata_o},
                      {"wstrb_o", &k->wstrb},
                      {"wlast_o", &k->wlast},
                      {"bvalid_i", &k->bvalid},
                      {"bready_o", &k->bready},
                      {"bresp_i", &k->bresp}};
    const wire send[] = {{"rst_ni", &k->send_rst}, {"wvalid_i", &k->wvalid}, {"wready_o", &k->wready},
                         {"wdata_i", &k->wdata},   {"rvalid_o", &k->rvalid}, {"rready_i", &k->rready},
                         {"rdata_o", &k->rdata},   {"level_o", &k->level}};
    if (find(&c->all->taps, "send_buf", index, send, COUNT(send), err, err_size) != 0) {
        return -1;
    }
    return find(&c->all->taps, "dma_wr", index, w, COUNT(w), err, err_size);
}

/* Ports of the NPU: those of a simulation need no tap. */
static int open_ports(const tb_check *c, const char *prefix, const wire *w, size_t count, char *err, size_t err_size) {
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s", prefix, w[i].name);
        *w[i].sig = tb_sim_find(c->all->sim, name);
        if (w[i].sig->ptr == NULL) {
            snprintf(err, err_size, "npu_top: there is no port %s", name);
            return -1;
        }
    }
    return 0;
}

static int open_bus(tb_check *c, channel *k, size_t index, char *err, size_t err_size) {
    const wire w[] = {{"arvalid", &k->p_arvalid}, {"arready", &k->p_arready}, {"araddr", &k->p_araddr},
                      {"arlen", &k->p_arlen},     {"rvalid", &k->p_rvalid},   {"rready", &k->p_rready},
                      {"rdata", &k->p_rdata},     {"rresp", &k->p_rresp},     {"rlast", &k->p_rlast},
                      {"awvalid", &k->p_awvalid}, {"awready", &k->p_awready}, {"awaddr", &k->p_awaddr},
                      {"awlen", &k->p_awlen},     {"wvalid", &k->p_wvalid},   {"wready", &k->p_wready},
                      {"wdata", &k->p_wdata},     {"wstrb", &k->p_wstrb},     {"wlast", &k->p_wlast},
                      {"bvalid", &k->p_bvalid},   {"bready", &k->p_bready},   {"bresp", &k->p_bresp}};
    return open_ports(c, index == 0 ? "m0_axi_" : "m1_axi_", w, COUNT(w), err, err_size);
}

/*
 * A simulation keeps a wire that two names stand for once, and then there is nothing to compare: it is as it must be
 * for good. A wrong connection has a place of its own.
 */
static int open_links(const tb_check *c, channel *k, char *err, size_t err_size) {
    const uint8_t *ar = (const uint8_t *)k->arvalid.ptr, *r = (const uint8_t *)k->p_rvalid.ptr,
                  *aw = (const uint8_t *)k->awvalid.ptr;
    const uint8_t *w = (const uint8_t *)k->wvalid_o.ptr, *b = (const uint8_t *)k->p_bvalid.ptr;
    const link all[] = {{"AR valid", k->p_arvalid, k->arvalid, NULL},
                        {"AR ready", k->arready, k->p_arready, NULL},
                        {"R valid", k->rvalid_i, k->p_rvalid, NULL},
                        {"R ready", k->p_rready, k->rready_o, NULL},
                        {"AW valid", k->p_awvalid, k->awvalid, NULL},
                        {"AW ready", k->awready, k->p_awready, NULL},
                        {"W valid", k->p_wvalid, k->wvalid_o, NULL},
                        {"W ready", k->wready_i, k->p_wready, NULL},
                        {"B valid", k->bvalid, k->p_bvalid, NULL},
                        {"B ready", k->p_bready, k->bready, NULL},
                        {"words waiting", k->wdat_valid, k->rvalid, NULL},
                        {"words read", k->rready, k->wdat_ready, NULL},
                        {"AR address", k->p_araddr, k->araddr, ar},
                        {"AR length", k->p_arlen, k->arlen, ar},
                        {"R data", k->rdata_i, k->p_rdata, r},
                        {"R response", k->rresp, k->p_rresp, r},
                        {"R last", k->rlast, k->p_rlast, r},
                        {"AW address", k->p_awaddr, k->awaddr, aw},
                        {"AW length", k->p_awlen, k->awlen, aw},
                        {"W data", k->p_wdata, k->wdata_o, w},
                        {"W strobes", k->p_wstrb, k->wstrb, w},
                        {"W last", k->p_wlast, k->wlast, w},
                        {"B response", k->bresp, k->p_bresp, b}};
    _Static_assert(COUNT(all) <= LINKS, "a channel has room for all its links");
    for (size_t i = 0; i < COUNT(all); i++) {
        if (all[i].got.width != all[i].expected.width) {
            snprintf(err, err_size, "%s: %s has %" PRIu32 " bits at one end and %" PRIu32 " at the other", c->tap->path,
                     all[i].stream, all[i].got.width, all[i].expected.width);
            return -1;
        }
        if (all[i].got.ptr != all[i].expected.ptr) {
            k->link[k->links++] = all[i];
        }
    }
    k->words_apart = k->wdat.ptr != k->rdata.ptr;
    return 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    const wire regs[] = {{"bus_err_i", &s->bus_err}, {"srst_o", &s->srst}, {"drained_i", &s->drained}};
    const wire id[] = {{"rd_id_i", &s->gemm_id}};
    const wire perf[] = {{"perf_event_o", &s->perf_event}, {"perf_level_o", &s->perf_level}};
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
        if (open_read(c, &s->ch[i], i, err, err_size) != 0 || open_write(c, &s->ch[i], i, err, err_size) != 0 ||
            open_bus(c, &s->ch[i], i, err, err_size) != 0 || open_links(c, &s->ch[i], err, err_size) != 0) {
            return -1;
        }
    }
    if (find(&c->all->taps, "gemm", 0, id, COUNT(id), err, err_size) != 0 ||
        find(&c->all->taps, "npu_regs", 0, regs, COUNT(regs), err, err_size) != 0 ||
        open_ports(c, "", perf, COUNT(perf), err, err_size) != 0) {
        return -1;
    }
    return npu_score_bind(c, NULL, 0, err, err_size);
}

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->unknown = UNKNOWN;
}

__attribute__((cold)) static void differs(tb_check *c, const char *stream, uint32_t ch, const char *of, uint64_t got,
                                          uint64_t expected) {
    char where[96], g[24], e[24];
    snprintf(where, sizeof where, "channel %u%s%s", ch, of != NULL ? ", " : "", of != NULL ? of : "");
    snprintf(g, sizeof g, "0x%llx", (unsigned long long)got);
    snprintf(e, sizeof e, "0x%llx", (unsigned long long)expected);
    tb_check_fail(c, stream, c->all->sim->cycle, where, g, e);
}

static inline void same(tb_check *c, const char *stream, uint32_t ch, uint32_t got, uint32_t expected) {
    if (got != expected) {
        differs(c, stream, ch, NULL, got, expected);
    }
}

/* Bytes of two wires; the first one that differs is shown. */
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

/* `bytes` bytes at index `index` of a wire of such pieces. */
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
    same(c, "read requests", ch, npu_score_b(k->req_valid),
         of_readers(u[0].rd_req_valid, u[1].rd_req_valid, u[2].rd_req_valid, ch));
    same(c, "read requests taken", ch, of_readers(u[0].rd_req_ready, u[1].rd_req_ready, u[2].rd_req_ready, ch),
         npu_score_b(k->req_ready));
    if (npu_score_b(k->req_ready) == 0) {
        return;
    }
    for (uint32_t i = 0; i < UNITS; i++, u++) {
        for (uint32_t r = 0; r < u->count; r++) {
            if (((npu_score_b(k->req_ready) >> (u->first + r)) & 1u) != 0) {
                same_bytes(c, "read address", ch, u->name, piece(k->req_addr, u->first + r, 4),
                           piece(u->rd_req_addr, u->count * ch + r, 4), 4);
                same_bytes(c, "read bytes", ch, u->name, piece(k->req_bytes, u->first + r, 3),
                           piece(u->rd_req_bytes, u->count * ch + r, 3), 3);
            }
        }
    }
}

static void read_data(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const uint32_t any = npu_score_b(k->dat_valid), id = npu_score_b(k->dat_id);
    uint32_t valid = 0;
    for (uint32_t i = 0; i < UNITS; i++) {
        valid |= bit(s->unit[i].rd_valid, ch) << i;
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
    same(c, "read data taken", ch, npu_score_b(k->dat_ready), bit(u->rd_ready, ch));
    same_bytes(c, "read data", ch, u->name, piece(u->rd_data, ch, 16), k->dat.ptr, 16);
    if (to == 0) {
        same(c, "read requester", ch, (npu_score_b(s->gemm_id) >> (3 * ch)) & 7u, id);
    }
}

static void write_side(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const ends *u = s->unit;
    same(c, "write requests", ch, npu_score_b(k->wreq_valid),
         of_writers(u[0].wr_req_valid, u[1].wr_req_valid, u[2].wr_req_valid, ch));
    same(c, "write requests taken", ch, of_writers(u[0].wr_req_ready, u[1].wr_req_ready, u[2].wr_req_ready, ch),
         npu_score_b(k->wreq_ready));
    same(c, "words offered", ch, npu_score_b(k->wvalid), of_writers(u[0].wr_valid, u[1].wr_valid, u[2].wr_valid, ch));
    same(c, "words taken", ch, of_writers(u[0].wr_ready, u[1].wr_ready, u[2].wr_ready, ch), npu_score_b(k->wready));
    const uint32_t requests = npu_score_b(k->wreq_ready), words = npu_score_b(k->wready) & npu_score_b(k->wvalid);
    for (uint32_t i = 0; (requests | words) != 0 && i < UNITS; i++, u++) {
        if ((requests >> u->wr & 1u) != 0) {
            same_bytes(c, "write address", ch, u->name, piece(k->wreq_addr, u->wr, 4), piece(u->wr_req_addr, ch, 4), 4);
            same_bytes(c, "write bytes", ch, u->name, piece(k->wreq_bytes, u->wr, 3), piece(u->wr_req_bytes, ch, 3), 3);
        }
        if ((words >> u->wr & 1u) != 0) {
            same_bytes(c, "write data", ch, u->name, piece(k->wdata, u->wr, 16), piece(u->wr_data, ch, 16), 16);
        }
    }
    for (uint32_t i = 0; k->words_apart && (npu_score_b(k->rvalid) & npu_score_b(k->rready)) >> i != 0; i++) {
        if (((npu_score_b(k->rvalid) & npu_score_b(k->rready)) >> i & 1u) != 0) {
            same_bytes(c, "words", ch, NULL, piece(k->wdat, i, 16), piece(k->rdata, i, 16), 16);
        }
    }
}

/* What a unit knows of its words that wait and of its writes. */
static void write_state(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const ends *u = s->unit;
    same(c, "write idle", ch, of_writers(u[0].wr_idle, u[1].wr_idle, u[2].wr_idle, ch), npu_score_b(k->idle_req));
    for (uint32_t i = 0; i < UNITS; i++, u++) {
        same_bytes(c, "level", ch, u->name, piece(u->wr_level, ch, 2), piece(k->level, u->wr, 2), 2);
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
            const uint32_t rd = (npu_score_b(k->rd_err) >> u->first) & ((1u << u->count) - 1);
            err |= (uint32_t)(rd != 0) << (4 * i + ch) | ((npu_score_b(k->wr_err) >> u->wr) & 1u) << (4 * i + 2 + ch);
        }
    }
    return err;
}

/* Soft reset: flush {wr1, rd1, wr0, rd0}, reset {pool, alu, gemm, send_buf1, send_buf0}; end of a drain; errors. */
static void status(tb_check *c, const state *s) {
    const channel *a = &s->ch[0], *b = &s->ch[1];
    const ends *u = s->unit;
    const uint32_t srst = npu_score_b(s->srst), any = npu_score_b(a->rd_err) | npu_score_b(a->wr_err) |
                                                      npu_score_b(b->rd_err) | npu_score_b(b->wr_err);
    const uint32_t flush = npu_score_b(a->rd_flush) | npu_score_b(a->wr_flush) << 1 | npu_score_b(b->rd_flush) << 2 |
                           npu_score_b(b->wr_flush) << 3;
    const uint32_t reset = npu_score_b(a->send_rst) | npu_score_b(b->send_rst) << 1 | npu_score_b(u[0].rst) << 2 |
                           npu_score_b(u[1].rst) << 3 | npu_score_b(u[2].rst) << 4;
    same(c, "flush", 0, flush, srst * 0xfu);
    same(c, "reset", 0, reset, srst != 0 ? 0 : 0x1fu);
    same(c, "errors of units", 0, *(const uint16_t *)s->bus_err.ptr, any == 0 ? 0 : errors(s));
    same(c, "drained", 0, npu_score_b(s->drained),
         npu_score_b(a->rd_idle) & npu_score_b(a->wr_idle) & npu_score_b(b->rd_idle) & npu_score_b(b->wr_idle));
}

/* A bit for each unit: {pool, alu, gemm}. */
static uint32_t of_units(tb_sig gemm, tb_sig alu, tb_sig pool) {
    return npu_score_b(gemm) | npu_score_b(alu) << 1 | npu_score_b(pool) << 2;
}

static void clocks(tb_check *c, state *s) {
    const ends *u = s->unit;
    const uint32_t work =
        of_units(u[0].task_valid, u[1].task_valid, u[2].task_valid) | of_units(u[0].busy, u[1].busy, u[2].busy);
    const uint32_t runs = of_units(u[0].clock, u[1].clock, u[2].clock), past = s->worked;
    /* TAIL of them */
    const uint32_t lately = (past | past >> UNITS | past >> 2 * UNITS | past >> 3 * UNITS) & ALL_UNITS;
    const uint32_t wrong = s->unknown > 0 ? work & ~runs : runs ^ (work | lately);
    if (wrong != 0) {
        const uint32_t i = (uint32_t)__builtin_ctz(wrong);
        const bool stands = (runs >> i & 1u) == 0;
        tb_check_fail(c, "clock", c->all->sim->cycle, u[i].name, stands ? "stands" : "runs",
                      stands ? "runs" : "stands");
    }
    s->unknown -= s->unknown > 0;
    s->worked = past << UNITS | (npu_score_b(s->srst) != 0 ? ALL_UNITS : work);
}

/* Events and levels of the channels, by the numbers of docs/npu/npu.md section 5. */
/* Events that the channels count, by the numbers of their counters: channel 0, then 1. */
#define C(name) NPU_PERF_SEL_SEL_##name
static const uint32_t channel_events = 3u << C(READ0_BEATS) | 3u << C(WRITE0_BEATS) | 3u << C(READ0_BURSTS) |
                                       3u << C(WRITE0_BURSTS) | 3u << C(READ0_WAITS_BUS) | 3u << C(READ0_HELD) |
                                       3u << C(WRITE0_WAITS_BUS) | 3u << C(WRITE0_WAITS_DATA);

static void counters(tb_check *c, const state *s) {
    const uint16_t *level = (const uint16_t *)s->perf_level.ptr;
    uint32_t event = 0;
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        event |=
            (npu_score_b(k->rd_beat) << C(READ0_BEATS) | npu_score_b(k->wr_beat) << C(WRITE0_BEATS) |
             npu_score_b(k->rd_burst) << C(READ0_BURSTS) | npu_score_b(k->wr_burst) << C(WRITE0_BURSTS) |
             npu_score_b(k->rd_wait_bus) << C(READ0_WAITS_BUS) | npu_score_b(k->rd_wait_user) << C(READ0_HELD) |
             npu_score_b(k->wr_wait_bus) << C(WRITE0_WAITS_BUS) | npu_score_b(k->wr_wait_data) << C(WRITE0_WAITS_DATA))
            << ch;
        const uint16_t *words = (const uint16_t *)k->level.ptr;
        if (level[ch] != words[0] || level[2 + ch] != words[1] || level[4 + ch] != words[2]) {
            differs(c, "level of a counter", ch, "send_buf", level[ch], words[0]);
        }
        same(c, "level of a counter", ch, level[8 + ch], npu_score_b(k->rd_inflight));
        same(c, "level of a counter", ch, level[10 + ch], npu_score_b(k->wr_inflight));
    }
    same(c, "events of counters", 0, (uint32_t)tb_get(s->perf_event) & channel_events, event);
}

static uint32_t bus_valids(const channel *k) {
    return npu_score_b(k->arvalid) | npu_score_b(k->p_rvalid) | npu_score_b(k->awvalid) | npu_score_b(k->wvalid_o) |
           npu_score_b(k->p_bvalid);
}

/* Wires that nothing is offered on are not looked at, and levels only after something has moved. */
static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    uint32_t requests = 0, data = 0, writes = 0;
    bool moves = false;
    for (uint32_t i = 0; i < UNITS; i++) {
        const ends *u = &s->unit[i];
        requests |= npu_score_b(u->rd_req_valid);
        data |= npu_score_b(u->rd_valid);
        writes |= npu_score_b(u->wr_req_valid) | npu_score_b(u->wr_valid);
    }
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        const uint32_t on_bus = bus_valids(k), reads = requests | npu_score_b(k->req_valid),
                       words = data | npu_score_b(k->dat_valid);
        const uint32_t sends = writes | npu_score_b(k->wreq_valid) | npu_score_b(k->wvalid) |
                               npu_score_b(k->wdat_valid) | npu_score_b(k->rvalid);
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
    clocks(c, s);
    if (s->moved) {
        counters(c, s);
    }
    s->moved = moves;
}

const tb_check_ops npu_score_npu_top = {
    .unit = "npu_top", .state_bytes = sizeof(state), .open = open, .clear = clear, .cycle = cycle};
