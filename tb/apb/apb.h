/*
 * apb.h - an APB3 or APB4 port of the design: the bench at its other side, and the rules of both (AMBA APB, ARM IHI
 * 0024, sections 2.1 and 3.1 to 3.4).
 *
 * If the design is a completer, the bench drives it with random accesses, whose read data are compared with a shadow of
 * the memory behind it (mem/shadow.h), or with single accesses that the bench asks for. If the design is a requester,
 * it gets memory with random wait states. APB3 has no PSTRB and PPROT.
 *
 * ARM publishes no names of rules for APB; the names here are formed like those for AXI.
 */
#ifndef TB_APB_H
#define TB_APB_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"
#include "../mem/shadow.h"
#include "../sim/sim.h"

#define TB_APB_HELD 5u /* number of signals that must be stable during a transfer */

typedef struct tb_apb_cfg {
    const char *name;   /* used in reports; name and prefix must outlive the port */
    const char *prefix; /* what comes before "psel" ... in the names of its signals (tb_sim_find_word) */
    /*
     * Number `slice` of `slices` ports whose PSEL are bits of one vector (0: not). The other signals are divided among
     * them, where PENABLE or PREADY (without it: PRDATA) has a part for each port, else they are shared.
     */
    unsigned slice, slices;
    bool requester;    /* the design is the requester; else it is the completer */
    unsigned clock;    /* clock of the port: index into tb_run_cfg.clocks */
    tb_shadow *shadow; /* completer: memory for random accesses, or NULL */
    tb_ddr *mem;       /* requester: the memory that answers */
} tb_apb_cfg;

/* Random accesses to a completer: whole words; with APB4 with random strobes. */
typedef struct tb_apb_traffic {
    uint64_t count;
    uint64_t base, bytes; /* range of addresses; multiples of the width of the bus in bytes */
    uint8_t writes;       /* share of writes in percent */
} tb_apb_traffic;

typedef enum tb_apb_phase { TB_APB_IDLE, TB_APB_SETUP, TB_APB_ACCESS } tb_apb_phase;

typedef struct tb_apb {
    tb_apb_cfg cfg;
    /*
     * Required. sel may have several bits, one of which selects: the memory of the bench is behind all of them; in
     * accesses to a completer bit i selects the addresses from i << (bits of PADDR) on.
     */
    tb_sig sel, enable, addr, write, wdata, rdata;
    tb_sig strb, prot, ready, slverr; /* optional: ptr is NULL where the port lacks one */
    uint32_t bytes;                   /* width of the bus in bytes: 1, 2 or 4 */
    tb_rng rng;
    unsigned stall; /* percent of cycles with a pause before an access, or a wait state */
    tb_apb_traffic traffic;
    tb_apb_phase phase; /* phase of the bus at the last edge */
    bool driven;        /* the inputs were driven since the last edge */
    /* the access in flight, if the design is the completer */
    bool busy, drawn, writes, failed; /* drawn: it is a random one; failed: it was answered with PSLVERR */
    unsigned access;                  /* its number in the shadow */
    uint64_t where;
    uint32_t value, lanes;
    uint64_t since; /* cycle of its setup phase */
    uint64_t held[TB_APB_HELD];
    uint64_t transfers, stores, errors, waits; /* stores: transfers that write; waits: wait states in cycles */
    char wrong[64], text[256];                 /* first failure: signature without the name of the port, and one line */
} tb_apb;

/* Find the signals of the port. Returns 0, or -1 with one line in err. */
int tb_apb_open(tb_apb *p, const tb_sim *sim, const tb_apb_cfg *cfg, tb_rng rng, char *err, size_t err_size);
/* Drop the access in flight and all further ones (reset of the design). */
void tb_apb_reset(tb_apb *p);
/* Begin to send random accesses; only for a completer with a shadow. */
void tb_apb_send(tb_apb *p, const tb_apb_traffic *traffic);
/*
 * Begin one access to a completer; not while another one is busy. p->busy becomes false when it is complete; p->value
 * and p->failed then have its result.
 */
void tb_apb_start(tb_apb *p, bool write, uint64_t addr, uint32_t value, uint32_t lanes);
/* Is an access in flight, or still to be sent? */
bool tb_apb_busy(const tb_apb *p);
/* Drive the inputs: before the design settles, once in each cycle of the clock of the port. */
void tb_apb_drive(tb_apb *p, uint64_t cycle);
/* Sample and check the port: after the design has settled, before the edge. hash: the trace hash. */
void tb_apb_sample(tb_apb *p, uint64_t cycle, uint64_t *hash);
/* A line for a report: what the design owes on this port. False: nothing. */
bool tb_apb_owes(const tb_apb *p, char *text, size_t size);

#endif
