/*
 * send_buf.c - output buffer of a write channel: three FIFOs in one memory, write arbitration, levels, and the rate of
 * words for the client that is served.
 */
#include "score.h"

#include <inttypes.h>

#define CLIENTS 3u
#define DEPTH 512u /* of the largest region */
#define WORD 16u
#define RING (DEPTH * WORD)
/* Cycles from the write of a word until it can be read; a client served for so long gets a word in every cycle. */
#define SETTLED 4u
#define RECENT 4u /* a client gets at most one word in a cycle: the words before these are older than SETTLED */

static const char *const names[CLIENTS] = {"GEMM", "POOL", "ALU"}; /* npu_pkg::WrId* */
static const uint32_t size[CLIENTS] = {512, 256, 256};             /* docs/npu/npu.md 4.4 */

typedef struct client {
    uint32_t head, tail; /* bytes up to the oldest one and to the next one; an empty client begins at 0 again */
    uint64_t out;        /* words read so far */
    uint64_t since;      /* cycle in which its reader became ready; without meaning while it is not */
    uint64_t at[RECENT]; /* cycle of the write, of the last words */
    uint64_t spare;      /* up to a line of the cache */
} client;

#define PORTS wvalid_i, wready_o, rvalid_o, rready_i, level_o, wdata_i, rdata_o
typedef struct state {
    const uint8_t *base;
    NPU_SCORE_PLACES(at, PORTS);
    /* clients whose region is not full, and those with words; those whose reader was ready in the cycle before */
    uint32_t has_room, has_words, served;
    uint64_t levels[2]; /* expected level_o, and up to a line */
    client client[CLIENTS];
    uint8_t word[CLIENTS][RING]; /* rings of those that they have */
    TB_PORTS(ports, PORTS);
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->levels[0] = 0;
    s->has_room = (1u << CLIENTS) - 1;
    s->has_words = s->served = 0;
    memset(s->client, 0, sizeof s->client);
}

static int open(tb_check *c, char *err, size_t err_size) {
    state *s = (state *)c->state;
    s->base = (const uint8_t *)s->wvalid_i.ptr;
    clear(c);
    return npu_score_places(c, &s->at.wvalid_i, s->base, &s->wvalid_i, sizeof s->at / sizeof(int32_t), err, err_size);
}

/* Words that the client has. */
static inline uint32_t level(const state *s, uint32_t i) {
    return (uint32_t)(s->levels[0] >> 16 * i) & 0xffff;
}

/* Words written so far, of all clients, for reports. */
static uint64_t written(const state *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        sum += s->client[i].out + level(s, i);
    }
    return sum;
}

__attribute__((cold, noinline)) static void wrong_word(tb_check *c, const state *s, uint32_t i) {
    const client *k = &s->client[i];
    const uint8_t *got = (const uint8_t *)s->rdata_o.ptr + (size_t)WORD * i, *expected = &s->word[i][k->head];
    uint32_t at = 0;
    while (got[at] == expected[at]) {
        at++;
    }
    tb_check_failf(c, "read", k->out, "%s, byte %" PRIu32 "|0x%02x|0x%02x", names[i], at, got[at], expected[at]);
}

/* Of these clients one word is written and none read, of those one is read and none written. */
__attribute__((noinline, hot)) static void change_levels(state *s, uint32_t more, uint32_t less) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        client *k = &s->client[i];
        if (((more >> i) & 1u) != 0) {
            s->levels[0] += UINT64_C(1) << 16 * i;
            s->has_words |= 1u << i;
            s->has_room &= ~((uint32_t)(level(s, i) == size[i]) << i);
        } else if (((less >> i) & 1u) != 0) {
            s->levels[0] -= UINT64_C(1) << 16 * i;
            s->has_room |= 1u << i;
            if (level(s, i) == 0) {
                s->has_words &= ~(1u << i);
                k->head = k->tail = 0;
            }
        }
    }
}

/* When the word in this place of the ring was written, if it is one of the last ones. */
static inline uint64_t *written_at(client *k, uint32_t place) {
    return &k->at[place / WORD % RECENT];
}

/* A word is written: by the first of those that may write. */
static inline void write_word(const tb_check *c, state *s, uint32_t writes) {
    const size_t i = (size_t)__builtin_ctz(writes);
    client *k = &s->client[i];
    const uint32_t place = k->tail;
    memcpy(&s->word[i][place], s->base + s->at.wdata_i + WORD * i, WORD);
    *written_at(k, place) = c->all->sim->cycle;
    k->tail = (place + WORD) % RING;
}

