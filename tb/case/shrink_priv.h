/* shrink_priv.h - private to the shrinker: attempts in processes (shrink_run.c), candidates (shrink_moves.c), the
 * search over them (shrink.c). */
#ifndef TB_CASE_SHRINK_PRIV_H
#define TB_CASE_SHRINK_PRIV_H

#include "shrink.h"

/* Result of an attempt. */
typedef struct shrink_answer {
    int rc; /* 0: it ran; -1: it could not */
    uint64_t cycles;
    char signature[TB_SHRINK_SIGNATURE];
    double cpu; /* seconds */
} shrink_answer;

/* Cases that were tried, as hashes. */
typedef struct shrink_memo {
    uint64_t *slot; /* 0: free */
    size_t size, used;
} shrink_memo;

/* Candidates in their order. */
typedef struct shrink_list {
    tb_knobs *at;
    double *cost;
    size_t *tag; /* the knob whose turn it was */
    size_t count;
} shrink_list;

typedef struct shrinker {
    const tb_shrink_cfg *cfg;
    tb_knobs *best;
    tb_shrink_stats *stats;
    shrink_memo memo;
    shrink_list list;
    double begin;        /* seconds: start of all */
    double cpu_limit;    /* seconds of CPU time that an attempt may take, 0: no limit */
    uint64_t max_cycles; /* of an attempt, 0: no limit */
    bool failed;         /* no memory, no process */
} shrinker;

/* ---- shrink_run.c ---- */
/* Should it end? Notes why. */
bool shrink_over(shrinker *s);
/* Run one case alone. 0; -1: no process, or stopped. */
int shrink_run_one(shrinker *s, const tb_knobs *knobs, shrink_answer *answer);
/* Index of the first candidate in the list with the original failure, and its result; the number of candidates:
 * none. */
size_t shrink_search(shrinker *s, shrink_answer *answer);

/* ---- shrink_moves.c ---- */
/* Fill the list with joint moves of what makes the case large, cheap ones first. */
void shrink_list_sizes(shrinker *s);
/* ... with moves of groups of knobs that do not, large groups first. */
void shrink_list_frills(shrinker *s);
/* ... with moves of the single knobs order[from ..]. */
void shrink_list_single(shrinker *s, const size_t *order, size_t count);
/* All knobs, those first whose reduction saves most. Returns how many. */
size_t shrink_order(shrinker *s, size_t order[TB_KNOB_MAX]);
void shrink_list_free(shrink_list *list);
/* This case was tried, it will be no candidate again. */
void shrink_memo_put(shrinker *s, const tb_knobs *knobs);

#endif
