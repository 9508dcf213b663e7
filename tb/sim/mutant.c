/* mutant.c - which mutants of the Verilated code are watched or selected. */
#include "mutant.h"

#include <string.h>

/* The generated code reaches nothing but globals (mutant.h). */
static struct {
    const tb_mutants *all;
    uint8_t *state;
    tb_mut_fn infected;
    void *ctx;
    uint32_t selected;
} mut;

tb_mut_clock tb_mut_time;

/* Add a mutant to the counters of its flags, or take it away. */
static void count(const tb_mutants *all, uint32_t mutant, int by) {
    for (uint32_t i = all->first[mutant - 1]; i < all->first[mutant]; i++) {
        all->on[all->way[i]] = (uint16_t)(all->on[all->way[i]] + by);
    }
}

void tb_mut_unwatch(void) {
    if (mut.all != NULL) {
        memset(mut.all->on, 0, mut.all->flags * sizeof *mut.all->on);
    }
    memset(&mut, 0, sizeof mut);
}

void tb_mut_select(const tb_mutants *all, uint32_t mutant) {
    tb_mut_unwatch();
    mut.all = all;
    mut.selected = mutant;
    count(all, mutant, 1);
}

void tb_mut_watch(const tb_mutants *all, uint8_t *state, tb_mut_fn infected, void *ctx) {
    tb_mut_unwatch();
    mut.all = all;
    mut.state = state;
    mut.infected = infected;
    mut.ctx = ctx;
    for (uint32_t m = 1; m <= all->count; m++) {
        if (state[m] == TB_MUT_WATCHED) {
            count(all, m, 1);
        }
    }
}

bool tb_mut_differs(uint32_t mutant, bool differs) {
    if (mut.selected != 0) {
        return differs && mutant == mut.selected;
    }
    if (mut.state == NULL || mut.state[mutant] == TB_MUT_INFECTED) { /* another place of the same mutant */
        return false;
    }
    mut.state[mutant] = differs ? TB_MUT_INFECTED : TB_MUT_REACHED;
    if (!differs) {
        return false;
    }
    const tb_mutants *all = mut.all;
    count(all, mutant, -1);
    const bool taken = mut.infected(mut.ctx, mutant);
    if (taken) {
        tb_mut_select(all, mutant);
    }
    return taken;
}
