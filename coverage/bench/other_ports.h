/* other_ports.h - between the files of bench_cov: covergroups of streams, APB ports, interrupts. */
#ifndef COVERAGE_BENCH_OTHER_PORTS_H
#define COVERAGE_BENCH_OTHER_PORTS_H

#include "../../tb/tb.h"
#include "../cov.h"

/* Traffic of each stream, of each APB port, of each interrupt, by itself; shown, and no part of the score. */
extern const cov_group bench_stream_group, bench_apb_group, bench_pin_group;
/* Count what they did in a run. */
void bench_cov_others(cov_db *db, const tb_run *of);

#endif
