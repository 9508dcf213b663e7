/*
 * fair.h - scoreboard of an arbiter at the ports of the design: at most one grant, to one who asks, and nobody waits
 * while others are granted too often.
 */
#ifndef TB_FAIR_H
#define TB_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "../sim/sim.h"

#define TB_FAIR_MOST 64u /* requesters */

typedef struct tb_fair_cfg {
    const char *name;            /* in reports; must outlive it, as the other texts */
    const char *request, *grant; /* ports with a bit for each requester, of the same width */
    const char *accept; /* a port of one bit: a grant counts in a cycle in which it is high; NULL: in every cycle */
    unsigned limit;     /* grants of others while one waits (0: requesters - 1, as of a round robin) */
    unsigned clock;     /* index into tb_run_cfg.clocks */
} tb_fair_cfg;

typedef struct tb_fair {
    tb_fair_cfg cfg;
    tb_sig request, grant, accept;
    uint64_t since[TB_FAIR_MOST];  /* cycle in which the requester began to wait */
    uint32_t passed[TB_FAIR_MOST]; /* grants of others since then */
    uint64_t waiting;              /* bit i: requester i waits */
    uint64_t grants;
    uint32_t worst;            /* most of `passed` so far */
    char wrong[64], text[200]; /* first failure: signature without the name, and one line */
} tb_fair;

/* Find the signals. 0, or -1 with one line in err. */
int tb_fair_open(tb_fair *f, const tb_sim *sim, const tb_fair_cfg *cfg, char *err, size_t err_size);
/* Nobody waits any more (reset of the design). */
void tb_fair_reset(tb_fair *f);
/* After settle, before the edge. */
void tb_fair_sample(tb_fair *f, uint64_t cycle);

#endif
