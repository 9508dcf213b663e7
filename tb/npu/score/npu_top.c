/*
 * npu_top.c - the wires between units and channels, which belong to no unit: equal at both ends; and the clocks of the
 * units.
 *
 * The ends are the taps of the channels (dma_rd, dma_wr, send_buf), those of GEMM, ALU, POOL and npu_regs, and the
 * ports of the NPU. A unit's clock runs from the valid of a task until four cycles after the last one is complete
 * (docs/npu/npu.md 4.5).
 *
 * What differs in most cycles is compared in each of them while something is accepted: events, data, levels. The
 * handshakes are compared, and what they say is carried is found, when one of their wires has changed (wires.h). A
 * comparison only says that something differs; then a function find_... compares once more, one wire after the other,
 * and reports.
 */
#include "npu_top.h"

#define ALL_UNITS ((1u << UNITS) - 1)
#define TAIL 4u /* cycles that a clock runs on */

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->unknown = UNKNOWN;
    s->again |= STATES;
}

typedef uint64_t word __attribute__((vector_size(WORD), aligned(1), may_alias));

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

/* Reports the first byte that differs, if there is one. */
static void compare_bytes(tb_check *c, const carried *w, const carried_name *n) {
    for (uint32_t k = 0; k < n->bytes; k++) {
        if (w->got[k] != w->expected[k]) {
            differs(c, n->stream, n->ch, n->of, w->got[k], w->expected[k]);
            return;
        }
    }
}

__attribute__((cold, noinline)) static void find_difference(tb_check *c, const load *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        compare_bytes(c, &l->both[i], &l->name[i]);
    }
}

static inline bool words_differ(const load *l) {
    word differ = {0};
    for (const carried *w = l->both, *end = w + l->count; w < end; w++) {
        differ |= *(const word *)w->got ^ *(const word *)w->expected;
    }
    return (differ[0] | differ[1]) != 0;
}

static inline uint32_t four_bytes(const void *at) {
    uint32_t both;
    memcpy(&both, at, sizeof both);
    return both;
}

static inline void compare_requests(tb_check *c, const load *l) {
    uint32_t differ = 0;
    for (const carried *w = l->both, *end = w + l->count; w < end; w += 2) {
        differ |= four_bytes(w[0].got) ^ four_bytes(w[0].expected);
        differ |= npu_score_half(w[1].got) ^ npu_score_half(w[1].expected);
        differ |= w[1].got[BYTES - 1] ^ w[1].expected[BYTES - 1];
    }
    if (__builtin_expect(differ != 0, 0)) {
        find_difference(c, l);
    }
}

/* To be compared from now on, until a wire changes that says so. */
static void carry(load *l, const char *stream, uint32_t ch, const char *of, const void *got, const void *expected,
                  uint32_t bytes) {
    l->both[l->count] = (carried){(const uint8_t *)got, (const uint8_t *)expected};
    l->name[l->count++] = (carried_name){stream, of, ch, bytes};
}

/* Element `index` of a wire of elements of `bytes` bytes. */
static inline const void *piece(tb_sig sig, uint32_t index, uint32_t bytes) {
    return (const uint8_t *)sig.ptr + (size_t)index * bytes;
}

static inline uint32_t bit(tb_sig sig, uint32_t ch) {
    return (npu_score_b(sig) >> ch) & 1u;
}

/*
 * Bits of the requesters of both channels, channel 0 lowest: as a channel has them; and as the units have them, in the
 * order of npu_pkg::RdId* and WrId*.
 */
static inline uint32_t of_channels(tb_sig a, tb_sig b, uint32_t requesters) {
    return npu_score_b(a) | npu_score_b(b) << requesters;
}

static inline uint32_t of_readers(tb_sig gemm, tb_sig alu, tb_sig pool) {
    const uint32_t g = npu_score_b(gemm), a = npu_score_b(alu), p = npu_score_b(pool);
    return (g & 15u) | (a & 1u) << 4 | (p & 1u) << 5 | (g >> 4 | (a & 2u) << 3 | (p & 2u) << 4) << READERS;
}

