/*
 * fair.h - scoreboard of an arbiter at the ports of the design: at most one grant, to one who asks, and nobody waits
 * while others are granted too often. The bench may also be the requesters.
 */
#ifndef TB_FAIR_H
#define TB_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"
#include "../sim/sim.h"

#define TB_FAIR_MOST 64u /* requesters */

typedef struct tb_fair_cfg {
    const char *name;            /* in reports; must outlive it, as the other texts */
    const char *request, *grant; /* ports with a bit for each requester, of the same width */
    const char *accept; /* a port of one bit: a grant counts in a cycle in which it is high; NULL: in every cycle */
    unsigned limit;     /* grants of others while one waits (0: requesters - 1, as of a round robin) */
    unsigned clock;     /* index into tb_run_cfg.clocks */
    bool drive;         /* the bench asks (tb_fair_ask): a request stays until it is granted */
} tb_fair_cfg;

typedef struct tb_fair {
    tb_fair_cfg cfg;
    tb_sig request, grant, accept;
    tb_rng rng;
    unsigned stall;                /* percent of cycles in which a requester of the bench that may ask does not */
    uint64_t live;                 /* bit i: the bench asks as requester i */
    uint64_t asks[TB_FAIR_MOST];   /* of each, to come */
    bool driven;                   /* since the last edge of its clock */
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
/* Each requester of the bench asks so often, at random times; replaces what is left of earlier ones. */
void tb_fair_ask(tb_fair *f, uint64_t count);
/* Has the bench something to ask for? */
bool tb_fair_busy(const tb_fair *f);
/* Before settle, once a cycle of its clock. */
void tb_fair_drive(tb_fair *f);
/* Who waits for a grant since when, for a report. False: nobody. */
bool tb_fair_owes(const tb_fair *f, char *text, size_t size);
/* After settle, before the edge. */
void tb_fair_sample(tb_fair *f, uint64_t cycle);

#endif
