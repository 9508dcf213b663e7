/*
 * mutant.h - mutants in the Verilated code of a build of kind mut (docs/qualification.md).
 *
 * Such a build holds all mutants of a design, numbered from 1. Their code is behind flags, which are all 0 when the
 * program starts: then the design behaves as in any other build. A mutant is either selected, from the first eval on,
 * or watched: the first time that it would have computed another value than the design, inside eval(), the owner of the
 * watch is asked whether it shall do so from now on. Before that moment the mutant's state is the design's, so what
 * follows is the behaviour of the mutant from the start.
 *
 * The generated code can reach nothing but globals: one set of mutants is watched in a process, for all its instances
 * of the design, in one thread.
 */
#ifndef TB_SIM_MUTANT_H
#define TB_SIM_MUTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for the generated code ---- */
#define TB_MUT_ON(flag) (__builtin_expect(tb_mut_on[flag], 0) != 0)
/* Of the shim of a build of kind mut. */
extern uint16_t tb_mut_on[] __attribute__((visibility("hidden")));
/* A place was evaluated, where this mutant computes another value than the design, or does not. Take its value? */
bool tb_mut_differs(uint32_t mutant, bool differs);

/* ---- for the test program ---- */
/*
 * The mutants of a build: for mutant m the flags way[first[m - 1]] .. way[first[m] - 1] stand between the design and
 * its code.
 */
struct tb_mutants {
    uint32_t count, flags;
    const uint32_t *first, *way;
    uint16_t *on; /* the flags: how many mutants behind each are watched or selected */
};
typedef struct tb_mutants tb_mutants;

/* What became of a mutant while it was watched. */
typedef enum tb_mut_state { TB_MUT_NOT_WATCHED, TB_MUT_WATCHED, TB_MUT_REACHED, TB_MUT_INFECTED } tb_mut_state;

/*
 * A watched mutant would compute another value, for the first time. True: it does so from now on, and the other mutants
 * are no longer watched; false: it is not watched any more.
 */
typedef bool (*tb_mut_fn)(void *ctx, uint32_t mutant);

/* From now on this mutant, 1..count, is the design. Not while mutants are watched. */
void tb_mut_select(const tb_mutants *all, uint32_t mutant);
/* Watch the mutants m with state[m] == TB_MUT_WATCHED; state[0..count] is updated and stays the caller's. */
void tb_mut_watch(const tb_mutants *all, uint8_t *state, tb_mut_fn infected, void *ctx);
/* The end of it. */
void tb_mut_unwatch(void);

/* Rising edges of all designs of this process so far, and the number of them at which expired() is called; 0: never. */
typedef struct tb_mut_clock {
    uint64_t edges, end;
    void (*expired)(void);
} tb_mut_clock;
extern tb_mut_clock tb_mut_time;
static inline void tb_mut_edge(void) {
    if (++tb_mut_time.edges == tb_mut_time.end) {
        tb_mut_time.expired();
    }
}

#ifdef __cplusplus
}
#endif

#endif
