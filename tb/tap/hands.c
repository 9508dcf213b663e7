#include "tap/hands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "opt/opt.h"

typedef struct hand {
    tb_sig valid, ready;
    tb_sig payload[TB_HAND_PAYLOAD];
    uint32_t fields, bytes;
    bool waits;                  /* it offered and was not taken in the last cycle of its clock */
    uint64_t transfers;          /* what the bench saw before the present one */
    uint8_t *inside;             /* payloads that have not come out yet, of the hands that others come from */
    uint8_t last[TB_HAND_BYTES]; /* what it offered */
} hand;

typedef struct state {
    hand hand[TB_HANDS_MOST];
} state;
_Static_assert(sizeof(state) <= TB_HANDS_STATE, "a check has room for its handshakes");

static const tb_hands *table_of(const tb_check *c) {
    return (const tb_hands *)(const void *)c->ops;
}

static hand *hand_of(const tb_check *c, unsigned i) {
    return &((state *)c->state)->hand[i];
}

tb_sig tb_hands_sig(const tb_check *c, unsigned i, unsigned field) {
    return hand_of(c, i)->payload[field];
}

uint64_t tb_hands_count(const tb_check *c, unsigned i) {
    return hand_of(c, i)->transfers;
}

static int open_hand(tb_check *c, unsigned i, char *err, size_t err_size) {
    const tb_hand *t = &table_of(c)->hand[i];
    hand *h = hand_of(c, i);
    if (tb_check_sig(c, t->valid, 1, &h->valid, err, err_size) != 0 ||
        (t->ready != NULL && tb_check_sig(c, t->ready, 1, &h->ready, err, err_size) != 0)) {
        return -1;
    }
    for (; h->fields < TB_HAND_PAYLOAD && t->payload[h->fields] != NULL; h->fields++) {
        if (tb_check_sig(c, t->payload[h->fields], 0, &h->payload[h->fields], err, err_size) != 0) {
            return -1;
        }
        h->bytes += (uint32_t)tb_sig_bytes(h->payload[h->fields]);
    }
    if (h->bytes > TB_HAND_BYTES) {
        return opt_fail(err, err_size, "%s: %s has a payload of %u bytes, expected at most %u", c->tap->path, t->valid,
                        h->bytes, TB_HAND_BYTES);
    }
    return 0;
}

/* What a hand offers comes from another one: of the same size, and remembered there. */
static int open_origin(tb_check *c, unsigned i, char *err, size_t err_size) {
    const tb_hands *t = table_of(c);
    const unsigned from = t->hand[i].from;
    if (from == 0) {
        return 0;
    }
    if (from > t->count || t->hand[from - 1].output || hand_of(c, from - 1)->bytes != hand_of(c, i)->bytes ||
        hand_of(c, from - 1)->inside != NULL) {
        return opt_fail(err, err_size, "%s: %s: from = %u: expected an input of the table with a payload of %u bytes",
                        c->tap->path, t->hand[i].valid, from, hand_of(c, i)->bytes);
    }
    hand_of(c, from - 1)->inside =
        (uint8_t *)tb_check_memory(c->all, (size_t)TB_HAND_INSIDE * (hand_of(c, i)->bytes + 1));
    return hand_of(c, from - 1)->inside != NULL ? 0 : opt_fail(err, err_size, "out of memory");
}

