/* bench.h - RTL and golden model of an engine in tandem, opened outside of a test case. */
#ifndef NET_BENCH_H
#define NET_BENCH_H

#include "target.h"

/*
 * A new device of a bench with the options' seed, timing of the buses and waveform; run->more of its open() are the
 * options' sizes. NULL with one line in text. tb_tandem_close() ends it.
 */
void *net_target_bench(const tb_tandem *bench, const net_target_options *options, char *text, size_t size);

#endif
