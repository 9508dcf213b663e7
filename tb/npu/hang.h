/*
 * hang.h - internals of the report on a hang: state of every unit, work in flight, and the chain of waits.
 *
 * hang.c has the hooks of the run. hang_look.c reads registers of the design by name, in builds with taps, where
 * scripts/gen_taps.py makes the registers public that these files name; nothing is read before a hang, so it costs a
 * run nothing. hang_state.c has the tables of registers that show a unit's state, hang_wait_*.c the functions that find
 * what a unit waits for.
 */
#ifndef NPU_HANG_H
#define NPU_HANG_H

#include <stdio.h>

#include "dev_priv.h"

/* Signals of the design at the moment of the hang. */
typedef struct npu_look {
    const tb_shim_var *var; /* by scope, then name */
    size_t vars;
    uintptr_t base;
    char missing[96]; /* first signal that was not found: a mistake in a table */
} npu_look;

/* Take the list of signals. False: this build has none. */
bool npu_look_open(npu_look *look, const tb_sim *sim);
/* Is there an instance of this path below the top module? */
bool npu_look_unit(const npu_look *look, const char *unit);
/* Signal of an instance, or of the tap inside it; NULL: there is none. */
const tb_shim_var *npu_look_find(const npu_look *look, const char *unit, const char *name);
/* Its low 64 bits; 0 and a note in `missing` when there is none. A name "part:register" is of a part of it. */
uint64_t npu_look_get(npu_look *look, const char *unit, const char *name);
/* `bits` bits from bit `lsb` of it. */
uint64_t npu_look_field(npu_look *look, const char *unit, const char *name, uint32_t lsb, uint32_t bits);

#define NPU_HANG_DEPTH 24u /* units in the chain */

/* A link of the chain of waits. */
typedef struct npu_hang_link {
    int unit;       /* that waits */
    char text[160]; /* what it waits for, or, for the last one, why it is stuck */
} npu_hang_link;

typedef struct npu_hang {
    npu_dev *dev;
    npu_look look;
    bool registers;                     /* a register access hangs */
    bool taps;                          /* the build has taps, so there are a chain and a root */
    npu_hang_link link[NPU_HANG_DEPTH]; /* the chain, from the unit with an unfinished task to the root */
    size_t links;
#define NPU_HANG_OTHERS 4u
    char other[NPU_HANG_OTHERS][200]; /* units that are stuck, too */
    size_t others;
    char root[48];       /* name for the signature; empty: unknown */
    char root_text[200]; /* one line */
} npu_hang;

/*
 * GEMM, ALU, POOL are busy: a bit of each UNIT_. From the debug port of the design; without it, the units with tasks
 * that the driver has not seen complete.
 */
uint32_t npu_hang_busy(npu_dev *dev);

/* Fill the chain and the root. False: a build without taps. (hang_chain.c) */
bool npu_hang_chain(npu_hang *h);
/* Lines with the state of every unit. (hang_state.c) */
void npu_hang_states(npu_hang *h, FILE *out);

#endif