int tb_hands_open(tb_check *c, char *err, size_t err_size) {
    const tb_hands *t = table_of(c);
    if (t->count > TB_HANDS_MOST) {
        return opt_fail(err, err_size, "%s: %u handshakes, expected at most %u", c->tap->path, t->count, TB_HANDS_MOST);
    }
    for (unsigned i = 0; i < t->count; i++) {
        if (open_hand(c, i, err, err_size) != 0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < t->count; i++) {
        if (open_origin(c, i, err, err_size) != 0) {
            return -1;
        }
    }
    return 0;
}

void tb_hands_clear(tb_check *c) {
    for (unsigned i = 0; i < table_of(c)->count; i++) {
        hand_of(c, i)->waits = false;
        hand_of(c, i)->transfers = 0;
    }
}

/* The first field in which what is offered differs from `want`, as "name|got|expected" of a failure. False: none. */
static bool differs(tb_check *c, unsigned i, const char *stream, const uint8_t *want) {
    const tb_hand *t = &table_of(c)->hand[i];
    const hand *h = hand_of(c, i);
    for (unsigned f = 0; f < h->fields; f++) {
        const size_t bytes = tb_sig_bytes(h->payload[f]);
        uint8_t now[TB_HAND_BYTES];
        tb_get_bytes(h->payload[f], now);
        size_t b = bytes;
        while (b > 0 && now[b - 1] == want[b - 1]) {
            b--;
        }
        if (b > 0) { /* the highest byte that differs */
            char where[80];
            snprintf(where, sizeof where, "%.40s, byte %zu", t->payload[f], b - 1);
            tb_check_failf(c, stream, h->transfers, "%s|0x%02x|0x%02x", where, now[b - 1], want[b - 1]);
            return true;
        }
        want += bytes;
    }
    return false;
}

static void keep(const hand *h, uint8_t *dst) {
    for (unsigned f = 0; f < h->fields; f++) {
        tb_get_bytes(h->payload[f], dst);
        dst += tb_sig_bytes(h->payload[f]);
    }
}

/* A transfer: what goes in is remembered, what comes out is compared with it. False: a failure is noted. */
static bool transfer(tb_check *c, unsigned i) {
    const tb_hands *t = table_of(c);
    hand *h = hand_of(c, i);
    if (t->hand[i].from != 0) {
        const hand *in = hand_of(c, t->hand[i].from - 1);
        if (h->transfers >= in->transfers) {
            tb_check_fail(c, t->hand[i].valid, h->transfers, NULL, "a transfer", "none: nothing is inside");
            return false;
        }
        if (differs(c, i, t->hand[i].valid, &in->inside[h->transfers % TB_HAND_INSIDE * in->bytes])) {
            return false;
        }
    }
    if (h->inside != NULL) {
        for (unsigned o = 0; o < t->count; o++) {
            if (t->hand[o].from == i + 1 && h->transfers - hand_of(c, o)->transfers >= TB_HAND_INSIDE) {
                tb_check_failf(c, t->hand[i].valid, h->transfers, "more|at most %u inside", TB_HAND_INSIDE);
                return false;
            }
        }
        keep(h, &h->inside[h->transfers % TB_HAND_INSIDE * h->bytes]);
    }
    if (t->moved != NULL) {
        t->moved(c, i);
    }
    h->transfers++;
    return !c->failed;
}

void tb_hands_cycle(tb_check *c) {
    const tb_hands *t = table_of(c);
    const uint32_t rising = c->all->sim->rising;
    for (unsigned pass = 0; pass < 2; pass++) { /* inputs first: a unit may pass them on in the same cycle */
        for (unsigned i = 0; i < t->count; i++) {
            hand *h = hand_of(c, i);
            if (t->hand[i].output != (pass == 1) || (rising >> t->hand[i].clock & 1u) == 0) {
                continue;
            }
            const bool valid = tb_get(h->valid) != 0, taken = valid && (h->ready.ptr == NULL || tb_get(h->ready) != 0);
            if (h->waits && !valid) {
                tb_check_failf(c, t->hand[i].valid, h->transfers, "0|1 until it is taken");
                return;
            }
            if (h->waits && differs(c, i, t->hand[i].valid, h->last)) {
                return;
            }
            h->waits = t->hand[i].output && t->hand[i].held && valid && !taken;
            if (h->waits) {
                keep(h, h->last);
            }
            if (taken && !transfer(c, i)) {
                return;
            }
        }
    }
}

void tb_hands_finish(tb_check *c) {
    const tb_hands *t = table_of(c);
    for (unsigned i = 0; i < t->count && !c->failed; i++) {
        if (t->hand[i].from != 0) {
            tb_check_value(c, "transfers left", hand_of(c, i)->transfers,
                           hand_of(c, t->hand[i].from - 1)->transfers - hand_of(c, i)->transfers, 0);
        }
    }
}