static inline uint32_t of_writers(tb_sig gemm, tb_sig alu, tb_sig pool) {
    const uint32_t g = npu_score_b(gemm), a = npu_score_b(alu), p = npu_score_b(pool);
    return (g & 1u) | (p & 1u) << 1 | (a & 1u) << 2 | (g >> 1 | (p & 2u) | (a & 2u) << 1) << WRITERS;
}

/* Which channel differs, each of so many bits? `of` may be NULL. */
__attribute__((cold, noinline)) static void find_channel(tb_check *c, const char *stream, const char *of, uint32_t bits,
                                                         uint32_t got, uint32_t expected) {
    const uint32_t mask = (1u << bits) - 1;
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        if (((got ^ expected) >> bits * ch & mask) != 0) {
            differs(c, stream, ch, of, got >> bits * ch & mask, expected >> bits * ch & mask);
        }
    }
}

static inline void both_same(tb_check *c, const char *stream, uint32_t requesters, uint32_t got, uint32_t expected) {
    if (__builtin_expect(got != expected, 0)) {
        find_channel(c, stream, NULL, requesters, got, expected);
    }
}

/* The unit of a requester of reads; UNITS and more: none. */
static inline uint32_t unit_of(uint32_t id) {
    return id < 4 ? 0 : id - 3;
}

/* Compares the handshakes of requests for reads, and finds what they carry. True: some are accepted. */
static bool read_requests(tb_check *c, state *s) {
    const channel *k = s->ch;
    const ends *u = s->unit;
    const uint32_t valid = of_channels(k[0].rd.req_valid_i, k[1].rd.req_valid_i, READERS);
    const uint32_t ready = of_channels(k[0].rd.req_ready_o, k[1].rd.req_ready_o, READERS);
    both_same(c, "read requests", READERS, valid,
              of_readers(u[0].rd_req_valid_o, u[1].rd_req_valid_o, u[2].rd_req_valid_o));
    both_same(c, "read requests taken", READERS,
              of_readers(u[0].rd_req_ready_i, u[1].rd_req_ready_i, u[2].rd_req_ready_i), ready);
    s->rd_requests.count = 0;
    for (uint32_t left = ready; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left), ch = i / READERS, id = i % READERS;
        u = &s->unit[unit_of(id)];
        const uint32_t at = u->count * ch + id - u->first; /* in the unit's wires */
        carry(&s->rd_requests, "read address", ch, u->name, piece(k[ch].rd.req_addr_i, id, ADDRESS),
              piece(u->rd_req_addr_o, at, ADDRESS), ADDRESS);
        carry(&s->rd_requests, "read bytes", ch, u->name, piece(k[ch].rd.req_bytes_i, id, BYTES),
              piece(u->rd_req_bytes_o, at, BYTES), BYTES);
    }
    return ready != 0;
}

/* Which handshake of data that was read differs? */
__attribute__((cold, noinline)) static void find_handshake(tb_check *c, const state *s, uint32_t ch) {
    const channel *k = &s->ch[ch];
    const ends *u = s->unit;
    const uint32_t any = npu_score_b(k->rd.dat_valid_o), id = npu_score_b(k->rd.dat_id_o), to = unit_of(id);
    const uint32_t valid = bit(u[0].rd_valid_i, ch) | bit(u[1].rd_valid_i, ch) << 1 | bit(u[2].rd_valid_i, ch) << 2;
    if (any != 0 && to >= UNITS) {
        differs(c, "read data offered", ch, "requester", id, 0);
        return;
    }
    same(c, "read data offered", ch, valid, any << to);
    if (any != 0) {
        same(c, "read data taken", ch, npu_score_b(k->rd.dat_ready_i), bit(u[to].rd_ready_o, ch));
    }
}

