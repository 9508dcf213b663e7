/*
 * watchdog.h - detects missing progress.
 *
 * Progress is a number that grows with every handshake on any port. While the bench waits for the design (armed), a
 * limit of cycles without progress is a hang.
 */
#ifndef TB_WATCHDOG_H
#define TB_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tb_watchdog {
    uint64_t limit;      /* cycles without progress */
    uint64_t last_count; /* progress at the last change */
    uint64_t last_cycle;
} tb_watchdog;

static inline void tb_watchdog_init(tb_watchdog *wd, uint64_t limit) {
    wd->limit = limit;
    wd->last_count = 0;
    wd->last_cycle = 0;
}

/* The bench itself made a pause (reset, wait on purpose): restart counting. */
static inline void tb_watchdog_kick(tb_watchdog *wd, uint64_t cycle) {
    wd->last_cycle = cycle;
}

/* True when there was no progress for `limit` cycles. */
static inline bool tb_watchdog_step(tb_watchdog *wd, uint64_t cycle, uint64_t progress) {
    if (progress != wd->last_count) {
        wd->last_count = progress;
        wd->last_cycle = cycle;
        return false;
    }
    return cycle - wd->last_cycle >= wd->limit;
}

#endif
