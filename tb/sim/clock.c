#include "clock.h"

void tb_schedule_start(tb_schedule *s) {
    for (unsigned i = 0; i < s->count; i++) {
        s->rise[i] = s->phase[i] != 0 ? s->phase[i] : s->period[i];
        s->fall[i] = UINT64_MAX; /* low until it has risen */
        s->cycles[i] = 0;
    }
    s->now = 0;
}

/* The earliest of some times, and whose they are. */
static uint32_t earliest(const uint64_t *at, unsigned count, uint64_t *time) {
    uint32_t mask = 0;
    *time = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (at[i] < *time) {
            *time = at[i];
            mask = 0;
        }
        mask |= at[i] == *time ? 1u << i : 0;
    }
    return mask;
}

uint32_t tb_schedule_next(const tb_schedule *s, uint64_t *time) {
    return earliest(s->rise, s->count, time);
}

uint32_t tb_schedule_fall(tb_schedule *s, uint64_t limit, uint64_t *time) {
    const uint32_t mask = earliest(s->fall, s->count, time);
    if (*time > limit) {
        return 0;
    }
    for (unsigned i = 0; i < s->count; i++) {
        s->fall[i] = (mask >> i & 1u) != 0 ? UINT64_MAX : s->fall[i];
    }
    return mask;
}

uint32_t tb_schedule_rise(tb_schedule *s) {
    const uint32_t mask = tb_schedule_next(s, &s->now);
    for (unsigned i = 0; i < s->count; i++) {
        if ((mask >> i & 1u) != 0) {
            s->fall[i] = s->now + s->period[i] / 2;
            s->rise[i] = s->now + s->period[i];
            s->cycles[i]++;
        }
    }
    return mask;
}

uint64_t tb_schedule_time(const tb_schedule *s, uint64_t cycle) {
    tb_schedule copy = *s;
    if (s->count == 0) {
        return cycle * TB_CLOCK_UNITS;
    }
    tb_schedule_start(&copy);
    for (uint64_t i = 0; i < cycle; i++) {
        (void)tb_schedule_rise(&copy);
    }
    return copy.now * TB_CLOCK_SCALE;
}