/* A bit for each unit and channel: {pool1, pool0, alu1, alu0, gemm1, gemm0}. */
static inline uint32_t of_both(tb_sig gemm, tb_sig alu, tb_sig pool) {
    return npu_score_b(gemm) | npu_score_b(alu) << 2 | npu_score_b(pool) << 4;
}

/* Compares the handshakes of data that was read. True: some is taken. */
__attribute__((noinline, hot)) static bool read_data(tb_check *c, const state *s) {
    const ends *u = s->unit;
    const uint32_t offered = of_both(u[0].rd_valid_i, u[1].rd_valid_i, u[2].rd_valid_i);
    const uint32_t ready = of_both(u[0].rd_ready_o, u[1].rd_ready_o, u[2].rd_ready_o);
    uint32_t expected = 0, wrong = 0, taken = 0;
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        const uint32_t valid = npu_score_b(k->rd.dat_valid_o), at = 2 * unit_of(*s->ids[ch]) + ch;
        const uint32_t takes = npu_score_b(k->rd.dat_ready_i);
        expected |= valid << at;
        wrong |= valid & (takes ^ ready >> at);
        taken |= valid & takes;
    }
    if (__builtin_expect((wrong | (offered ^ expected)) != 0, 0)) {
        find_handshake(c, s, 0);
        find_handshake(c, s, 1);
    }
    return taken != 0;
}

/* The same for writes, and for words on their way through send_buf. True: something is accepted. */
static bool writes(tb_check *c, state *s) {
    const channel *k = s->ch;
    const ends *u = s->unit;
    const uint32_t valid = of_channels(k[0].wr.req_valid_i, k[1].wr.req_valid_i, WRITERS);
    const uint32_t ready = of_channels(k[0].wr.req_ready_o, k[1].wr.req_ready_o, WRITERS);
    const uint32_t offered = of_channels(k[0].send.wvalid_i, k[1].send.wvalid_i, WRITERS);
    const uint32_t taken = of_channels(k[0].send.wready_o, k[1].send.wready_o, WRITERS), words = offered & taken;
    const uint32_t waiting = of_channels(k[0].send.rvalid_o, k[1].send.rvalid_o, WRITERS);
    const uint32_t sent = waiting & of_channels(k[0].send.rready_i, k[1].send.rready_i, WRITERS);
    both_same(c, "write requests", WRITERS, valid,
              of_writers(u[0].wr_req_valid_o, u[1].wr_req_valid_o, u[2].wr_req_valid_o));
    both_same(c, "write requests taken", WRITERS,
              of_writers(u[0].wr_req_ready_i, u[1].wr_req_ready_i, u[2].wr_req_ready_i), ready);
    both_same(c, "words offered", WRITERS, offered, of_writers(u[0].wr_valid_o, u[1].wr_valid_o, u[2].wr_valid_o));
    both_same(c, "words taken", WRITERS, of_writers(u[0].wr_ready_i, u[1].wr_ready_i, u[2].wr_ready_i), taken);
    s->wr_requests.count = s->wr_words.count = 0;
    for (uint32_t left = ready | words | sent; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left), ch = i / WRITERS, id = i % WRITERS;
        u = &s->unit[id == 0 ? 0 : UNITS - id];
        if ((ready >> i & 1u) != 0) {
            carry(&s->wr_requests, "write address", ch, u->name, piece(k[ch].wr.req_addr_i, id, ADDRESS),
                  piece(u->wr_req_addr_o, ch, ADDRESS), ADDRESS);
            carry(&s->wr_requests, "write bytes", ch, u->name, piece(k[ch].wr.req_bytes_i, id, BYTES),
                  piece(u->wr_req_bytes_o, ch, BYTES), BYTES);
        }
        if ((words >> i & 1u) != 0) {
            carry(&s->wr_words, "write data", ch, u->name, piece(k[ch].send.wdata_i, id, WORD),
                  piece(u->wr_data_o, ch, WORD), WORD);
        }
        if ((sent >> i & 1u) != 0 && k[ch].words_apart) {
            carry(&s->wr_words, "words", ch, NULL, piece(k[ch].wr.wdat_i, id, WORD),
                  piece(k[ch].send.rdata_o, id, WORD), WORD);
        }
    }
    return (ready | words | sent) != 0;
}

