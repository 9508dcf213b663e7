/*
 * clock.h - several clocks: which of them rises next, and when.
 *
 * Times are in any unit that the bench chooses, the same for all clocks of a design (1 ps, 1 ns). A clock rises at
 * phase, phase + period, phase + 2 * period ... and falls half a period later.
 */
#ifndef TB_SIM_CLOCK_H
#define TB_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TB_CLOCKS 8u
/* time units of a cycle in the waveform of a design with one clock */
#define TB_CLOCK_UNITS 10u
/* with several clocks: time units in the waveform for one of theirs; settled values stand between two of theirs */
#define TB_CLOCK_SCALE 8u

/* A clock of a design, and the reset of its domain. */
typedef struct tb_clock {
    const char *clk;   /* its port */
    const char *rst_n; /* active-low reset, or NULL; several domains may name the same port */
    const char *rst;   /* or an active-high one */
    uint32_t period;   /* at least 2 */
    uint32_t phase;    /* of the first rising edge, 0: at the end of the first period */
} tb_clock;

/* When clocks rise and fall. Zeroed: one clock. */
typedef struct tb_schedule {
    unsigned count; /* of clocks; 0: a design with one clock, whose schedule needs no time */
    uint32_t period[TB_CLOCKS], phase[TB_CLOCKS];
    uint64_t rise[TB_CLOCKS], fall[TB_CLOCKS]; /* the next time of each */
    uint64_t cycles[TB_CLOCKS];                /* rising edges so far */
    uint64_t now;                              /* of the edge that tb_schedule_rise() took last */
} tb_schedule;

/* Begin at time 0, before every edge. */
void tb_schedule_start(tb_schedule *s);
/* The clocks that rise next, together: a mask; *time is when. */
uint32_t tb_schedule_next(const tb_schedule *s, uint64_t *time);
/*
 * The clocks that fall next, together, before `limit` or at it: a mask, 0 when there is none; *time is when. They are
 * taken.
 */
uint32_t tb_schedule_fall(tb_schedule *s, uint64_t limit, uint64_t *time);
/* Take the next rising edge: its clocks, as tb_schedule_next(). */
uint32_t tb_schedule_rise(tb_schedule *s);
/*
 * Time in a waveform at which cycle number `cycle` begins. With several clocks this goes through all edges before it,
 * at some nanoseconds for each.
 */
uint64_t tb_schedule_time(const tb_schedule *s, uint64_t cycle);

#endif
