/*
 * ram_bench.h - one executor for the buffers that are plain memories: random accesses to the ports of a table.
 */
#ifndef RAM_BENCH_H
#define RAM_BENCH_H

#include "bench.h"

#define RAM_PORTS 2u

typedef struct ram_write {
    const char *addr, *data; /* NULL ends the list; bit i of we_i enables port i */
} ram_write;

typedef struct ram_desc {
    uint32_t depth, bytes; /* words, bytes of a word */
    bool has_reset;
    ram_write write[RAM_PORTS];
    uint32_t enables;            /* bits of re_i */
    const char *addr[RAM_PORTS]; /* read addresses; NULL ends the list */
    const char *
        /* selects the bank that is read, write port i belongs to bank i; the word that is read is not written in that
         * cycle. NULL: no banks */
        bank_port;
} ram_desc;

#define RAM_BENCH_KNOBS 5u
extern const tb_knob ram_bench_knobs[RAM_BENCH_KNOBS];
void ram_bench_constrain(tb_knobs *knobs, uint64_t seed);
int ram_bench_run(unit *u, const ram_desc *desc);

#endif