/* Links that carry something while a valid of the bus is 1. */
__attribute__((noinline)) static void compare_links(tb_check *c, const state *s) {
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const channel *k = &s->ch[ch];
        for (const link *l = k->link + k->plain; l < k->link + k->links; l++) {
            if (*l->when != 0) {
                compare_bytes(c, &(carried){(const uint8_t *)l->got.ptr, (const uint8_t *)l->expected.ptr},
                              &(carried_name){l->stream, NULL, ch, (uint32_t)tb_sig_bytes(l->got)});
            }
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
    both_same(c, "write idle", WRITERS, of_writers(u[0].wr_idle_i, u[1].wr_idle_i, u[2].wr_idle_i),
              of_channels(a->wr.idle_req_o, b->wr.idle_req_o, WRITERS));
    for (uint32_t ch = 0; ch < CHANNELS; ch++) { /* links that are always compared */
        for (const link *l = s->ch[ch].link; l < s->ch[ch].link + s->ch[ch].plain; l++) {
            same(c, l->stream, ch, npu_score_b(l->got), npu_score_b(l->expected));
        }
    }
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

/* True: the cycles that it remembers are all alike, so the next one needs a look only if a wire changes. */
__attribute__((noinline)) static bool clocks(tb_check *c, state *s) {
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

/* Two levels of a requester in send_buf, of channel 0 and 1. */
static inline uint32_t words_of(const state *s, uint32_t id) {
    return s->sent[0][id] | (uint32_t)s->sent[1][id] << 16;
}

__attribute__((cold, noinline)) static void find_level(tb_check *c, const state *s) {
    for (const ends *u = s->unit; u < s->unit + UNITS; u++) {
        const uint32_t words = words_of(s, u->wr);
        find_channel(c, "level", u->name, 16, four_bytes(s->seen[u->wr]), words);
        find_channel(c, "level of a counter", "send_buf", 16, four_bytes(&s->level[2 * u->wr]), words);
    }
}

/* Levels of send_buf as the units and the counters must see them. */
static inline void levels(tb_check *c, const state *s) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < WRITERS; i++) {
        wrong |= (four_bytes(&s->level[2 * i]) ^ words_of(s, i)) | (four_bytes(s->seen[i]) ^ words_of(s, i));
    }
    if (__builtin_expect(wrong != 0, 0)) {
        find_level(c, s);
    }
}

/* Events and bursts in flight of the channels, one after the other. */
__attribute__((cold, noinline)) static void find_event(tb_check *c, const state *s) {
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
    }
    same(c, "events of counters", 0, (uint32_t)tb_get(s->perf.perf_event_o) & CHANNEL_EVENTS, event);
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const uint16_t *level = &s->level[INFLIGHT_AT + ch];
        same(c, "level of a counter", ch, level[0], npu_score_b(s->ch[ch].rd.inflight_o));
        same(c, "level of a counter", ch, level[CHANNELS], npu_score_b(s->ch[ch].wr.inflight_o));
    }
}

/* Compares the events and bursts in flight of the channels with those of the counters; returns the beats and bursts. */
static inline uint32_t events(tb_check *c, const state *s) {
    const uint32_t all = four_bytes(s->event);
    const uint32_t event = (all >> C(READ0_BEATS) & 0xfu) | (all >> C(READ0_BURSTS) & 0xfffu) << 4;
    const uint8_t *at = s->sides.at;
    uint64_t part[2], level; /* level: {wr1, wr0, rd1, rd0} as 16 bits each */
    memcpy(part, at, sizeof part);
    memcpy(&level, &s->level[INFLIGHT_AT], sizeof level);
    const uint64_t bits = part[0] * s->sides.places[0] >> 56 | part[1] * s->sides.places[1] >> 56 << 8;
    const uint64_t bytes = (uint32_t)(level | level >> 24) | (level & UINT64_C(0xff00ff00ff00ff00));
    if (__builtin_expect(((bits ^ event) | (bytes ^ four_bytes(at + EVENTS))) != 0 || s->sides.apart, 0)) {
        find_event(c, s);
    }
    return event & 0xffu;
}

