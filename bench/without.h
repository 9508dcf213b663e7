/*
 * without.h - parts of the testbench that bench-speed can leave out, to measure what they cost; and what the snapshots
 * of a run needed.
 *
 * The program is linked with --wrap for the functions that without.c stands before. So `tandem` itself has no switch
 * that could be left in the wrong position.
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
    double period;   /* of snapshots, seconds; 0: as the device has it */
    /* calls that were left out: 0 would mean that a switch has lost its function, which the linker does not tell */
    uint64_t left_out;
    /* sums over all devices */
    uint64_t snapshots;
    double fork_seconds;
} bench_parts;

/* The parts of this process. Wrapped functions have no argument to carry them, so they are its one global. */
bench_parts *bench_parts_get(void);
/* "checks,monitor,memory,compare", any of them. false: one is unknown. */
bool bench_parts_leave_out(bench_parts *parts, const char *names);

#endif
