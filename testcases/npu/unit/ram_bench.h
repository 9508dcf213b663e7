/*
 * ram_bench.h - one executor for the buffers that are plain memories: a table says which ports they have.
 *
 * Every written word is remembered in C. A read is checked one cycle later when its word has ever been written; a read of the word that is written in the same
 * cycle gives the old one.
 */
#ifndef RAM_BENCH_H
#define RAM_BENCH_H

#include "bench.h"

#define RAM_MEMS 2u
#define RAM_PORTS 4u

typedef struct ram_write {
    const char *enable; /* port and its bit */
    uint32_t bit;
    const char *addr, *data; /* NULL enable ends the list */
    uint32_t mem;
} ram_write;

typedef struct ram_enable {
    const char *port; /* NULL ends the list */
    uint32_t bit;
} ram_enable;

typedef struct ram_read {
    const char *data; /* NULL ends the list */
    uint32_t mem;     /* RAM_BANKED: chosen by bank_port in each cycle */
    uint32_t addr;    /* index into addr[] */
    uint32_t enable;  /* index into enable[] */
} ram_read;
#define RAM_BANKED RAM_MEMS

typedef struct ram_desc {
    uint32_t depth, bytes; /* words, bytes of a word */
    bool has_reset;
    ram_write write[RAM_PORTS];
    ram_enable enable[RAM_PORTS]; /* read enables */
    const char *addr[RAM_PORTS];  /* read addresses; NULL ends the list */
    ram_read read[RAM_PORTS];
    const char *bank_port; /* chooses the bank that is read; the word that is read is not written in that cycle. NULL: no banks */
} ram_desc;

#define RAM_BENCH_KNOBS 5u
extern const tb_knob ram_bench_knobs[RAM_BENCH_KNOBS];
void ram_bench_constrain(tb_knobs *knobs, uint64_t seed);
int ram_bench_run(unit *u, const ram_desc *desc);

#endif
