/*
 * plan.h - private to tandem-cov plan: holes, the pins that hints name for them, and lines of pins with the largest
 * expected gain.
 *
 * hints (plan_hint.c) and holes (plan_hole.c) are read once; plan_line.c chooses lines; plan.c is the command.
 */
#ifndef COVERAGE_PLAN_H
#define COVERAGE_PLAN_H

#include "tool.h"

#define PLAN_NONE UINT32_MAX
#define PLAN_HINT_PINS 8u  /* of one hint */
#define PLAN_LINE_PINS 24u /* of a line */
#define PLAN_LINE_BYTES                                                                                                \
    110u /* of a line's pins as text, so that the whole line fits into the job's name in a coverage file */

typedef struct plan_pin {
    uint32_t knob, value; /* words */
} plan_pin;

/* The part of a hint for one test. The last pin selects the bin; those before it are its preconditions. */
typedef struct plan_alt {
    uint32_t test; /* word */
    uint32_t count;
    plan_pin pins[PLAN_HINT_PINS];
} plan_alt;

typedef struct plan_bin {
    uint32_t group;
    uint32_t alt_first, alt_count; /* in plan.alts */
    double chance;                 /* of a case without pins */
    bool range;                    /* lo..hi are the values of the bin */
    int64_t lo, hi;
    uint32_t hole_first, hole_count; /* in plan.of_bin: holes that it is part of */
    uint32_t hole;                   /* that it is itself; PLAN_NONE: it is covered */
} plan_bin;

typedef struct plan_hole {
    uint32_t group;
    uint32_t bins[COV_CROSS_MAX], bin_count;
    double weight; /* percent of the score of all */
    double left;   /* of the weight, after the lines planned so far */
    double tries;  /* hits that planned jobs should have had */
    char *name;
} plan_hole;

/* Words (tests, knobs, values) by number. */
typedef struct plan_word {
    char *text;
    bool number;
    int64_t value;
} plan_word;

typedef struct plan_line {
    uint32_t test;  /* word */
    uint32_t cases; /* of the job */
    uint32_t pin_count;
    plan_pin pins[PLAN_LINE_PINS];
    double gain; /* expected gain in percent */
} plan_line;

typedef struct plan {
    const cov_data *data;
    uint32_t cases;   /* of a job; one of large sizes has one */
    uint64_t seed;    /* of draws, by round */
    double give_up;   /* tries after which a hole is given up */
    plan_word *words; /* sorted by their number: the order in which they were met */
    uint32_t word_count;
    plan_alt *alts;
    uint32_t alt_count;
    plan_bin *bins;
    uint32_t bin_count;
    uint32_t *bin_at; /* by counter: index in bins */
    plan_hole *holes;
    uint32_t hole_count;
    uint32_t *of_bin;
    uint32_t *tests; /* words that are tests */
    uint32_t test_count;
    bool *samples;        /* test * groups + group: hints of the group name the test */
    uint32_t *line_value; /* by word: the value to which the line pins this knob, or PLAN_NONE */
    uint32_t *stamp;      /* by hole: for sets of holes */
    uint32_t stamp_now;
    double *holds;  /* by hole: the expected gain of the line */
    uint32_t *near; /* bins of the line's test that holes have */
    uint32_t near_count;
} plan;

/* ---- plan_hint.c ---- */

/* Number of a word of that length, which is added; PLAN_NONE: out of memory. */
uint32_t plan_word_of(plan *p, const char *text, size_t length);
/* The text as a number. */
bool plan_number(const char *text, size_t length, int64_t *value);
/* Bins with their hints, values and chances; tests. */
int plan_read_bins(plan *p, cov_error *err);

/* ---- plan_hole.c ---- */

/* Bins and cells that are not covered, with their weights. */
int plan_read_holes(plan *p, cov_error *err);
void plan_free(plan *p);
/* Tries of a hole, or of a bin that it needs and that nothing has hit: the larger number. */
double plan_tries(const plan *p, const plan_hole *hole);
/* Chance that one case of the test, under the pins in line_value, hits the hole. */
double plan_chance(const plan *p, const plan_hole *hole, uint32_t test, uint32_t *own);
/* Chance that one of `cases` cases does, if each does with the chance `one`. */
double plan_once(double one, uint32_t cases);

/* ---- plan_line.c ---- */

/* Draw `draw` of stream `stream`: 64 bits, a function of the plan's seed and these two alone. */
uint64_t plan_draw(const plan *p, uint64_t stream, uint64_t draw);
/* The line with the largest expected gain for a test; number: its place in the plan, for draws. */
void plan_best_line(plan *p, uint32_t test, uint64_t number, plan_line *line);
/* Subtract the expected gain of a line from what is left, and count it as tried. */
void plan_take(plan *p, const plan_line *line);
/* Upper bound in percent of what lines of a test can still gain. */
double plan_stake(const plan *p, uint32_t test);

#endif
