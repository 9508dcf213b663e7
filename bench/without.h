/*
 * without.h - parts of the testbench that bench-speed can switch off to measure their costs, and the costs of the
 * snapshots of a run.
 *
 * The program is linked with --wrap for the functions that without.c replaces, so `tandem` itself has no switch that
 * could be left in the wrong position.
 */
#ifndef BENCH_WITHOUT_H
#define BENCH_WITHOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_parts {
    bool no_checks;  /* taps stay in the design, no check reads them */
    bool no_monitor; /* AXI and AXI4-Lite protocol checks, trace hash of the buses */
    bool no_memory;  /* reads of bytes that were never written, writes outside the declared outputs */
    bool no_compare; /* memory of RTL and golden model */
    double period;   /* of snapshots, seconds; 0: the device's default */
    /* calls that were skipped: 0 means that the switch does not match any function, which the linker does not report */
    uint64_t left_out;
    /* sums over all devices */
    uint64_t snapshots;
    double fork_seconds;
} bench_parts;

/*
 * The switches of this process. They are its only global variable, because wrapped functions have no argument for them.
 */
bench_parts *bench_parts_get(void);
/* "checks,monitor,memory,compare", any of them. false: one is unknown. */
bool bench_parts_leave_out(bench_parts *parts, const char *names);

#endif
