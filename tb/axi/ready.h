/*
 * ready.h - how a ready behaves after each handshake: the one source of random back-pressure of every bus.
 */
#ifndef TB_AXI_READY_H
#define TB_AXI_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"

/* How the ready of a channel behaves after each handshake. Chances in 256ths; the rest: ready at once. */
typedef struct tb_axi_ready_profile {
    uint16_t pause; /* chance: low for 1..pause_max cycles */
    uint16_t wait;  /* chance: low until valid has been high for 0..pause_max cycles */
    uint16_t flap;  /* chance: without a handshake high for a few cycles only, then low for 1..pause_max */
    uint16_t pause_max;
} tb_axi_ready_profile;

/* Random ready of one channel. Zero: ready at once. */
typedef struct tb_axi_ready {
    uint64_t at;    /* cycle of the next change */
    uint64_t until; /* flap: end of the high time */
    uint8_t state;
} tb_axi_ready;

/* After a handshake in `cycle`: choose the behaviour until the next one. */
void tb_axi_ready_next(tb_axi_ready *r, const tb_axi_ready_profile *p, tb_rng *rng, uint64_t cycle);
/* Level in this cycle, to be asked once in each. valid: that of the other side at the last edge. */
bool tb_axi_ready_now(tb_axi_ready *r, const tb_axi_ready_profile *p, tb_rng *rng, uint64_t cycle, bool valid);

#endif