/* The requesters of data that GEMM sees, and the data, whether it is valid or not. */
__attribute__((cold, noinline)) static void find_word(tb_check *c, const state *s) {
    for (uint32_t ch = 0; ch < CHANNELS; ch++) {
        const uint32_t id = *s->ids[ch], to = unit_of(id);
        same(c, "read requester", ch, *s->gemm_ids >> (3 * ch) & 7u, id);
        for (uint32_t i = 0; i < UNITS; i++) {
            const ends *u = &s->unit[s->data_apart || to >= UNITS ? i : to];
            compare_bytes(c, &(carried){(const uint8_t *)piece(u->rd_data_i, ch, WORD), s->data[ch]},
                          &(carried_name){"read data", u->name, ch, WORD});
        }
    }
}

static inline void words_read(tb_check *c, const state *s) {
    const word differ = (*(const word *)s->read[0] ^ *(const word *)s->data[0]) |
                        (*(const word *)s->read[1] ^ *(const word *)s->data[1]);
    const bool ids_differ = (*s->ids[0] | *s->ids[1] << 3) != *s->gemm_ids;
    if (__builtin_expect(s->data_apart || ids_differ || (differ[0] | differ[1]) != 0, 0)) {
        find_word(c, s);
    }
}

/* Compares the wires of these groups, and finds what is carried from now on. */
__attribute__((noinline, hot)) static void compare(tb_check *c, state *s, uint32_t groups) {
    s->again &= ~groups;
    if ((groups & REQUESTS) != 0 && read_requests(c, s)) {
        s->again |= REQUESTS;
    }
    if ((groups & WRITES) != 0 && writes(c, s)) {
        s->again |= WRITES;
    }
    s->others = (s->rd_requests.count | s->wr_requests.count) != 0 || s->links_apart;
    if ((groups & STATES) != 0) {
        status(c, s);
        s->again |= STATES; /* a look at the clocks */
    }
}

/* What is carried, beside data that was read. */
static inline void compare_carried(tb_check *c, const state *s) {
    if (__builtin_expect(words_differ(&s->wr_words), 0)) {
        find_difference(c, &s->wr_words);
    }
    if (s->others) {
        compare_requests(c, &s->rd_requests);
        compare_requests(c, &s->wr_requests);
        if (s->links_apart) {
            compare_links(c, s);
        }
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t groups = npu_wires_groups(npu_wires_changed(&s->wires)) | s->first;
    const uint32_t busy = groups | s->again; /* in this cycle, or in the one before */
    s->first = 0;
    const uint32_t bus = events(c, s) | *s->answered[0] | *s->answered[1];
    if ((busy & WRITES) != 0) {
        levels(c, s);
    }
    if ((busy & DATA) != 0) {
        words_read(c, s);
    }
    if ((groups & DATA) != 0) {
        s->again = (s->again & ~(uint32_t)DATA) | (read_data(c, s) ? DATA : 0u);
    }
    if ((groups & ~(uint32_t)DATA) != 0) {
        compare(c, s, groups & ~(uint32_t)DATA);
    }
    compare_carried(c, s);
    if ((s->again & STATES) != 0 && clocks(c, s)) {
        s->again &= ~(uint32_t)STATES;
    }
    c->again = (s->again | bus) != 0; /* what they change is compared */
}

static void close(tb_check *c) {
    state *s = (state *)c->state;
    npu_wires_close(&s->wires);
}

const tb_check_ops npu_score_npu_top = {.unit = "npu_top",
                                        .state_bytes = sizeof(state),
                                        .open = npu_score_top_open,
                                        .clear = clear,
                                        .cycle = cycle,
                                        .close = close};
