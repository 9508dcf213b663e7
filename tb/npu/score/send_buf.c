/*
 * send_buf.c - output buffer of a write channel: three FIFOs in one memory, write arbitration, levels, and the rate of
 * words for the client that is served.
 */
#include "score.h"

#include <inttypes.h>

#define CLIENTS 3u
#define DEPTH 512u /* of the largest region */
#define WORD 16u
/* Cycles from the write of a word until it can be read; a client served for so long gets a word in every cycle. */
#define SETTLED 4u

static const char *const names[CLIENTS] = {"GEMM", "POOL", "ALU"}; /* npu_pkg::WrId* */
static const uint32_t size[CLIENTS] = {512, 256, 256};             /* docs/npu/npu.md 4.4 */

typedef struct client {
    uint64_t in, out;   /* words written, read */
    uint32_t served;    /* successive cycles in which its reader was ready */
    uint64_t at[DEPTH]; /* cycle of the write */
    uint8_t word[DEPTH][WORD];
} client;

#define PORTS wvalid_i, wready_o, wdata_i, rvalid_o, rready_i, rdata_o, level_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    uint64_t levels;   /* expected level_o */
    uint32_t has_room; /* clients whose region is not full */
    client client[CLIENTS];
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->levels = 0;
    s->has_room = (1u << CLIENTS) - 1;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        s->client[i].in = s->client[i].out = 0;
        s->client[i].served = 0;
    }
}

static int open(tb_check *c, char *err, size_t err_size) {
    (void)err, (void)err_size;
    clear(c);
    return 0;
}

static void set_level(state *s, uint32_t i) {
    const uint64_t level = s->client[i].in - s->client[i].out;
    s->levels = (s->levels & ~(UINT64_C(0xffff) << (16 * i))) | level << (16 * i);
    s->has_room = (s->has_room & ~(1u << i)) | (uint32_t)(level < size[i]) << i;
}

static void read_word(tb_check *c, state *s, uint32_t i) {
    client *k = &s->client[i];
    const uint8_t *got = (const uint8_t *)s->rdata_o.ptr + (size_t)WORD * i, *expected = k->word[k->out % DEPTH];
    if (memcmp(got, expected, WORD) != 0) {
        uint32_t at = 0;
        while (got[at] == expected[at]) {
            at++;
        }
        tb_check_failf(c, "read", k->out, "%s, byte %" PRIu32 "|0x%02x|0x%02x", names[i], at, got[at], expected[at]);
    }
    k->out++;
    set_level(s, i);
}

static void write_word(tb_check *c, state *s, uint32_t i) {
    client *k = &s->client[i];
    memcpy(k->word[k->in % DEPTH], (const uint8_t *)s->wdata_i.ptr + (size_t)WORD * i, WORD);
    k->at[k->in % DEPTH] = c->all->sim->cycle;
    k->in++;
    set_level(s, i);
}

/* A client that is served gets a word in every cycle, and its first one after at most SETTLED cycles. */
static void check_time(tb_check *c, state *s, uint32_t rvalid, uint32_t rready) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        client *k = &s->client[i];
        if (((rready >> i) & 1u) == 0) {
            k->served = 0;
            continue;
        }
        if (k->served < SETTLED) {
            k->served++;
        } else if (((rvalid >> i) & 1u) == 0 && k->in != k->out &&
                   c->all->sim->cycle - k->at[k->out % DEPTH] >= SETTLED) {
            tb_check_fail(c, "read", k->out, names[i], "no word", "one in every cycle for the client that is served");
        }
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t wvalid = *(const uint8_t *)s->wvalid_i.ptr, wready = *(const uint8_t *)s->wready_o.ptr;
    const uint32_t rvalid = *(const uint8_t *)s->rvalid_o.ptr, rready = *(const uint8_t *)s->rready_i.ptr;
    const uint64_t level = *(const uint64_t *)s->level_o.ptr;
    if (level != s->levels) {
        tb_check_value(c, "levels", s->client[0].in + s->client[1].in + s->client[2].in, level, s->levels);
    }
    /* all with space, down to the first one that writes */
    const uint32_t wanted = wvalid & s->has_room, first = wanted & (~wanted + 1);
    const uint32_t may = s->has_room & (first - 1 + first);
    const uint32_t allowed = first == 0 ? s->has_room : may;
    if (wready != allowed) {
        tb_check_value(c, "clients that may write", s->client[0].in + s->client[1].in + s->client[2].in, wready,
                       allowed);
    }
    if (rready != 0 || s->client[0].served + s->client[1].served + s->client[2].served != 0) {
        check_time(c, s, rvalid, rready);
    }
    for (uint32_t i = 0; rvalid >> i != 0; i++) {
        if (((rvalid >> i) & 1u) != 0 && s->client[i].in == s->client[i].out) {
            tb_check_fail(c, "read", s->client[i].out, names[i], "a word", "none: it has none");
        } else if ((((rvalid & rready) >> i) & 1u) != 0) {
            read_word(c, s, i);
        }
    }
    for (uint32_t i = 0; ((wvalid & wready) >> i) != 0; i++) {
        if ((((wvalid & wready) >> i) & 1u) != 0) {
            write_word(c, s, i);
        }
    }
    /* levels and free space change with words only, one cycle later */
    c->again = (wvalid & wready) != 0 || (rvalid & rready) != 0 ||
               s->client[0].served + s->client[1].served + s->client[2].served != 0;
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const client *k = &s->client[i];
        if (k->in != k->out) {
            tb_check_failf(c, "read", k->out, "%s|%" PRIu64 " words left|none at the end", names[i], k->in - k->out);
        }
    }
}

const tb_check_ops npu_score_send_buf = {
    .unit = "send_buf",
    .inputs = (const char *const[]){"post", "requant", "transpose", "alu", "alu_chan", "pool", "pool_out", NULL},
    TB_STATE(state, PORTS),
    .wake = "wvalid_i, rvalid_o, rready_i",
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
