/*
 * waits.h - who waits for whom: handshakes of a design beside its buses, and those of its units, for the report on a
 * hang.
 *
 * Found by name: `X_valid` and `X_ready` (also tvalid, tready; a suffix _i, _o, _in or _out) that are single bits of
 * opposite directions.
 */
#ifndef TB_WAITS_H
#define TB_WAITS_H

#include <stdio.h>

#include "../sim/sim.h"

#define TB_WAITS 32u         /* handshakes of a design that are followed */
#define TB_WAITS_PAYLOAD 16u /* ports of one of them */

typedef struct tb_wait {
    char name[64]; /* of both signals, as far as it is the same: "s_axis" */
    tb_sig valid, ready;
    tb_sig payload[TB_WAITS_PAYLOAD]; /* ports with the same prefix and direction as valid, up to ptr NULL */
    bool input;                       /* of the design: the bench offers */
    bool known;                       /* a stream of the bench, which counts and logs its transfers itself */
    bool waits;                       /* valid without ready at the last look */
    uint64_t since;                   /* the cycle in which that began */
    uint64_t transfers;               /* 0 with several clocks: these are not told apart here */
    uint64_t last;                    /* cycle of the last one */
} tb_wait;

typedef struct tb_waits {
    tb_wait wait[TB_WAITS];
    unsigned count;
    bool counts; /* transfers */
    /* Called for each transfer, with its payload in place; or NULL. Of a design with one clock. */
    void (*took)(void *ctx, const tb_wait *wait);
    void *ctx;
} tb_waits;

/* The handshakes of a design but those whose names begin with one of these prefixes (NULL-terminated): of its buses. */
void tb_waits_open(tb_waits *waits, const tb_sim *sim, const char *const *prefixes);
/* Each cycle, after settle. */
static inline void tb_waits_look(tb_waits *waits, uint64_t cycle) {
    for (unsigned i = 0; i < waits->count; i++) {
        tb_wait *w = &waits->wait[i];
        const bool valid = tb_get(w->valid) != 0, ready = tb_get(w->ready) != 0;
        w->since = valid && !ready && !w->waits ? cycle : w->since;
        w->waits = valid && !ready;
        if (valid && ready) {
            w->transfers += waits->counts;
            w->last = cycle;
            if (waits->took != NULL && waits->counts && !w->known) {
                waits->took(waits->ctx, w);
            }
        }
    }
}
/* A sentence on the handshake that has waited for the longest time. False: none does. */
bool tb_waits_root(const tb_waits *waits, char *text, size_t size);
/* Lines of a report: the design's handshakes. */
void tb_waits_lines(const tb_waits *waits, FILE *out);
/*
 * Lines on the units with taps that stand for some 60 cycles, which cycle(ctx) makes (NULL: at this moment), and the
 * one that keeps the others waiting.
 */
void tb_waits_units(const tb_sim *sim, bool (*cycle)(void *ctx), void *ctx, FILE *out);

#endif
