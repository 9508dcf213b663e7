/*
 * apb.h - an APB3 or APB4 port of the design: the bench at its other side, and the rules of both (AMBA APB, ARM IHI
 * 0024, sections 2.1 and 3.1 to 3.4).
 *
 * A completer of the design is driven with random accesses, which are held against a shadow of what is behind it
 * (mem/shadow.h), or with accesses of the bench, one at a time. A requester of the design gets memory with random wait
 * states. APB3 has no PSTRB and PPROT.
 *
 * ARM publishes no names of rules for APB; these are formed like those for AXI.
 */
#ifndef TB_APB_H
#define TB_APB_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"
#include "../mem/shadow.h"
#include "../sim/sim.h"

#define TB_APB_HELD 5u /* signals that are stable in a transfer */

typedef struct tb_apb_cfg {
    const char *name;   /* in reports; must outlive the port, as the prefix */
    const char *prefix; /* of "psel" ... (tb_sim_find_word) */
    bool requester;     /* of the design; else it is a completer */
    unsigned clock;     /* the one that it belongs to: index into tb_run_cfg.clocks */
    tb_shadow *shadow;  /* of a completer: for random accesses; or NULL */
    tb_ddr *mem;        /* of a requester */
} tb_apb_cfg;

/* Random accesses of a completer, whole words; strobes at random with APB4. */
typedef struct tb_apb_traffic {
    uint64_t count;
    uint64_t base, bytes; /* where; multiples of the bytes of the bus */
    uint8_t writes;       /* percent */
} tb_apb_traffic;

typedef enum tb_apb_phase { TB_APB_IDLE, TB_APB_SETUP, TB_APB_ACCESS } tb_apb_phase;

typedef struct tb_apb {
    tb_apb_cfg cfg;
    tb_sig sel, enable, addr, write, wdata, rdata; /* required */
    tb_sig strb, prot, ready, slverr;              /* or ptr NULL */
    uint32_t bytes;                                /* of the bus: 1, 2 or 4 */
    tb_rng rng;
    unsigned stall; /* percent of cycles with a pause before an access, or a wait state */
    tb_apb_traffic traffic;
    tb_apb_phase phase; /* what the bus was in at the last edge */
    bool driven;        /* since the last edge */
    /* the access of the bench */
    bool busy, drawn, writes, failed; /* drawn: random; failed: PSLVERR */
    unsigned access;                  /* of the shadow */
    uint64_t where;
    uint32_t value, lanes;
    uint64_t since; /* cycle of its setup phase */
    uint64_t held[TB_APB_HELD];
    uint64_t transfers, stores, errors, waits; /* stores: transfers that write; waits: cycles */
    char wrong[64], text[256];                 /* first failure: signature without the name of the port, and one line */
} tb_apb;

/* Find the signals. 0, or -1 with one line in err. */
int tb_apb_open(tb_apb *p, const tb_sim *sim, const tb_apb_cfg *cfg, tb_rng rng, char *err, size_t err_size);
/* Drop what is in flight and what was to come. */
void tb_apb_reset(tb_apb *p);
/* Begin to send random accesses (a completer with a shadow). */
void tb_apb_send(tb_apb *p, const tb_apb_traffic *traffic);
/* Begin one access of a completer; not while one is busy. p->busy falls when it is complete: p->value, p->failed. */
void tb_apb_start(tb_apb *p, bool write, uint64_t addr, uint32_t value, uint32_t lanes);
/* Is anything in flight or to be sent? */
bool tb_apb_busy(const tb_apb *p);
/* Before settle, once a cycle of its clock. */
void tb_apb_drive(tb_apb *p, uint64_t cycle);
/* After settle, before the edge. hash: the trace hash. */
void tb_apb_sample(tb_apb *p, uint64_t cycle, uint64_t *hash);
/* What the design owes, for a report. False: nothing. */
bool tb_apb_owes(const tb_apb *p, char *text, size_t size);

#endif