/* The first of these clients reads a word. False: it is wrong. */
static inline bool read_word(tb_check *c, state *s, uint32_t reads) {
    const size_t i = (size_t)__builtin_ctz(reads);
    client *k = &s->client[i];
    const uint32_t place = k->head;
    if (memcmp(s->base + s->at.rdata_o + WORD * i, &s->word[i][place], WORD) != 0) {
        wrong_word(c, s, (uint32_t)i);
        return false;
    }
    k->out++;
    k->head = (place + WORD) % RING;
    return true;
}

/*
 * Other readers are ready than in the cycle before, or readers wait for words that their clients have. A client that is
 * served gets a word in every cycle, and its first one after at most SETTLED cycles. (A word is settled when RECENT
 * others have been written after it.)
 */
__attribute__((noinline)) static void check_time(tb_check *c, state *s, uint32_t rready, uint32_t waiting) {
    const uint64_t now = c->all->sim->cycle;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        client *k = &s->client[i];
        if ((((rready & ~s->served) >> i) & 1u) != 0) {
            k->since = now;
        }
        if (((waiting >> i) & 1u) != 0 && now - k->since >= SETTLED &&
            (level(s, i) > RECENT || now - *written_at(k, k->head) >= SETTLED)) {
            tb_check_fail(c, "read", k->out, names[i], "no word", "one in every cycle for the client that is served");
        }
    }
    s->served = rready;
}

__attribute__((cold, noinline)) static void wrong_state(tb_check *c, const state *s, uint32_t allowed) {
    tb_check_value(c, "levels", written(s), *(const uint64_t *)s->level_o.ptr, s->levels[0]);
    tb_check_value(c, "clients that may write", written(s), npu_score_b(s->wready_o), allowed);
    const uint32_t i = (uint32_t)__builtin_ctz((npu_score_b(s->rvalid_o) & ~s->has_words) | 1u << (CLIENTS - 1));
    tb_check_fail(c, "read", s->client[i].out, names[i], "a word", "none: it has none");
}

/* Value of a signal of up to 8 bits. */
static inline uint32_t see(const state *s, int32_t place) {
    return s->base[place];
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t wvalid = see(s, s->at.wvalid_i), wready = see(s, s->at.wready_o);
    const uint32_t rvalid = see(s, s->at.rvalid_o), rready = see(s, s->at.rready_i);
    /* all with space, down to the first one that writes */
    const uint32_t wanted = wvalid & s->has_room, allowed = s->has_room & (wanted ^ (wanted - 1));
    uint64_t levels;
    memcpy(&levels, s->base + s->at.level_o, sizeof levels);
    if (((levels ^ s->levels[0]) | (wready ^ allowed) | (rvalid & ~s->has_words)) != 0) {
        wrong_state(c, s, allowed);
        return;
    }
    const uint32_t waiting = rready & ~rvalid & s->has_words, writes = wvalid & wready, reads = rvalid & rready;
    /* levels and free space change with words only, one cycle later; otherwise nothing does until a signal changes */
    c->again = (writes | reads | waiting) != 0;
    if (((rready ^ s->served) | waiting) != 0) {
        check_time(c, s, rready, waiting);
    }
    if (writes != 0) {
        write_word(c, s, writes);
    }
    if (reads != 0) {
        uint32_t left = reads;
        while (read_word(c, s, left) && (left &= left - 1) != 0) {
        }
    }
    if (writes != reads) {
        change_levels(s, writes & ~reads, reads & ~writes);
    }
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        if (level(s, i) != 0) {
            tb_check_failf(c, "read", s->client[i].out, "%s|%" PRIu32 " words left|none at the end", names[i],
                           level(s, i));
        }
    }
}

const tb_check_ops npu_score_send_buf = {
    .unit = "send_buf",
    .inputs = (const char *const[]){"post", "requant", "transpose", "alu", "alu_chan", "pool", "pool_out", NULL},
    TB_STATE(state, PORTS),
    .watch = "wvalid_i, wready_o, rvalid_o, rready_i",
    .open = open,
    .clear = clear,
    .cycle = cycle,
    .finish = finish};
